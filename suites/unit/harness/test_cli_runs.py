"""Commands that run something, on the simulator: exit codes, documents, replays, interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness import cli, runfolder
from harness.errors import EXIT_ERROR, EXIT_FAIL, EXIT_INTERRUPTED, EXIT_PASS, EXIT_UNKNOWN, EXIT_USAGE

ROOT = Path(cli.__file__).parent.parent

SMALL = """\
name: small
mode: single-master
topology: {flush: sync}
workload: {producers: 2, consumers: 1, queues: 2, rate: 40/s, for: 4s}
faults:
  - {at: 1500ms, do: cut_power, on: masters, for: 500ms}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one small scenario; ``runs/`` will be in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL)
    return tmp_path


@pytest.fixture
def typed(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*words: str) -> tuple[int, str, str]:
        code = cli.main(words)
        return code, *capsys.readouterr()

    return call


def kept(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("runs/*/run.json") if path.parent.name != "latest")


def test_a_run_that_passes_ends_with_its_report_and_how_to_see_it_again(typed, folder: Path) -> None:
    code, out, err = typed("run", "small.yaml", "--seed", "5")
    assert code == EXIT_PASS
    assert err.splitlines()[0] == "small on sim, reference: seed 0x5"  # on a busy machine lines of progress follow
    lines = out.splitlines()
    (run,) = kept(folder)
    assert lines[0] == "PASS  small  (sim, reference)"
    assert lines[-3:] == ["seed 0x5", f"report: runs/{run}/report.html", f"replay: mqchaos replay runs/{run}"]
    assert (folder / "runs" / run / "report.html").is_file()
    assert (folder / "runs" / "latest").resolve().name == run


def test_many_seeds_at_once_come_to_the_same_as_one_after_another(typed, folder: Path) -> None:
    words = ("run", "small.yaml", "--seeds", "5..7", "--keep", "all", "--json")
    code, out, _ = typed(*words)
    at_once = typed(*words, "--jobs", "2")
    assert (code, at_once[0]) == (EXIT_PASS, EXIT_PASS)
    assert _hashes(at_once[1]) == _hashes(out)
    assert sum("report: runs/" in line for line in at_once[2].splitlines() + at_once[1].splitlines()) >= 3


def _hashes(out: str) -> list[tuple[str, str]]:
    return [(run["seed"], run["history_sha256"]) for run in json.JSONDecoder().raw_decode(out[out.index("[") :])[0]]


def test_a_run_that_breaks_a_guarantee_exits_one_and_says_which_message(typed) -> None:
    code, out, _ = typed("run", "small.yaml", "--seed", "5", "--defect", "skip-last-record")
    assert code == EXIT_FAIL
    assert out.startswith("FAIL  small")
    assert "acknowledged message of broker-a gone after cut_power of broker-a-0 (f1)" in out


def test_a_run_that_cannot_be_judged_exits_two(typed, folder: Path) -> None:
    text = SMALL.replace("rate: 40/s", "rate: 1/s").replace("cut_power", "kill").replace("masters", "nameserver(1)")
    (folder / "small.yaml").write_text(text + "deadlines: {drain: 1ns}\n")
    code, out, _ = typed("run", "small.yaml", "--seed", "5")
    assert code == EXIT_UNKNOWN
    assert out.startswith("UNKNOWN  small")


def test_json_is_one_document_on_standard_output(typed, folder: Path) -> None:
    code, out, err = typed("run", "small.yaml", "--seed", "0x5", "--json")
    document = json.loads(out)
    assert (code, document["outcome"], document["seed"]) == (EXIT_PASS, "PASS", "0x5")
    assert document["replay"] == f"mqchaos replay {document['folder']}"
    assert document["history_sha256"] == runfolder.read_run(folder / document["folder"])["history_sha256"]
    assert "PASS  small" in err


def test_many_seeds_get_a_line_each_and_keep_only_what_failed(typed, folder: Path) -> None:
    code, out, _ = typed("run", "small.yaml", "--seed", "5", "--seeds", "3", "--junit", "out/junit.xml")
    assert code == EXIT_PASS
    lines = out.splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["0x5", "0x6", "0x7"]
    assert lines[3].startswith("3 runs: 3 PASS")
    assert kept(folder) == []
    assert ElementTree.parse(folder / "out" / "junit.xml").getroot()[0].get("tests") == "3"
    code, out, _ = typed("run", "small.yaml", "--seeds", "5..6", "--defect", "skip-last-record", "--json")
    assert code == EXIT_FAIL
    assert [document["outcome"] for document in json.loads(out)] == ["FAIL", "FAIL"]
    assert len(kept(folder)) == 2


def test_a_replay_is_the_same_byte_for_byte_in_another_process_with_another_hash_seed(typed, folder: Path) -> None:
    typed("run", "small.yaml", "--seed", "5")
    for hash_seed in ("0", "1234"):
        done = subprocess.run(
            [sys.executable, "-m", "harness.cli", "replay", "runs/latest", "--json"],
            env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == EXIT_PASS, done.stderr
        assert json.loads(done.stdout)["same"] == {"journal": True, "final_draw": True}
        assert "identical: journal SHA-256" in done.stderr
    assert len(kept(folder)) == 1


def test_a_replay_that_differs_is_an_error_that_says_why(typed, folder: Path) -> None:
    typed("run", "small.yaml", "--seed", "5")
    run = folder / "runs" / "latest"
    runfolder.write_run(run, runfolder.read_run(run) | {"final_draw": "0x1", "commit": "000000000000"})
    code, _, err = typed("replay", "runs/latest")
    assert code == EXIT_ERROR
    assert "error: the replay differs in final_draw\n  hint: the code is another: it ran at commit 000000000000" in err


def test_a_failing_run_is_replayed_with_its_defect(typed) -> None:
    typed("run", "small.yaml", "--seed", "5", "--defect", "skip-last-record")
    code, out, _ = typed("replay", "runs/latest")
    assert code == EXIT_FAIL
    assert "identical: journal SHA-256" in out


def test_check_judges_again_and_gives_the_same(typed, folder: Path) -> None:
    typed("run", "small.yaml", "--seed", "5")
    before = (folder / "runs" / "latest" / "verdict.json").read_bytes()
    code, out, _ = typed("check", "runs/latest")
    assert code == EXIT_PASS
    assert out.startswith("PASS  small  (sim, reference)")
    assert (folder / "runs" / "latest" / "verdict.json").read_bytes() == before


def test_check_finishes_a_run_whose_harness_was_killed(typed, folder: Path) -> None:
    """What ``kill -9`` leaves: run.json without a verdict, a journal with a torn last line, no tables."""
    typed("run", "small.yaml", "--seed", "5")
    run = folder / "runs" / "latest"
    journal = (run / "journal.jsonl").read_bytes()
    (run / "journal.jsonl").write_bytes(journal[: len(journal) // 2])
    for path in [*run.glob("*.parquet"), run / "verdict.json", run / "report.html"]:
        path.unlink()
    started = runfolder.read_run(run)
    runfolder.write_run(run, {k: v for k, v in started.items() if k not in ("history_sha256", "final_draw", "verdict")})
    code, out, _ = typed("check", "runs/latest")
    assert code == EXIT_UNKNOWN
    assert "the run ended in phase" in out
    assert {path.name for path in run.glob("*.parquet")} >= {"ops.parquet", "reads.parquet", "events.parquet"}
    code, out, _ = typed("replay", "runs/latest")
    assert "the journal of the killed run is the beginning of this one" in out


def test_a_journal_that_was_changed_proves_nothing(typed, folder: Path) -> None:
    typed("run", "small.yaml", "--seed", "5")
    with (folder / "runs" / "latest" / "journal.jsonl").open("ab") as file:
        file.write(b"\n")
    code, _, err = typed("check", "runs/latest")
    assert code == EXIT_ERROR
    assert "error: the journal was changed after the run" in err


@pytest.mark.parametrize("table", ["ops", "reads", "messages", "queues", "events"])
@pytest.mark.parametrize("content", [None, b"rubbish"])
def test_check_judges_the_journal_whatever_became_of_the_tables(
    typed, folder: Path, table: str, content: bytes | None
) -> None:
    """A missing table is not an empty one: without its reads every message of a good run would be lost."""
    typed("run", "small.yaml", "--seed", "5")
    path = folder / "runs" / "latest" / f"{table}.parquet"
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    code, out, _ = typed("check", "runs/latest")
    assert (code, out.split()[0]) == (EXIT_PASS, "PASS")
    assert path.read_bytes() == whole


def test_a_folder_that_cannot_be_made_is_told_by_name(typed) -> None:
    code, _, err = typed("run", "small.yaml", "--seed", "5", "--out", "small.yaml/runs")
    assert code == EXIT_USAGE
    assert "small.yaml is a file\n  hint: runs need a folder: --out DIR\n" in err


def test_a_replay_that_leaves_nothing_says_how_to_see_it_again(typed, folder: Path) -> None:
    typed("run", "small.yaml", "--seed", "5")
    run = (folder / "runs" / "latest").resolve()
    assert f"replay: mqchaos replay {run}\n" in typed("replay", "runs/latest")[1]
    assert json.loads(typed("replay", "runs/latest", "--json")[1])["replay"] == f"mqchaos replay {run}"
    assert kept(folder) == [run.name]
    typed("replay", "runs/latest", "--out", "again")
    assert len(list(folder.glob("again/r-*/run.json"))) == 1
    typed("replay", str(run), "--keep", "all")
    assert len(kept(folder)) == 2


@pytest.mark.parametrize(("presses", "expected"), [(1, EXIT_UNKNOWN), (2, EXIT_INTERRUPTED)])
def test_the_first_ctrl_c_judges_what_there_is_and_the_second_leaves(
    presses: int, expected: int, typed, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pressed from the middle of a run: at the first look at the progress after the fault has struck."""
    from harness.terminal import Ticker

    pressed = []

    def press_while_dead(self: Ticker, line: Callable[[], str]) -> None:
        if "cut_power" in line() and not pressed:
            pressed.extend([signal.SIGINT] * presses)
            for number in pressed:
                signal.raise_signal(number)

    monkeypatch.setattr(Ticker, "tick", press_while_dead)
    before = signal.getsignal(signal.SIGINT)  # whoever runs this in the background has it ignored
    code, out, err = typed("run", "small.yaml", "--seed", "5")
    assert (code, len(pressed)) == (expected, presses)
    assert "stopping: healing, draining and judging what there is" in err
    if presses == 1:
        assert "interrupted by the user" in out
    else:
        assert err.endswith("error: interrupted\n")
    assert signal.getsignal(signal.SIGINT) == before


def test_the_matrix_is_a_table_and_a_document(typed) -> None:
    words = ("matrix", "--seed", "5", "--seeds", "2", "--row", "single-master/async", "--fault", "kill")
    code, out, err = typed(*words, "--fault", "cut_power", "--json")
    cells = json.loads(out)["cells"]
    assert code == EXIT_PASS
    assert [(c["row"], c["fault"], c["outcome"], c["runs"]) for c in cells] == [
        ("single-master/async", "kill", "PASS", 2),
        ("single-master/async", "cut_power", "PASS", 2),
    ]
    assert cells[0]["with_loss"] == 0 < cells[1]["with_loss"]
    assert "│ single-master/async │ PASS 2/2" in err


def test_the_matrix_shows_what_a_defect_breaks_and_how_to_see_it(typed, folder: Path) -> None:
    words = ("matrix", "--seed", "5", "--seeds", "1", "--row", "single-master/sync", "--fault", "cut_power")
    code, out, _ = typed(*words, "--defect", "skip-last-record")
    assert code == EXIT_FAIL
    assert "FAIL  single-master/sync × cut_power, seed 0x5: accounting: 1 acknowledged message" in out
    assert f"replay: mqchaos replay runs/{kept(folder)[0]}" in out


def test_runs_land_in_the_lake_once(typed, folder: Path) -> None:
    typed("run", "small.yaml", "--seeds", "5..6", "--keep", "all")
    code, out, _ = typed("lake", "add", "runs", "--json")
    assert (code, len(json.loads(out)["added"])) == (EXIT_PASS, 2)
    code, out, _ = typed("lake", "add", "runs")
    assert (code, out) == (EXIT_PASS, "0 runs added, 2 already in the lake\n")


def test_a_run_that_was_never_judged_does_not_keep_the_others_from_landing(typed, folder: Path) -> None:
    typed("run", "small.yaml", "--seeds", "5..6", "--keep", "all")
    killed = folder / "runs" / kept(folder)[0]
    (killed / "verdict.json").unlink()
    code, out, err = typed("lake", "add", "runs")
    assert (code, out) == (EXIT_PASS, "1 run added\n")
    assert err == f"left out, never judged (mqchaos check does it): {killed.name}\n"
    code, out, _ = typed("lake", "add", str(killed))
    assert code == EXIT_ERROR
    assert "quarantined" in out
    assert "verdict.json" in out


def test_what_mends_a_quarantined_run_is_said_and_does(typed, folder: Path) -> None:
    typed("run", "small.yaml", "--seeds", "5..6", "--keep", "all")
    one, other = (folder / "runs" / name for name in kept(folder))
    (one / "ops.parquet").write_bytes(b"PAR1")
    about = (other / "run.json").read_text()
    (other / "run.json").write_text(about[:40])
    code, out, err = typed("lake", "add", "runs")
    assert (code, out.splitlines()[0]) == (EXIT_ERROR, "0 runs added, 2 quarantined")
    assert "mqchaos check RUN writes tables and verdict anew" in err
    assert typed("check", str(one))[0] == EXIT_PASS
    assert typed("check", str(other))[0] == EXIT_ERROR
    code, out, _ = typed("lake", "add", "runs")
    assert out.splitlines()[0] == "1 run added, 1 quarantined"
