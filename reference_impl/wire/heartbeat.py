"""The body of a heartbeat, read from any client.

Question: who are the producers and consumers of a client, and what do they subscribe to? Java's form is written;
reading also takes C++'s (enums as ordinals, numbers as texts, missing members) and Go's (codes as texts).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from reference_impl.wire.dialect import convert, parse_lenient, read_json
from reference_impl.wire.fields import java_number
from reference_impl.wire.frame import RemoteWireError

CONSUME_TYPES: Final = ("CONSUME_ACTIVELY", "CONSUME_PASSIVELY", "CONSUME_POP")
MESSAGE_MODELS: Final = ("BROADCASTING", "CLUSTERING")
CONSUME_FROM_WHERE: Final = (
    "CONSUME_FROM_LAST_OFFSET",
    "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
    "CONSUME_FROM_MIN_OFFSET",
    "CONSUME_FROM_MAX_OFFSET",
    "CONSUME_FROM_FIRST_OFFSET",
    "CONSUME_FROM_TIMESTAMP",
)


class SubscriptionData(msgspec.Struct, rename="camel"):
    """One topic of a consumer: the expression, and for tags their texts and hashes."""

    class_filter_mode: bool = False
    code_set: list[int] = []
    expression_type: str = "TAG"
    sub_string: str = "*"
    sub_version: int = 0
    tags_set: list[str] = []
    topic: str = ""


class ConsumerData(msgspec.Struct, rename="camel"):
    """One consumer group of the client."""

    consume_from_where: str = CONSUME_FROM_WHERE[0]
    consume_type: str = CONSUME_TYPES[1]
    group_name: str = ""
    message_model: str = MESSAGE_MODELS[1]
    subscription_data_set: list[SubscriptionData] = []
    unit_mode: bool = False


class ProducerData(msgspec.Struct, rename="camel"):
    """One producer group of the client."""

    group_name: str = ""


class HeartbeatData(msgspec.Struct, rename="camel"):
    """The whole body. 5.x's fingerprint and ``withoutSub`` are ignored: they are never advertised."""

    client_id: str = msgspec.field(default="", name="clientID")
    consumer_data_set: list[ConsumerData] = []
    producer_data_set: list[ProducerData] = []


def read_heartbeat(data: bytes) -> HeartbeatData:
    """The body; :class:`RemoteWireError` if it is empty or no heartbeat."""
    try:
        return read_json(data, HeartbeatData)
    except RemoteWireError:
        return convert(_names_for_ordinals(parse_lenient(data)), HeartbeatData)


def _names_for_ordinals(body: Any) -> Any:
    consumers = body.get("consumerDataSet") if isinstance(body, dict) else None
    for consumer in consumers if isinstance(consumers, list) else []:
        if isinstance(consumer, dict):
            for member, names in _ENUMS.items():
                consumer[member] = _name(consumer.get(member), names)
    return body


def _name(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, str) and (ordinal := java_number(value, 32)) is not None:
        value = ordinal
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value


_ENUMS: Final = {
    "consumeType": CONSUME_TYPES,
    "messageModel": MESSAGE_MODELS,
    "consumeFromWhere": CONSUME_FROM_WHERE,
}
