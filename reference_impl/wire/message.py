"""Messages as bytes: the stored record, the batch body, properties, ids and hashes.

Question: what is a message on disk and in the body of a pull answer? Both are the same record (RocketMQ:
MessageDecoder, CommitLog), version 1 and, for topics above 127 bytes on 5.x, version 2:

    0 size 4 | 4 magic 4 | 8 body crc 4 | 12 queue id 4 | 16 flag 4 | 20 queue offset 8 | 28 physical offset 8
    36 sysFlag 4 | 40 born ms 8 | 48 born host 8 (20: IPv6) | store ms 8 | store host 8 (20) | reconsume times 4
    prepared transaction offset 8 | body 4+n | topic 1+n (version 2: 2+n) | properties 2+n

Model. A :class:`Message` is the decoded record, a value. Properties stay the text they are on the wire
(``name \\x01 value``, separated by ``\\x02``; a trailing separator is read and, on demand, written); hosts are
``ip:port`` texts. The CRC covers the body only, as RocketMQ's does, and reading does not check it unless asked.

Limits. Text that is not UTF-8 is read with replacement characters, as Java does; so a torn record is readable but
does not encode to its old bytes. Errors: :class:`RemoteWireError` for bytes that are no record, :class:`LocalWireError`
for a message that no record can hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from random import Random
from struct import Struct
from struct import error as StructError
from typing import Final
from zlib import crc32

import msgspec

from reference_impl.environment import Address
from reference_impl.wire.frame import LocalWireError, RemoteWireError
from reference_impl.wire.host import decode_host, encode_host

MAGIC_V1: Final = -626843481  # 0xDAA320A7
MAGIC_V2: Final = -626843477  # 0xDAA320AB
MAGIC_BLANK: Final = -875286124  # 0xCBD43194, the filler at the end of a commit log file

COMPRESSED: Final = 0x1
MULTI_TAGS: Final = 0x2
TRANSACTION_MASK: Final = 0xC
TRANSACTION_NONE: Final = 0x0
TRANSACTION_PREPARED: Final = 0x4
TRANSACTION_COMMIT: Final = 0x8
TRANSACTION_ROLLBACK: Final = 0xC
BORN_HOST_IPV6: Final = 0x10
STORE_HOST_IPV6: Final = 0x20
NEED_UNWRAP: Final = 0x40
INNER_BATCH: Final = 0x80
COMPRESSION_MASK: Final = 0x700
COMPRESSION_ZLIB: Final = 0x300

PROPERTIES_BYTES_MAX: Final = 32767
TOPIC_BYTES_MAX: Final = 127
"""Of a version 1 record; version 2 counts to 255 by RocketMQ's own rule."""

NAME_VALUE_SEPARATOR: Final = "\x01"
PROPERTY_SEPARATOR: Final = "\x02"

PROPERTY_KEYS: Final = "KEYS"
PROPERTY_TAGS: Final = "TAGS"
PROPERTY_WAIT: Final = "WAIT"
PROPERTY_DELAY: Final = "DELAY"
PROPERTY_RETRY_TOPIC: Final = "RETRY_TOPIC"
PROPERTY_REAL_TOPIC: Final = "REAL_TOPIC"
PROPERTY_REAL_QUEUE_ID: Final = "REAL_QID"
PROPERTY_TRANSACTION_PREPARED: Final = "TRAN_MSG"
PROPERTY_PRODUCER_GROUP: Final = "PGROUP"
PROPERTY_UNIQUE_KEY: Final = "UNIQ_KEY"
PROPERTY_REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"
PROPERTY_CLUSTER: Final = "CLUSTER"
PROPERTY_REGION: Final = "MSG_REGION"
PROPERTY_TRACE: Final = "TRACE_ON"
PROPERTY_ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
PROPERTY_RECONSUME_TIME: Final = "RECONSUME_TIME"
PROPERTY_MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"


class Message(msgspec.Struct, gc=False, kw_only=True):
    """One record, decoded. Times are wall milliseconds, hosts ``ip:port``; ``size`` and ``body_crc`` as read."""

    topic: str
    queue_id: int
    body: bytes = b""
    properties: str = ""
    flag: int = 0
    sys_flag: int = 0
    queue_offset: int = 0
    physical_offset: int = 0
    born_timestamp: int = 0
    born_host: Address = "0.0.0.0:0"
    store_timestamp: int = 0
    store_host: Address = "0.0.0.0:0"
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    magic: int = MAGIC_V1
    body_crc: int = -1
    size: int = 0

    def property_map(self) -> dict[str, str]:
        """The properties by name; see :func:`parse_properties`."""
        return parse_properties(self.properties)

    def message_id(self) -> str:
        """The offset message id: where this record is stored."""
        return offset_message_id(self.store_host, self.physical_offset)

    def crc_matches(self) -> bool:
        """Whether the body is the one that was stored."""
        return self.body_crc == body_crc(self.body)


# The stored record ---------------------------------------------------------------------------------------------------


def encode_record(message: Message) -> bytes:
    """The record. Host bits of ``sys_flag`` follow the hosts; ``size`` and ``body_crc`` are computed, not taken."""
    born, store = encode_host(message.born_host), encode_host(message.store_host)
    sys_flag = message.sys_flag & ~(BORN_HOST_IPV6 | STORE_HOST_IPV6)
    sys_flag |= (BORN_HOST_IPV6 if len(born) == 20 else 0) | (STORE_HOST_IPV6 if len(store) == 20 else 0)
    return encode_record_parts(
        topic=message.topic.encode(),
        queue_id=message.queue_id,
        flag=message.flag,
        queue_offset=message.queue_offset,
        physical_offset=message.physical_offset,
        sys_flag=sys_flag,
        born_timestamp=message.born_timestamp,
        born_host=born,
        store_timestamp=message.store_timestamp,
        store_host=store,
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
        body=message.body,
        properties=message.properties.encode(),
        magic=message.magic,
    )


def encode_record_parts(
    *,
    topic: bytes,
    queue_id: int,
    flag: int,
    queue_offset: int,
    physical_offset: int,
    sys_flag: int,
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    reconsume_times: int,
    prepared_transaction_offset: int,
    body: bytes,
    properties: bytes,
    magic: int = MAGIC_V1,
) -> bytes:
    """The record from parts that are bytes already: the broker's way, which meets the same topic and hosts again.

    *born_host* and *store_host* are 8 or 20 bytes (:func:`~reference_impl.wire.host.encode_host`) and must agree with
    the host bits of *sys_flag*.
    """
    size = record_size(len(body), len(topic), len(properties), len(born_host) + len(store_host), magic)
    try:
        return b"".join(
            (
                _HEAD.pack(
                    size, magic, body_crc(body), queue_id, flag, queue_offset, physical_offset, sys_flag, born_timestamp
                ),
                born_host,
                _LONG.pack(store_timestamp),
                store_host,
                _TAIL.pack(reconsume_times, prepared_transaction_offset, len(body)),
                body,
                (_BYTE if magic != MAGIC_V2 else _SHORT).pack(len(topic)),
                topic,
                _SHORT.pack(len(properties)),
                properties,
            )
        )
    except StructError as error:
        raise LocalWireError(
            f"no record for topic of {len(topic)} and properties of {len(properties)} bytes: {error}"
        ) from error


def record_size(body: int, topic: int, properties: int, hosts: int = 16, magic: int = MAGIC_V1) -> int:
    """Bytes of a record: 91 + body + topic + properties for IPv4 hosts (*hosts*: both, 16, 28 or 40) in version 1."""
    return 75 + hosts + body + topic + properties + (1 if magic == MAGIC_V2 else 0)


def decode_record(data: bytes, position: int = 0) -> Message:
    """The record that begins at *position*. :class:`RemoteWireError` if none does, or if its lengths contradict."""
    try:
        (size, magic, crc, queue_id, flag, queue_offset, physical_offset, sys_flag, born) = _HEAD.unpack_from(
            data, position
        )
        if magic != MAGIC_V1 and magic != MAGIC_V2:
            raise RemoteWireError(f"magic {magic & 0xFFFFFFFF:#010x} at {position} begins no record")
        store_at = position + (68 if sys_flag & BORN_HOST_IPV6 else 56)
        tail_at = store_at + (28 if sys_flag & STORE_HOST_IPV6 else 16)
        store = _LONG.unpack_from(data, store_at)[0]
        reconsume_times, prepared, body_bytes = _TAIL.unpack_from(data, tail_at)
        body_at = tail_at + 16
        topic_at, properties_at, end = _texts(data, position, size, magic, body_at, body_bytes)
    except StructError as error:
        raise RemoteWireError(f"record at {position} is cut off: {error}") from error
    return Message(
        topic=str(data[topic_at : properties_at - 2], "utf-8", "replace"),
        queue_id=queue_id,
        body=data[body_at : topic_at - (1 if magic == MAGIC_V1 else 2)],
        properties=str(data[properties_at:end], "utf-8", "replace"),
        flag=flag,
        sys_flag=sys_flag,
        queue_offset=queue_offset,
        physical_offset=physical_offset,
        born_timestamp=born,
        born_host=decode_host(data[position + 48 : store_at]),
        store_timestamp=store,
        store_host=decode_host(data[store_at + 8 : tail_at]),
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared,
        magic=magic,
        body_crc=crc,
        size=size,
    )


def _texts(data: bytes, position: int, size: int, magic: int, body_at: int, body_bytes: int) -> tuple[int, int, int]:
    """Where topic and properties of a record begin, and where it ends: all three within *data*, and as *size* says."""
    topic_at = body_at + body_bytes + (1 if magic == MAGIC_V1 else 2)
    _check_within(body_at <= topic_at <= len(data), position)
    topic_bytes = data[topic_at - 1] if magic == MAGIC_V1 else _SHORT.unpack_from(data, topic_at - 2)[0]
    properties_at = topic_at + topic_bytes + 2
    _check_within(topic_at + 2 <= properties_at, position)
    properties_bytes = _SHORT.unpack_from(data, properties_at - 2)[0]
    end = properties_at + properties_bytes
    _check_within(properties_bytes >= 0 and end == position + size and end <= len(data), position)
    return topic_at, properties_at, end


def decode_records(data: bytes) -> list[Message]:
    """All records of a pull body, one behind the other. :class:`RemoteWireError` where one cannot be read."""
    records, position = [], 0
    while position < len(data):
        record = decode_record(data, position)
        records.append(record)
        position += record.size
    return records


def body_crc(body: bytes) -> int:
    """CRC-32 as RocketMQ stores and sends it: the sign bit is cleared."""
    return crc32(body) & 0x7FFFFFFF


def _check_within(holds: bool, position: int) -> None:
    if not holds:
        raise RemoteWireError(f"record at {position}: its lengths contradict each other")


# Properties ----------------------------------------------------------------------------------------------------------


def parse_properties(text: str) -> dict[str, str]:
    """Properties by name, as Java's reader takes them: segments below 3 characters, pairs with an empty name or value
    and segments without separator are skipped; of a repeated name the last value counts."""
    properties = {}
    for segment in text.split(PROPERTY_SEPARATOR):
        name, _, value = segment.partition(NAME_VALUE_SEPARATOR)
        if name and value:
            properties[name] = value
    return properties


def properties_text(properties: Mapping[str, str], *, trailing: bool = False) -> str:
    """The wire text, in the order of the map; *trailing* as 4.9.0 and 5.2 write it, without as 4.9.1 to 4.9.8 do.
    Pairs with an empty value vanish, as in a real broker."""
    pairs = [f"{name}\x01{value}" for name, value in properties.items() if value]
    return "\x02".join(pairs) + ("\x02" if trailing and pairs else "")


def append_properties(text: str, more: str) -> str:
    """*more* behind *text* with one separator between: what the broker does to each record of a batch."""
    if not text or not more:
        return text or more
    return text + more if text.endswith(PROPERTY_SEPARATOR) else text + PROPERTY_SEPARATOR + more


# The batch body ------------------------------------------------------------------------------------------------------


class BatchEntry(msgspec.Struct, gc=False, frozen=True):
    """One message of a batch as the sender writes it; topic, queue and born fields are those of the request."""

    body: bytes
    properties: str = ""
    flag: int = 0


def encode_batch(entries: Iterable[BatchEntry]) -> bytes:
    """The body of a SEND_BATCH_MESSAGE. :class:`LocalWireError` for properties above 32,767 bytes."""
    return b"".join([_encode_entry(entry) for entry in entries])


def _encode_entry(entry: BatchEntry) -> bytes:
    properties = entry.properties.encode()
    if len(properties) > PROPERTIES_BYTES_MAX:
        raise LocalWireError(f"properties of {len(properties)} bytes, limit {PROPERTIES_BYTES_MAX}")
    size = 22 + len(entry.body) + len(properties)
    head = _ENTRY.pack(size, 0, 0, entry.flag, len(entry.body))
    return head + entry.body + _SHORT.pack(len(properties)) + properties


def decode_batch(data: bytes) -> list[BatchEntry]:
    """The messages of a batch body. :class:`RemoteWireError` if it is malformed anywhere."""
    entries, position = [], 0
    while position < len(data):
        try:
            size, _magic, _crc, flag, body_bytes = _ENTRY.unpack_from(data, position)
            body_end = position + 20 + body_bytes
            properties_bytes = _SHORT.unpack_from(data, body_end)[0] if body_bytes >= 0 else -1
        except StructError as error:
            raise RemoteWireError(f"batch entry at {position} is cut off: {error}") from error
        end = body_end + 2 + properties_bytes
        if properties_bytes < 0 or end > len(data) or end != position + size:
            raise RemoteWireError(f"batch entry at {position}: its lengths contradict each other")
        properties = str(data[body_end + 2 : end], "utf-8", "replace")
        entries.append(BatchEntry(data[position + 20 : body_end], properties, flag))
        position = end
    return entries


# Ids and hashes ------------------------------------------------------------------------------------------------------


def offset_message_id(store_host: Address, physical_offset: int) -> str:
    """Upper-case hex of the store host (8 or 20 bytes) and the commit log offset: 32 or 56 characters."""
    return (encode_host(store_host) + _LONG.pack(physical_offset)).hex().upper()


def parse_message_id(text: str) -> tuple[Address, int]:
    """(store host, commit log offset) of an offset message id. :class:`RemoteWireError` for any other text."""
    try:
        data = bytes.fromhex(text)
    except ValueError as error:
        raise RemoteWireError(f"message id {text!r} is not hexadecimal") from error
    if len(data) not in (16, 28) or len(text) != 2 * len(data):
        raise RemoteWireError(f"message id {text!r} is neither 32 nor 56 characters long")
    return decode_host(data[:-8]), int(_LONG.unpack(data[-8:])[0])


@lru_cache(maxsize=4096)
def java_string_hash(text: str) -> int:
    """``String.hashCode``: 31·h + unit over UTF-16 units, wrapped to a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = value * 31 + (high << 8 | low) & 0xFFFFFFFF
    return value - 0x100000000 if value & 0x80000000 else value


def tags_code(tag: str | None) -> int:
    """What the consume queue keeps of a tag: its Java hash, 0 for none."""
    return java_string_hash(tag) if tag else 0


class UniqueKeys:
    """Client message ids (RocketMQ: MessageClientIDSetter): upper-case hex of
    ip(4 or 16) process(2) loader(4) milliseconds since the month began(4) counter(2).

    Process and loader are drawn from the node's generator, so that ids are reproducible in the simulator. The month is
    that of UTC, because a role knows no time zone. Unique as long as fewer than 65,536 are made in a millisecond.
    """

    def __init__(self, host: str, rng: Random) -> None:
        ip = encode_host(f"[{host}]:0" if ":" in host else f"{host}:0")[:-4]
        self._prefix = (ip + rng.randbytes(6)).hex().upper()
        self._counter = rng.randrange(0x10000)
        self._month_begins = self._month_ends = 0

    def make(self, wall_ms: int) -> str:
        """The next id at *wall_ms*."""
        if not self._month_begins <= wall_ms < self._month_ends:
            self._month_begins, self._month_ends = _month_bounds(wall_ms)
        self._counter = self._counter + 1 & 0xFFFF
        return f"{self._prefix}{wall_ms - self._month_begins:08X}{self._counter:04X}"


def _month_bounds(wall_ms: int) -> tuple[int, int]:
    first = datetime.fromtimestamp(wall_ms // 1000, UTC).replace(day=1, hour=0, minute=0, second=0)
    following = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return int(first.timestamp()) * 1000, int(following.timestamp()) * 1000


_HEAD: Final = Struct(">iiiiiqqiq")
_TAIL: Final = Struct(">iqi")
_ENTRY: Final = Struct(">iiiii")
_LONG: Final = Struct(">q")
_SHORT: Final = Struct(">h")
_BYTE: Final = Struct(">B")
