"""Which messages want an arbitrary delay (5.x): TIMER_DELAY_MS, TIMER_DELAY_SEC, TIMER_DELIVER_MS.

Question: a send carries one of these properties. Is its message stored as any, parked until its time, or refused?

Model (RocketMQ 5.3.3: HookUtils#handleScheduleMessage, #checkIfTimerMessage, #transformTimerMessage), first match wins:

    release 4.9.7                                               stored as any: it takes no notice
    transactional, or TIMER_OUT_MS is there (given before)      stored as any
    DELAY above 0                                               delayed by its level; the timer's properties go
    timerWheelEnable=false                                      1
    the time is no number                                       13
    the time is over                                            stored as any
    further away than timerMaxDelaySec                          13
    anything else                                               parked

Of several properties TIMER_DELAY_SEC counts before TIMER_DELAY_MS, and that before TIMER_DELIVER_MS. A parked message
lies in :data:`TIMER_TOPIC`, queue 0, with REAL_TOPIC and REAL_QID as those of the delay levels, and TIMER_OUT_MS: the
beginning of its slot of ``timerPrecisionMs``, which is delivered when it is over. So it is never early, and later by up
to one precision.

    now 10.300 s   TIMER_DELAY_MS 2000   due 12.300 s   TIMER_OUT_MS 12.000 s   delivered from 13.000 s on
    due 12.000 s   TIMER_OUT_MS 11.000 s   delivered from 12.000 s on

Limits. Nothing is recalled: no answer has a ``recallHandle``, and a message with TIMER_DEL_UNIQKEY (5.x's way to delete
another) is refused with 13, as Apache refuses one whose time is over. A committed transaction is not parked. Nothing is
refused for too many messages of one slot (``timerCongestNumEachSlot``).
"""

from __future__ import annotations

from typing import Final

import msgspec

from reference_impl.broker.config import BrokerConfig
from reference_impl.store.delay import delay_level
from reference_impl.store.request import PutRequest
from reference_impl.wire.codes import ResponseCode
from reference_impl.wire.fields import RequestRefused, java_number
from reference_impl.wire.message import (
    PROPERTY_DELAY,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    TRANSACTION_MASK,
    parse_properties,
    properties_text,
)

TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
OUT_MS: Final = "TIMER_OUT_MS"
DELETES: Final = "TIMER_DEL_UNIQKEY"
DELAY_SEC, DELAY_MS, DELIVER_MS = "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"
WISHES: Final = (DELAY_SEC, DELAY_MS, DELIVER_MS)
"""The first one that is there counts."""

NO_TIMERS: Final = "accurate timer message is not enabled, timerWheelEnable is false"
ILLEGAL: Final = (
    "timer message illegal, the delay time should not be bigger than the max delay {max_ms}ms; or if set del msg, the "
    "delay time should be bigger than the current time"
)


def parked(put: PutRequest, now_ms: int, config: BrokerConfig) -> PutRequest:
    """What is stored of *put*, sent at *now_ms* of the broker's wall clock; :class:`RequestRefused` by the table."""
    if not config.is_5x or "TIMER_" not in put.properties or put.sys_flag & TRANSACTION_MASK:
        return put
    properties = parse_properties(put.properties)
    if OUT_MS in properties or not any(wish in properties for wish in WISHES):
        return put
    if _has_level(properties):
        kept = {name: value for name, value in properties.items() if name not in WISHES}
        return msgspec.structs.replace(put, properties=properties_text(kept))
    if not config.timer_wheel_enable:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, NO_TIMERS)
    due_ms = _due_ms(properties, now_ms)
    max_ms = config.timer_max_delay_sec * 1000
    if due_ms is None or DELETES in properties or due_ms - now_ms > max_ms or put.is_batch:
        raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, ILLEGAL.format(max_ms=max_ms))
    return _in_slot(put, properties, due_ms, config.timer_precision_ms) if due_ms > now_ms else put


def _has_level(properties: dict[str, str]) -> bool:
    """A level that is no number is the store's to refuse."""
    try:
        return delay_level(properties.get(PROPERTY_DELAY)) > 0
    except ValueError:
        return True


def _due_ms(properties: dict[str, str], now_ms: int) -> int | None:
    wish = next(wish for wish in WISHES if wish in properties)
    number = java_number(properties[wish], 64)
    if number is None or wish == DELIVER_MS:
        return number
    return now_ms + number * (1000 if wish == DELAY_SEC else 1)


def _in_slot(put: PutRequest, properties: dict[str, str], due_ms: int, precision_ms: int) -> PutRequest:
    slot_ms = (due_ms - 1) // precision_ms * precision_ms
    whole = properties | {
        OUT_MS: str(slot_ms),
        PROPERTY_REAL_TOPIC: put.topic,
        PROPERTY_REAL_QUEUE_ID: str(put.queue_id),
    }
    return msgspec.structs.replace(put, topic=TIMER_TOPIC, queue_id=0, properties=properties_text(whole))
