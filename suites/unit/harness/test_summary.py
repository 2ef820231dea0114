"""What is said at the end: seeds that can be pasted back, a summary with the worst first, JUnit, the matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest

from checkers.verdict import Anomaly, Outcome, Verdict, worst
from harness import junit, matrix, seeds
from harness.errors import UsageError
from harness.matrix import Cell, Plan, Report, cells_of, scenario_of
from harness.scenario_file import dump, parse
from harness.summary import LINES_MAX, headline, lines_of, to_json


@dataclass(frozen=True)
class Result:
    """As much of a run's result as is shown."""

    verdicts: tuple[Verdict, ...]
    scenario: str = "a-scenario"
    backend: str = "sim"
    target: str = "reference"
    seed: int = 31
    history_sha256: str = "ab"
    folder: Path | None = field(default_factory=lambda: Path("runs/r-1"))

    @property
    def outcome(self) -> Outcome:
        return worst(self.verdicts)

    @property
    def replay_command(self) -> str:
        return f"mqchaos replay {self.folder}"


def bad(count: int, kind: str = "lost") -> Verdict:
    return Verdict(
        "accounting",
        Outcome.FAIL,
        tuple(Anomaly(kind, f"message {number} is {kind}") for number in range(count)),
        {"sent": 100, "ok": 90, "lost": count},
    )


PASSED = Verdict("log", Outcome.PASS)
ALLOWED = Verdict(
    "accounting",
    Outcome.PASS,
    (Anomaly("lost", "a suffix of 9 was lost", allowed=True),),
    {"sent": 100, "ok": 99, "lost": 9},
)
UNTOLD = Verdict("faults", Outcome.UNKNOWN, reasons=("kill of broker-a-0 did not bite", "nor did another"))
CRASHED = Verdict(
    "log", Outcome.UNKNOWN, reasons=("the checker itself failed:\nTraceback (most recent…)\n  x\nKeyError: 7",)
)


def test_a_good_run_says_so_and_how_to_see_it_again() -> None:
    assert lines_of(Result((ALLOWED, PASSED)), report="runs/r-1/report.html", replay="mqchaos replay runs/r-1") == [
        "PASS  a-scenario  (sim, reference)",
        "  allowed: a suffix of 9 was lost",
        "  sent 100, ok 99, lost 9",
        "  pass: accounting, log",
        "seed 0x1f",
        "report: runs/r-1/report.html",
        "replay: mqchaos replay runs/r-1",
    ]


def test_a_pass_says_what_was_done_to_the_cluster() -> None:
    words = [f"kill of broker-a-0 (f{number}) at {number}.000 s" for number in range(1, 6)]
    for count, line in (
        (0, []),
        (1, ["  faults: kill of broker-a-0 (f1) at 1.000 s"]),
        (5, [f"  faults: {', '.join(words[:3])} and 2 more"]),
    ):
        struck = Verdict("faults", Outcome.PASS, measures={"faults": count, "injected": words[:count]})
        assert lines_of(Result((struck,)))[1:-2] == line


def test_counts_add_up_what_was_drained_was_acknowledged_or_came_all_the_same() -> None:
    counted = Verdict(
        "accounting", Outcome.PASS, measures={"sent": 9, "ok": 5, "info": 4, "drained": 6, "recovered": 1}
    )
    assert "  sent 9, ok 5, info 4, drained 6, lost 0, recovered 1" in lines_of(Result((counted,)))


def test_what_every_run_has_is_left_to_the_report() -> None:
    stale = Verdict("log", Outcome.PASS, (Anomaly("stale", "an end was told late", allowed=True),))
    assert lines_of(Result((stale,)))[1:2] == ["  pass: log"]
    forbidden = Verdict("log", Outcome.FAIL, (Anomaly("stale", "an end was told late"),))
    assert "    an end was told late" in lines_of(Result((forbidden,)))


def test_the_worst_comes_first_whatever_the_order_of_the_checks() -> None:
    lines = lines_of(Result((PASSED, UNTOLD, bad(1))))
    assert lines[:6] == [
        "FAIL  a-scenario  (sim, reference)",
        "  FAIL  accounting",
        "    message 0 is lost",
        "  UNKNOWN  faults",
        "    kill of broker-a-0 did not bite",
        "    nor did another",
    ]


@pytest.mark.parametrize("count", [1, 5, 20, 200])
@pytest.mark.parametrize("others", [0, 1, 6])
def test_a_summary_fits_on_a_screen_and_counts_what_it_leaves_out(count: int, others: int) -> None:
    many = Verdict("accounting", Outcome.FAIL, bad(count).anomalies + ALLOWED.anomalies * 2, bad(count).measures)
    lines = lines_of(Result((many, *[UNTOLD] * others, PASSED)), report="r", replay="p")
    assert len(lines) <= LINES_MAX
    shown = sum("is lost" in line for line in lines)
    left_out = [int(line.split("and ")[1].split()[0]) for line in lines if "more in the report" in line]
    assert shown >= 1
    assert shown == count or shown + left_out[0] == count
    assert lines[-2:] == ["report: r", "replay: p"]


def test_a_crashed_checker_is_told_by_its_last_line() -> None:
    assert "    KeyError: 7" in lines_of(Result((CRASHED,)))


def test_one_of_many_runs_is_one_line() -> None:
    assert headline(Result((PASSED, bad(3)))) == "accounting: message 0 is lost"
    assert headline(Result((ALLOWED,))) == "lost 9, as allowed"
    assert headline(Result((PASSED,))) == ""


def test_json_has_every_verdict() -> None:
    document = to_json(Result((bad(1), PASSED)))
    assert (document["outcome"], document["seed"]) == ("FAIL", "0x1f")
    assert [verdict["check"] for verdict in document["verdicts"]] == ["accounting", "log"]


def test_junit_fails_for_fail_and_errs_for_unknown(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "out.xml"
    strange = Verdict("log", Outcome.FAIL, (Anomaly("x", "remark \x00\x1b[31m & <b>"),))
    junit.write(path, [Result((PASSED,)), Result((UNTOLD,)), Result((strange,))])  # type: ignore[list-item]
    suite = ElementTree.parse(path).getroot()[0]
    assert {k: suite.get(k) for k in ("tests", "failures", "errors")} == {"tests": "3", "failures": "1", "errors": "1"}
    cases = suite.findall("testcase")
    assert [[child.tag for child in case] for case in cases] == [
        ["properties"],
        ["properties", "error"],
        ["properties", "failure"],
    ]
    properties = {p.get("name"): p.get("value") for p in cases[0].iter("property")}
    assert properties == {
        "seed": "0x1f",
        "backend": "sim",
        "target": "reference",
        "run_dir": "runs/r-1",
        "history_sha256": "ab",
        "verdict": "PASS",
    }
    assert "mqchaos replay runs/r-1" in (cases[1].find("error").text or "")
    assert cases[2].find("failure").get("message") == "log: remark ��[31m & <b>"


@pytest.mark.parametrize(
    ("seed", "many", "own", "expected"),
    [
        ("7", None, None, [7]),
        ("0x1f", None, 3, [31]),
        (None, None, 3, [3]),
        ("7", "3", None, [7, 8, 9]),
        (None, "2", 5, [5, 6]),
        (None, "5..8", 3, [5, 6, 7, 8]),
        (None, "0x10..0x11", None, [16, 17]),
    ],
)
def test_seeds_are_what_was_typed(seed: str | None, many: str | None, own: int | None, expected: list[int]) -> None:
    assert list(seeds.chosen(seed, many, own)) == expected


def test_a_fresh_seed_can_be_pasted_back() -> None:
    (fresh,) = seeds.chosen(None, None, None)
    assert seeds.parse_seed(seeds.text(fresh)) == fresh
    assert len({seeds.fresh() for _ in range(20)}) > 1


@pytest.mark.parametrize(
    ("seed", "many"),
    [("x", None), ("-1", None), (str(2**64), None), ("1", "2..3"), (None, "0"), (None, "3..1"), (None, "a")],
)
def test_what_is_no_seed_is_a_usage_error(seed: str | None, many: str | None) -> None:
    with pytest.raises(UsageError):
        seeds.chosen(seed, many, None)


CELLS = [(row.name, column) for row in matrix.ROWS for column in matrix.COLUMNS if matrix.exists(row.name, column)]


@pytest.mark.parametrize(("row", "column"), CELLS)
def test_every_cell_is_a_scenario_that_a_file_could_hold(row: str, column: str) -> None:
    scenario = scenario_of(row, column)
    assert parse(dump(scenario), "matrix") == scenario


def test_columns_on_slaves_have_cells_only_where_there_are_slaves() -> None:
    with_slaves = {row.name for row in matrix.ROWS if row.slaves}
    assert {row for row, column in CELLS if column == "slave-kill"} == with_slaves
    assert {row for row, column in CELLS if column == "kill"} == {row.name for row in matrix.ROWS}


def reports(row: str, column: str, *outcomes: Outcome, lost: int = 0) -> list[Report]:
    return [Report(row, column, seed, outcome, "", lost) for seed, outcome in enumerate(outcomes)]


def test_a_cell_is_as_good_as_its_worst_run() -> None:
    plan = Plan(("single-master/sync",), ("kill",), (0, 1, 2))
    found = reports("single-master/sync", "kill", Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN)
    (cell,) = cells_of(plan, reversed(found))
    assert (cell.outcome, cell.passed, cell.worst) == (Outcome.FAIL, 1, found[1])


@pytest.mark.parametrize(
    ("row", "column", "lost", "outcome"),
    [
        ("single-master/async", "cut_power", 0, Outcome.UNKNOWN),
        ("multi-master/async", "cut_power", 0, Outcome.UNKNOWN),
        ("single-master/async", "cut_power", 5, Outcome.PASS),
        ("single-master/sync", "cut_power", 0, Outcome.PASS),
        ("single-master/async", "kill", 0, Outcome.PASS),
    ],
)
def test_a_cell_that_may_lose_and_never_does_proves_nothing(row: str, column: str, lost: int, outcome: Outcome) -> None:
    plan = Plan((row,), (column,), (0, 1))
    (cell,) = cells_of(plan, reports(row, column, Outcome.PASS, Outcome.PASS, lost=lost))
    assert cell.outcome is outcome
    assert bool(cell.reason) is (outcome is Outcome.UNKNOWN)


def test_a_cell_without_runs_is_not_green() -> None:
    assert Cell("single-master/sync", "kill", ()).outcome is Outcome.UNKNOWN
