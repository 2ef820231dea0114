"""The experiment for which the simulator exists, with a toy: which flush loses acknowledged records to which fault?

Each seed: a log server, two clients at 50 records a second each, one fault at a drawn moment, restart, then the log is
read. Acknowledged and missing is lost. Guarantees: kill loses nothing; a power cut takes from asynchronous flush, in
nearly every seed, a suffix of what was acknowledged; from synchronous flush nothing; planted bugs show.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from harness.backends.sim.world import SimBackend
from reference_impl.environment import MS, SECOND
from suites.unit.sim.toys import MAGIC, PORT, RECORD, LogClient, log_world

SEEDS = range(60)


def run(seed: int, flush: str, fault: str, defects: tuple[str, ...] = ()) -> tuple[list[int], list[int]]:
    """(acknowledged in the order of the answers, recovered in the order of the log)."""
    world = log_world(seed, flush, defects)
    clients = [LogClient(f"{world.host('broker-a-0')}:{PORT}", number * 1_000_000, 20 * MS) for number in (1, 2)]
    for number, client in enumerate(clients, 1):
        world.add_client(f"client-{number}", client)
    world.run_until(lambda: False, 2 * SECOND + Random(seed).randrange(SECOND))
    getattr(world.levers, fault)("broker-a-0")
    acknowledged = [number for client in clients for number in client.acknowledged]
    assert len(acknowledged) > 100
    world.levers.start("broker-a-0")
    world.run_until(lambda: False, world.now() + SECOND // 2)
    return acknowledged, log_of(world)


def log_of(world: SimBackend) -> list[int]:
    """The records, as the recovered server would read them."""
    disk = world.node("broker-a-0").disk
    content = disk.read("log", 0, disk.size("log"))
    records = [RECORD.unpack_from(content, at) for at in range(0, len(content) - RECORD.size + 1, RECORD.size)]
    assert all(magic == MAGIC for magic, _ in records)
    return [number for _, number in records]


def lost(acknowledged: list[int], recovered: list[int]) -> list[int]:
    there = dict.fromkeys(recovered)
    return [number for number in acknowledged if number not in there]


@pytest.mark.parametrize("flush", ["sync", "async"])
def test_a_kill_loses_nothing(flush: str) -> None:
    assert all(not lost(*run(seed, flush, "kill")) for seed in SEEDS)


def test_a_power_cut_takes_nothing_from_synchronous_flush() -> None:
    assert all(not lost(*run(seed, "sync", "cut_power")) for seed in SEEDS)


def test_a_power_cut_takes_a_suffix_from_asynchronous_flush_in_nearly_every_seed() -> None:
    losing = 0
    for seed in SEEDS:
        acknowledged, recovered = run(seed, "async", "cut_power")
        missing = lost(acknowledged, recovered)
        losing += bool(missing)
        for client in (1, 2):
            own = [number for number in acknowledged if number // 1_000_000 == client]
            gone = [number for number in missing if number // 1_000_000 == client]
            assert gone == own[len(own) - len(gone) :], "what is lost is not a suffix"
        assert len(missing) <= 100, "older than the flush interval"
    assert losing >= 0.9 * len(SEEDS)


def test_acknowledging_before_the_sync_shows() -> None:
    assert sum(bool(lost(*run(seed, "sync", "cut_power", ("ack-early",)))) for seed in SEEDS) >= 0.9 * len(SEEDS)


def test_a_disk_that_lies_defeats_synchronous_flush() -> None:
    world = log_world(5, "sync")
    world.all_levers.lie("broker-a-0")
    client = LogClient(f"{world.host('broker-a-0')}:{PORT}", 0, 20 * MS)
    world.add_client("client-1", client)
    world.run_until(lambda: False, 5 * SECOND)
    world.levers.cut_power("broker-a-0")
    assert lost(client.acknowledged, log_of(world) if world.node("broker-a-0").disk.size("log") > 0 else [])


def test_the_run_drawn_in_the_documentation_is_this_one() -> None:
    told: list[str] = []
    world = log_world(1, "async", trace=lambda ns, _, name: told.append(f"{ns / MS:5.1f} {name}"))
    world.on_event = lambda node, event, fields: told.append(f"{world.now() / MS:5.1f} {event} {fields}")
    client = LogClient(f"{world.host('broker-a-0')}:{PORT}", 1, 20 * MS)
    world.add_client("client-1", client)
    assert world.run_until(lambda: len(client.acknowledged) == 30, SECOND)
    world.levers.cut_power("broker-a-0")
    world.run_until(lambda: False, world.now() + 100 * MS)
    world.levers.start("broker-a-0")
    world.run_until(lambda: False, 2 * SECOND)
    assert client.acknowledged[29:31] == [30, 42]
    drawn = (Path(__file__).parents[3] / "docs" / "simulator.md").read_text(encoding="utf-8")
    for line in (
        "  0.7 SimNet._on_syn",
        "  1.0 SimNet._on_refusal",
        " 29.8 recovered {'records': 0}",
        " 51.1 SimNet._on_syn",
        " 51.3 SimNet._on_syn_ack",
        "530.0 SimDisk._end_sync",
        "641.3 power_was_cut {'mode': 'drop-all', 'pending_bytes': 96, 'lost_bytes': 96, 'lost_names': 0}",
        "780.2 recovered {'records': 24}",
        "860.1 SimNet._retry",
        "860.4 SimNet._on_reset",
        "910.9 SimNet._on_accept",
    ):
        assert line in told
        assert f"\n{line[:5]}  " in drawn, "the drawing is of another version of the simulator"
