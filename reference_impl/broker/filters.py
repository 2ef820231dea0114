"""What a consumer wants of a topic: tags, or a condition in SQL92 over the properties of messages.

Question: may this broker filter by that expression, and by what does the store then choose?

Model (RocketMQ: ExpressionMessageFilter, ConsumerFilterManager). Tags are compared by their hashes in the consume
queue. A condition needs ``enablePropertyFilter``; it is asked about the properties of each record, in the commit log,
and never by a bit map of the consume queue (RocketMQ's ``enableCalcFilterBitMap``, off by default, changes when a
message is looked at and not whether it matches).

Limits. A parked pull with a condition is woken by any message, and answered with 20 if none matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.broker.config import BrokerConfig
from reference_impl.broker.sql92 import SqlRefused, compiled
from reference_impl.wire.codes import ResponseCode
from reference_impl.wire.fields import RequestRefused
from reference_impl.wire.message import decode_record

TAG, SQL92 = "TAG", "SQL92"


@dataclass(frozen=True)
class Wanted:
    """Of a queue: tag hashes (``None``: all) and a test of whole records (``None``: none)."""

    codes: frozenset[int] | None
    test: Callable[[bytes], bool] | None = None


EVERYTHING = Wanted(None)


def check_kind(config: BrokerConfig, expression_type: str) -> bool:
    """Whether it is a condition; code 1 for one that this broker does not serve."""
    if expression_type in ("", TAG):
        return False
    if expression_type != SQL92 or not config.enable_property_filter:
        remark = f"The broker does not support consumer to filter message by {expression_type}"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
    return True


def by_condition(config: BrokerConfig, expression: str) -> Wanted:
    """Records whose properties match; :class:`SqlRefused` for what is no condition."""
    condition = compiled(expression, with_text_tests=config.is_5x)

    def test(record: bytes) -> bool:
        return condition(decode_record(record).property_map())

    return Wanted(None, test)


def checked_condition(config: BrokerConfig, expression: str) -> Wanted:
    """The same for an expression in a request: code 23 with RocketMQ's words."""
    try:
        return by_condition(config, expression)
    except SqlRefused as error:
        remark = f"parse the consumer's subscription failed: {error}"
        raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark) from error
