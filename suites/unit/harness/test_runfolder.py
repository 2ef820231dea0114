"""Run folders: names, the newest, and one clear error for what cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from checkers.verdict import Anomaly, Outcome, Verdict
from harness import runfolder
from harness.errors import HistoryError, UsageError
from harness.recorder import Recorder

NOON = datetime(2024, 1, 31, 12, 0, 1, tzinfo=UTC)


def test_names_tell_day_time_and_seed_and_never_clash(tmp_path):
    names = [runfolder.create(tmp_path, 0xAB, NOON).name for _ in range(3)]
    assert names == ["r-20240131-120001-ab", "r-20240131-120001-ab-2", "r-20240131-120001-ab-3"]


def test_latest_points_to_the_newest(tmp_path):
    for seed in (1, 2):
        folder = runfolder.create(tmp_path, seed, NOON)
        runfolder.point_latest(folder)
    assert (tmp_path / "latest").resolve() == folder.resolve()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_run_is_found_by_path_and_by_name(tmp_path):
    folder = runfolder.create(tmp_path, 1, NOON)
    runfolder.write_run(folder, {"run": folder.name})
    runfolder.point_latest(folder)
    for text in (str(folder), folder.name, "latest", str(tmp_path / "latest")):
        assert runfolder.find(text, tmp_path) == folder.resolve()


def test_a_run_that_is_not_there_is_a_usage_error_that_says_what_is(tmp_path):
    with pytest.raises(UsageError, match="no run at 'r-x'") as caught:
        runfolder.find("r-x", tmp_path)
    assert "has no runs" in caught.value.hint
    folder = runfolder.create(tmp_path, 1, NOON)
    runfolder.write_run(folder, {})
    with pytest.raises(UsageError) as caught:
        runfolder.find("r-x", tmp_path)
    assert caught.value.hint == f"the newest of 1 is {folder.name}"


WHOLE = {"scenario": "s", "mode": "m", "backend": "sim", "target": "reference", "seed": "0x1f", "defects": []}


def test_a_run_document_has_what_judging_and_repeating_need(tmp_path):
    runfolder.write_run(tmp_path, WHOLE)
    assert runfolder.read_run(tmp_path) == WHOLE
    for key in WHOLE:
        runfolder.write_run(tmp_path, {k: v for k, v in WHOLE.items() if k != key})
        with pytest.raises(HistoryError, match=rf"run\.json lacks {key}"):
            runfolder.read_run(tmp_path)
    for seed in ("zz", 31, None):
        runfolder.write_run(tmp_path, WHOLE | {"seed": seed})
        with pytest.raises(HistoryError, match="is no hexadecimal number"):
            runfolder.read_run(tmp_path)


@pytest.mark.parametrize(("content", "what"), [(None, "No such file"), ("{", "damaged"), ("[]", "no object")])
def test_a_damaged_run_document_is_one_clear_error(tmp_path, content, what):
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(HistoryError, match=what) as caught:
        runfolder.read_run(tmp_path)
    assert caught.value.place == str(tmp_path / "run.json")


def test_verdicts_keep_their_evidence(tmp_path):
    anomaly = Anomaly("lost", "m5 is gone — really", (1, 2), {"queue": "t/b/0"})
    runfolder.write_verdict(tmp_path, [Verdict("accounting", Outcome.FAIL, (anomaly,)), Verdict("log", Outcome.PASS)])
    assert runfolder.read_outcome(tmp_path) is Outcome.FAIL
    text = (tmp_path / "verdict.json").read_text(encoding="utf-8")
    assert "m5 is gone — really" in text


def test_a_run_that_was_never_judged_has_no_outcome(tmp_path):
    assert runfolder.read_outcome(tmp_path) is None
    (tmp_path / "verdict.json").write_text('{"outcome": "MAYBE"}')
    with pytest.raises(HistoryError, match="'MAYBE' is no outcome"):
        runfolder.read_outcome(tmp_path)


def test_a_history_that_contradicts_itself_is_refused(tmp_path):
    recorder = Recorder(lambda: 0, run=1, path=tmp_path / runfolder.JOURNAL)
    op = recorder.invoke(0, "send", queue=7, message=0)
    recorder.complete(op, "perhaps", "SEND_OK")
    recorder.close()
    with pytest.raises(HistoryError, match="outcome 'perhaps'"):
        runfolder.load_history(tmp_path)
