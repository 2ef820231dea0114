"""What a store holds, learnt in two ways that know nothing of each other: from its files, and from the broker on them.

Question: do two brokers agree about one folder? ``on_disk`` reads the files by the formats alone (records, tables);
``as_served`` asks whoever runs there. Equal contents mean: the same messages, byte for byte with their physical
positions, under the same queue offsets; every key and unique key leads to the same positions; topics, groups and the
progress of consumers are the same.

Limits. On the disk a log ends where no record begins; what was never dispatched is expected of the broker all the same
(that is recovery's business). Deleted files and compaction are not looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from struct import Struct

from reference_impl.wire.bodies import (
    SubscriptionGroupConfig,
    SubscriptionGroupTable,
    TopicConfig,
    TopicConfigTable,
    read_consumer_offsets,
)
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import RemoteWireError
from reference_impl.wire.message import Message, decode_record, decode_records, tags_code
from suites.conformance.broker.peer import Peer, answer, pull

UNIT = Struct(">qiq")
"""Of a consume queue: physical position, size, hash of the tag or time of delivery."""
DELAYED = "SCHEDULE_TOPIC_XXXX"
DELAY_MS = {1: 1_000, 9: 300_000, 10: 360_000}
"""By level, of those that :mod:`load` uses."""
PULLS_MAX = 2_000
HOUR_MS = 3_600_000

_TWO_LONGS = Struct(">qq")
_MAGIC = 0xDAA320A7

Queue = tuple[str, int]


@dataclass(frozen=True)
class Content:
    """``records``: queue → records as stored, by queue offset from 0. ``found``: (topic, key) → physical positions."""

    records: dict[Queue, list[bytes]]
    found: dict[tuple[str, str], frozenset[int]]
    progress: dict[str, dict[int, int]]
    topics: dict[str, TopicConfig]
    groups: dict[str, SubscriptionGroupConfig]

    @property
    def count(self) -> int:
        """Messages in all queues."""
        return sum(map(len, self.records.values()))

    def message(self, topic: str, queue: int, offset: int) -> Message:
        return decode_record(self.records[topic, queue][offset])

    def units(self, topic: str, queue: int) -> bytes:
        """The consume queue that these records must have, by RocketMQ's rule (CommitLog#checkMessageAndReturnSize)."""
        return b"".join(_unit(decode_record(record)) for record in self.records[topic, queue])


def _unit(message: Message) -> bytes:
    told = message.property_map()
    code = tags_code(told.get("TAGS"))
    if message.topic == DELAYED:
        code = message.store_timestamp + DELAY_MS[int(told["DELAY"])]
    return UNIT.pack(message.physical_offset, message.size, code)


def assert_same(one: Content, other: Content) -> None:
    """Part by part, so that a difference names its part."""
    for part in fields(Content):
        left, right = getattr(one, part.name), getattr(other, part.name)
        different = [key for key in {**left, **right} if left.get(key) != right.get(key)]
        assert not different, f"{part.name}: {[(key, left.get(key), right.get(key)) for key in different[:3]]}"


# -- from the files ----------------------------------------------------------------------------------------------------


def log_of(store: Path) -> bytes:
    """The commit log from its first file (which must be 0) to the end of its last whole record, blanks included."""
    names = sorted(path for path in (store / "commitlog").iterdir() if path.name.isdecimal())
    assert int(names[0].name) == 0, "nothing was deleted"
    data = b"".join(path.read_bytes() for path in names)
    return data[: _walk(data, names[0].stat().st_size)[1]]


def records_of(log: bytes, file_size: int) -> list[Message]:
    """Every record of a log that begins at 0."""
    return _walk(log, file_size)[0]


def _walk(log: bytes, file_size: int) -> tuple[list[Message], int]:
    found: list[Message] = []
    position = 0
    while position < len(log):
        try:
            record = decode_record(log, position)
        except RemoteWireError:
            rest = position % file_size
            if not _is_blank(log, position) or not rest:
                break
            position += file_size - rest
            continue
        found.append(record)
        position += record.size
    return found, min(position, len(log))


def _is_blank(log: bytes, position: int) -> bool:
    return log[position + 4 : position + 8] == b"\xcb\xd4\x31\x94"


def queue_units(store: Path, topic: str, queue: int) -> bytes:
    """A consume queue's units from offset 0 to its last one that is filled."""
    files = sorted((store / "consumequeue" / topic / str(queue)).iterdir())
    data = b"".join(path.read_bytes() for path in files if path.name.isdecimal())
    sizes = [size for _, size, _ in UNIT.iter_unpack(data)]
    return data[: UNIT.size * (sizes.index(0) if 0 in sizes else len(sizes))]


def scan_start(store: Path) -> int:
    """Where recovery begins after a kill: the newest log file that begins 3 s before what the checkpoint vouches for.

    RocketMQ: CommitLog#isMappedFileMatchedRecover, StoreCheckpoint#getMinTimestamp. An index file that is not full is
    deleted then, and built again from here: whoever sent earlier is not found by key any more.
    """
    physic, logics = _TWO_LONGS.unpack((store / "checkpoint").read_bytes()[: _TWO_LONGS.size])
    start = 0
    for path in sorted((store / "commitlog").iterdir()):
        data = path.read_bytes()
        if (
            int.from_bytes(data[4:8], "big") == _MAGIC
            and decode_record(data).store_timestamp <= min(physic, logics) - 3000
        ):
            start = int(path.name)
    return start


def on_disk(
    store: Path, file_size: int, topics: Sequence[str], groups: Sequence[str], indexed_from: int = 0
) -> Content:
    """By the files alone; *topics* and *groups*: those whose tables are compared. Keys of what lies before
    *indexed_from* are expected to lead nowhere."""
    log = log_of(store)
    messages = records_of(log, file_size)
    records: dict[Queue, dict[int, bytes]] = defaultdict(dict)
    for message in messages:
        position = message.physical_offset
        records[message.topic, message.queue_id][message.queue_offset] = log[position : position + message.size]
    for queue, by_offset in records.items():
        assert sorted(by_offset) == list(range(len(by_offset))), f"{queue} has holes"
    return Content(
        {queue: [by_offset[offset] for offset in sorted(by_offset)] for queue, by_offset in records.items()},
        _keyed(messages, indexed_from),
        read_consumer_offsets((store / "config" / "consumerOffset.json").read_bytes()),
        read_topics((store / "config" / "topics.json").read_bytes(), topics),
        read_groups((store / "config" / "subscriptionGroup.json").read_bytes(), groups),
    )


def _keyed(messages: Iterable[Message], indexed_from: int) -> dict[tuple[str, str], frozenset[int]]:
    """RocketMQ: IndexService#buildIndex, the unique key and each of the keys."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for message in messages:
        told = message.property_map()
        for key in (told.get("UNIQ_KEY", ""), *told.get("KEYS", "").split(" ")):
            if key:
                found[message.topic, key] |= (
                    {message.physical_offset} if message.physical_offset >= indexed_from else set()
                )
    return {key: frozenset(positions) for key, positions in found.items()}


def read_topics(data: bytes, names: Iterable[str]) -> dict[str, TopicConfig]:
    """Those of *names* that a table of topics has."""
    table = read_json(data, TopicConfigTable).topic_config_table
    return {name: _plain(table[name]) for name in names if name in table}


def _plain(config: TopicConfig) -> TopicConfig:
    """Without the attributes that only 5.x writes; they are empty here."""
    return TopicConfig(
        order=config.order,
        perm=config.perm,
        read_queue_nums=config.read_queue_nums,
        topic_filter_type=config.topic_filter_type,
        topic_name=config.topic_name,
        topic_sys_flag=config.topic_sys_flag,
        write_queue_nums=config.write_queue_nums,
    )


def read_groups(data: bytes, names: Iterable[str]) -> dict[str, SubscriptionGroupConfig]:
    """Those of *names* that a table of groups has."""
    table = read_json(data, SubscriptionGroupTable).subscription_group_table
    return {name: table[name] for name in names if name in table}


# -- from the broker ---------------------------------------------------------------------------------------------------


def as_served(peer: Peer, like: Content) -> Content:
    """What the broker tells; asked about the queues, keys, topics and groups of *like* and one offset beyond."""
    return Content(
        {queue: read_queue(peer, *queue) for queue in like.records},
        {key: look_up(peer, *key) for key in like.found},
        read_consumer_offsets(answer(peer, Code.GET_ALL_CONSUMER_OFFSET).body),
        read_topics(answer(peer, Code.GET_ALL_TOPIC_CONFIG).body, list(like.topics)),
        read_groups(answer(peer, Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body, list(like.groups)),
    )


def read_queue(peer: Peer, topic: str, queue: int) -> list[bytes]:
    """Every record that pulls bring, from offset 0 to where nothing follows."""
    found: list[bytes] = []
    offset = 0
    for _ in range(PULLS_MAX):
        pulled = pull(peer, topic, offset, queue=queue, group="reader")
        if pulled.code != 0:
            assert pulled.code in (19, 20, 21), (topic, queue, offset, pulled)
            return found
        found += _split(pulled.body)
        offset = int(pulled.fields["nextBeginOffset"])
    raise AssertionError(f"{topic} {queue} has no end")


def _split(body: bytes) -> list[bytes]:
    parts, position = [], 0
    for message in decode_records(body):
        parts.append(body[position : position + message.size])
        position += message.size
    return parts


def look_up(peer: Peer, topic: str, key: str) -> frozenset[int]:
    """Positions that the index gives for a key of the last hour."""
    now_ms = peer.now_ms()
    window = {"beginTimestamp": now_ms - HOUR_MS, "endTimestamp": now_ms + HOUR_MS, "maxNum": 32}
    got = answer(peer, Code.QUERY_MESSAGE, topic=topic, key=key, **window)
    return frozenset(message.physical_offset for message in decode_records(got.body)) if got.code == 0 else frozenset()
