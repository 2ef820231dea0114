"""What runs come to, by table; which units are asked; records that outlive a kill; shares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.mutation.choice import judges_of
from harness.mutation.measure import Limits, measure, results
from harness.mutation.operators import Change
from harness.mutation.population import Mutant
from harness.mutation.probe import Footprint, footprints
from harness.mutation.records import Records
from harness.mutation.result import Result, result_of
from harness.mutation.reviewed import Review
from harness.mutation.score import Score, checks, score_of
from harness.mutation.workers import Said

PATH = "reference_impl/store/log.py"
TWINS = {("kill", 1): "aa", ("pause", 1): "bb"}


def said(unit: str, outcome: str, history: str = "", cause: str = "") -> Said:
    return Said(unit, 1, outcome, cause, history=history)


def mutant(line: int = 3, text: str = "a") -> Mutant:
    return Mutant("store", PATH, Change(0, "relation", "f", line, text, "b", 0))


def footprint(unit: str, cpu_s: float, lines: Sequence[int] = (3,), outcome: str = "PASS") -> Footprint:
    return Footprint(unit, 1, outcome, cpu_s, "", {PATH: frozenset(lines)})


@pytest.mark.parametrize(
    ("runs", "kind", "unit", "cause", "same"),
    [
        ([], "unexecuted", "", "", 0),
        ([said("kill", "PASS", "aa"), said("pause", "PASS", "bb")], "survived", "", "", 2),
        ([said("kill", "PASS", "aa"), said("pause", "PASS", "xx")], "survived", "", "", 1),
        ([said("kill", "FAIL", "xx", "accounting/lost")], "killed", "kill", "accounting/lost", 0),
        (
            [said("kill", "UNKNOWN", "x", "drain/…"), said("pause", "FAIL", "y", "log/two")],
            "killed",
            "pause",
            "log/two",
            0,
        ),
        ([said("kill", "UNKNOWN", "x", "drain/…"), said("pause", "PASS", "bb")], "noticed", "kill", "drain/…", 1),
        ([said("kill", "PASS", "aa"), said("pause", "endless")], "noticed", "pause", "", 1),
        ([said("kill", "crash")], "noticed", "kill", "", 0),
        ([said("kill", "ERROR", "", "ClusterError")], "noticed", "kill", "ClusterError", 0),
    ],
)
def test_what_runs_come_to(runs: list[Said], kind: str, unit: str, cause: str, same: int) -> None:
    result = result_of("m", 2, runs, TWINS)
    assert (result.kind, result.unit, result.cause, result.same) == (kind, unit, cause, same)
    assert result.runs == len(runs)


def names(chosen: list[Footprint]) -> list[str]:
    return [one.unit for one in chosen]


def test_the_cheapest_judge_first_and_no_kind_twice_in_a_row() -> None:
    probed = [footprint("a × kill", 1), footprint("b × kill", 2), footprint("a × pause", 3), footprint("scenario", 5)]
    assert names(judges_of(mutant(), probed, 100)) == ["a × kill", "a × pause", "scenario", "b × kill"]


def test_seconds_are_not_overspent_but_by_a_single_judge() -> None:
    probed = [footprint("cheap", 4), footprint("dear", 30), footprint("fair", 5)]
    assert names(judges_of(mutant(), probed, 10)) == ["cheap", "fair"]
    assert names(judges_of(mutant(), probed[1:2], 10)) == ["dear"]


def test_those_that_execute_most_of_the_module_are_asked_in_turn_with_the_cheapest() -> None:
    probed = [
        footprint("a × kill", 1),
        footprint("b × pause", 2),
        footprint("about it", 8, range(1, 9)),
        footprint("another", 9, range(3, 7)),
    ]
    assert names(judges_of(mutant(), probed, 100)) == ["a × kill", "about it", "b × pause", "another"]
    assert names(judges_of(mutant(), probed, 9)) == ["a × kill", "about it"]


def test_units_that_do_not_execute_the_line_or_fail_anyway_judge_nothing() -> None:
    probed = [footprint("elsewhere", 1, [4]), footprint("fails", 1, outcome="FAIL"), footprint("good", 9)]
    assert names(judges_of(mutant(), probed, 100)) == ["good"]


def test_footprints_come_back_as_they_were(tmp_path: Path) -> None:
    records = Records(tmp_path / "probe.jsonl", "s")
    records.append(
        {"unit": "u", "seed": 1, "outcome": "PASS", "cpu_s": 1.5, "history": "h", "lines": {PATH: [[1, 3], [7, 7]]}}
    )
    assert footprints(records) == [Footprint("u", 1, "PASS", 1.5, "h", {PATH: frozenset({1, 2, 3, 7})})]


def survived(one: Mutant, probed: Sequence[Footprint], seconds: float) -> Result:
    return Result(one.id, "survived", runs=1)


def test_a_measurement_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    records = Records(tmp_path / "mutants.jsonl", "source-1")
    mutants = [mutant(text=str(number)) for number in range(4)]
    begun = measure(mutants, [], records, Limits(), judge=survived)
    first = {next(begun).mutant, next(begun).mutant}
    begun.close()
    with records.path.open("ab") as file:
        file.write(b'{"source":"source-1","mutant":"tor')
    rest = {result.mutant for result in measure(mutants, [], records, Limits(), judge=survived)}
    assert first & rest == set()
    assert first | rest == {one.id for one in mutants} == results(records).keys()


def test_records_of_another_source_are_nobodys(tmp_path: Path) -> None:
    path = tmp_path / "mutants.jsonl"
    Records(path, "source-1").append(Result("m", "survived").to_record())
    assert results(Records(path, "source-2")) == {}
    assert results(Records(path, "source-1")) == {"m": Result("m", "survived")}


def test_survivors_are_judged_again_on_demand(tmp_path: Path) -> None:
    records = Records(tmp_path / "mutants.jsonl", "s")
    list(measure([mutant()], [], records, Limits(), judge=survived))
    assert list(measure([mutant()], [], records, Limits(), judge=survived)) == []
    assert len(list(measure([mutant()], [], records, Limits(), again={mutant().id}, judge=survived))) == 1


def test_none_begins_after_the_time(tmp_path: Path) -> None:
    records = Records(tmp_path / "mutants.jsonl", "s")
    assert list(measure([mutant()], [], records, Limits(until=0.0), judge=survived)) == []


def test_shares() -> None:
    kinds = ["killed", "killed", "noticed", "survived", "survived", "unexecuted"]
    judged = [(mutant(), Result(str(place), kind)) for place, kind in enumerate(kinds)]  # type: ignore[arg-type]
    score = score_of(judged, {"4": Review("there", "equivalent", "because"), "0": Review("x", "equivalent", "y")})
    assert score == Score(equivalent=1, unexecuted=1, killed=2, noticed=1, survived=1)
    assert (score.drawn, score.of_executed, score.of_all) == (6, 0.75, 0.6)
    assert (Score().of_executed, Score().of_all) == (0.0, 0.0)


def test_checks_are_counted_by_who_said_it_first() -> None:
    judged = [
        (mutant(), Result("1", "killed", outcome="FAIL", cause="accounting/lost")),
        (mutant(), Result("2", "noticed", outcome="endless")),
        (mutant(), Result("3", "survived")),
    ]
    assert checks(judged) == {"accounting": 1, "endless": 1}
