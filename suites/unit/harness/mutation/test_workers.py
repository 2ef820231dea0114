"""Processes that run units: with a change that nobody can miss, with one that nobody can see, and those that die."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.mutation.measure import judged
from harness.mutation.population import Mutant, population
from harness.mutation.probe import footprints, probe
from harness.mutation.records import Records
from harness.mutation.worker import Order, Run
from harness.mutation.workers import carry_out

UNIT = "single-master/sync × cut_power"
ORDER = Order([Run("first", 1, 1.0), Run("second", 1, 1.0)])

TALK = "import json, os, signal, sys, time\nsay = lambda d: print(json.dumps(d), flush=True)\n"
ENDED = 'say({"begin": ["first", 1]})\nsay({"end": ["first", 1], "outcome": "PASS", "history": "h"})\n'


@pytest.mark.parametrize(
    ("code", "outcomes"),
    [
        (ENDED, [("first", "PASS")]),
        (
            ENDED + 'say({"begin": ["second", 1]})\nos.kill(os.getpid(), signal.SIGPROF)',
            [("first", "PASS"), ("second", "endless")],
        ),
        ('say({"begin": ["first", 1]})\nos.kill(os.getpid(), signal.SIGKILL)', [("first", "stuck")]),
        ('say({"begin": ["first", 1]})\nraise SystemExit(3)', [("first", "crash")]),
        ("raise ImportError('no such name')", [("first", "crash")]),
    ],
)
def test_how_a_process_dies_is_said_of_its_run(code: str, outcomes: list[tuple[str, str]]) -> None:
    said = list(carry_out(ORDER, [sys.executable, "-c", TALK + code]))
    assert [(one.unit, one.outcome) for one in said] == outcomes


def test_last_words_are_kept() -> None:
    said = list(carry_out(ORDER, [sys.executable, "-c", "raise ImportError('no such name')"]))
    assert "no such name" in said[0].headline


def test_an_order_comes_back_as_it_was() -> None:
    order = Order([Run("a × b", 7, 2.5)], "reference_impl/x.py", 3, probe=True, after_unknown=2)
    assert Order.from_json(order.to_json()) == order


def planted(before: str) -> Mutant:
    """Of the function that answers requests when a force has ended."""
    changes = (m for m in population(("store",)) if m.change.function == "GroupCommit._serve")
    return next(m for m in changes if m.change.operator == "deletion" and m.change.before.startswith(before))


def test_a_change_that_nobody_can_miss_and_one_that_no_client_sees(tmp_path: Path) -> None:
    records = Records(tmp_path / "probe.jsonl", "s")
    assert [said.outcome for said in probe(records, [(UNIT, 1)])] == ["PASS"]
    assert list(probe(records, [(UNIT, 1)])) == [], "it is recorded"
    probed = footprints(records)

    unanswered = judged(planted("head.decide("), probed, 60)
    assert (unanswered.kind, unanswered.cause) == ("killed", "availability/not-recovered")
    unseen = judged(planted("head.flushes +="), probed, 60)
    assert (unseen.kind, unseen.runs, unseen.same) == ("survived", 1, 1)


def test_probes_in_several_processes_are_all_recorded_and_none_begins_after_the_time(tmp_path: Path) -> None:
    records = Records(tmp_path / "probe.jsonl", "s")
    wanted = [(UNIT, seed) for seed in range(1, 9)]
    assert list(probe(records, wanted, until=0.0)) == []
    assert {said.seed for said in probe(records, wanted, jobs=2)} == {seed for _, seed in wanted}
    assert sorted((one.unit, one.seed) for one in footprints(records)) == wanted
