"""Did a fault take effect? What its probe could not tell may be answered when it is over."""

from __future__ import annotations

import pytest

from checkers.history.faults import FaultFact, faults_of
from suites.unit.checkers.build import MS, Build


@pytest.mark.parametrize(("probe", "failed", "effective"), [(-1, 3, 1), (-1, 0, -1), (0, 3, 0), (1, 0, 1)])
def test_forces_that_failed_later_answer_a_probe_that_could_not_tell(probe: int, failed: int, effective: int) -> None:
    build = Build()
    build.fault("fail_sync", "broker-a-0", 10, 11, bit=probe)
    build.event(40, "fault", "heal", "broker-a-0", "f1")
    build.event(41, "fault", "heal_probe", "broker-a-0", "f1", 1, failed=failed)
    (fault,) = faults_of(build.history().events)
    assert (fault.effective, fault.failed) == (effective, failed)
    assert fault.took_effect_on("broker-a-0") is (effective != 0)


@pytest.mark.parametrize(("leaked", "effective", "reason"), [(0, 1, ""), (60, 0, "60 bytes got through it")])
def test_a_separation_that_let_something_through_until_its_heal_is_not_proved(
    leaked: int, effective: int, reason: str
) -> None:
    build = Build()
    build.fault("isolate", "broker-a-0", 10, 11, right=("namesrv-1",))
    build.event(40, "fault", "heal", "broker-a-0", "f1")
    build.event(41, "fault", "heal_probe", "", "f1", 1, leaked_bytes=leaked)
    (fault,) = faults_of(build.history().events)
    assert (fault.effective, fault.reason) == (effective, reason)
    assert fault.took_effect_on("broker-a-0") is bool(effective)


def dead_disk(*, bit: int = 1, heal: int | None = 40) -> Build:
    """A fault that takes with its heal what was not forced."""
    build = Build()
    effects = [{"does": "fails-writes", "at": "act"}, {"does": "takes", "how": "unforced", "at": "heal"}]
    build.event(10, "fault", "resolve", "broker-a-0", "f1", 1, do="?", left=["broker-a-0"], right=[], effects=effects)
    build.event(11, "fault", "inject", "broker-a-0", "f1")
    build.event(11, "fault", "probe", "broker-a-0", "f1", bit)
    if heal is not None:
        build.event(heal, "fault", "heal", "broker-a-0", "f1")
        build.event(heal, "fault", "heal_probe", "broker-a-0", "f1", 1)
    return build


def test_what_is_taken_with_a_heal_is_a_loss_of_that_moment() -> None:
    history = dead_disk().history()
    fails, takes = faults_of(history.events)
    assert (fails.harm, fails.takes(), fails.begin_ns) == ("disk-dead", "", 10 * MS)
    assert (takes.harm, takes.takes(), takes.begin_ns, takes.inject_ns) == ("power-cut", "unforced", 40 * MS, 40 * MS)
    assert history.events.step[history.events.event.tolist().index(takes.inject_event)] == "heal"
    assert (takes.fault, takes.left, takes.effective) == ("f1", ("broker-a-0",), 1)


@pytest.mark.parametrize(("bit", "heal"), [(0, 40), (1, None)])
def test_what_did_nothing_or_was_never_healed_takes_nothing(bit: int, heal: int | None) -> None:
    (fault,) = faults_of(dead_disk(bit=bit, heal=heal).history().events)
    assert fault.takes() == ""


@pytest.mark.parametrize(
    ("kind", "effective", "answers", "may"),
    [
        ("pause", 1, {}, True),
        ("pause", -1, {}, True),
        ("pause", 0, {}, False),
        ("pause", 0, {"broker-a-0": 0, "broker-a-1": 0}, False),
        ("pause", 0, {"broker-a-0": 1, "broker-a-1": 0}, True),  # one stood still
        ("flip_bits", 0, {}, True),  # nothing was harmed, but the process ended for it
    ],
)
def test_a_fault_that_failed_as_a_whole_may_have_done_a_part(
    kind: str, effective: int, answers: dict[str, int], may: bool
) -> None:
    fault = FaultFact("f", kind, ("broker-a-0", "broker-a-1"), effective=effective, answers=answers)
    assert fault.may_have_acted is may
