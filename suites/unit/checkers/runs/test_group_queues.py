"""Queues of a group's brokers across elections: the theorem on logs, and the general search as a second opinion.

Question: is each queue of a group one linearizable log, whoever led when it was written and read?

Model. A small group is run in the simulator; its leader is cut off from its followers, and not from its clients. What
the check ``log`` asks of a queue is asked of the general search, too: every send, and every answer of whoever led. The
search knows nothing of offsets that come into being: it looks for an order of the operations.

Limits. "Nothing there" is not asked: brokers fill their queues behind their log, and how late that may be is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from checkers.history.columns import NEVER
from checkers.history.facts import RunFacts
from checkers.logs.columns import ACKED, FAILED, LogInput
from checkers.logs.linear import check_log
from checkers.objects.models import stream
from checkers.objects.search import Operation, search
from checkers.runs.log_operations import input_of, rows_of
from harness.run import run_scenario
from harness.runfolder import load_history, read_run
from harness.scenario import MUSEUM
from harness.scenario_file import load

SCENARIO = "museum-group-leader-minority"
BUDGET = 200_000


@cache
def queues_of(defects: tuple[str, ...]) -> LogInput:
    """What was said of all queues in a run of a few messages a second; nothing may divide it into epochs."""
    scenario = load(MUSEUM / f"{SCENARIO}.yaml")
    small = replace(scenario, workload=replace(scenario.workload, rate_per_s=8))
    with TemporaryDirectory() as folder:
        result = run_scenario(small, seed=1, defects=defects, out=Path(folder), keep="all")
        assert result.folder is not None
        history, run = load_history(result.folder), read_run(result.folder)
        rows = rows_of(history, RunFacts.from_run(run, history))
        assert rows.epochs == 1, "a partition takes nothing from any member"
        return input_of(history, rows, 0)


def operations_of(log: LogInput, queue: int) -> list[Operation]:
    """Sends and polls of *queue*, for :func:`checkers.objects.models.stream`."""
    return sorted([*_appends(log, queue), *_polls(log, queue)])


def _appends(log: LogInput, queue: int) -> Iterator[Operation]:
    a = log.appends
    columns = (a.queue, a.value, a.offset, a.invoke, a.ret, a.outcome)
    for of, value, offset, begun, ended, outcome in zip(*(c.tolist() for c in columns), strict=True):
        if of == queue and outcome != FAILED:
            is_known = outcome == ACKED
            arg = ("append", (value,), offset if is_known else None)
            yield Operation(begun, ended if is_known and ended < NEVER else None, arg)


def _polls(log: LogInput, queue: int) -> Iterator[Operation]:
    p, first = log.polls, 0
    columns = (p.queue, p.count, p.invoke, p.ret)
    for of, count, begun, ended in zip(*(c.tolist() for c in columns), strict=True):
        if of == queue:
            yield Operation(
                begun, ended, ("poll", int(p.offset[first]), tuple(p.value[first : first + count].tolist()))
            )
        first += count


def said_of(defects: tuple[str, ...]) -> dict[int, tuple[bool, bool | None]]:
    """Queue → (legal by the theorem, by the search)."""
    log = queues_of(defects)
    said = {}
    for queue in log.queues():
        result = check_log(log.only([queue]), fresh=False)
        assert not result.unknown
        said[queue] = not result.violations, search(operations_of(log, queue), stream(), BUDGET).holds
    return said


def test_leaders_of_several_terms_are_one_log_and_the_general_search_agrees():
    assert set(said_of(()).values()) == {(True, True)}


@pytest.mark.parametrize("defect", ["group-leader-shows-all"])
def test_what_a_leader_showed_without_a_majority_is_refuted_by_both(defect):
    assert set(said_of((defect,)).values()) == {(False, False)}


def test_the_runs_have_what_makes_them_worth_judging():
    log = queues_of(())
    assert (log.appends.queue >= 0).all(), "a send whose queue nobody knows would have to be asked of each"
    assert (log.appends.outcome == ACKED).sum() > 50
    assert ((log.appends.outcome != ACKED) & (log.appends.outcome != FAILED)).any(), "a minority acknowledges nothing"
    assert len(log.polls) > 20
