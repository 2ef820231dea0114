"""The property text of a stored record: what a 4.9.7 broker adds, drops and reorders.

Question: which bytes does Apache's broker store for the properties that a client sent?

Model (RocketMQ: SendMessageProcessor, MessageDecoder#messageProperties2String). The text becomes a Java ``HashMap``,
the broker puts ``CLUSTER`` into it, takes ``WAIT`` out, and writes the map in its iteration order. That order is not
the client's: a map of *capacity* buckets is walked bucket by bucket, and within a bucket in the order of insertion.

    bucket = (h ^ h >>> 16) & (capacity − 1)     h = String.hashCode
    capacity = 16, doubled whenever more than three quarters of it are names

Limits. Nine or more names in one bucket, which Java would treat differently, are not modelled: with property names it
takes more than a hundred names.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from reference_impl.wire.message import (
    PROPERTY_CLUSTER,
    PROPERTY_DELAY,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_WAIT,
    append_properties,
    java_string_hash,
    parse_properties,
)

_CAPACITY: Final = 16


@lru_cache(maxsize=4096)
def java_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """*names*, given in the order of their insertion, as a ``java.util.HashMap`` iterates over them."""
    capacity = _CAPACITY
    while len(names) > capacity * 3 // 4:
        capacity *= 2
    return tuple(sorted(names, key=lambda name: _spread(name) & (capacity - 1)))


def _spread(name: str) -> int:
    """``HashMap.hash``: the high half of the hash takes part in choosing the bucket."""
    value = java_string_hash(name) & 0xFFFFFFFF
    return value ^ (value >> 16)


def java_text(properties: dict[str, str], *, without: Iterable[str] = ()) -> str:
    """The text of a map as Java would write it; the map's own order is that of insertion."""
    dropped = tuple(without)
    return "\x02".join(
        [f"{name}\x01{properties[name]}" for name in java_order(tuple(properties)) if name not in dropped]
    )


def single_message_properties(text: str, cluster: str) -> tuple[str, dict[str, str]]:
    """(text to be stored, property map) of a single send.

    The map still has ``WAIT``: it decides about waiting, and a later rewrite of the text writes it out again, which is
    why delayed messages keep it.
    """
    properties = parse_properties(text)
    properties[PROPERTY_CLUSTER] = cluster
    if PROPERTY_WAIT not in properties:
        return java_text(properties), properties
    wait = properties.pop(PROPERTY_WAIT)
    stored = java_text(properties)
    properties[PROPERTY_WAIT] = wait
    return stored, properties


def batch_suffix(text: str, cluster: str) -> str:
    """What each record of a batch gets behind its own properties: the request's, ``WAIT`` included, and ``CLUSTER``."""
    properties = parse_properties(text)
    properties[PROPERTY_CLUSTER] = cluster
    return java_text(properties)


def batch_record_properties(own: str, suffix: str) -> str:
    """The stored text of one record of a batch: a name that is in both is there twice."""
    return append_properties(own, suffix)


def delayed_properties(properties: dict[str, str], topic: str, queue_id: int, level: int) -> str:
    """The text of a delayed message on its way through the schedule topic: real topic and queue are kept in it."""
    if properties.get(PROPERTY_DELAY) != str(level):
        properties[PROPERTY_DELAY] = str(level)
    properties[PROPERTY_REAL_TOPIC] = topic
    properties[PROPERTY_REAL_QUEUE_ID] = str(queue_id)
    return java_text(properties)
