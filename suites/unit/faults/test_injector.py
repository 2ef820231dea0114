"""The life cycle of a fault, step by step, and what happens when a step goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.errors import InjectionFailed, UndoFailed
from faults.journal import HealJournal, open_journals
from faults.levers import HealStep, LeverRefused, LinkSet
from faults.plan import Fault, bind_fault

SECOND = 10**9
CYCLE = ["resolve", "inject", "probe", "heal", "heal_probe"]


@pytest.mark.parametrize(
    ("do", "on", "during", "lever"),
    [
        ("kill", "master(broker-a)", "dead", "kill"),
        ("stop", "master(broker-a)", "dead", "stop"),
        ("pause", "master(broker-a)", "paused", "pause"),
        ("cut_power", "master(broker-a)", "dead", "cut_power"),
    ],
)
def test_a_fault_of_a_node_bites_holds_and_is_gone(world, fault, do: str, on: str, during: str, lever: str) -> None:
    injector = world.injector(fault(do, on, at="6s", hold="3s"))
    world.drive(injector, until_ns=6 * SECOND)
    assert (world.states["broker-a-0"], injector.active) == (during, (f"{do} broker-a-0",))
    assert injector.next_ns() == 9 * SECOND
    world.drive(injector)
    assert world.is_whole()
    assert [event[:4] for event in world.events] == [
        ("f1", "resolve", "broker-a-0", 1),
        ("f1", "inject", "broker-a-0", -1),
        ("f1", "probe", "broker-a-0", 1),
        ("f1", "heal", "broker-a-0", -1),
        ("f1", "heal_probe", "broker-a-0", 1),
    ]
    assert (lever, "broker-a-0") in world.calls


@pytest.mark.parametrize(
    ("do", "on", "left", "right"),
    [
        ("partition", "clients | masters", ["client-1", "client-2"], ["broker-a-0", "broker-b-0"]),
        ("partition", "link(master(broker-a), slave(broker-a), ha)", ["broker-a-0"], ["broker-a-1"]),
        (
            "isolate",
            "broker(broker-a)",
            ["broker-a-0", "broker-a-1"],
            ["namesrv-1", "namesrv-2", "broker-b-0", "broker-b-1", "client-1", "client-2"],
        ),
    ],
)
def test_a_cut_is_proved_by_connects_before_and_after(world, fault, do, on, left, right) -> None:
    injector = world.injector(fault(do, on, hold="2s"))
    world.drive(injector, until_ns=SECOND)
    assert set(world.partitions) == {"f1"}
    assert (list(world.partitions["f1"].left), list(world.partitions["f1"].right)) == (left, right)
    resolved, seen = world.detail("f1", "resolve"), world.detail("f1", "probe")
    assert (resolved["left"], resolved["right"], resolved["for_ns"]) == (left, right, 2 * SECOND)
    assert set(seen["before"].values()) == {True}
    assert set(seen["now"].values()) == {False}
    world.drive(injector)
    assert world.is_whole()
    assert world.events[-1][1:4] == ("heal_probe", "", 1)


def test_the_ports_of_a_cut_come_from_with_or_from_the_link(world, fault) -> None:
    injector = world.injector(
        fault("isolate", "master(broker-a)", ports="broker"), fault("partition", "link(masters, slaves, ha)", number=2)
    )
    world.drive(injector)
    assert [sides.port_class for sides in world.partitions.values()] == ["broker", "ha"]


def test_a_restart_is_over_when_it_is_done(world, fault) -> None:
    injector = world.injector(fault("restart", "master(broker-a)", how="kill"))
    world.drive(injector)
    assert [step for (step,) in world.told(1)] == ["resolve", "inject", "probe", "heal", "heal_probe"]
    assert world.detail("f1", "probe") == {"before": "running", "between": "dead", "now": "running"}
    assert world.calls == [("kill", "broker-a-0"), ("start", "broker-a-0")]
    assert injector.active == ()


def test_a_fault_without_for_lasts_until_everything_is_healed(world, fault) -> None:
    injector = world.injector(fault("kill", "masters"), fault("pause", "slaves", number=2))
    world.drive(injector)
    assert injector.next_ns() is None
    assert len(injector.active) == 2
    injector.heal_all()
    assert world.is_whole()
    assert injector.active == ()
    injector.heal_all()


def test_heal_all_begins_with_the_newest(world, fault) -> None:
    world.drive(injector := world.injector(fault("kill", "masters"), fault("pause", "slaves", number=2)))
    injector.heal_all()
    assert [name for name, step in world.told(0, 1) if step == "heal"] == ["f2", "f2", "f1", "f1"]


def test_heal_all_drops_what_has_not_struck_yet(world, fault) -> None:
    injector = world.injector(fault("kill", "masters", at="1s"), fault("kill", "slaves", at="9s", number=2))
    world.drive(injector, until_ns=2 * SECOND)
    injector.heal_all()
    assert injector.next_ns() is None
    assert {fault for (fault,) in world.told(0)} == {"f1"}


@pytest.mark.parametrize("lever", ["kill", "pause", "cut_power", "partition"])
def test_a_lever_that_does_nothing_is_found_out_by_the_probe(world, fault, lever: str) -> None:
    """The planted bug of this room: an act that silently has no effect must never count as a fault."""
    world.broken[lever] = None
    do, on = {"partition": ("isolate", "master(broker-a)")}.get(lever, (lever, "master(broker-a)"))
    injector = world.injector(fault(do, on, hold="1s"))
    world.drive(injector)
    assert [effective for step, effective in world.told(1, 3) if step == "probe"] == [0]


def test_a_node_that_was_dead_already_was_not_killed(world, fault) -> None:
    world.states["broker-a-0"] = "dead"
    world.drive(world.injector(fault("kill", "master(broker-a)")))
    assert world.told(1, 3)[-1] == ("probe", 0)


def test_a_power_cut_that_lost_nothing_cannot_be_told_from_a_kill(world, fault) -> None:
    world.unwritten = 0
    world.drive(world.injector(fault("cut_power", "master(broker-a)")))
    assert ("probe", -1) in world.told(1, 3)
    assert "as good as a kill" in world.detail("f1", "probe")["reason"]


def test_a_cut_between_those_who_could_not_talk_before_proves_nothing(world, fault) -> None:
    world.states.update({"broker-a-0": "dead", "broker-a-1": "dead"})
    world.drive(world.injector(fault("partition", "clients | broker(broker-a)")))
    assert ("probe", -1) in world.told(1, 3)


def test_a_cut_that_lets_one_pair_through_did_not_bite(world, fault) -> None:
    def drop_half(links: LinkSet) -> None:
        world.partitions[links.name] = replace(links, right=links.right[:1])

    world.partition = drop_half
    world.drive(world.injector(fault("partition", "clients | masters")))
    assert world.told(1, 3)[-1] == ("probe", 0)
    assert set(world.detail("f1", "probe")["now"].values()) == {True, False}


@pytest.mark.parametrize(
    ("lever", "how", "seen"),
    [
        ("kill", "kill", ("running", "running", "running")),
        ("stop", "stop", ("running", "running", "running")),
        ("start", "kill", ("running", "dead", "dead")),
    ],
)
def test_a_restart_that_did_not_end_or_did_not_begin_again_did_not_bite(world, fault, lever, how, seen) -> None:
    world.broken[lever] = None
    world.drive(world.injector(fault("restart", "master(broker-a)", how=how)))
    probe = world.detail("f1", "probe")
    assert (probe["before"], probe["between"], probe["now"]) == seen
    assert [effective for step, effective in world.told(1, 3) if step == "probe"] == [0]


def test_a_restart_of_a_dead_node_did_not_bite(world, fault) -> None:
    world.states["broker-a-0"] = "dead"
    world.drive(world.injector(fault("restart", "master(broker-a)")))
    assert [effective for step, effective in world.told(1, 3) if step == "probe"] == [0]


def test_a_pause_that_stays_after_its_undo_is_an_error(world, fault) -> None:
    injector = world.injector(fault("pause", "master(broker-a)", hold="1s"))
    world.broken["resume"] = None
    with pytest.raises(UndoFailed, match="still in force"):
        world.drive(injector)
    assert world.told(1, 3)[-1] == ("heal_probe", 0)


def test_a_pause_is_undone_also_where_nobody_sees_it_yet(world, fault, monkeypatch) -> None:
    """A thread in an uninterruptible call reads as running until it is over, and stops then."""
    monkeypatch.setattr(world, "state", lambda node: "running")
    world.drive(world.injector(fault("pause", "master(broker-a)", hold="1s")))
    assert world.is_whole()


def test_a_pause_that_failed_midway_leaves_nobody_paused(world, fault) -> None:
    def second(lever: str) -> None:
        if world.calls[-1] == ("pause", "broker-b-0"):
            raise OSError("gone mad")

    world.on_call = second
    with pytest.raises(InjectionFailed, match="gone mad"):
        world.drive(world.injector(fault("pause", "masters", hold="1s")))
    assert world.is_whole()


@pytest.mark.parametrize("do", ["stop", "restart"])
def test_a_stop_that_hangs_is_on_record_and_is_no_crash(world, fault, do) -> None:
    """Neither yes nor no: it has been asked to end, serves no more, and may end at any time."""
    world.broken["stop"] = TimeoutError("not in time")
    world.drive(world.injector(fault(do, "master(broker-a)", timeout="2s")))
    assert ("probe", -1) in world.told(1, 3)
    assert world.detail("f1", "probe")["error"] == "still there 2s after it was asked to stop"


def test_a_selector_that_fits_nobody_now_is_a_fault_that_did_not_bite(world, fault) -> None:
    world.drive(world.injector(fault("kill", "master(broker-x)")))
    assert world.told(1, 2, 3) == [("resolve", "", 0), ("inject", "", 0), ("probe", "", 0)]
    assert world.detail("f1", "resolve")["reason"] == "master(broker-x) fits no node of this cluster"


def test_a_node_that_two_faults_keep_dead_comes_back_with_the_last(world, fault) -> None:
    injector = world.injector(
        fault("kill", "master(broker-a)", at="1s", hold="2s"),
        fault("cut_power", "masters", at="2s", hold="5s", number=2),
    )
    world.drive(injector, until_ns=4 * SECOND)
    assert world.states["broker-a-0"] == "dead"
    world.drive(injector)
    assert world.is_whole()
    assert world.calls.count(("start", "broker-a-0")) == 1


def test_killed_while_paused_there_is_nothing_to_resume(world, fault) -> None:
    injector = world.injector(
        fault("pause", "master(broker-a)", at="1s", hold="2s"), fault("kill", "master(broker-a)", at="2s", number=2)
    )
    world.drive(injector)
    assert ("f1", "heal_probe", 1) in world.told(0, 1, 3)
    injector.heal_all()
    assert world.is_whole()


def test_heals_come_before_strikes_of_the_same_time(world, fault) -> None:
    injector = world.injector(
        fault("kill", "master(broker-a)", at="1s", hold="2s"), fault("kill", "master(broker-a)", at="3s", number=2)
    )
    world.drive(injector)
    assert world.told(0, 1)[3:6] == [("f1", "heal"), ("f1", "heal_probe"), ("f2", "resolve")]
    assert ("f2", "probe", 1) in world.told(0, 1, 3)


def test_what_the_backend_cannot_do_is_refused_with_the_reason(world, fault, refused: LeverRefused) -> None:
    world.broken["cut_power"] = refused
    injector = world.injector(fault("cut_power", "masters"))
    with pytest.raises(LeverRefused, match="no power can be cut here"):
        world.drive(injector)
    assert world.events[-1][:4] == ("f1", "refused", "", 0)
    assert world.is_whole()


def test_a_lever_that_fails_midway_is_healed_and_told(world, fault) -> None:
    struck: list[str] = []

    def fail_second(lever: str) -> None:
        struck.append(lever)
        if struck == ["kill", "kill"]:
            raise OSError("no such device")

    world.on_call = fail_second
    injector = world.injector(fault("kill", "masters"))
    with pytest.raises(InjectionFailed, match="could not kill broker-a-0, broker-b-0: no such device"):
        world.drive(injector)
    assert world.is_whole()
    assert world.events[-1][:4] == ("f1", "inject", "", 0)


def test_a_failed_undo_says_what_is_left_and_what_to_type_and_tries_the_others(world, fault) -> None:
    injector = world.injector(
        fault("pause", "slaves"), fault("isolate", "master(broker-a)", number=2), fault("kill", "masters", number=3)
    )
    world.drive(injector)
    world.broken["heal_partition"] = OSError("busy")
    with pytest.raises(UndoFailed, match=r"could not undo isolate broker-a-0 .*busy") as caught:
        injector.heal_all()
    assert "mqchaos heal" in caught.value.hint
    assert set(world.states.values()) == {"running"}
    assert len(injector.active) == 1
    del world.broken["heal_partition"]
    injector.heal_all()
    assert world.is_whole()


def test_a_heal_that_cannot_be_probed_does_not_keep_the_others_from_being_healed(world, fault) -> None:
    injector = world.injector(fault("pause", "slaves"), fault("isolate", "master(broker-a)", number=2))
    world.drive(injector)

    def unanswered(*pair: str) -> bool:
        raise OSError("no route to host")

    world.reaches = unanswered
    with pytest.raises(UndoFailed, match=r"cannot tell whether isolate broker-a-0 .* is gone: no route to host"):
        injector.heal_all()
    assert world.is_whole()
    assert ("f2", "heal_probe", "", -1) in world.told(0, 1, 2, 3)
    assert [active.partition(" ")[0] for active in injector.active] == ["isolate"]


def test_a_heal_that_is_refused_does_not_keep_the_others_from_being_healed(world, fault, refused) -> None:
    injector = world.injector(fault("pause", "slaves"), fault("isolate", "master(broker-a)", number=2))
    world.drive(injector)
    world.broken["heal_partition"] = refused
    with pytest.raises(UndoFailed, match=r"isolate broker-a-0 .*: no power can be cut here"):
        injector.heal_all()
    assert set(world.states.values()) == {"running"}


def test_a_cut_that_stays_after_its_undo_is_an_error(world, fault) -> None:
    injector = world.injector(fault("isolate", "master(broker-a)", hold="1s"))
    world.broken["heal_partition"] = None
    with pytest.raises(UndoFailed, match="still in force"):
        world.drive(injector)
    assert world.told(1, 3)[-1] == ("heal_probe", 0)


def test_a_broker_that_does_not_start_again_is_on_record_and_no_leftover(world, fault) -> None:
    injector = world.injector(fault("kill", "master(broker-a)", hold="1s"))
    world.broken["start"] = None
    world.drive(injector)
    assert world.told(1, 3)[-1] == ("heal_probe", 0)
    assert injector.active == ()


def test_the_undo_is_on_the_disk_before_the_act(world, fault, heal_folder: Path) -> None:
    world.steps = [HealStep("any", {})]
    seen: list[tuple[str, list[str]]] = []
    world.on_call = lambda lever: seen.append(
        (lever, [entry.what for found in open_journals(heal_folder) for entry in found.outstanding])
    )
    journal = HealJournal.open("run-1", heal_folder)
    injector = world.injector(fault("pause", "master(broker-a)", hold="1s"), journal=journal)
    world.drive(injector)
    assert seen == [("pause", ["pause broker-a-0"]), ("resume", ["pause broker-a-0"])]
    assert [step for (step,) in world.told(1)] == ["resolve", "journal", *CYCLE[1:]]
    assert journal.outstanding == ()


def test_a_failed_undo_stays_in_the_journal(world, fault, heal_folder: Path) -> None:
    world.steps = [HealStep("any", {})]
    journal = HealJournal.open("run-1", heal_folder)
    injector = world.injector(fault("pause", "master(broker-a)"), journal=journal)
    world.drive(injector)
    world.broken["resume"] = OSError("gone mad")
    with pytest.raises(UndoFailed):
        injector.heal_all()
    assert [entry.what for entry in journal.outstanding] == ["pause broker-a-0"]


def test_a_change_of_one_fault_moves_the_draws_of_no_other(world, fault) -> None:
    def times_of_second(first: Fault) -> int:
        injector = world.injector(first, fault("kill", "one of brokers", at="5s..50s", number=2), seed=7)
        world.events.clear()
        world.drive(injector)
        injector.heal_all()
        world.clock_ns = 0
        return world.detail("f2", "resolve")["at_ns"], world.detail("f2", "resolve")["left"]

    assert times_of_second(fault("kill", "masters")) == times_of_second(fault("pause", "some(slaves)", at="1s..4s"))


def test_a_slow_lever_makes_the_next_fault_late_and_that_is_told(world, fault) -> None:
    def slow(lever: str) -> None:
        world.clock_ns += 3 * SECOND if lever == "kill" else 0

    world.on_call = slow
    world.drive(world.injector(fault("kill", "master(broker-a)"), fault("pause", "slaves", at="2s", number=2)))
    assert world.detail("f2", "resolve")["late_ns"] == 2 * SECOND


plans = st.lists(
    st.tuples(
        st.sampled_from(["kill", "stop", "pause", "cut_power", "isolate", "restart"]),
        st.sampled_from(["masters", "one of brokers", "some(all)", "nameserver(1)", "minority(brokers)", "slaves"]),
        st.integers(0, 20),
        st.integers(0, 8),
    ),
    max_size=6,
)


@given(plans, st.integers(0, 2**16))
def test_whatever_the_plan_everything_is_whole_after_heal_all(make_world: Callable, plan, seed: int) -> None:
    world = make_world()
    faults = [
        bind_fault(number, at=f"{at}s", do=do, on=on, hold=f"{hold}s" if hold and do != "restart" else "")
        for number, (do, on, at, hold) in enumerate(plan, 1)
    ]
    injector = world.injector(*faults, seed=seed)
    world.drive(injector)
    injector.heal_all()
    assert world.is_whole()
    for fault in faults:
        steps = [step for name, step in world.told(0, 1) if name == fault.id]
        assert list(dict.fromkeys(steps)) == CYCLE


@given(plans, st.integers(0, 2**16))
def test_the_same_seed_strikes_the_same_nodes_at_the_same_times(make_world: Callable, plan, seed: int) -> None:
    told = []
    for _ in range(2):
        world = make_world()
        faults = [bind_fault(n, at=f"{at}s..30s", do=do, on=on) for n, (do, on, at, _) in enumerate(plan, 1)]
        world.drive(world.injector(*faults, seed=seed))
        told.append(world.events)
    assert told[0] == told[1]
