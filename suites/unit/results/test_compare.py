"""A comparison flags what was made worse, and lets equals pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from checkers.history.facts import RunFacts
from harness import runfolder
from harness.cli import main
from harness.matrix import Plan
from harness.run import run_scenario
from harness.scenario_file import parse
from reference_impl.environment import SECOND
from results.compare import compare
from results.compare.figures import Measured, figures_of, measure
from results.compare.page import write_page
from results.compare.pairs import PAIRS_MIN, _rank
from results.compare.pending import done_in, left, parts, run

LEFT, RIGHT = "rocketmq:1", "rocketmq:2"


def side(
    target: str, pairs: int, seed: int, *, lost: float = 0.0, slower: float = 1.0, cell: str = "m / async × kill"
) -> list[Measured]:
    """Runs as a real broker gives them: recovery and latency vary from run to run, and between the sides of a pair."""
    rng, noise = Random(7), Random(seed)
    return [
        Measured(f"{target}-{n}", "plan", hex(n), cell, target, "c", {
            "failed": 0.0,
            "lost": 100.0 * lost * noise.uniform(0.8, 1.2),
            "recovery_ms": slower * rng.uniform(2_500, 3_500) * noise.uniform(0.95, 1.05),
            "served": 0.8 + noise.uniform(-0.005, 0.005),
            "steady_ms": 3.0 * noise.uniform(0.9, 1.1),
        })
        for n in range(pairs)
    ]  # fmt: skip


def judgements(first: list[Measured], second: list[Measured]) -> dict[str, str]:
    return {found.figure.name: found.judgement for found in compare(first, second, (LEFT, RIGHT)).whole}


def test_a_release_that_loses_one_percent_more_is_worse() -> None:
    found = judgements(side(LEFT, 20, 1), side(RIGHT, 20, 2, lost=1.0))
    assert found == {"failed": "same", "lost": "worse", "recovery_ms": "same", "served": "same", "steady_ms": "same"}


def test_a_release_that_recovers_thirty_percent_slower_is_worse() -> None:
    comparison = compare(side(LEFT, 20, 1), side(RIGHT, 20, 2, slower=1.3), (LEFT, RIGHT))
    assert comparison.judgement == "worse"
    assert [found.figure.name for found in comparison.whole if found.judgement == "worse"] == ["recovery_ms"]


def test_the_other_way_round_it_is_better() -> None:
    assert judgements(side(LEFT, 20, 1, slower=1.3), side(RIGHT, 20, 2))["recovery_ms"] == "better"


def test_twenty_equal_pairs_are_never_called_worse() -> None:
    """In sixty comparisons of equals; and nearly all of them are called the same."""
    found = [compare(side(LEFT, 20, n), side(RIGHT, 20, n + 1000), (LEFT, RIGHT)).judgement for n in range(60)]
    assert "worse" not in found
    assert found.count("same") > 55


def test_few_pairs_cannot_tell_however_clear_it_seems() -> None:
    few = PAIRS_MIN - 1
    assert judgements(side(LEFT, few, 1), side(RIGHT, few, 2, slower=3.0))["recovery_ms"] == "cannot tell"


def test_a_difference_within_the_margin_does_not_matter() -> None:
    assert judgements(side(LEFT, 40, 1), side(RIGHT, 40, 2, slower=1.03))["recovery_ms"] == "same"


def test_runs_without_a_partner_are_counted_and_left_out() -> None:
    first, second = side(LEFT, 12, 1), side(RIGHT, 10, 2)
    comparison = compare(first, second, (LEFT, RIGHT))
    assert (comparison.pairs, comparison.unpaired) == (10, 2)


def test_what_a_run_cannot_tell_is_left_out_of_that_figure_only() -> None:
    first, second = side(LEFT, 10, 1), side(RIGHT, 10, 2)
    second[0].figures["recovery_ms"] = None
    counts = {found.figure.name: found.pairs for found in compare(first, second, (LEFT, RIGHT)).whole}
    assert counts == {"failed": 10, "lost": 10, "recovery_ms": 9, "served": 10, "steady_ms": 10}


def test_a_send_that_waits_through_the_fault_says_nothing_of_the_latency_before_it(tmp_path: Path) -> None:
    scenario = parse(
        """
name: paused
mode: single-master
topology: {nameservers: 1, brokers: 1, flush: sync}
workload: {kind: log, producers: 16, consumers: 1, queues: 4, rate: 2000/s, for: 2s}
faults:
  - {at: 300ms, do: pause, on: master(broker-a), for: 1s}
""",
        "test",
    )
    folder = run_scenario(scenario, seed=1, out=tmp_path).folder
    assert folder is not None
    figures = measure(folder).figures
    recovery_ms, steady_ms = figures["recovery_ms"], figures["steady_ms"]
    assert recovery_ms is not None
    assert steady_ms is not None
    assert recovery_ms > 900 > 100 > steady_ms > 0


@pytest.mark.parametrize(("count", "rank"), [(7, -1), (8, 0), (10, 0), (11, 0), (12, 1), (20, 3)])
def test_the_interval_of_a_median_covers_99_percent(count: int, rank: int) -> None:
    """Of order statistics: the chance that the median lies outside is that of so few heads in so many throws."""
    assert _rank(count) == rank


def test_figures_of_real_runs_are_those_of_the_run_and_the_page_shows_them(tmp_path: Path) -> None:
    for target in ("a", "b"):
        for seed in range(1, 4):
            run_scenario("single-master-async-power-cut", seed=seed, out=tmp_path / target)
    sides = [[measure(path) for path in sorted((tmp_path / target).glob("r-*"))] for target in ("a", "b")]
    figures = sides[0][0].figures
    assert figures["lost"] is not None
    assert figures["lost"] > 0
    assert figures["recovery_ms"] is not None
    assert 1_000 < figures["recovery_ms"] < 10_000
    assert figures["served"] is not None
    assert 0 < figures["served"] < 1
    comparison = compare(*sides, ("before", "after"))
    assert comparison.pairs == 3
    assert all(found.middle == 0 for found in comparison.whole), "the simulator repeats itself"
    page = write_page(comparison, tmp_path / "compare.html").read_text("utf-8")
    assert "after beside before" in page
    assert "time to recover" in page


CELLS = Plan(("single-master/sync", "multi-master/sync"), ("kill", "pause"), (1, 2))


def test_on_real_nodes_both_sides_of_a_pair_follow_one_another() -> None:
    whole = [part.wanted()[0] for part in parts(replace(CELLS, backend="process"), (LEFT, RIGHT))]
    assert len(whole) == 16
    assert [target for _, _, target in whole] == [LEFT, RIGHT] * 8
    assert all(one[:2] == other[:2] for one, other in zip(whole[::2], whole[1::2], strict=True))
    assert [seed for _, seed, _ in whole] == [1] * 8 + [2] * 8


def test_what_is_there_is_not_run_again() -> None:
    whole = parts(replace(CELLS, backend="process"), (LEFT, RIGHT))
    done = {part.wanted()[0] for part in whole[:5]}
    assert left(whole, done) == whole[5:]
    at_once = parts(CELLS, (LEFT, RIGHT))
    assert [len(part.wanted()) for part in at_once] == [4, 4, 4, 4]
    assert left(at_once, set(at_once[1].wanted())) == [at_once[0], *at_once[2:]]


def test_a_comparison_goes_on_where_its_time_was_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two parts of one simulated run each; the time of the first call is up at once, the third finds nothing to do."""
    what = "compare reference reference --backend sim --row single-master/sync --fault kill --seed 1 --seeds 2"
    words = [*what.split(), "--keep", str(tmp_path / "runs"), "--out", str(tmp_path / "c.html")]
    assert main([*words, "--for", "0s"]) == 64, "there is nothing to compare"
    assert "4 runs are left; go on with: the same command and --seed 0x1" in capsys.readouterr().err
    assert main(words) == 2, "two pairs cannot tell"
    assert "2 pairs of runs" in capsys.readouterr().out
    assert {seed for _, seed, _ in done_in(tmp_path / "runs")} == {1, 2}
    before = sorted((tmp_path / "runs").iterdir())
    assert main(words) == 2
    assert "0 runs are left" in capsys.readouterr().err
    assert sorted((tmp_path / "runs").iterdir()) == before
    assert list(run([])) == []


def test_an_outage_counts_from_the_beginning_of_the_act(tmp_path: Path) -> None:
    """An orderly stop refuses clients at once, and is done when the process has ended, seconds later."""
    result = run_scenario("single-master-kill", seed=1, out=tmp_path, keep="all")
    assert result.folder is not None
    history = runfolder.load_history(result.folder)
    facts = RunFacts.from_run(runfolder.read_run(result.folder), history)
    (fault,) = facts.faults
    slow = replace(fault, begin_ns=fault.inject_ns - 2 * SECOND)
    at_once, slowly = (
        figures_of(history, replace(facts, faults=(one,)), '{"outcome": "PASS"}') for one in (fault, slow)
    )
    assert slowly["recovery_ms"] == pytest.approx(at_once["recovery_ms"] + 2_000, abs=50)
    assert slowly["served"] > at_once["served"], "two seconds more in which all was well"
