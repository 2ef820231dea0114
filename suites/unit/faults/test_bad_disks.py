"""Forces that fail and sectors that go bad: what the levers are asked, what proves the fault, and how it ends."""

from __future__ import annotations

import pytest

from faults.errors import PlanError, UndoFailed
from faults.journal import HealJournal
from faults.levers import HealStep, LeverRefused

MASTER = "broker-a-0"


def steps(world) -> list[tuple[str, int]]:
    return [(event[1], event[3]) for event in world.events]


def fail_sync(fault):
    return fault("fail_sync", "master(broker-a)", at="5s", hold="4s")


def test_forces_fail_for_a_while_and_how_many_is_told(world, fault) -> None:
    world.drive(world.injector(fail_sync(fault)))
    assert world.calls == [("fail_forces", MASTER), ("mend_forces", MASTER)]
    assert steps(world) == [("resolve", 1), ("inject", -1), ("probe", 1), ("heal", -1), ("heal_probe", 1)]
    assert world.detail("f1", "heal_probe") == {"failed": 7}


def test_a_node_that_asks_for_no_force_cannot_be_told_to_have_been_hit(world, fault) -> None:
    world.forces_asked_for = 0
    world.drive(world.injector(fail_sync(fault)))
    assert ("probe", -1) in steps(world)
    assert "no force within 2s" in world.detail("f1", "probe")["reason"]


@pytest.mark.parametrize("before", ["dead", "paused"])
def test_what_does_not_run_is_left_alone(world, fault, before: str) -> None:
    world.states[MASTER] = before
    world.drive(world.injector(fail_sync(fault)))
    assert ("fail_forces", MASTER) not in world.calls
    assert ("probe", 0) in steps(world)


def test_forces_that_go_on_failing_are_a_leftover(world, fault) -> None:
    world.broken["mend_forces"] = None
    with pytest.raises(UndoFailed, match="still in force"):
        world.drive(world.injector(fail_sync(fault)))


def test_a_power_cut_ends_them_with_the_process(world, fault) -> None:
    """Nothing to mend is no error: the new process forces well."""
    cut = fault("cut_power", "master(broker-a)", at="6s", hold="1s", number=2)
    injector = world.injector(fail_sync(fault), cut)
    world.drive(injector, until_ns=8 * 10**9)
    assert injector.active == (f"fail_sync {MASTER}",)
    world.failing.clear()  # what the death of the process does
    injector.heal_all()
    assert ("mend_forces", MASTER) in world.calls
    assert steps(world)[-1] == ("heal_probe", 1)
    assert world.is_whole()


def test_their_undo_is_written_down_before_they_begin(world, fault, heal_folder) -> None:
    world.steps = [HealStep("end_processes", {"marker": "m"})]
    journal = HealJournal.open("run", heal_folder)
    seen = []
    world.on_call = lambda lever: seen.append((lever, len(journal.outstanding)))
    world.drive(world.injector(fail_sync(fault), journal=journal))
    assert seen == [("fail_forces", 1), ("mend_forces", 1)]
    assert journal.outstanding == ()
    journal.close()


def test_a_backend_without_a_tracer_refuses(world, fault, refused: LeverRefused) -> None:
    world.broken["fail_forces"] = refused
    with pytest.raises(LeverRefused):
        world.drive(world.injector(fail_sync(fault)))
    assert ("refused", 0) in steps(world)


def test_a_sector_goes_bad_while_the_node_is_dead(world, fault) -> None:
    world.drive(world.injector(fault("flip_bits", "master(broker-a)", at="5s", hold="1s", back="32KiB")))
    assert world.calls == [("kill", MASTER), ("flip_log", MASTER), ("start", MASTER)]
    assert world.flipped_back == 32768
    assert world.detail("f1", "probe")["position"] == 100_000 - 32_768
    assert ("probe", 1) in steps(world)
    assert world.is_whole()


def test_a_log_that_does_not_reach_so_far_back_is_not_hit(world, fault) -> None:
    world.drive(world.injector(fault("flip_bits", "master(broker-a)", at="5s", hold="1s", back="1MiB")))
    assert ("probe", 0) in steps(world)
    assert "does not reach" in world.detail("f1", "probe")["reason"]
    assert world.is_whole()


@pytest.mark.parametrize(("back", "says"), [("1", "is not a size"), ("511B", "less than a sector")])
def test_how_far_back_is_a_size_that_a_sector_fits_in(fault, back: str, says: str) -> None:
    with pytest.raises(PlanError, match=says):
        fault("flip_bits", "masters", back=back)


@pytest.mark.parametrize(("verb", "options", "late"), [("slow_disk", {"delay": "300ms"}, 300), ("hang_disk", {}, None)])
def test_forces_are_late_for_a_while_and_how_many_is_told(world, fault, verb: str, options, late) -> None:
    world.drive(world.injector(fault(verb, "master(broker-a)", at="5s", hold="4s", **options)))
    assert world.calls == [("delay_forces", MASTER), ("mend_forces", MASTER)]
    assert steps(world) == [("resolve", 1), ("inject", -1), ("probe", 1), ("heal", -1), ("heal_probe", 1)]
    assert world.detail("f1", "probe").get("delay_ms") == late
    assert world.detail("f1", "heal_probe") == {"held": 7}
    assert world.is_whole()


@pytest.mark.parametrize("verb", ["slow_disk", "hang_disk"])
def test_a_node_whose_forces_nobody_held_was_not_hit(world, fault, verb: str) -> None:
    """A tracer that attaches and holds nothing: no green for it."""
    world.broken["delay_forces"] = None
    world.drive(world.injector(fault(verb, "master(broker-a)", at="5s", hold="4s")))
    assert ("probe", 0) in steps(world)


@pytest.mark.parametrize("delay", ["0s", "0.5", "soon"])
def test_a_delay_that_is_none_is_refused(fault, delay: str) -> None:
    with pytest.raises(PlanError):
        fault("slow_disk", "master(broker-a)", at="5s", delay=delay)


TAKES_NOTHING = pytest.mark.parametrize(
    ("verb", "lever", "error"),
    [("dead_disk", "kill_disk", "EIO"), ("read_only_disk", "make_disk_read_only", "EROFS")],
)


def struck(fault, verb: str):
    return fault(verb, "master(broker-a)", at="5s", hold="4s")


@TAKES_NOTHING
def test_a_disk_takes_nothing_under_its_node_and_comes_back_with_a_start(
    world, fault, verb: str, lever: str, error: str
) -> None:
    world.drive(world.injector(struck(fault, verb)))
    assert world.calls == [(lever, MASTER), ("kill", MASTER), ("mend_disk", MASTER), ("start", MASTER)]
    assert world.detail("f1", "probe") == {"before": "running", "error_before": "", "error_now": error}
    assert steps(world) == [("resolve", 1), ("inject", -1), ("probe", 1), ("heal", -1), ("heal_probe", 1)]
    assert world.is_whole()


@TAKES_NOTHING
@pytest.mark.parametrize("why", ["it still takes writes", "it took none before", "nobody runs", "it fails otherwise"])
def test_a_disk_that_answers_as_it_did_or_otherwise_than_asked_was_not_struck(
    world, fault, verb: str, lever: str, error: str, why: str
) -> None:
    if why == "it still takes writes":
        world.broken[lever] = None
    elif why == "it took none before":
        world.disk_errors[MASTER] = error
    elif why == "it fails otherwise":
        world.on_call = lambda called: world.disk_errors.update({MASTER: "ENOSPC"}) if called == lever else None
        world.broken[lever] = None
    else:
        world.states[MASTER] = "dead"
    world.drive(world.injector(struck(fault, verb)))
    assert ("probe", 0) in steps(world)


@TAKES_NOTHING
def test_a_disk_that_takes_nothing_when_it_should_again_is_told(
    world, fault, verb: str, lever: str, error: str
) -> None:
    world.broken["mend_disk"] = None
    world.drive(world.injector(struck(fault, verb)))
    assert steps(world)[-1] == ("heal_probe", 0)
    assert world.detail("f1", "heal_probe") == {"now": "running", "error_now": error}
