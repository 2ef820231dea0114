"""What a put request becomes before it is appended: checked, completed, split into records.

Question: which messages does the store refuse, and what does it add to the others?

Model (RocketMQ: DefaultMessageStore#checkMessage, SendMessageProcessor, MessageExtEncoder), first match wins:

    no such topic or queue id can be (:mod:`~reference_impl.store.names`)           MESSAGE_ILLEGAL
    strictSysFlag, and sysFlag has a bit that tells of the hosts' sizes             MESSAGE_ILLEGAL
    body > maxMessageSize, record > maxMessageSize + 64 KiB                         MESSAGE_ILLEGAL
    stored properties > 32767 bytes (CLUSTER included)                              PROPERTIES_SIZE_EXCEEDED
    batch with a delay level or a transaction type in the request                   MESSAGE_ILLEGAL
    batch whose body is malformed, or whose records exceed the record limit         UNKNOWN_ERROR (Java throws)

The host bits of a ``sysFlag`` are the broker's to set; where a client sets one, the record has other lengths than it
says, and the next start ends the log there. That is Apache's behaviour, and the default; ``strictSysFlag=true`` refuses
such a message.

A single message with a delay level goes to the schedule topic, its real topic and queue kept in its properties. A DELAY
inside a batched message is not looked at.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from reference_impl.store.config import StoreConfig
from reference_impl.store.delay import SCHEDULE_TOPIC, DelayLevels, delay_level
from reference_impl.store.names import queue_fault
from reference_impl.store.properties import (
    batch_record_properties,
    batch_suffix,
    delayed_properties,
    single_message_properties,
)
from reference_impl.store.request import PutRequest, PutStatus
from reference_impl.wire.frame import RemoteWireError
from reference_impl.wire.host import encode_host
from reference_impl.wire.message import (
    BORN_HOST_IPV6,
    PROPERTIES_BYTES_MAX,
    PROPERTY_DELAY,
    PROPERTY_WAIT,
    STORE_HOST_IPV6,
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
    TRANSACTION_NONE,
    decode_batch,
    parse_properties,
    record_size,
)

BLANK_SIZE: Final = 8
"""Every file keeps this much for the blank that ends it."""

_RECORD_MARGIN: Final = 64 * 1024
"""RocketMQ's encoder reserves this much for everything but the body."""

_OWN_BITS: Final = BORN_HOST_IPV6 | STORE_HOST_IPV6

_DELAYABLE: Final = (TRANSACTION_NONE, TRANSACTION_COMMIT)


class Piece(NamedTuple):
    """One record's own part: body, stored property text as bytes, the same as a map, application flag."""

    body: bytes
    properties: bytes
    property_map: dict[str, str]
    flag: int


class Accepted(NamedTuple):
    """Ready to be appended. Topic and queue are those of the log, which differ from the request's for a delayed
    message; ``sys_flag`` has the host bits; ``size`` is that of all records; ``waits``: for flush and replicas."""

    request: PutRequest
    topic: str
    queue_id: int
    sys_flag: int
    born_host: bytes
    pieces: list[Piece]
    size: int
    waits: bool


class Refused(NamedTuple):
    """Nothing is stored."""

    status: PutStatus
    remark: str


class Acceptance:
    """The rules of one store, for files of ``file_size`` bytes. *head_size*: what the log adds to every record."""

    def __init__(self, config: StoreConfig, levels: DelayLevels, head_size: int = 0) -> None:
        self._cluster, self._levels = config.broker_cluster_name, levels
        self._is_strict = config.strict_sys_flag
        self._body_max = config.max_message_size
        self._record_max = config.max_message_size + _RECORD_MARGIN
        self._file_size = config.mapped_file_size_commit_log - head_size
        self._store_host_size = len(encode_host(config.store_host))
        self._store_bit = STORE_HOST_IPV6 if self._store_host_size == 20 else 0

    def accept(self, request: PutRequest) -> Accepted | Refused:
        """The table above."""
        if fault := queue_fault(request.topic, request.queue_id):
            return Refused(PutStatus.MESSAGE_ILLEGAL, fault)
        if self._is_strict and request.sys_flag & _OWN_BITS:
            return Refused(PutStatus.MESSAGE_ILLEGAL, f"sysFlag {request.sys_flag:#x} has bits that the broker sets")
        if len(request.body) > self._body_max:
            return Refused(PutStatus.MESSAGE_ILLEGAL, f"body of {len(request.body)} bytes, at most {self._body_max}")
        return self._batch(request) if request.is_batch else self._single(request)

    def _single(self, request: PutRequest) -> Accepted | Refused:
        if request.is_internal:
            text, properties, level = request.properties, parse_properties(request.properties), request.delay_level
        else:
            text, properties = single_message_properties(request.properties, self._cluster)
            level = 0
            if PROPERTY_DELAY in properties:
                try:
                    level = delay_level(properties[PROPERTY_DELAY])
                except ValueError:
                    return Refused(PutStatus.UNKNOWN_ERROR, f"DELAY {properties[PROPERTY_DELAY]!r} is no number")
        topic, queue_id = request.topic, request.queue_id
        if level > 0 and request.sys_flag & TRANSACTION_MASK in _DELAYABLE:
            level = self._levels.clamp(level)
            text = delayed_properties(properties, topic, queue_id, level)
            topic, queue_id = SCHEDULE_TOPIC, level - 1
        piece = Piece(request.body, text.encode(), properties, request.flag)
        return self._checked(request, topic, queue_id, [piece], properties)

    def _batch(self, request: PutRequest) -> Accepted | Refused:
        properties = parse_properties(request.properties)
        if request.sys_flag & TRANSACTION_MASK != TRANSACTION_NONE or _has_delay(properties):
            return Refused(PutStatus.MESSAGE_ILLEGAL, "a batch can be neither delayed nor transactional")
        suffix = batch_suffix(request.properties, self._cluster)
        pieces = []
        try:
            for entry in decode_batch(request.body):
                text = batch_record_properties(entry.properties, suffix)
                pieces.append(Piece(entry.body, text.encode(), parse_properties(text), entry.flag))
        except RemoteWireError as error:
            return Refused(PutStatus.UNKNOWN_ERROR, str(error))
        if not pieces:
            return Refused(PutStatus.UNKNOWN_ERROR, "an empty batch")
        return self._checked(request, request.topic, request.queue_id, pieces, properties)

    def _checked(
        self, request: PutRequest, topic: str, queue_id: int, pieces: list[Piece], properties: dict[str, str]
    ) -> Accepted | Refused:
        born_host = encode_host(request.born_host)
        fixed = record_size(0, len(topic_bytes(topic)), 0, len(born_host) + self._store_host_size)
        size = 0
        for piece in pieces:
            if len(piece.properties) > PROPERTIES_BYTES_MAX:
                return Refused(
                    PutStatus.PROPERTIES_SIZE_EXCEEDED,
                    f"properties of {len(piece.properties)} bytes, at most {PROPERTIES_BYTES_MAX}",
                )
            size += fixed + len(piece.body) + len(piece.properties)
        if size > self._record_max:
            status = PutStatus.UNKNOWN_ERROR if request.is_batch else PutStatus.MESSAGE_ILLEGAL
            return Refused(status, "message size exceeded")
        if size + BLANK_SIZE > self._file_size:
            return Refused(PutStatus.MESSAGE_ILLEGAL, f"{size} bytes do not fit into a file of {self._file_size}")
        sys_flag = request.sys_flag | self._store_bit | (BORN_HOST_IPV6 if len(born_host) == 20 else 0)
        return Accepted(request, topic, queue_id, sys_flag, born_host, pieces, size, _waits(request, properties))


@lru_cache(maxsize=4096)
def topic_bytes(topic: str) -> bytes:
    """The topic as it is stored."""
    return topic.encode()


def _waits(request: PutRequest, properties: dict[str, str]) -> bool:
    """WAIT absent means true, and anything but "true" means false (Java: Boolean.parseBoolean)."""
    if request.is_internal or PROPERTY_WAIT not in properties:
        return request.wait
    return request.wait and properties[PROPERTY_WAIT].lower() == "true"


def _has_delay(properties: dict[str, str]) -> bool:
    try:
        return delay_level(properties.get(PROPERTY_DELAY)) > 0
    except ValueError:
        return True
