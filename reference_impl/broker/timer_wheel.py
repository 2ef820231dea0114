"""The timer wheel of 5.x: messages that wait for a time of their own, and their delivery.

Question: when does a parked message (:mod:`~reference_impl.broker.timers`) become readable, how often, and what does a
crash change of it?

Model (RocketMQ 5.3.3: TimerMessageStore). The messages of the timer topic's one queue are *taken* in their order into
slots, by TIMER_OUT_MS; a slot is delivered when it is over by the wall clock, its messages in the order of the queue,
one after the other. A message is put again under its real name, without waiting for flush or slave; its text keeps all
properties and gets TIMER_ENQUEUE_MS (when it was taken; 2^63 − 1: its slot was over by then) and TIMER_DEQUEUE_MS. A
put that fails is tried again with the next look, until it is stored or refused for ever. Looks come every tenth of a
precision while something waits.

The file ``config/timercheck`` is Apache's (4096 bytes, seven big-endian int64), saved and forced every
``timerFlushIntervalMs``:

    0   lastReadTimeMs           every taken message of an earlier slot has been delivered
    8   lastTimerLogFlushPos     0
    16  lastTimerQueueOffset     below it nothing waits
    24  masterTimerQueueOffset   up to it the queue has been taken
    32  state version, timestamp, counter

A start takes the queue from its beginning again, without what was taken and stands in an earlier slot: only what was
delivered since the file was saved is delivered twice. What the log lost behind ``masterTimerQueueOffset`` counts as
never taken. A slave asks its master for the checkpoint every 3 s (60) and writes it down.

Ours, safer than Apache's: a checkpoint is written when the log is flushed up to where it ended at that moment (with
asynchronous flush and little traffic ten seconds later), so that it never tells of a delivery which a power cut takes;
and nothing is given up after three tries.

Limits. Slots are kept in memory and not in ``timerwheel`` and ``timerlog``: their layout is Apache's own, and a start
costs one look at every message of the queue. So Apache's broker on our store delivers some messages twice and loses
none, as ours on Apache's, but for messages that Apache rolled (more than two days ahead), which come twice as well.
Messages are not rolled here. Times are the wall clock's: one that jumps forward delivers early.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from heapq import heappop, heappush
from struct import Struct
from typing import Final, NamedTuple

from reference_impl.broker.config import BrokerConfig
from reference_impl.broker.timers import OUT_MS, TIMER_TOPIC
from reference_impl.environment import MS, Environment
from reference_impl.store.message_store import MessageStore
from reference_impl.store.properties import java_text
from reference_impl.store.request import PutRequest, PutResult, PutStatus
from reference_impl.wire.fields import java_number
from reference_impl.wire.message import (
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    Message,
    decode_record,
)

ENQUEUE_MS, DEQUEUE_MS = "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS"
CHECKPOINT: Final = Struct(">7q")
CHECKPOINT_FILE_BYTES: Final = 4096
NEVER_TAKEN_MS: Final = (1 << 63) - 1
SLEEP_MAX_MS: Final = 1000
"""The wall clock may jump: nobody sleeps longer."""
_BATCH: Final = 32
_UNSAVED_MAX: Final = 64
_SETTLED: Final = (PutStatus.PUT_OK, PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED)
_LOOK, _SAVE = (("timers", name) for name in ("look", "save"))


class Waiting(NamedTuple):
    """One message in its slot: the slot's begin, its offset in the queue, when it was taken. Wall milliseconds."""

    slot_ms: int
    offset: int
    taken_ms: int


class Mark(NamedTuple):
    """What a checkpoint tells: every message below ``taken`` of a slot before ``read_ms`` has been delivered, and
    below ``lowest`` nothing waits."""

    read_ms: int = 0
    taken: int = 0
    lowest: int = 0


class TimerWheel:
    """The timers of one broker; ``path`` is the checkpoint's. Without 5.x, or without the wheel, it does nothing."""

    def __init__(self, store: MessageStore, config: BrokerConfig, path: str) -> None:
        self._store, self._path = store, path
        self.is_enabled = config.is_5x and config.timer_wheel_enable
        self._precision_ms = config.timer_precision_ms
        self._look_ms = max(1, self._precision_ms // 10)
        self._flush_ns = config.timer_flush_interval_ns
        self.mark = Mark()
        self._wheel: list[Waiting] = []
        """A heap: the next one first."""
        self._moving: Waiting | None = None
        self._offset = 0
        """What is taken next."""
        self._high_ms = 0
        self._unsaved: deque[tuple[int, Mark]] = deque(maxlen=_UNSAVED_MAX)
        """(end of the log at that moment, mark)."""
        self._version = 0
        self._is_started = self._is_looking = False
        self.delivered = 0

    # --- life -------------------------------------------------------------------------------------------------------

    def load(self, env: Environment) -> None:
        """Take over the checkpoint; the store must be loaded."""
        if self.is_enabled and env.size(self._path) >= CHECKPOINT.size:
            self._read(env.read(self._path, 0, CHECKPOINT.size))

    def take(self, env: Environment, data: bytes) -> None:
        """A slave takes its master's checkpoint."""
        if self.is_enabled and not self._is_started and len(data) >= CHECKPOINT.size:
            self._read(data)
            self._write(env)

    def start(self, env: Environment) -> None:
        """Take the queue anew, and deliver."""
        if not self.is_enabled or self._is_started:
            return
        self._is_started = True
        self._wheel.clear()
        end = self._store.max_offset(TIMER_TOPIC, 0)
        self.mark = self.mark._replace(taken=min(self.mark.taken, end))
        self._offset, self._high_ms = self._store.min_offset(TIMER_TOPIC, 0), self.mark.read_ms
        self._look(env)
        env.set_timer(_SAVE, self._flush_ns)

    def stop(self, env: Environment) -> None:
        """Deliver nothing more. What is known is still to be saved (:meth:`save`)."""
        if self._is_started:
            self.mark = self._mark(env)
        self._is_started = self._is_looking = False
        self._moving = None
        self._unsaved.clear()
        env.cancel_timer(_LOOK)
        env.cancel_timer(_SAVE)

    def save(self, env: Environment) -> None:
        """The orderly end of a broker whose log is flushed."""
        if self.is_enabled:
            self._write(env)

    def arrived(self, env: Environment) -> None:
        """The store has dispatched a parked message."""
        if self._is_started and not self._is_looking:
            self._is_looking = True
            env.set_timer(_LOOK, self._look_ms * MS)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key == _LOOK:
            self._look(env)
        elif key == _SAVE:
            env.set_timer(_SAVE, self._flush_ns)
            self._save_flushed(env)
        else:
            return False
        return True

    # --- the checkpoint ---------------------------------------------------------------------------------------------

    def checkpoint(self) -> bytes:
        """The body of GET_TIMER_CHECK_POINT; zeros without a wheel."""
        mark = self.mark
        return CHECKPOINT.pack(mark.read_ms, 0, mark.lowest, mark.taken, 0, mark.read_ms, self._version)

    def _read(self, data: bytes) -> None:
        read_ms, _, lowest, taken, _, _, self._version = CHECKPOINT.unpack(data[: CHECKPOINT.size])
        self.mark = Mark(read_ms, taken, lowest)

    def _mark(self, env: Environment) -> Mark:
        self._high_ms = max(self._high_ms, self._slot_ms(env.wall()))
        waiting = [*self._wheel, *([self._moving] if self._moving is not None else [])]
        lowest = min((one.offset for one in waiting), default=self._offset)
        return Mark(min([one.slot_ms for one in waiting] + [self._high_ms]), self._offset, lowest)

    def _save_flushed(self, env: Environment) -> None:
        """The newest mark whose log is safe."""
        self._unsaved.append((self._store.log_end, self._mark(env)))
        safe = None
        while self._unsaved and self._is_safe(self._unsaved[0][0]):
            _, safe = self._unsaved.popleft()
        if safe is not None and safe != self.mark:
            self.mark = safe
            self._write(env)

    def _is_safe(self, log_end: int) -> bool:
        return self._store.flushed_to >= log_end

    def _write(self, env: Environment) -> None:
        self._version += 1
        try:
            if env.size(self._path) < CHECKPOINT_FILE_BYTES:
                env.create(self._path, CHECKPOINT_FILE_BYTES)
                env.sync_dir(("timers", "name"))
            env.write(self._path, 0, self.checkpoint())
            env.sync(self._path, ("timers", "checkpoint"))
        except OSError as error:
            env.note("timers_not_saved", file=self._path, error=str(error))

    # --- taking and delivering --------------------------------------------------------------------------------------

    def _look(self, env: Environment) -> None:
        self._take_queue(env)
        self._deliver(env)
        self._is_looking = bool(self._wheel) or self._moving is not None
        if self._is_looking:
            env.set_timer(_LOOK, self._sleep_ms(env.wall()) * MS)

    def _sleep_ms(self, now_ms: int) -> int:
        if not self._wheel:
            return self._look_ms
        over_ms = self._wheel[0].slot_ms + self._precision_ms - now_ms
        return min(max(self._look_ms, over_ms), SLEEP_MAX_MS)

    def _slot_ms(self, wall_ms: int) -> int:
        return wall_ms // self._precision_ms * self._precision_ms

    def _take_queue(self, env: Environment) -> None:
        while self._offset < self._store.max_offset(TIMER_TOPIC, 0):
            found = self._store.get(env, TIMER_TOPIC, 0, self._offset, _BATCH)
            if found is None or found.next_offset <= self._offset:
                return
            for raw in found.records:
                self._take(env, decode_record(raw))
            self._offset = found.next_offset

    def _take(self, env: Environment, record: Message) -> None:
        slot_ms = java_number(record.property_map().get(OUT_MS, ""), 64)
        if slot_ms is None:
            env.note("timer_dropped", offset=record.queue_offset, reason="names no time")
        elif slot_ms >= self.mark.read_ms or record.queue_offset >= self.mark.taken:
            heappush(self._wheel, Waiting(slot_ms, record.queue_offset, self._slot_ms(env.wall())))

    def _is_over(self, env: Environment, slot_ms: int) -> bool:
        return slot_ms < self._slot_ms(env.wall())

    def _deliver(self, env: Environment) -> None:
        """What is in slots that are over, as long as it goes on at once."""
        while self._is_started and self._moving is None and self._wheel and self._is_over(env, self._wheel[0].slot_ms):
            if not self._move(env, heappop(self._wheel)):
                return

    def _move(self, env: Environment, waiting: Waiting) -> bool:
        """Deliver one message; whether the next one may follow at once."""
        request = self._restored(env, waiting)
        if request is None:
            return True
        self._moving = waiting
        goes_on = is_later = False

        def stored(env: Environment, result: PutResult) -> None:
            nonlocal goes_on
            if self._moving is not waiting:
                return  # stopped meanwhile
            goes_on = self._moved(env, waiting, result.status)
            if is_later and goes_on:
                self._deliver(env)

        self._store.put(env, request, stored)
        is_later = True
        return goes_on

    def _moved(self, env: Environment, waiting: Waiting, status: PutStatus) -> bool:
        self._moving = None
        if status not in _SETTLED:
            heappush(self._wheel, waiting)
            return False
        self.delivered += status is PutStatus.PUT_OK
        if status is not PutStatus.PUT_OK:
            env.note("timer_dropped", offset=waiting.offset, reason=status.value)
        return True

    def _restored(self, env: Environment, waiting: Waiting) -> PutRequest | None:
        """The message under its real name; ``None`` where the log has it no more, or it names none."""
        found = self._store.get(env, TIMER_TOPIC, 0, waiting.offset, 1)
        record = decode_record(found.records[0]) if found is not None and found.records else None
        if record is None or record.queue_offset != waiting.offset:
            env.note("timer_dropped", offset=waiting.offset, reason="the log has it no more")
            return None
        request = _request(record, waiting, env.wall())
        if request is None:
            env.note("timer_dropped", offset=waiting.offset, reason="names no topic and queue")
        return request


def _request(record: Message, waiting: Waiting, now_ms: int) -> PutRequest | None:
    properties = record.property_map()
    topic, queue_id = properties.get(PROPERTY_REAL_TOPIC), java_number(properties.get(PROPERTY_REAL_QUEUE_ID, ""), 32)
    if topic is None or topic == TIMER_TOPIC or queue_id is None:
        return None
    taken_ms = waiting.taken_ms if waiting.taken_ms <= waiting.slot_ms else NEVER_TAKEN_MS
    return PutRequest(
        topic=topic,
        queue_id=queue_id,
        body=record.body,
        properties=java_text({**properties, ENQUEUE_MS: str(taken_ms), DEQUEUE_MS: str(now_ms)}),
        flag=record.flag,
        sys_flag=record.sys_flag,
        born_timestamp=record.born_timestamp,
        born_host=record.born_host,
        reconsume_times=record.reconsume_times,
        is_internal=True,
        wait=False,
    )
