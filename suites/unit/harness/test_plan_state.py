"""Which sets of faults can take effect, each at its moment: the state of a node as a fold of the faults before."""

from __future__ import annotations

import pytest

from faults.catalogue import VERBS
from harness.plan_state import PlanState, Struck

A, B, SLAVE = "master(broker-a)", "master(broker-b)", "slave(broker-a)"


def struck(do: str, node: str, at: int, end: int, peer: str = "", **options: str) -> Struck:
    return Struck(VERBS[do], node, at, end, peer, options)


@pytest.mark.parametrize(
    ("faults", "is_possible"),
    [
        pytest.param([struck("kill", A, 10, 20), struck("pause", A, 15, 18)], False, id="what-is-dead-is-not-paused"),
        pytest.param([struck("kill", A, 10, 20), struck("pause", A, 22, 25)], False, id="nor-what-has-just-come-back"),
        pytest.param([struck("kill", A, 10, 20), struck("pause", A, 24, 28)], True, id="later-it-can"),
        pytest.param([struck("kill", A, 10, 20), struck("kill", B, 12, 22)], True, id="two-nodes-at-the-same-time"),
        pytest.param([struck("pause", A, 10, 20), struck("kill", A, 15, 25)], False, id="what-is-frozen-is-not-ended"),
        pytest.param([struck("fill_disk", A, 10, 20), struck("kill", A, 15, 18)], True, id="killed-with-a-full-disk"),
        pytest.param([struck("fill_disk", A, 10, 20), struck("fill_disk", A, 15, 18)], False, id="full-already"),
        pytest.param([struck("isolate", A, 10, 40), struck("kill", B, 20, 30)], False, id="probes-make-others-late"),
        pytest.param([struck("isolate", A, 10, 40), struck("kill", A, 28, 32)], True, id="killed-while-isolated"),
        pytest.param([struck("isolate", A, 10, 40), struck("kill", A, 28, 45)], False, id="a-heal-must-be-seen"),
        pytest.param(
            [struck("partition", A, 10, 40, SLAVE), struck("kill", SLAVE, 8, 9)], False, id="the-other-side-too"
        ),
        pytest.param(
            [struck("kill", B, 10, 15), struck("isolate", A, 12, 40), struck("kill", B, 27, 30)],
            False,
            id="a-heal-that-waits-for-probes-is-late",
        ),
        pytest.param(
            [struck("fail_sync", A, 10, 14), struck("kill", B, 11, 20)], True, id="forces-fail-within-a-second"
        ),
        pytest.param([struck("kill", A, 12, 14), struck("fail_sync", A, 10, 30)], False, id="no-force-without-process"),
        pytest.param(
            [struck("partition", A, 10, 40, "clients"), struck("fail_sync", A, 27, 38)], False, id="nor-without-load"
        ),
        pytest.param([struck("kill", A, 8, 14), struck("fail_sync", SLAVE, 10, 24)], False, id="nor-without-a-master"),
        pytest.param([struck("kill", A, 8, 10), struck("slow_disk", A, 40, 52)], False, id="nor-before-routes-tell"),
        pytest.param([struck("kill", A, 4, 6), struck("slow_disk", A, 40, 52)], True, id="asked-for-again"),
        pytest.param(
            [struck("kill", A, 8, 14), struck("reset_links", A, 27, 27, SLAVE)], False, id="no-reset-before-they-join"
        ),
        pytest.param([struck("kill", A, 8, 10), struck("reset_links", A, 27, 27, SLAVE)], True, id="joined"),
        pytest.param([struck("fill_disk", A, 10, 14), struck("slow_disk", A, 24, 34)], False, id="nor-on-a-full-disk"),
        pytest.param([struck("fill_disk", A, 10, 14), struck("slow_disk", A, 27, 37)], True, id="seen-to-have-room"),
        pytest.param([struck("slow_disk", A, 10, 30), struck("fail_sync", A, 20, 40)], False, id="one-force-at-a-time"),
        pytest.param([struck("hang_disk", A, 10, 30), struck("stop", A, 20, 35)], False, id="held-does-not-stop"),
        pytest.param([struck("hang_disk", A, 10, 30), struck("kill", A, 20, 35)], True, id="killed-while-held"),
        pytest.param([struck("hang_disk", B, 10, 30), struck("stop", A, 20, 35)], True, id="another-one-is-held"),
        pytest.param(
            [struck("kill", A, 10, 15), struck("partition", "nameserver(1)", 11, 30, "masters")],
            False,
            id="one-of-all-masters",
        ),
        pytest.param([struck("adopt_slave", A, 10, 20), struck("kill", SLAVE, 8, 20)], False, id="both-start-at-once"),
        pytest.param([struck("adopt_slave", A, 10, 20), struck("pause", SLAVE, 15, 30)], False, id="nor-frozen-then"),
        pytest.param([struck("adopt_slave", A, 10, 20), struck("kill", SLAVE, 15, 30)], True, id="a-dead-slave-has-it"),
        pytest.param(
            [struck("exhaust_files", A, 35, 50), struck("refuse_connects", A, 40, 55, "nameservers")],
            False,
            id="takes-no-connection-anyway",
        ),
        pytest.param([struck("starve_cpu", A, 10, 20), struck("kill", A, 15, 30)], True, id="a-starved-one-is-killed"),
        pytest.param([struck("dead_disk", A, 10, 20), struck("kill", A, 15, 30)], False, id="no-start-on-a-dead-disk"),
        pytest.param([struck("dead_disk", A, 10, 20), struck("fill_disk", A, 8, 14)], False, id="nor-is-it-full"),
        pytest.param([struck("dead_disk", A, 10, 20), struck("step_clock", A, 15, 25)], True, id="its-clock-jumps"),
        pytest.param([struck("dead_disk", A, 10, 20), struck("kill", B, 15, 25)], True, id="the-disk-of-another"),
        pytest.param([struck("dead_disk", A, 10, 20), struck("kill", A, 22, 30)], False, id="starts-with-its-heal"),
        pytest.param([struck("dead_disk", A, 10, 20), struck("kill", A, 24, 30)], True, id="has-started"),
        pytest.param([struck("dead_disk", A, 5, 50), struck("isolate", A, 10, 40)], True, id="isolated-all-the-same"),
        pytest.param([struck("dead_disk", A, 5, 38), struck("isolate", A, 10, 40)], False, id="not-when-it-is-mended"),
        pytest.param(
            [struck("dead_disk", SLAVE, 8, 30), struck("adopt_slave", A, 10, 20)], False, id="no-copy-of-a-dead-disk"
        ),
        pytest.param([struck("return_stale", SLAVE, 10, 45, behind="4KiB")], True, id="a-copy-gets-old"),
        pytest.param(
            [struck("return_stale", SLAVE, 10, 45, behind="4KiB"), struck("kill", B, 20, 25)], False,
            id="that-takes-until-then",
        ),
        pytest.param(
            [struck("return_stale", SLAVE, 10, 45, behind="4KiB"), struck("kill", B, 38, 42)], True, id="it-is-old"
        ),
        pytest.param(
            [struck("kill", A, 8, 12), struck("return_stale", SLAVE, 20, 60, behind="4KiB")], False,
            id="nobody-sends-to-its-master",
        ),
        pytest.param(
            [struck("exhaust_files", A, 12, 18), struck("return_stale", SLAVE, 15, 60, behind="1KiB")], False,
            id="its-master-takes-no-connection",
        ),
        pytest.param(
            [struck("exhaust_files", B, 12, 18), struck("return_stale", SLAVE, 15, 60, behind="1KiB")], True,
            id="nor-does-another-master",
        ),
        pytest.param([struck("damage_files", A, 10, 14, of="checkpoint")], True, id="made-from-a-log"),
        pytest.param([struck("damage_files", A, 10, 14, of="table")], False, id="tables-are-not-yet-written"),
        pytest.param([struck("damage_files", A, 26, 30, of="table")], True, id="tables-are-written"),
        pytest.param(
            [struck("wipe", A, 5, 8), struck("damage_files", A, 26, 30, of="table")], False, id="not-again-so-soon"
        ),
        pytest.param(
            [struck("wipe", A, 9, 14), struck("damage_files", SLAVE, 14, 30, of="index")], False, id="nothing-to-copy"
        ),
        pytest.param(
            [struck("damage_files", A, 26, 30, of="table"), struck("damage_files", A, 35, 40, of="table-backup")],
            False, id="nothing-to-start-from",
        ),
        pytest.param(
            [struck("damage_files", A, 26, 30, of="table"), struck("damage_files", A, 35, 40, of="index")], True,
            id="what-is-made-from-the-log-is-made-again",
        ),
    ],
)  # fmt: skip
def test_each_fault_finds_what_it_needs(faults: list[Struck], is_possible: bool) -> None:
    assert PlanState(faults, rate_per_s=20).is_possible() is is_possible
    assert PlanState(faults[::-1], rate_per_s=20).is_possible() is is_possible, "the order of drawing says nothing"


@pytest.mark.parametrize(
    ("before", "back_kib", "is_possible"),
    [
        ([], 16, True),
        ([], 80, False),
        ([struck("wipe", A, 15, 17)], 16, False),
        ([struck("wipe", A, 15, 17)], 1, True),
        ([struck("kill", A, 8, 14)], 16, True),
        ([struck("wipe", B, 15, 17)], 16, True),
    ],
)
def test_a_sector_goes_bad_only_in_a_log_that_is_long_enough(
    before: list[Struck], back_kib: int, is_possible: bool
) -> None:
    """20 records of 250 bytes a second: half of what there is after 22 s is 55 kB."""
    flipped = struck("flip_bits", A, 22, 25, back=f"{back_kib}KiB")
    assert PlanState([*before, flipped], rate_per_s=20).is_possible() is is_possible


def test_an_older_copy_takes_its_part_of_a_log() -> None:
    """42 s × 20 × 250 B less 33 s of those are 45 kB: enough for 20 KiB twice, but for the 4 KiB that are gone."""
    flipped = struck("flip_bits", SLAVE, 42, 45, back="20KiB")
    assert PlanState([flipped], rate_per_s=20).is_possible()
    for behind, is_possible in (("4KiB", False), ("1KiB", True)):
        stale = struck("return_stale", SLAVE, 5, 35, behind=behind)
        assert PlanState([stale, flipped], rate_per_s=20).is_possible() is is_possible


def test_the_log_of_a_slave_grows_while_its_master_runs() -> None:
    flipped = struck("flip_bits", SLAVE, 22, 25, back="40KiB")
    assert PlanState([flipped], rate_per_s=20).is_possible()
    assert not PlanState([struck("kill", A, 8, 14), flipped], rate_per_s=20).is_possible()


def test_an_asynchronous_flush_forces_late() -> None:
    short, long = [struck("fail_sync", A, 10, 14)], [struck("fail_sync", A, 10, 24)]
    assert [PlanState(faults, 20, forces_late=True).is_possible() for faults in (short, long)] == [False, True]
