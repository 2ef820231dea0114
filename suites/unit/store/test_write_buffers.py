"""transientStorePool: acknowledged bytes wait in a buffer, committed ones are in the page cache (probe P12)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.environment import MS
from reference_impl.store import PutStatus
from reference_impl.wire.message import decode_record
from suites.unit.store.world import World

POOL = {"transientStorePoolEnable": "true"}


def world(**more: str) -> World:
    made = World(POOL | more).start().run(0.5)
    made.send("first")  # nothing was committed in this life: this one is, at once
    return made.run(ns=2 * MS)


def bodies(made: World) -> list[bytes]:
    """What can be read of T's queue 0."""
    found = made.store.get(made.env, "T", 0, 0, 32)
    return [decode_record(record).body for record in found.records] if found is not None else []


def log_on_disk(made: World) -> bytes:
    return b"".join(made.disk.read(name, 0, made.disk.size(name)) for name in made.disk.files("store/commitlog/"))


def test_an_acknowledged_message_is_in_no_file_until_200_ms_have_passed() -> None:
    made = world()
    result = made.send("second")
    assert result.status is PutStatus.PUT_OK
    made.run(ns=100 * MS)
    assert b"second" not in log_on_disk(made)
    assert bodies(made) == [b"first"]
    assert made.store.view(made.env, result.physical_offset) is None
    assert made.store.log_end == result.physical_offset
    made.run(ns=110 * MS)
    assert b"second" in log_on_disk(made)
    assert bodies(made) == [b"first", b"second"]
    assert made.store.log_end == result.end_offset


def test_four_pages_are_committed_at_once() -> None:
    made = world(mappedFileSizeCommitLog="65536")
    for _ in range(4):
        made.send(b"x" * 5000)
    made.run(ns=2 * MS)
    assert len(bodies(made)) == 5


def test_a_kill_takes_the_last_200_ms_and_gives_their_offsets_again() -> None:
    made = world()
    for number in range(5):
        made.send(f"kept {number}")
    made.run(0.5)
    made.send("at once")  # committed at once: 200 ms had passed
    made.run(ns=2 * MS)
    lost = [made.send(f"lost {number}") for number in range(3)]
    made.kill().start().run(0.1)
    assert bodies(made) == [b"first", *(b"kept %d" % number for number in range(5)), b"at once"]
    again = made.send("new")
    assert (again.queue_offset, again.physical_offset) == (lost[0].queue_offset, lost[0].physical_offset)


def test_a_stop_loses_nothing() -> None:
    made = world()
    for number in range(5):
        made.send(f"m{number}")
    made.stop().start().run(0.1)
    assert len(bodies(made)) == 6
    assert made.store.flushed_to == made.store.log_end


def test_a_file_that_a_start_found_has_no_buffer_until_the_log_rolls() -> None:
    made = world()
    made.kill().start().run(0.5)
    made.send("again")
    made.send("and again")
    assert b"and again" in log_on_disk(made)
    while made.store.log_start == 0 and made.send(b"y" * 700).physical_offset < 8192:
        pass
    made.run(ns=2 * MS)
    made.send("buffered")
    assert b"buffered" not in log_on_disk(made)


def test_the_log_rolls_as_without_buffers() -> None:
    """The same puts, the same files."""
    logs = []
    for pool in ("true", "false"):
        made = World({"transientStorePoolEnable": pool}).start().run(0.1)
        for number in range(60):
            made.send(f"{number:03d}" * 100)
            made.run(ns=30 * MS)
        made.run(1.0)
        assert made.store.max_offset("T", 0) == 60
        logs.append(log_on_disk(made))
    blank = bytes.fromhex("cbd43194")
    assert logs[0].count(blank) == logs[1].count(blank) == 2
    assert len(logs[0]) == len(logs[1])


def test_an_empty_pool_is_told() -> None:
    made = world(transientStorePoolSize="1")
    assert made.store.has_no_buffer
    assert not world().store.has_no_buffer
    assert not World().start().store.has_no_buffer


@pytest.mark.parametrize("more", [{"flushDiskType": "SYNC_FLUSH"}, {"brokerRole": "SLAVE"}])
def test_where_the_setting_does_nothing(more: dict[str, str]) -> None:
    assert World(POOL | more).config.write_buffers == 0


def test_a_file_that_cannot_be_written_keeps_its_bytes_waiting() -> None:
    made = world()
    made.faults().write_failures = [1]
    made.send("patient")
    made.run(0.25)
    assert [event for event, _ in made.notes].count("commit_failed") == 1
    assert bodies(made) == [b"first"]
    made.run(1.0)
    assert bodies(made) == [b"first", b"patient"]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 900), st.sampled_from([0, 1, 50, 150, 250])), min_size=1, max_size=60))
def test_a_kill_leaves_a_prefix_and_at_least_what_is_200_ms_old(puts: list[tuple[int, int]]) -> None:
    made = World(POOL).start().run(0.1)
    sent: list[tuple[int, bytes]] = []
    for number, (size, pause_ms) in enumerate(puts):
        body = b"%04d" % number + b"z" * size
        sent.append((made.scheduler.now, body))
        assert made.send(body).status is PutStatus.PUT_OK
        made.run(ns=pause_ms * MS)
    old = sum(made.scheduler.now - at > 202 * MS for at, _ in sent)
    made.kill().start().run(0.1)
    count = made.store.max_offset("T", 0)
    assert count >= old
    kept: list[bytes] = []
    while len(kept) < count:
        found = made.store.get(made.env, "T", 0, len(kept), 32)
        assert found is not None
        kept += [decode_record(record).body for record in found.records]
    assert kept == [body for _, body in sent[:count]]
