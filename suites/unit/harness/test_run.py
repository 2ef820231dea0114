"""One run in the simulator: phases, determinism, what is kept, what happens to a run that is cut short."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from checkers.verdict import Outcome
from harness import runfolder
from harness.errors import UsageError
from harness.judge import CHECK, judge
from harness.run import Interrupt, run_scenario
from suites.unit.harness.tiny import CUT, KILL, tiny

ROOT = Path(__file__).resolve().parents[3]


def lines(result) -> list[dict]:
    return [json.loads(line) for line in (result.folder / "journal.jsonl").read_text().splitlines()]


def events(result, kind: str) -> list[dict]:
    return [line for line in lines(result) if line["t"] == "event" and line["kind"] == kind]


def check(result, name: str):
    return next(verdict for verdict in result.verdicts if verdict.check == name)


# Phases ---------------------------------------------------------------------------------------------------------------


def test_a_run_goes_through_its_phases_in_order(tmp_path):
    result = run_scenario(tiny(KILL), seed=1, out=tmp_path)
    phases = ["prepare", "start", "steady", "faults", "heal", "converge", "drain", "dump", "check"]
    assert [event["step"] for event in events(result, "phase")] == phases
    assert [name for name, _ in runfolder.read_run(result.folder)["phases"]] == phases
    assert result.outcome is Outcome.PASS


def test_a_run_without_faults_has_no_phase_of_faults_and_passes(tmp_path):
    result = run_scenario(tiny(), seed=1, out=tmp_path)
    assert "faults" not in [event["step"] for event in events(result, "phase")]
    assert result.outcome is Outcome.PASS


def test_a_fault_lies_within_its_phase_and_its_acts_are_events_of_the_node(tmp_path):
    result = run_scenario(tiny(KILL), seed=1, out=tmp_path)
    acts = [(event["node"], event["step"]) for event in events(result, "node")]
    expected = [("namesrv-1", "started"), ("broker-a-0", "started"), ("broker-a-0", "ready")]
    assert acts == [*expected, ("broker-a-0", "killed"), ("broker-a-0", "started")]
    steps = [event["step"] for event in events(result, "fault")]
    assert steps == ["resolve", "inject", "probe", "heal", "heal_probe"]


def test_load_is_what_the_scenario_asks_for():
    result = run_scenario(tiny(), seed=1, keep="none")
    assert result.measures["sent"] == result.measures["ok"] == 100
    accounting = check(result, "accounting").measures
    assert accounting["sent"] == accounting["drained"] == 101, "and the operator's marker"


def test_a_power_cut_shows_its_loss_and_the_lost_topic_is_unreachable_until_created_again(tmp_path):
    """Names reach the platter after 5 s (ext4's commit), so a topic made a second before the cut is gone."""
    results = [run_scenario(tiny(CUT), seed=seed, out=tmp_path) for seed in range(8)]
    assert {result.outcome for result in results} == {Outcome.PASS}
    lost = [check(result, "accounting").measures["lost"] for result in results]
    assert sum(count > 0 for count in lost) >= 6
    unreachable = [result for result in results if check(result, "accounting").measures["unreachable"]]
    assert unreachable
    notes = [event for event in events(unreachable[0], "note") if event["step"] == "unreachable"]
    assert [note["node"] for note in notes] == ["broker-a-0"]
    created = [line for line in lines(unreachable[0]) if line["t"] == "invoke" and line["f"] == "create_topic"]
    assert len(created) == 2
    assert created[1]["e"] > notes[0]["e"]


def test_synchronous_flush_loses_nothing_in_the_same_cuts():
    for seed in range(8):
        result = run_scenario(tiny(CUT, flush="sync"), seed=seed, keep="none")
        assert (result.outcome, check(result, "accounting").measures["lost"]) == (Outcome.PASS, 0)


@pytest.mark.parametrize(("load", "f"), [({"observers": ("routes",)}, "route"), ({"kind": "producer"}, "produce")])
def test_other_loads_pass_through_the_same_phases(load, f, tmp_path):
    result = run_scenario(tiny(KILL, brokers=2, **load), seed=3, out=tmp_path)
    assert result.outcome is Outcome.PASS, [v.to_json() for v in result.verdicts if v.outcome]
    fs = {line["f"] for line in lines(result) if line["t"] == "invoke"}
    assert f in fs


# Determinism ----------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_history_another_seed_another():
    first, again, other = (run_scenario(tiny(CUT), seed=seed, keep="none") for seed in (5, 5, 6))
    assert (first.history_sha256, first.final_draw) == (again.history_sha256, again.final_draw)
    assert first.history_sha256 != other.history_sha256
    assert first.final_draw != other.final_draw


def test_what_is_kept_and_who_watches_changes_nothing(tmp_path):
    seen = []
    kept = run_scenario(tiny(CUT), seed=5, out=tmp_path, on_progress=seen.append)
    unkept = run_scenario(tiny(CUT), seed=5, keep="none")
    assert (kept.history_sha256, kept.final_draw) == (unkept.history_sha256, unkept.final_draw)
    assert {progress.phase for progress in seen} >= {"steady", "faults"}


def test_the_hash_seed_of_the_interpreter_changes_nothing():
    code = (
        "from suites.unit.harness.tiny import CUT, tiny; from harness.run import run_scenario;"
        "r = run_scenario(tiny(CUT, brokers=2), seed=9, keep='none'); print(r.history_sha256, r.final_draw)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "4711")
    ]
    assert said[0] == said[1]


# What is kept ---------------------------------------------------------------------------------------------------------


def test_a_kept_run_has_everything_and_the_journal_has_the_digest(tmp_path):
    result = run_scenario(tiny(KILL), seed=0xBEEF, out=tmp_path)
    names = {path.name for path in result.folder.iterdir()}
    tables = {f"{table}.parquet" for table in ("ops", "reads", "queues", "messages", "events")}
    assert names == tables | {"scenario.yaml", "run.json", "journal.jsonl", "verdict.json", "report.html", "nodes"}
    assert (tmp_path / "latest").resolve() == result.folder.resolve()
    assert result.folder.name.endswith("-beef")
    run = runfolder.read_run(result.folder)
    journal = (result.folder / "journal.jsonl").read_bytes()
    assert run["history_sha256"] == result.history_sha256 == sha256(journal).hexdigest()
    assert (run["verdict"], run["seed"], run["backend"]) == ("PASS", "0xbeef", "sim")
    assert run["nodes"]["broker-a-0"]["flushDiskType"] == "ASYNC_FLUSH"
    assert (result.folder / "nodes" / "broker-a-0" / "dump").is_dir()


def test_failures_are_kept_passes_are_not(tmp_path):
    assert run_scenario(tiny(KILL), seed=1, out=tmp_path, keep="failures").folder is None
    assert not list(tmp_path.iterdir())
    bad = run_scenario(tiny(KILL), seed=1, out=tmp_path, keep="failures", defects=("skip-last-record",))
    assert bad.outcome is Outcome.FAIL
    assert sha256((bad.folder / "journal.jsonl").read_bytes()).hexdigest() == bad.history_sha256
    assert runfolder.read_run(bad.folder)["defects"] == ["skip-last-record"]


def test_real_processes_cannot_leave_nothing():
    with pytest.raises(UsageError, match="leave a folder"):
        run_scenario(tiny(), seed=1, backend="process", keep="none")


def test_unknown_backends_and_targets_are_usage_errors():
    with pytest.raises(UsageError, match="backend 'simm'"):
        run_scenario(tiny(), seed=1, backend="simm")
    with pytest.raises(UsageError, match="target 'kafka'"):
        run_scenario(tiny(), seed=1, target="kafka")


def test_judging_the_folder_again_gives_the_same(tmp_path):
    result = run_scenario(tiny(CUT), seed=2, out=tmp_path)
    again = judge(runfolder.load_history(result.folder), runfolder.read_run(result.folder), result.folder)
    assert [verdict.to_json() for verdict in again] == [verdict.to_json() for verdict in result.verdicts]


def test_a_killed_run_can_be_judged_and_is_unknown(tmp_path):
    """What a ``kill -9`` of the harness leaves: a torn journal, no tables, no verdict."""
    result = run_scenario(tiny(KILL), seed=1, out=tmp_path)
    folder = result.folder
    journal = (folder / "journal.jsonl").read_bytes()
    for path in folder.glob("*.parquet"):
        path.unlink()
    (folder / "journal.jsonl").write_bytes(journal[: len(journal) // 2])
    verdicts = judge(runfolder.load_history(folder), runfolder.read_run(folder))
    life = next(verdict for verdict in verdicts if verdict.check == CHECK)
    assert life.outcome is Outcome.UNKNOWN
    assert "the run ended in phase" in life.reasons[0]


# Cut short ------------------------------------------------------------------------------------------------------------


def pressing(times: int, phase: str, with_fault: bool = False):
    interrupt = Interrupt()

    def watch(progress):
        if progress.phase == phase and bool(progress.faults) == with_fault and interrupt.presses == 0:
            for _ in range(times):
                interrupt.press()

    return interrupt, watch


def test_one_press_ends_the_load_heals_drains_and_judges(tmp_path):
    interrupt, watch = pressing(1, "faults", with_fault=True)
    long_kill = KILL | {"hold": "1s"}
    result = run_scenario(tiny(long_kill), seed=1, out=tmp_path, on_progress=watch, interrupt=interrupt)
    assert result.interrupted
    assert result.outcome is Outcome.UNKNOWN
    assert "interrupted by the user" in check(result, CHECK).reasons
    assert result.measures["sent"] < 100
    assert [event["step"] for event in events(result, "fault")][-2:] == ["heal", "heal_probe"]
    assert [event["step"] for event in events(result, "phase")][-4:] == ["converge", "drain", "dump", "check"]
    assert check(result, "accounting").measures["lost"] == 0


def test_two_presses_heal_and_leave_without_a_verdict(tmp_path):
    interrupt, watch = pressing(2, "faults", with_fault=True)
    with pytest.raises(KeyboardInterrupt):
        run_scenario(tiny(KILL | {"hold": "1s"}), seed=1, out=tmp_path, on_progress=watch, interrupt=interrupt)
    folder = (tmp_path / "latest").resolve()
    steps = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    faults = [line["step"] for line in steps if line["t"] == "event" and line["kind"] == "fault"]
    assert faults[-2:] == ["heal", "heal_probe"]
    assert not (folder / "verdict.json").exists()
