"""Names that become paths: which topics and queues may a store be given?

Question: a topic is a folder below ``consumequeue``; which texts can be one? Model. Checked once, at the store's door
(:mod:`~reference_impl.store.accepting`), whoever puts the message: a producer, a consumer that sends one back, the end
of a transaction, a delayed delivery. Allowed is what is one path component of its own on every file system:

    not empty, at most 127 bytes of UTF-8, no slash, no NUL, neither ``.`` nor ``..``

RocketMQ's rule for the topics of producers is stricter (:func:`~reference_impl.broker.topics.name_fault`); it does not
ask it of retry and dead-letter topics, whose names come from clients as groups.

A log may hold other names all the same: from a master that let them in, or from a store of Apache's broker. Such a
record is a good record and does not end the log; only it has no queue (dispatch).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from reference_impl.wire.message import TOPIC_BYTES_MAX

QUEUE_ID_MAX: Final = 0x7FFFFFFF


@lru_cache(maxsize=4096)
def topic_fault(topic: str) -> str:
    """Why *topic* cannot be a folder's name; empty if it can."""
    try:
        size = len(topic.encode())
    except UnicodeEncodeError:
        return "topic is no Unicode text"
    if size > TOPIC_BYTES_MAX:
        return f"topic longer than {TOPIC_BYTES_MAX} bytes"
    if topic in ("", ".", "..") or "/" in topic or "\0" in topic:
        return f"topic {topic!r} cannot be the name of a folder"
    return ""


def queue_fault(topic: str, queue_id: int) -> str:
    """Why there cannot be such a queue; empty if there can."""
    if not 0 <= queue_id <= QUEUE_ID_MAX:
        return f"queue id {queue_id}, 0 to {QUEUE_ID_MAX} expected"
    return topic_fault(topic)
