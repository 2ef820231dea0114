"""Stores written by real brokers open here with everything in them; the same messages make the same bytes.

Two directions. *Open*: every captured folder, the damaged ones included, is recovered and must hold exactly the
messages that the capture says were stored, at the answered places and numbers. *Write*: the messages of a capture, put
again with the captured clock and addresses, must reproduce the captured log, queues and index byte for byte.
"""

from __future__ import annotations

import pytest

from harness.targets.releases import row_of
from reference_impl.store.consume_queue import FILLER, UNIT_SIZE
from reference_impl.wire.message import (
    PROPERTY_KEYS,
    PROPERTY_UNIQUE_KEY,
    TRANSACTION_MASK,
    TRANSACTION_NONE,
    BatchEntry,
    Message,
    decode_record,
    encode_batch,
    tags_code,
)
from suites.conformance.golden_store import (
    FILE_SIZE,
    PROPERTIES,
    SNAPSHOTS,
    Sent,
    lines,
    place,
    records,
    sent,
    unpack,
)
from suites.unit.store.world import EPOCH_MS, World

MARKS = {
    "1-running": "snapshot 1-running",
    "2-killed": "snapshot 2-killed",
    "3-stopped": "snapshot 3-stopped",
    "4-torn-properties-before-start": "snapshot 3-stopped",
    "5-torn-properties-recovered": "snapshot 5-",
    "6-torn-body-before-start": "snapshot 5-",
    "7-torn-body-recovered": "snapshot 7-",
}
DAMAGED_PROPERTIES = {"4-torn-properties-before-start", "5-torn-properties-recovered"}


def opened(snapshot: str) -> World:
    world = World(PROPERTIES)
    place(world.disk, unpack(snapshot))
    return world.start()


def expected(snapshot: str) -> list[Sent]:
    """What was answered before the snapshot, without the one record that a torn body takes."""
    run, _, name = snapshot.rpartition("/")
    entries = lines(run)
    if name in MARKS:
        entries = entries[: next(i for i, e in enumerate(entries) if MARKS[name] in e.get("what", ""))]
        found = sent(entries)
        torn = [s for s in found if s.entry["kind"] == "after-torn"]
        if name == "6-torn-body-before-start":
            found.remove(torn[-1])
        elif name == "7-torn-body-recovered":
            found.remove(torn[0])
        return found
    first = int(min(path for path in unpack(snapshot) if path.startswith("commitlog/"))[len("commitlog/") :])
    return [s for s in sent(entries) if s.places[0] >= first]


def bodies_of(entry: dict) -> list[bytes]:
    return [bytes.fromhex(m["body"]) for m in entry.get("batch", [entry])]


# --- open ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_every_answered_message_is_at_its_place_with_its_number_and_body(snapshot: str) -> None:
    world = opened(snapshot)
    found = expected(snapshot)
    assert len(found) > 30
    for one in found:
        for index, (physical_offset, body) in enumerate(zip(one.places, bodies_of(one.entry), strict=True)):
            data = world.store.view(world.env, physical_offset)
            assert data is not None, one.entry
            record = decode_record(data)
            assert (record.body, record.physical_offset) == (body, physical_offset)
            assert record.queue_offset == int(one.entry["queueOffset"]) + index
            assert record.crc_matches()


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_the_log_ends_behind_the_last_good_record(snapshot: str) -> None:
    world = opened(snapshot)
    good = [record for record in records(unpack(snapshot)) if record.crc_matches()]
    assert world.store.log_end == good[-1].physical_offset + good[-1].size
    assert world.store.log_start == good[0].physical_offset


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_queues_are_dense_and_hold_exactly_the_records_of_the_log(snapshot: str) -> None:
    world = opened(snapshot)
    in_queues = []
    for topic, queue_id in world.store.queues():
        first, end = world.store.min_offset(topic, queue_id), world.store.max_offset(topic, queue_id)
        offset = first
        while offset < end:
            result = world.get(offset, topic, queue_id)
            for number, data in zip(result.queue_offsets, result.records, strict=True):
                record = decode_record(data)
                assert (record.topic, record.queue_id, record.queue_offset) == (topic, queue_id, number)
                in_queues.append(record.physical_offset)
            assert result.next_offset == offset + len(result.records) > offset
            offset = result.next_offset
    good = [record for record in records(unpack(snapshot)) if record.crc_matches()]
    assert sorted(in_queues) == [record.physical_offset for record in good]


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_units_have_size_and_tag_hash_of_their_records(snapshot: str) -> None:
    world = opened(snapshot)
    by_place = {record.physical_offset: record for record in records(unpack(snapshot))}
    checked = 0
    for queue in world.store._queues.all():
        for physical_offset, size, code in queue.units(world.env, queue.min_offset, 100):
            record = by_place[physical_offset]
            assert size == record.size
            if record.topic != "SCHEDULE_TOPIC_XXXX":
                assert code == tags_code(record.property_map().get("TAGS"))
                checked += 1
    assert checked > 30


@pytest.mark.parametrize("snapshot", [s for s in SNAPSHOTS if row_of(s).is_4])
def test_the_index_finds_every_unique_key_and_every_key_word(snapshot: str) -> None:
    """The loaded index (orderly stop) as well as the one that an abnormal start builds again."""
    world = opened(snapshot)
    words = 0
    for record in records(unpack(snapshot)):
        properties = record.property_map()
        keys = [properties.get(PROPERTY_UNIQUE_KEY, ""), *properties.get(PROPERTY_KEYS, "").split(" ")]
        for key in filter(None, keys if record.crc_matches() else []):
            found = world.store.query(world.env, record.topic, key, 32, 0, EPOCH_MS * 2)
            assert record.physical_offset in [decode_record(data).physical_offset for data in found.records]
            words += 1
    assert words > 2


@pytest.mark.parametrize("version", ["4.9.7", "5.3.3"])
def test_a_torn_property_is_kept_and_a_torn_body_ends_the_log(version: str) -> None:
    """P13: the CRC covers the body only."""
    torn = opened(f"{version}/single/4-torn-properties-before-start")
    whole = opened(f"{version}/single/3-stopped")
    assert torn.store.log_end == whole.store.log_end
    last = max(expected(f"{version}/single/3-stopped"), key=lambda s: s.places)
    damaged = decode_record(torn.store.view(torn.env, last.places[0]) or b"")
    assert damaged.properties.endswith("\0" * 5)
    shortened = opened(f"{version}/single/6-torn-body-before-start")
    after = decode_record(shortened.store.view(shortened.env, last.places[0]) or b"")
    assert shortened.store.log_end == after.physical_offset + after.size


@pytest.mark.parametrize("version", ["4.9.7", "5.3.3"])
def test_the_number_of_the_torn_record_is_given_again(version: str) -> None:
    world = opened(f"{version}/single/6-torn-body-before-start")
    entry = [e for e in lines(f"{version}/single") if e["kind"] == "after-torn"][-1]
    result = world.send("again", entry["topic"], entry["queueId"])
    assert result.queue_offset == int(entry["queueOffset"])
    assert f"{result.physical_offset:016X}" == entry["msgId"][16:]


# --- write -----------------------------------------------------------------------------------------------------------


def at_wall(world: World, milliseconds: int) -> None:
    """Set the broker's clock."""
    world.wall_step_ms += milliseconds - world.wall()


def put_again(world: World, record: Message, one: Sent | None) -> None:
    """The send that made *record*: as the client sent it, or for what a broker writes for itself, as it was stored."""
    at_wall(world, record.store_timestamp)
    shared = {"born_timestamp": record.born_timestamp, "born_host": record.born_host}
    if one is None or one.entry["kind"] == "half":
        result = world.put(
            record.body,
            record.topic,
            record.queue_id,
            properties=record.properties,
            flag=record.flag,
            sys_flag=record.sys_flag,
            reconsume_times=record.reconsume_times,
            prepared_transaction_offset=record.prepared_transaction_offset,
            is_internal=True,
            **shared,
        )
    else:
        entry = one.entry
        is_batch = "batch" in entry
        body = bytes.fromhex(entry["body"]) if not is_batch else batch_body(entry)
        result = world.put(
            body,
            entry["topic"],
            entry["queueId"],
            properties=entry["properties"],
            flag=entry["flag"],
            sys_flag=entry["sysFlag"],
            is_batch=is_batch,
            **shared,
        )
    assert result[0].physical_offset == record.physical_offset
    world.run(0.002)


def batch_body(entry: dict) -> bytes:
    return encode_batch([BatchEntry(bytes.fromhex(m["body"]), m["properties"]) for m in entry["batch"]])


def replayed(snapshot: str, *, as_sent: bool) -> World:
    """A fresh store to which everything in a captured log is put again."""
    stored = records(unpack(snapshot))
    world = World({**PROPERTIES, "storeHost": stored[0].store_host})
    at_wall(world, stored[0].store_timestamp)
    world.start()
    by_first = {s.places[0]: s for s in expected(snapshot)} if as_sent else {}
    in_batch = {place for s in by_first.values() for place in s.places[1:]}
    for record in stored:
        if record.physical_offset not in in_batch:
            put_again(world, record, by_first.get(record.physical_offset))
    return world


WRITTEN = [
    ("4.9.7/single/1-running", True),
    ("4.9.7/single/2-killed", True),
    ("4.9.7/single/3-stopped", True),
    ("4.9.7/pair/master", True),
    # 5.3.3 stores properties of its own making, so its text is taken as it is.
    ("5.3.3/single/3-stopped", False),
    ("5.3.3/pair/master", False),
]


@pytest.mark.parametrize(("snapshot", "as_sent"), WRITTEN)
def test_the_same_messages_make_the_same_log(snapshot: str, as_sent: bool) -> None:
    captured = unpack(snapshot)
    world = replayed(snapshot, as_sent=as_sent)
    logs = [path for path in sorted(captured) if path.startswith("commitlog/")]
    assert len(logs) >= 2
    for path in logs:
        assert world.content(path) == captured[path], path
    if as_sent:
        assert sum(record.sys_flag & TRANSACTION_MASK == TRANSACTION_NONE for record in records(captured)) > 30


@pytest.mark.parametrize(("snapshot", "as_sent"), WRITTEN)
def test_the_same_messages_make_the_same_queues(snapshot: str, as_sent: bool) -> None:
    captured = unpack(snapshot)
    world = replayed(snapshot, as_sent=as_sent)
    queues = [path for path in captured if path.startswith("consumequeue/") and any(captured[path])]
    assert queues
    for path in queues:
        ours, theirs = world.content(path), captured[path]
        if snapshot.endswith("2-killed"):
            # The kill came right behind the last answer: the real dispatch may not have got to the last units.
            theirs = theirs.rstrip(b"\0")
            theirs = theirs + bytes(-len(theirs) % UNIT_SIZE)
            ours = ours[: len(theirs)]
        assert ours == theirs, path


@pytest.mark.parametrize(
    "snapshot", ["4.9.7/single/1-running", "4.9.7/single/3-stopped", "4.9.7/pair/master", "5.3.3/pair/master"]
)
def test_the_same_messages_make_the_same_index(snapshot: str) -> None:
    captured = unpack(snapshot)
    world = replayed(snapshot, as_sent=False).stop()
    [path] = [path for path in captured if path.startswith("index/")]
    [ours] = [name for name in world.names() if name.startswith("index/")]
    assert world.content(ours) == captured[path]


@pytest.mark.parametrize("version", ["4.9.7", "5.3.3"])
def test_a_slave_that_gets_the_masters_bytes_has_the_slaves_files(version: str) -> None:
    """The real slave began with the master's last file: units before its first message are fillers."""
    master, slave = unpack(f"{version}/pair/master"), unpack(f"{version}/pair/slave")
    world = World({**PROPERTIES, "brokerRole": "SLAVE"}).start()
    end = records(master)[-1].physical_offset + records(master)[-1].size
    data = master[f"commitlog/{FILE_SIZE:020d}"][: end - FILE_SIZE]
    for at in range(0, len(data), 1000):
        assert world.store.append_raw(world.env, FILE_SIZE + at, data[at : at + 1000])
        world.run(0.002)
    for path in slave:
        if path.startswith(("commitlog/", "consumequeue/")) and any(slave[path]):
            assert world.content(path) == slave[path], path
    first = next(path for path in slave if path.startswith("consumequeue/T0/0/"))
    assert slave[first].startswith(FILLER)
    assert world.store.min_offset("T0", 0) == (61 if not row_of(version).is_4 else 64)


@pytest.mark.parametrize("snapshot", ["4.9.7/single/3-stopped", "4.9.7/pair/master"])
def test_an_orderly_stop_leaves_the_files_that_apache_leaves(snapshot: str) -> None:
    """Same names (but for the index, which is named after a moment), no abort, no file that was only pre-created."""
    captured = {path for path in unpack(snapshot) if not path.startswith(("index/", "config/"))}
    world = replayed(snapshot, as_sent=True).stop()
    assert {name for name in world.names() if not name.startswith("index/")} == captured
    assert world.content("lock") == unpack(snapshot)["lock"] == b"lock"


def test_a_running_broker_has_the_marker_and_the_next_file() -> None:
    captured = unpack("4.9.7/single/1-running")
    world = replayed("4.9.7/single/1-running", as_sent=True)
    assert world.content("abort") == captured["abort"] == b""
    assert {n for n in world.names() if n.startswith("commitlog/")} == {
        n for n in captured if n.startswith("commitlog/")
    }
