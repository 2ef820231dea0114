"""The body of REGISTER_BROKER, plain and compressed.

Question: which topics does a broker announce? Plain it is one JSON object. Compressed it is a zlib stream of

    int32 n, DataVersion JSON | int32 count | count x (int32 n, "name readQueues writeQueues perm FILTERTYPE")
    int32 n, JSON array of filter servers | and from 5.x brokers: int32 count | count x (int32 n, queue mapping JSON)

Limits. ``order`` and ``topicSysFlag`` are lost in the compressed form (RocketMQ: RegisterBrokerBody). 4.9 needs
exactly five items a topic and refuses the whole body for six; 5.x takes the sixth (attributes). The mapping section is
skipped. :class:`RemoteWireError` for anything else, and for more than 64 MiB inflated.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from struct import Struct
from typing import Final

import msgspec

from reference_impl.wire.bodies import DataVersion, TopicConfig, TopicConfigTable
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.frame import RemoteWireError

INFLATED_BYTES_MAX: Final = 64 * 1024 * 1024


class RegisterBrokerBody(msgspec.Struct, rename="camel"):
    """The announced topics and their version; filter servers are obsolete and normally none."""

    filter_server_list: list[str] | None = []
    topic_config_serialize_wrapper: TopicConfigTable | None = None

    @property
    def topics(self) -> TopicConfigTable:
        """The table; empty, at version 0 of time 0, where a broker sent none."""
        return self.topic_config_serialize_wrapper or TopicConfigTable()


def write_registration(topics: TopicConfigTable, filter_servers: Sequence[str] = (), *, compressed: bool) -> bytes:
    """The body for a 4.9 NameServer (and for 5.x, as long as the header's version is below 413)."""
    if not compressed:
        return write_json(RegisterBrokerBody(list(filter_servers), topics))
    texts = [_topic_text(topic) for topic in topics.topic_config_table.values()]
    parts = [_counted(write_json(topics.data_version)), _INT.pack(len(texts)), *map(_counted, texts)]
    return zlib.compress(b"".join(parts) + _counted(write_json(list(filter_servers))), 9)


def read_registration(
    data: bytes, *, compressed: bool, attributes: bool = False, mapping: bool = False
) -> RegisterBrokerBody:
    """The body. 5.x takes a sixth item a topic (*attributes*), and from a 5.x broker needs the *mapping* section in a
    compressed body; 4.9 does neither. An empty body announces nothing."""
    if not data:
        return RegisterBrokerBody()
    return _read_compressed(data, attributes, mapping) if compressed else read_json(data, RegisterBrokerBody)


def _read_compressed(data: bytes, attributes: bool, mapping: bool) -> RegisterBrokerBody:
    reader = _Reader(_inflate(data))
    version = read_json(reader.chunk(), DataVersion)
    topics = [_topic(reader.chunk(), attributes) for _ in range(reader.number())]
    filter_servers = read_json(reader.chunk(), list[str])
    for _ in range(reader.number() if mapping else 0):
        reader.chunk()
    return RegisterBrokerBody(filter_servers, TopicConfigTable(version, {topic.topic_name: topic for topic in topics}))


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        inflated = inflater.decompress(data, INFLATED_BYTES_MAX)
    except zlib.error as error:
        raise RemoteWireError(f"registration is no zlib stream: {error}") from error
    if not inflater.eof:
        raise RemoteWireError("registration is cut off or above 64 MiB inflated")
    return inflated


def _topic_text(topic: TopicConfig) -> bytes:
    items = (topic.topic_name, topic.read_queue_nums, topic.write_queue_nums, topic.perm, topic.topic_filter_type)
    return " ".join(map(str, items)).encode()


def _topic(text: bytes, attributes: bool) -> TopicConfig:
    items = text.decode("utf-8", "replace").split(" ", 5)
    if len(items) < 5 or (len(items) > 5 and not attributes):
        raise RemoteWireError(f"topic of {len(items)} items in a registration")
    try:
        read, write, perm = (int(item) for item in items[1:4])
    except ValueError as error:
        raise RemoteWireError(f"topic {items[0]!r} in a registration: {error}") from error
    topic = TopicConfig(
        topic_name=items[0], read_queue_nums=read, write_queue_nums=write, perm=perm, topic_filter_type=items[4]
    )
    if len(items) > 5:
        topic.attributes = read_json(items[5].encode(), dict[str, str])
    return topic


def _counted(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


class _Reader:
    """Numbers and counted chunks, one behind the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._position = data, 0

    def number(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def chunk(self) -> bytes:
        return self._take(self.number())

    def _take(self, size: int) -> bytes:
        end = self._position + size
        if size < 0 or end > len(self._data):
            raise RemoteWireError(f"registration is cut off at byte {self._position}")
        taken, self._position = self._data[self._position : end], end
        return taken


_INT: Final = Struct(">i")
