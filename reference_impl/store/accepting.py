"""What a put request becomes before it is appended: checked, completed, split into records.

Question: which messages does the store refuse, and what does it add to the others?

Model (RocketMQ: DefaultMessageStore#checkMessage, SendMessageProcessor, MessageExtEncoder), first match wins:

    topic > 127 bytes, body > maxMessageSize, record > maxMessageSize + 64 KiB      MESSAGE_ILLEGAL
    stored properties > 32767 bytes (CLUSTER included)                              PROPERTIES_SIZE_EXCEEDED
    batch with a delay level or a transaction type in the request                   MESSAGE_ILLEGAL
    batch whose body is malformed, or whose records exceed the record limit         UNKNOWN_ERROR (Java throws)

A single message with a delay level goes to the schedule topic, its real topic and queue kept in its properties. A DELAY
inside a batched message is not looked at.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from reference_impl.store.commit_log import BLANK_SIZE, Appending, CommitLog, Piece
from reference_impl.store.config import StoreConfig
from reference_impl.store.delay import SCHEDULE_TOPIC, DelayLevels, delay_level
from reference_impl.store.properties import (
    batch_record_properties,
    batch_suffix,
    delayed_properties,
    single_message_properties,
)
from reference_impl.store.request import PutRequest, PutStatus
from reference_impl.wire.frame import RemoteWireError
from reference_impl.wire.message import (
    PROPERTIES_BYTES_MAX,
    PROPERTY_DELAY,
    PROPERTY_WAIT,
    TOPIC_BYTES_MAX,
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
    TRANSACTION_NONE,
    decode_batch,
    parse_properties,
)

_RECORD_MARGIN: Final = 64 * 1024
"""RocketMQ's encoder reserves this much for everything but the body."""

_DELAYABLE: Final = (TRANSACTION_NONE, TRANSACTION_COMMIT)


class Accepted(NamedTuple):
    """Ready to be appended; ``waits``: the answer waits for flush and replicas."""

    appending: Appending
    pieces: list[Piece]
    size: int
    waits: bool


class Refused(NamedTuple):
    """Nothing is stored."""

    status: PutStatus
    remark: str


def accept(request: PutRequest, config: StoreConfig, levels: DelayLevels, log: CommitLog) -> Accepted | Refused:
    """The table above."""
    topic = _topic_bytes(request.topic)
    if len(topic) > TOPIC_BYTES_MAX:
        return Refused(PutStatus.MESSAGE_ILLEGAL, f"topic of {len(topic)} bytes, at most {TOPIC_BYTES_MAX}")
    if len(request.body) > config.max_message_size:
        return Refused(
            PutStatus.MESSAGE_ILLEGAL, f"body of {len(request.body)} bytes, at most {config.max_message_size}"
        )
    made = _batch(request, topic, config) if request.is_batch else _single(request, topic, config, levels)
    if isinstance(made, Refused):
        return made
    appending, pieces, waits = made
    size = log.size_of(appending, pieces)
    if size > config.max_message_size + _RECORD_MARGIN:
        status = PutStatus.UNKNOWN_ERROR if request.is_batch else PutStatus.MESSAGE_ILLEGAL
        return Refused(status, "message size exceeded")
    if size + BLANK_SIZE > log.files.file_size:
        return Refused(PutStatus.MESSAGE_ILLEGAL, f"{size} bytes do not fit into a file of {log.files.file_size}")
    return Accepted(appending, pieces, size, waits)


@lru_cache(maxsize=4096)
def _topic_bytes(topic: str) -> bytes:
    return topic.encode()


_Made = tuple[Appending, list[Piece], bool]


def _single(request: PutRequest, topic: bytes, config: StoreConfig, levels: DelayLevels) -> _Made | Refused:
    if request.is_internal:
        text, properties, level = request.properties, parse_properties(request.properties), request.delay_level
    else:
        text, properties = single_message_properties(request.properties, config.broker_cluster_name)
        level = 0
        if PROPERTY_DELAY in properties:
            try:
                level = delay_level(properties[PROPERTY_DELAY])
            except ValueError:
                return Refused(PutStatus.UNKNOWN_ERROR, f"DELAY {properties[PROPERTY_DELAY]!r} is no number")
    name, queue_id = request.topic, request.queue_id
    if level > 0 and request.sys_flag & TRANSACTION_MASK in _DELAYABLE:
        level = levels.clamp(level)
        text = delayed_properties(properties, name, queue_id, level)
        name, queue_id, topic = SCHEDULE_TOPIC, level - 1, _topic_bytes(SCHEDULE_TOPIC)
    stored = text.encode()
    if len(stored) > PROPERTIES_BYTES_MAX:
        return _too_many(stored)
    return (
        _appending(request, name, topic, queue_id),
        [Piece(request.body, stored, properties, request.flag)],
        _waits(request, properties),
    )


def _waits(request: PutRequest, properties: dict[str, str]) -> bool:
    """WAIT absent means true, and anything but "true" means false (Java: Boolean.parseBoolean)."""
    if request.is_internal:
        return request.wait
    return request.wait and (PROPERTY_WAIT not in properties or properties[PROPERTY_WAIT].lower() == "true")


def _batch(request: PutRequest, topic: bytes, config: StoreConfig) -> _Made | Refused:
    if request.sys_flag & TRANSACTION_MASK != TRANSACTION_NONE:
        return Refused(PutStatus.MESSAGE_ILLEGAL, "a batch cannot be transactional")
    properties = parse_properties(request.properties)
    if _has_delay(properties.get(PROPERTY_DELAY)):
        return Refused(PutStatus.MESSAGE_ILLEGAL, "a batch cannot be delayed")
    suffix = batch_suffix(request.properties, config.broker_cluster_name)
    try:
        entries = decode_batch(request.body)
    except RemoteWireError as error:
        return Refused(PutStatus.UNKNOWN_ERROR, str(error))
    if not entries:
        return Refused(PutStatus.UNKNOWN_ERROR, "an empty batch")
    pieces = []
    for entry in entries:
        text = batch_record_properties(entry.properties, suffix)
        stored = text.encode()
        if len(stored) > PROPERTIES_BYTES_MAX:
            return _too_many(stored)
        pieces.append(Piece(entry.body, stored, parse_properties(text), entry.flag))
    return _appending(request, request.topic, topic, request.queue_id), pieces, _waits(request, properties)


def _has_delay(text: str | None) -> bool:
    try:
        return delay_level(text) > 0
    except ValueError:
        return True


def _too_many(stored: bytes) -> Refused:
    return Refused(
        PutStatus.PROPERTIES_SIZE_EXCEEDED, f"properties of {len(stored)} bytes, at most {PROPERTIES_BYTES_MAX}"
    )


def _appending(request: PutRequest, topic: str, topic_bytes: bytes, queue_id: int) -> Appending:
    return Appending(
        topic,
        topic_bytes,
        queue_id,
        request.sys_flag,
        request.born_timestamp,
        request.born_host,
        request.reconsume_times,
        request.prepared_transaction_offset,
    )
