"""When is a finding there, gone, changed, or undecided?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from checkers.history import schema
from checkers.history.history import History
from checkers.verdict import Anomaly, Outcome, Verdict
from harness import runfolder
from harness.errors import BackendUnavailable, HarnessError
from harness.run import RunResult
from harness.scenario import find
from scripts.findings_page import PAGE, page, seen, table
from suites.findings import report, scenarios
from suites.findings.asking import Answer
from suites.findings.histories import (
    CHANCES,
    DECIDERS,
    answered_while_forces_failed,
    stored_before_the_old_end,
)
from suites.findings.scenarios import Runs, ask_runs, decide, ended_runs
from suites.findings.seen import Seen
from suites.findings.table import Finding, findings
from suites.unit.checkers.build import Build

FAILS = Finding(9, "f", run="s", shows={"anomaly": "unforced-ok"})
COUNTS = Finding(1, "f", run="s", seeds=(1, 2, 3), shows={"measure": "lost"})
ENDS = Finding(14, "f", run="s", shows={"error": "nothing arrives"})
NONE_SEEN = "this scenario is there to show a failure of the kind 'unforced-ok', and none was seen"


def run(*verdicts: Verdict) -> RunResult:
    worst = max(verdict.outcome for verdict in verdicts)
    return RunResult("r", "s", "process", "rocketmq:5.5.0", 1, worst, verdicts, "", 0, None)


def failed(kind: str, allowed: bool = False) -> Verdict:
    outcome = Outcome.PASS if allowed else Outcome.FAIL
    return Verdict("accounting", outcome, (Anomaly(kind, f"{kind} happened", (), {}, allowed=allowed),))


def counted(lost: int) -> Verdict:
    return Verdict("accounting", Outcome.PASS, measures={"lost": lost})


def unknown(reason: str) -> Verdict:
    return Verdict("faults", Outcome.UNKNOWN, reasons=(reason,))


@pytest.mark.parametrize(
    ("finding", "outcome", "state"),
    [
        (FAILS, run(failed("unforced-ok")), "there"),
        (FAILS, run(failed("unforced-ok", allowed=True)), "there"),
        (FAILS, run(unknown(NONE_SEEN)), "gone"),
        (FAILS, run(unknown(NONE_SEEN), unknown("f1 did not take effect")), "undecided"),
        (FAILS, run(failed("lost"), unknown(f"{NONE_SEEN}; seen instead: lost")), "changed"),
        (FAILS, HarnessError("the cluster did not get ready"), "undecided"),
        (COUNTS, run(counted(3)), "there"),
        (COUNTS, run(counted(0)), "gone"),
        (COUNTS, run(Verdict("routes", Outcome.PASS, measures={"lost": {"f1/a": 0, "f1/b": 120_000}})), "there"),
        (COUNTS, run(Verdict("routes", Outcome.PASS, measures={"lost": {}})), "gone"),
        (COUNTS, run(Verdict("log", Outcome.PASS)), "undecided"),
        (COUNTS, run(counted(0), unknown("f1 did not take effect: nothing was unwritten")), "undecided"),
        (ENDS, BackendUnavailable("nothing arrives at the slaves broker-a-1"), "there"),
        (ENDS, BackendUnavailable("no Java"), "undecided"),
        (ENDS, run(counted(0)), "gone"),
    ],
)
def test_a_run_decides(finding: Finding, outcome: RunResult | HarnessError, state: str) -> None:
    assert decide(finding, outcome).state == state


@pytest.mark.parametrize(
    ("verdict", "had", "seen"),
    [
        (unknown(NONE_SEEN), Seen("gone", "7 sends"), Seen("gone", "7 sends")),
        (unknown(NONE_SEEN), Seen("undecided", "no send"), Seen("undecided", "no send")),
        (failed("unforced-ok"), Seen("undecided", "no send"), Seen("there", "unforced-ok happened")),
        (unknown("f1 did not take effect"), Seen("gone", "7 sends"), Seen("undecided", "f1 did not take effect")),
    ],
)
def test_gone_is_said_with_the_figures_of_the_chance_that_there_was(
    verdict: Verdict, had: Seen, seen: Seen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(CHANCES, "had", lambda history, folder: had)
    monkeypatch.setattr(scenarios.runfolder, "load_history", lambda folder: noted())
    assert decide(replace(FAILS, chance="had"), replace(run(verdict), folder=tmp_path)) == seen


@pytest.mark.parametrize(
    ("losses", "state", "asked"),
    [([0, 5, 0], "there", 2), ([0, 0, 0], "gone", 3), ([0, None, 0], "undecided", 3), ([None, None, 1], "there", 3)],
)
def test_the_first_seed_that_shows_it_ends_the_asking(losses: list[int | None], state: str, asked: int) -> None:
    made: list[int] = []

    def one(scenario: str, seed: int) -> RunResult:
        made.append(seed)
        lost = losses[seed - 1]
        return run(counted(lost) if lost is not None else unknown("no"), counted(lost or 0))

    assert ask_runs(COUNTS, one).state == state
    assert len(made) == asked


def test_an_asking_goes_on_with_the_runs_of_this_commit_that_have_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scenarios, "BACKEND", "sim")
    made = Runs("reference", tmp_path).of("single-master-kill", 1)
    assert isinstance(made, RunResult)
    assert made.folder is not None
    again = Runs("reference", tmp_path, resume=True).of("single-master-kill", 1)
    assert isinstance(again, RunResult)
    assert (again.folder, again.outcome, again.verdicts) == (made.folder, made.outcome, made.verdicts)
    run_of = runfolder.read_run(made.folder)
    for other in ({"commit": "0123"}, {"interrupted": True}, {"target": "rocketmq:5.5.0"}, {"defects": ["x"]}):
        runfolder.write_run(made.folder, run_of | other)
        assert not dict(ended_runs(tmp_path, "reference")), other
    runfolder.write_run(made.folder, run_of)
    (made.folder / "verdict.json").unlink()
    assert not dict(ended_runs(tmp_path, "reference"))


def noted(*events: tuple[int, str, str, object]) -> History:
    """(seconds, node, step, detail) of notes."""
    columns: dict[str, list[object]] = {name: [] for name in schema.EVENTS.names}
    for number, (at, node, step, detail) in enumerate(events):
        row = {"ns": at * 10**9, "event": number, "kind": "note", "node": node, "fault": "", "step": step}
        row |= {"effective": -1, "detail": json.dumps(detail) if detail else ""}
        for name in columns:
            columns[name].append(row[name])
    return History.from_columns({"events": columns})


BOTH, ONE = {"brokers": {"broker-a": [0], "broker-b": [0]}}, {"brokers": {"broker-a": [0]}}
BACK = (50, "namesrv-1", "heal", None)


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([(1, "client-1", "routes", BOTH), BACK, (60, "client-1", "routes", ONE)], "there"),
        ([(1, "client-1", "routes", BOTH), BACK, (60, "client-2", "routes", ONE)], "gone"),
        ([(1, "client-1", "routes", BOTH), (40, "client-1", "routes", ONE), BACK], "gone"),
        ([(1, "client-1", "routes", BOTH)], "undecided"),
    ],
)
def test_a_client_that_forgets_is_one_that_knew(events: list[tuple[int, str, str, object]], state: str) -> None:
    assert DECIDERS["clients_forget_brokers"](noted(*events), Path()).state == state


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ({"namesrv-1": "IDLE exception", "namesrv-2": "The broker channel expired"}, "there"),
        ({"namesrv-1": "The broker channel expired", "namesrv-2": ""}, "gone"),
        ({"namesrv-1": "", "namesrv-2": ""}, "undecided"),
    ],
)
def test_the_log_of_a_nameserver_tells_why_it_dropped_a_broker(
    said: dict[str, str], state: str, tmp_path: Path
) -> None:
    for node, text in said.items():
        folder = tmp_path / "nodes" / node / "log"
        folder.mkdir(parents=True)
        (folder / "stdout").write_text(text)
    history = noted(*((1, node, "started", None) for node in said))
    assert DECIDERS["dropped_by_idle_connection"](history, tmp_path).state == state


def answers(*states: str) -> list[Answer]:
    return [
        Answer(Finding(number, "f", ask="brokers.x"), "rocketmq:5.5.0", Seen(state, "so"))  # type: ignore[arg-type]
        for number, state in enumerate(states, start=1)
    ]


@pytest.mark.parametrize(
    ("states", "recorded", "code"),
    [
        (("there", "gone", "does not apply"), {1: "there", 2: "gone"}, 0),
        (("there", "gone"), {}, 0),
        (("there",), {1: "gone"}, 1),
        (("gone",), {1: "there"}, 1),
        (("gone", "undecided"), {1: "there"}, 1),
        (("there", "undecided"), {1: "there", 2: "there"}, 2),
    ],
)
def test_a_build_fails_for_news_and_doubts_what_is_undecided(
    states: tuple[str, ...], recorded: dict[int, str], code: int, tmp_path: Path
) -> None:
    each = answers(*states)
    assert report.exit_code(each, recorded) == code
    report.write_junit(tmp_path / "x.xml", "rocketmq:5.5.0", each, recorded)
    (suite,) = Xml.parse(tmp_path / "x.xml").getroot()
    is_failed, is_doubted = suite.get("failures") != "0", suite.get("errors") != "0"
    assert (1 if is_failed else 2 if is_doubted else 0) == code
    assert [one["is_news"] for one in report.document("t", each, recorded)["findings"]].count(True) == int(
        suite.get("failures", "")
    )


def test_the_table_names_scenarios_and_functions_that_are_there() -> None:
    assert [finding.number for finding in findings()] == list(range(1, len(findings()) + 1))
    for finding in findings():
        assert not finding.run or find(finding.run).is_file()
        assert finding.shows.get("history", "") in {"", *DECIDERS}
        if finding.ask:
            module, _, function = finding.ask.partition(".")
            text = (Path(__file__).parent / f"{module}.py").read_text("utf-8")
            assert f"def {function}(" in text


def test_the_page_has_the_table_that_the_record_makes() -> None:
    assert PAGE.read_text("utf-8") == page(), "run scripts/findings_page.py"


def test_every_finding_of_the_page_is_in_the_table() -> None:
    titles = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("## ") and line[3].isdigit()]
    assert [int(line[3:].partition(".")[0]) for line in titles] == [finding.number for finding in findings()]


def test_a_release_without_a_record_has_an_empty_cell_and_a_difference_is_told() -> None:
    entries = [
        {"finding": 9, "target": "rocketmq:4.9.7", "state": "there", "seen": "200 lost"},
        {"finding": 9, "target": "rocketmq:5.5.0", "state": "gone", "seen": "none | lost"},
    ]
    assert table([FAILS], entries, ["4.9.7", "5.4.0", "5.5.0"]).splitlines()[-1] == "| 9 | f | there |  | gone |"
    assert seen([FAILS], entries, ["4.9.7", "5.5.0"]) == "- **9** 4.9.7: there, 200 lost; 5.5.0: gone, none \\| lost"
    assert seen([FAILS], entries[:1], ["4.9.7", "5.5.0"]) == ""


@pytest.mark.parametrize(
    ("status", "complete", "state"),
    [
        ("FLUSH_DISK_TIMEOUT", 150, "gone"),
        ("SERVICE_NOT_AVAILABLE", 150, "gone"),
        ("CONNECTION_CLOSED", 150, "undecided"),
        ("SEND_OK", 250, "undecided"),
        ("SEND_OK", None, "undecided"),
    ],
)
def test_a_broker_that_stood_still_had_no_chance_to_acknowledge_what_was_not_forced(
    status: str, complete: int | None, state: str
) -> None:
    build = Build()
    build.send(10, 11, 0, 0)
    build.fault("fail_sync", "broker-a-0", 100, 101, heal=300)
    build.send(120, complete, 1, 1, status=status)
    build.fault("cut_power", "broker-a-0", 200, 201, heal=250, fault="f2")
    assert answered_while_forces_failed(build.history(), Path()).state == state


@pytest.mark.parametrize(
    ("stops", "sends", "state"),
    [
        ([(1000, 9000), (31000, 38000)], [(900, 950, "ok"), (2000, 2001, "fail"), (32000, 32001, "fail")], "there"),
        ([(1000, 9000), (31000, 33000)], [(2000, 2001, "fail"), (32000, 32001, "fail")], "gone"),
        ([(1000, 9000)], [(8000, 8010, "ok"), (8500, 8501, "fail")], "gone"),
        ([(1000, 9000)], [(8000, 8010, "weak"), (8500, 8501, "fail")], "gone"),
        ([(1000, 9000)], [(2000, None, "info"), (8000, 9500, "ok")], "there"),
        ([(1000, 9000)], [(900, 950, "ok"), (9500, 9600, "ok")], "undecided"),
        ([(1000, 1010)], [(900, 950, "ok")], "gone"),
        ([], [(900, 950, "ok")], "undecided"),
    ],
)
def test_a_stop_is_long_from_the_last_answer_to_the_end(
    stops: list[tuple[int, int]], sends: list[tuple[int, int | None, str]], state: str
) -> None:
    build = Build()
    for number, (invoke, complete, outcome) in enumerate(sends):
        build.send(invoke, complete, number, number if outcome == "ok" else -1, outcome=outcome)
        build.send(invoke, invoke + 1, 100 + number, queue=2)  # another broker answers all the time
    for number, (begin, end) in enumerate(stops):
        build.fault("stop", "broker-a-0", begin, end, heal=end + 500, fault=f"f{number}")
    build.fault("restart", "broker-a-0", 50_000, 59_000, fault="f8")  # its act has the next start in it
    build.fault("kill", "broker-a-0", 60_000, 60_001, heal=61_000, fault="f9")
    assert DECIDERS["refuses_long_before_its_end"](build.history(), Path()).state == state


@pytest.mark.parametrize(
    ("attempts", "outcome", "state"),
    [
        (["broker-a", "broker-a", "broker-a"], "fail", "there"),
        (["broker-a", "broker-a", "broker-a"], "info", "there"),
        (["broker-a", "broker-b"], "ok", "gone"),
        (["broker-a", "broker-a", "broker-b"], "fail", "gone"),
        (["broker-b"], "ok", "undecided"),
    ],
)
def test_a_producer_that_never_met_the_dead_broker_shows_nothing(attempts: list[str], outcome: str, state: str) -> None:
    build = Build()
    for number, broker in enumerate(attempts):
        is_last = number == len(attempts) - 1
        status = "SEND_OK" if is_last and outcome == "ok" else "CONNECT_FAILED"
        build.send(
            10 * number, 10 * number + 5, 0, 0 if status == "SEND_OK" else -1, status, 2 * (broker != "broker-a")
        )
    status = "SEND_OK" if outcome == "ok" else "CONNECT_FAILED"
    build.op("produce", 0, 100, status, message=0, outcome=outcome)
    assert DECIDERS["retries_stay_at_one_broker"](build.history(), Path()).state == state


@pytest.mark.parametrize(
    ("positions", "kill", "state"),
    [
        ([3000, 4000], 400, "gone"),
        ([3000, 9000], 400, "undecided"),  # past the old end
        ([], 400, "undecided"),  # not back in time
        ([3000], None, "undecided"),
    ],
)
def test_old_records_lie_behind_new_ones_only_where_the_log_ends_before_its_old_end(
    positions: list[int], kill: int | None, state: str
) -> None:
    build = Build()
    for number in range(9):
        build.send(number, number + 1, number, number, position=1000 * number)
    build.fault("flip_bits", "broker-a-0", 100, 101, heal=150)
    for number, position in enumerate(positions):
        build.send(200 + number, 201 + number, 10 + number, 3 + number, position=position)
    if kill is not None:
        build.fault("kill", "broker-a-0", kill, kill + 1, heal=450, fault="f2")
    build.send(500, 501, 20, 12, position=5000)
    assert stored_before_the_old_end(build.history(), Path()).state == state


def test_every_chance_that_the_table_names_is_there() -> None:
    assert {finding.chance for finding in findings()} - {""} == set(CHANCES)
