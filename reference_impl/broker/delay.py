"""Delayed messages: kept in a schedule queue a level, put where they belong when their time has come.

Question: when does a delayed message become readable in its own queue, and how often?

Model (RocketMQ: ScheduleMessageService). The store keeps a message with DELAY=n in SCHEDULE_TOPIC_XXXX, queue n − 1,
its real topic and queue in its properties. From 1 s after the start on each level is looked at every 100 ms: a record
that is due (store time + delay of the level) is put again under its real name, without waiting for flush or slave; only
PUT_OK moves the level's offset on, or a refusal that will never change (RocketMQ would try that again for ever). The
offsets are saved every 10 s, so a crash delivers up to 10 s of messages again. Where a group keeps the log a level
waits until a majority has its message; the other levels do not. A record whose due time lies further
away than its level's delay (the wall clock went back) is delivered now.

The look every 100 ms happens only while something is pending: the store tells of new schedule records.

Limits. Due times are computed from the record and today's levels, not from the queue's tags code: they differ only if
``messageDelayLevel`` was changed in between.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

import msgspec

from reference_impl.broker.pretty import pretty
from reference_impl.broker.table_version import TableVersion
from reference_impl.broker.topics import HALF_TOPIC
from reference_impl.environment import MS, Environment
from reference_impl.store.delay import SCHEDULE_TOPIC
from reference_impl.store.message_store import MessageStore
from reference_impl.store.request import PutRequest, PutResult, PutStatus
from reference_impl.wire.bodies import DataVersion, write_delay_offsets
from reference_impl.wire.dialect import convert
from reference_impl.wire.fields import java_number
from reference_impl.wire.message import (
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    TRANSACTION_MASK,
    Message,
    decode_record,
)

FIRST_LOOK_NS: Final = 1_000 * MS
LOOK_NS: Final = 100 * MS
DELIVERIES_A_VERSION: Final = 200
"""RocketMQ: delayOffsetUpdateVersionStep."""

_BATCH: Final = 32
_SETTLED: Final = (PutStatus.PUT_OK, PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED, None)
"""After these a level moves on: what is illegal now is so for ever (``None``: the record cannot be delivered at
all)."""
_LOOK_KEY: Final = ("delay", "look")


class DelayFile(msgspec.Struct, rename="camel"):
    """The content of delayOffset.json."""

    data_version: DataVersion | None = None
    offset_table: dict[int, int] | None = None


class DelayedDelivery:
    """The schedule queues of one master."""

    def __init__(self, store: MessageStore, levels_ms: tuple[int, ...], *, is_versioned: bool = False) -> None:
        self.version = TableVersion(DELIVERIES_A_VERSION, is_kept=is_versioned)
        self._store = store
        self._levels_ms = levels_ms
        self.offsets: dict[int, int] = {}
        self._next_due_ms: dict[int, int] = {}
        self._waiting: dict[int, object] = {}
        """Levels whose record a group has not decided on yet."""
        self._is_started = False
        self._looking = False
        self.delivered = 0

    # --- life -------------------------------------------------------------------------------------------------------

    def load(self, parsed: Any) -> None:
        """Take over delayOffset.json; the store must be loaded: offsets are clamped to what its queues hold.
        ``RemoteWireError``: it is no such file."""
        file = convert(parsed, DelayFile)
        for level, offset in (file.offset_table or {}).items():
            lowest = self._store.min_offset(SCHEDULE_TOPIC, level - 1)
            self.offsets[level] = max(lowest, min(offset, self._store.max_offset(SCHEDULE_TOPIC, level - 1)))
        self.version.load(file.data_version)

    def take(self, offsets: Mapping[int, int], version: DataVersion) -> None:
        """A slave of 5.x takes its master's, also beyond what its own queues hold yet (RocketMQ:
        loadWhenSyncDelayOffset); a slave of 4.9 has them in its file alone."""
        self.offsets.update(offsets)
        self.version.take(version)

    def start(self, env: Environment) -> None:
        """Begin to look at every level after a second."""
        self._is_started = self._looking = True
        env.set_timer(_LOOK_KEY, FIRST_LOOK_NS)

    def stop(self, env: Environment) -> None:
        """Deliver nothing more."""
        self._is_started = self._looking = False
        self._waiting.clear()
        env.cancel_timer(_LOOK_KEY)

    def arrived(self, env: Environment) -> None:
        """The store has dispatched a schedule record (of a slave or an isolated master, too: they deliver nothing)."""
        if self._is_started and not self._looking:
            self._looking = True
            env.set_timer(_LOOK_KEY, LOOK_NS)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key != _LOOK_KEY:
            return False
        pending = [level for level in range(1, len(self._levels_ms) + 1) if self._deliver_level(env, level)]
        self._looking = bool(pending)
        if pending:
            env.set_timer(_LOOK_KEY, LOOK_NS)
        return True

    # --- texts ------------------------------------------------------------------------------------------------------

    def file_text(self) -> str:
        """The text of delayOffset.json."""
        return pretty(self.version.text() | {"offsetTable": self.offsets})

    def answer_body(self) -> bytes:
        """The body of GET_ALL_DELAY_OFFSET."""
        return write_delay_offsets(self.offsets, self.version.shown)

    # --- delivery ---------------------------------------------------------------------------------------------------

    def _deliver_level(self, env: Environment, level: int) -> bool:
        """Put what is due; True if the level still holds something."""
        if level in self._waiting:
            return True
        now_ms = env.wall()
        while self._offset(level) < self._store.max_offset(SCHEDULE_TOPIC, level - 1):
            records = self._due_records(env, level, now_ms)
            if not records:
                return True
            for record in records:
                if not self._put_back(env, level, record):
                    return True
        return False

    def _offset(self, level: int) -> int:
        return max(self.offsets.get(level, 0), self._store.min_offset(SCHEDULE_TOPIC, level - 1))

    def _due_records(self, env: Environment, level: int, now_ms: int) -> list[Message]:
        """The leading records of the level that are due now."""
        delay_ms = self._levels_ms[level - 1]
        if now_ms < self._next_due_ms.get(level, 0) <= now_ms + delay_ms:
            return []
        found = self._store.get(env, SCHEDULE_TOPIC, level - 1, self._offset(level), _BATCH)
        if found is not None and not found.records:  # the log no longer has them
            self.offsets[level] = max(self._offset(level), found.next_offset)
        due: list[Message] = []
        for raw in found.records if found else ():
            record = decode_record(raw)
            due_ms = record.store_timestamp + delay_ms
            if now_ms < due_ms <= now_ms + delay_ms:
                self._next_due_ms[level] = due_ms
                break
            due.append(record)
        return due

    def _put_back(self, env: Environment, level: int, record: Message) -> bool:
        """Deliver one record; whether its level may go on at once (RocketMQ: syncDeliver)."""
        request = _restored(record)
        if request is None:
            return self._ended(env, level, record, None)
        wait = self._waiting[level] = object()
        goes_on = is_later = False

        def stored(env: Environment, result: PutResult) -> None:
            nonlocal goes_on
            if self._waiting.get(level) is not wait:
                return  # we have stopped meanwhile
            del self._waiting[level]
            goes_on = self._ended(env, level, record, result.status)
            if is_later and goes_on:
                self._deliver_level(env, level)

        self._store.put(env, request, stored)
        is_later = True
        return goes_on

    def _ended(self, env: Environment, level: int, record: Message, status: PutStatus | None) -> bool:
        """The level moves on only for what is settled; whether it does."""
        if status not in _SETTLED:
            return False
        if status is not PutStatus.PUT_OK:
            reason = "names no topic and queue" if status is None else status.value
            env.note("delayed_message_dropped", level=level, offset=record.queue_offset, reason=reason)
        self.offsets[level] = record.queue_offset + 1
        self.version.changed()
        self.delivered += status is PutStatus.PUT_OK
        return True


def _restored(record: Message) -> PutRequest | None:
    """The message under its real name; ``None`` for a record that names none (nobody could have sent it here), and for
    a half message (RocketMQ: "discard the msg").

    DELAY, REAL_TOPIC and REAL_QID stay in its text, as in RocketMQ.
    """
    properties = record.property_map()
    queue_id = java_number(properties.get(PROPERTY_REAL_QUEUE_ID, ""), 32)
    if properties.get(PROPERTY_REAL_TOPIC) in (None, HALF_TOPIC) or queue_id is None:
        return None
    return PutRequest(
        topic=properties[PROPERTY_REAL_TOPIC],
        queue_id=queue_id,
        body=record.body,
        properties=record.properties,
        flag=record.flag,
        sys_flag=record.sys_flag & ~TRANSACTION_MASK,
        born_timestamp=record.born_timestamp,
        born_host=record.born_host,
        reconsume_times=record.reconsume_times,
        is_internal=True,
        wait=False,
    )
