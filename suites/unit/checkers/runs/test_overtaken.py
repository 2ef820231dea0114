"""A slave that was ahead of its restarted master explains some differences between the two, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from checkers.runs.replicas import check_replicas
from checkers.verdict import Verdict
from suites.unit.checkers.build import Build

SYNC, ASYNC = "multi-master-multi-slave-sync", "multi-master-multi-slave-async"
NODES = {"broker-a-0": {}, "broker-a-1": {}}
LATER = {10: 1000, 11: 2000, 12: 3000, 13: 4000, 14: 5000, 15: 6000}
"""What is sent after the cut, and where the master stores it; 0 to 3, of before the cut, lay at 0 to 3000."""


def run(master: Sequence[int], slave: Sequence[int | None], do: str = "cut_power") -> Build:
    """Messages 0 to 3, a fault of the master, then those of :data:`LATER`; at the end both show this (None: a hole)."""
    build = Build(["broker-a"])
    for message in range(4):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault(do, "broker-a-0", 100, 101, heal=200)
    for message, position in LATER.items():
        if message in (*master, *slave):
            offset = master.index(message) if message in master else 9
            build.send(300 + message, 301 + message, message, offset, position=position)
    build.drain(900, 901, 0, master)
    build.drained(902, len(master))
    shown(build, slave)
    return build


def shown(build: Build, slave: Sequence[int | None], queue: int = 0) -> None:
    for offset, message in enumerate(slave):
        if message is not None:
            build.pull(910 + offset, 911 + offset, offset, [message], queue, f="replica", node="broker-a-1")
    build.pull(950, 951, len(slave), [], queue, f="replica", node="broker-a-1")


def judged(build: Build, mode: str = SYNC, **facts: object) -> Verdict:
    return check_replicas(build.history(), build.facts(mode=mode, nodes=NODES, **facts))


def counted(verdict: Verdict, *, allowed: bool) -> Mapping[str, int]:
    found = {a.kind: 0 for a in verdict.anomalies if a.allowed == allowed}
    for anomaly in verdict.anomalies:
        if anomaly.allowed == allowed:
            found[anomaly.kind] += anomaly.details["count"]
    return found


AHEAD = [0, 1, 2, 3]
"""What the slave kept."""


@pytest.mark.parametrize(
    ("master", "slave", "allowed", "bad"),
    [
        # between the master's end and its own the slave keeps what it had, and from there on both are the same
        ([0, 10, 11, 12, 13], [*AHEAD, 13], {"replica-differs": 3, "unreplicated-ok": 3}, {}),
        ([0, 10, 11], AHEAD, {"replica-differs": 2, "replica-ahead": 1, "unreplicated-ok": 2}, {}),
        # it shows nothing of what follows: its end is no border of a record
        (
            [0, 10, 11, 12, 13, 14],
            AHEAD,
            {"replica-differs": 3, "replica-missing": 2, "unreplicated-ok": 5},
            {},
        ),
        # one behind its end is not there, others behind that are: no mechanism does that
        (
            [0, 10, 11, 12, 13, 14],
            [*AHEAD, None, 14],
            {"replica-differs": 3, "unreplicated-ok": 3},
            {"replica-missing": 1, "unreplicated-ok": 1},
        ),
        # the master lost nothing, so the slave was never ahead
        ([*AHEAD, 13, 14], [*AHEAD, 13], {}, {"replica-missing": 1, "unreplicated-ok": 1}),
        # what both should have had before
        (
            [0, 10, 11, 12],
            [None, 1, 2, 3],
            {"replica-differs": 3, "unreplicated-ok": 3},
            {"replica-missing": 1},  # its disk was never another: it has had everything from the beginning
        ),
        (
            [0, 1, 10, 11],
            [0, 12, 2, 3],
            {"replica-differs": 2, "unreplicated-ok": 2},
            {"replica-differs": 1, "unreplicated-ok": 1},
        ),
        # what only the slave has was sent after the cut: nobody but the master could have given it that
        ([0, 10, 11, 12], [*AHEAD, 13], {"replica-differs": 3, "unreplicated-ok": 3}, {"replica-ahead": 1}),
    ],
)
def test_only_what_a_slave_that_was_ahead_explains_is_allowed(master, slave, allowed, bad) -> None:
    verdict = judged(run(master, slave))
    assert (counted(verdict, allowed=True), counted(verdict, allowed=False)) == (allowed, bad)
    assert verdict.measures["unreplicated_ok"] == allowed.get("unreplicated-ok", 0) + bad.get("unreplicated-ok", 0)


@pytest.mark.parametrize(
    ("mode", "flush", "do", "expect", "is_allowed"),
    [
        (SYNC, "async", "cut_power", {}, True),
        (SYNC, "async", "wipe", {}, True),
        (SYNC, "sync", "flip_bits", {}, True),
        (ASYNC, "async", "cut_power", {}, True),
        (SYNC, "async", "kill", {}, False),
        (SYNC, "async", "cut_power", {"replicas": "agree"}, False),
    ],
)
def test_the_contract_names_the_faults_that_let_a_slave_be_ahead(mode, flush, do, expect, is_allowed) -> None:
    verdict = judged(run([0, 10, 11, 12, 13], [*AHEAD, 13], do), mode, flush=flush, expect=expect)
    assert bool(counted(verdict, allowed=True)) == is_allowed
    assert bool(counted(verdict, allowed=False)) != is_allowed


def test_a_message_may_be_left_out_because_an_old_one_stands_in_its_place() -> None:
    """Three of before the cut in queue 0, one after it; the next two, of queue 1, lie where the slave has old bytes; 13
    lies behind its end, and comes to an offset of queue 0 that an old message holds."""
    build = Build(["broker-a", "broker-a"])
    for message in range(4):
        build.send(10 * message, 10 * message + 1, message, message)
    build.fault("cut_power", "broker-a-0", 100, 101, heal=200)
    for message, queue, offset, position in ((10, 0, 1, 1000), (11, 1, 0, 2000), (12, 1, 1, 3000), (13, 0, 2, 4000)):
        build.send(300 + message, 301 + message, message, offset, queue=queue, position=position)
    build.send(400, 401, 14, 2, queue=1, position=5000)
    for queue, got in ((0, [0, 10, 13]), (1, [11, 12, 14])):
        build.drain(900, 901, 0, got, queue)
        build.drained(902, 3, queue)
    shown(build, AHEAD)
    shown(build, [None, None, 14], queue=1)
    verdict = judged(build)
    assert counted(verdict, allowed=False) == {}
    shown_as = {"replica-differs": 2, "replica-ahead": 1, "replica-missing": 2, "unreplicated-ok": 2}
    assert counted(verdict, allowed=True) == shown_as


def test_with_two_slaves_one_that_was_not_ahead_explains_nothing() -> None:
    build = run([0, 10, 11, 12, 13], [*AHEAD, 13])
    build.pull(960, 961, 0, [0], f="replica", node="broker-a-2")
    build.pull(962, 963, 1, [], f="replica", node="broker-a-2")
    verdict = check_replicas(build.history(), build.facts(mode=SYNC, nodes={**NODES, "broker-a-2": {}}))
    assert counted(verdict, allowed=False) == {"replica-missing": 4, "unreplicated-ok": 3}


def test_the_sentence_names_the_mechanism_only_where_it_is_proved() -> None:
    verdict = judged(run([0, 10, 11, 12, 13, 14], [*AHEAD, None, 14]))
    told = {anomaly.allowed: anomaly.sentence for anomaly in verdict.anomalies if anomaly.kind == "unreplicated-ok"}
    assert "differs at 1000: the slave was ahead of its restarted master, after cut_power" in told[True]
    assert told[False].startswith("SEND_OK although the slave's log differs at 4000. 1 message of broker-a")


def test_of_a_message_that_was_sent_twice_nobody_knows_which_place_the_slave_shows() -> None:
    """Message 3, which the slave has from before, was sent again and stored by another broker, far behind."""
    build = run([0, 10, 11, 12, 13, 14], AHEAD)
    build.brokers = ["broker-a", "broker-b"]
    build.send(400, 401, 3, 7, queue=1, position=90_000)
    verdict = judged(build)
    assert counted(verdict, allowed=False) == {}
    assert counted(verdict, allowed=True)["replica-missing"] == 2
