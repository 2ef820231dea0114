"""Running a run again from its folder: the same, or where it differs."""

from __future__ import annotations

import json
import os
import re

import pytest

from faults.journal import process_started
from harness import runfolder
from harness.errors import HistoryError
from harness.replay import PREFIX, replay
from harness.run import run_scenario
from suites.unit.harness.tiny import CUT, KILL, tiny


@pytest.fixture
def folder(tmp_path):
    return run_scenario(tiny(CUT), seed=7, out=tmp_path / "runs", defects=("ack-before-fsync",)).folder


def test_a_simulated_run_comes_out_the_same_byte_for_byte(folder, tmp_path):
    again = replay(folder, out=tmp_path / "again")
    assert again.is_same
    digest, final_draw = again.result.history_sha256, again.result.final_draw
    assert again.sentence == f"identical: journal SHA-256 {digest[:16]}…, final draw {final_draw:#x}"
    kept = again.result.folder / "journal.jsonl"
    assert kept.read_bytes() == (folder / "journal.jsonl").read_bytes()


def test_nothing_is_left_behind_unless_asked(folder):
    before = sorted(path.name for path in folder.parent.iterdir())
    again = replay(folder)
    assert again.is_same
    assert sorted(path.name for path in folder.parent.iterdir()) == before


def test_what_a_killed_replay_left_goes_with_the_next_and_a_living_one_keeps_its_own(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    me, started = os.getpid(), process_started(os.getpid())
    for name in (f"{me}-{started}-living", f"{me}-{started + 1}-recycled", "999999999-1-dead", "others"):
        (tmp_path / f"{PREFIX}{name}" / "r-1").mkdir(parents=True)
    assert replay(folder).is_same
    left = sorted(path.name.removeprefix(PREFIX) for path in tmp_path.glob(f"{PREFIX}*"))
    assert left == sorted([f"{me}-{started}-living", "others"])


def test_the_first_line_that_differs_is_shown(folder):
    journal = folder / "journal.jsonl"
    changed = re.sub(rb'"ns":(\d+),"op":5,', b'"ns":1,"op":5,', journal.read_bytes(), count=1)
    number = next(n for n, line in enumerate(changed.split(b"\n"), 1) if b'"ns":1,' in line)
    journal.write_bytes(changed)
    runfolder.write_run(folder, runfolder.read_run(folder) | {"history_sha256": "00"})
    again = replay(folder)
    assert not again.is_same
    assert f"line {number} of the journal" in again.sentence
    assert '"ns":1,' in again.sentence


def test_another_final_draw_is_a_difference(folder):
    runfolder.write_run(folder, runfolder.read_run(folder) | {"final_draw": "0x1"})
    differences = replay(folder).differences
    assert list(differences) == ["final_draw"]
    assert differences["final_draw"].startswith("the final draw was 0x1, now 0x")


def test_a_folder_of_an_older_version_is_compared(folder):
    """There the final draw was called *unseed*."""
    run = runfolder.read_run(folder)
    runfolder.write_run(folder, {**run, "unseed": run["final_draw"]} | {"final_draw": None})
    text = (folder / "run.json").read_text().replace('"final_draw": null', '"other": null')
    (folder / "run.json").write_text(text)
    assert replay(folder).is_same


def test_the_journal_of_a_killed_run_must_be_the_beginning_of_the_new_one(folder):
    journal = folder / "journal.jsonl"
    whole = journal.read_bytes()
    run = {key: value for key, value in runfolder.read_run(folder).items() if key != "history_sha256"}
    runfolder.write_run(folder, run)
    journal.write_bytes(whole[: len(whole) // 3])
    again = replay(folder)
    assert again.is_same
    assert again.sentence == "the journal of the killed run is the beginning of this one"
    journal.write_bytes(whole[: len(whole) // 3] + b"x\n")
    assert list(replay(folder).differences) == ["journal"]


def test_another_commit_is_worth_a_remark(folder):
    runfolder.write_run(folder, runfolder.read_run(folder) | {"commit": "0123456789ab"})
    assert "the run is of commit 0123456789ab" in replay(folder).remarks[0]


def test_a_folder_that_is_no_run_is_an_error(tmp_path):
    with pytest.raises(HistoryError, match=r"cannot read run\.json"):
        replay(tmp_path)


def test_the_plan_is_taken_from_the_folder(tmp_path):
    folder = run_scenario(tiny(KILL), seed=1, out=tmp_path).folder
    text = (folder / "scenario.yaml").read_text()
    (folder / "scenario.yaml").write_text(text.replace("rate: 50/s", "rate: 25/s"))
    again = replay(folder)
    assert not again.is_same
    assert again.result.measures["sent"] == 50
    assert json.loads((folder / "run.json").read_text())["verdict"] == "PASS"
