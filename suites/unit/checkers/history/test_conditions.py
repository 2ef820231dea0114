"""The condition of a node is what all faults that held it make of it together."""

from __future__ import annotations

from dataclasses import replace

from checkers.history.conditions import Conditions
from checkers.history.effects import Effect
from checkers.history.faults import FaultFact
from suites.unit.checkers.build import MS, Build

NODE, OTHER = "broker-a-0", "namesrv-1"


def fault(kind: str, begin: int, heal: int, *, effective: int = 1, right: tuple[str, ...] = ()) -> FaultFact:
    return FaultFact(kind, kind, (NODE,), right, begin, begin, 0, heal, effective)


def test_what_two_faults_end_comes_back_with_its_next_start() -> None:
    held = Conditions((fault("kill", 10, 20), fault("stop", 15, 30)), {NODE: (0, 30)})
    assert held.down(NODE) == [(10, 30)]


def test_a_process_that_is_started_anew_is_not_frozen_any_more() -> None:
    held = Conditions((fault("pause", 10, 40), fault("kill", 15, 20)), {NODE: (0, 20)})
    assert held.frozen(NODE) == [(10, 20)]
    assert held.still(NODE) == [(10, 20)]


def test_forces_fail_no_longer_than_the_process_lives() -> None:
    held = Conditions((fault("fail_sync", 10, 40), fault("restart", 20, 21)), {NODE: (0, 21)})
    assert held.unforced(NODE) == [(10, 21)]
    assert held.flushes_nothing(NODE) == [(10, 21)]


def test_a_fault_that_did_nothing_holds_nobody_but_the_process_that_it_ended_is_gone() -> None:
    flip = fault("flip_bits", 10, 20, effective=0)
    assert Conditions((flip,), {NODE: (0, 20)}).down(NODE) == []
    assert Conditions((flip,), {NODE: (0, 20)}, acts={NODE: ((10, "killed"),)}).down(NODE) == [(10, 20)]


def test_a_machine_that_goes_dark_closes_no_connection_whatever_hits_it_then() -> None:
    faults = (fault("cut_power", 10, 20), fault("wipe", 12, 30))
    held = Conditions(faults, {NODE: (0, 30)}, acts={NODE: ((10, "dark"), (12, "killed"))})
    assert held.down(NODE) == [(10, 30)]
    assert held.closed(NODE) == []
    assert Conditions((fault("kill", 10, 20),), {NODE: (0, 20)}, acts={NODE: ((10, "killed"),)}).closed(NODE)


def test_what_a_heal_ends_and_starts_is_back_at_once() -> None:
    """Its act lies in no fault's: on the simulator the end and the start are one instant."""
    held = Conditions((fault("dead_disk", 10, 20),), {NODE: (0, 20)}, acts={NODE: ((20, "killed"),)})
    assert held.down(NODE) == held.closed(NODE) == [(20, 21)], "its connections were closed all the same"
    loss = FaultFact("f", "dead_disk", (NODE,), (), 20, 20, 0, 20, 1, recorded=(Effect("takes", "unforced"),))
    assert replace(held, faults=(*held.faults, loss)).down(NODE) == [(20, 21)], (
        "what it takes then is a fact of that moment"
    )
    later = Conditions((fault("dead_disk", 10, 25),), {NODE: (0, 25)}, acts={NODE: ((20, "killed"),)})
    assert later.down(NODE) == [(20, 25)]


def test_two_are_apart_while_any_fault_keeps_them_apart() -> None:
    held = Conditions((fault("partition", 10, 20, right=(OTHER,)), fault("isolate", 15, 30, right=(OTHER, "x"))))
    assert held.apart(OTHER, NODE) == [(10, 30)]
    assert held.apart("x", NODE) == [(15, 30)]
    assert held.apart("x", OTHER) == []


def test_who_ends_long_after_it_was_asked_to_is_down_from_then_on() -> None:
    """A stop that hung was seen to have done nothing; the node ended all the same when its disk let it go."""
    build = Build()
    build.fault("stop", "broker-a-0", 1_000, 31_000, heal=43_000, bit=0)
    build.event(0, "node", "started", "broker-a-0")
    build.event(32_000, "role", "exited", "broker-a-0", code=0)
    build.event(43_000, "node", "started", "broker-a-0")
    conditions = build.facts().conditions
    assert conditions.down("broker-a-0") == [(32_000 * MS, 43_000 * MS)]
    assert conditions.closed("broker-a-0") == conditions.down("broker-a-0")


def test_an_end_that_the_harness_saw_to_is_told_once_also_where_the_start_comes_at_the_same_instant() -> None:
    build = Build()
    build.fault("restart", "broker-a-0", 1_000, 1_003, heal=1_003)
    build.event(0, "node", "started", "broker-a-0")
    build.event(1_003, "role", "exited", "broker-a-0", code=0)
    build.event(1_003, "node", "stopped", "broker-a-0")
    build.event(1_003, "node", "started", "broker-a-0")
    assert build.facts().conditions.down("broker-a-0") == [(1_000 * MS, 1_003 * MS)]
