"""Dispatch: from the log to consume queues and index, a step behind the put.

Question: when does a message become visible, and what happens to what cannot be dispatched?

Model (RocketMQ: ReputMessageService). RocketMQ polls the log's end every millisecond; here the first put after an idle
time sets one timer, drawn below a millisecond, and everything written until then is dispatched together. So visibility
lags the append as in the real one, and an idle store costs nothing.

    put ──► log end moves ──► (≤ 1 ms) ──► units and index entries written ──► on_arrived for each message

A put leaves its record here in memory, so that it need not be parsed again; everything else (replicated bytes, what a
start finds undispatched) is read from the log. Unreadable bytes: a master skips the rest of that file, a slave stays in
front of them and tries again with every new append.

A record whose topic or queue id cannot be a path has no queue: it is passed over with a note, and can be read by its
place alone. Apache's dispatch throws there, and dispatches nothing that follows.

A consume queue that cannot be written is tried again every second, at most 30 times; then the store is read-only until
its next start. The index: 3 times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from reference_impl.environment import MS, SECOND, Environment
from reference_impl.store.checkpoint import Checkpoint
from reference_impl.store.commit_log import OFFSETLESS
from reference_impl.store.consume_queue import ConsumeQueue
from reference_impl.store.consume_queues import ConsumeQueues
from reference_impl.store.flags import INDEX_FILE_ERROR, LOGICS_QUEUE_ERROR, RunningFlags
from reference_impl.store.index import Index
from reference_impl.store.mapped_files import MappedFiles
from reference_impl.store.names import queue_fault
from reference_impl.store.request import Dispatched
from reference_impl.store.scan import BLANK, LogReader
from reference_impl.wire.message import TRANSACTION_MASK

TIMER: Final = ("store", "reput")
_LAG_NS_MAX: Final = MS
_RETRY_NS: Final = SECOND
_QUEUE_TRIES: Final = 30
_INDEX_TRIES: Final = 3

OnArrived = Callable[[Environment, str, int, int, int], None]
"""(env, topic, queue id, next queue offset, tags code): one more message can be read. For long polling."""


class Dispatcher:
    """The dispatching of one store. ``position``: everything below is dispatched."""

    def __init__(
        self,
        log: MappedFiles,
        queues: ConsumeQueues,
        index: Index | None,
        checkpoint: Checkpoint,
        flags: RunningFlags,
        reader: LogReader,
        *,
        on_flags: Callable[[], None],
        is_slave: bool,
    ) -> None:
        self._log, self._queues, self._index, self._checkpoint = log, queues, index, checkpoint
        self._flags, self._reader, self.is_slave = flags, reader, is_slave
        self._on_flags = on_flags
        self.position = 0
        self.on_arrived: OnArrived | None = None
        self._known: deque[Dispatched] = deque()
        self._touched: list[ConsumeQueue] = []
        self._arrived: list[Dispatched] = []
        self._is_armed = False
        self._queue_failures = 0
        self._index_failures = 0

    def appended(self, env: Environment, records: list[Dispatched]) -> None:
        """A put wrote *records* at the end of the log."""
        self._known.extend(records)
        self.wake(env)

    def wake(self, env: Environment) -> None:
        """There may be something to dispatch."""
        if not self._is_armed:
            self._is_armed = True
            env.set_timer(TIMER, int(env.rng.random() * _LAG_NS_MAX))

    def on_timer(self, env: Environment) -> None:
        """The lag is over."""
        self._is_armed = False
        self.run(env)

    def stop(self, env: Environment) -> None:
        """A last run; nothing is dispatched afterwards."""
        self._is_armed = True
        self.run(env)
        env.cancel_timer(TIMER)
        if self._index is not None:
            try:
                self._index.write_out(env)
            except OSError as error:
                self._index_failed(env, error, is_last=True)

    @property
    def is_behind(self) -> bool:
        """Bytes of the log wait to be dispatched."""
        return self.position < self.end

    @property
    def end(self) -> int:
        """What is below may be dispatched."""
        return self._log.end

    # --- one step ---------------------------------------------------------------------------------------------------

    def run(self, env: Environment) -> None:
        """Dispatch everything up to the end of the log."""
        if self._flags.bits & LOGICS_QUEUE_ERROR:
            return
        self._reader.forget()
        failure: OSError | None = None
        try:
            self._advance(env)
        except OSError as error:
            failure = error
        try:
            self._write_out(env)
        except OSError as error:
            failure = error
        if failure is None:
            self._queue_failures = 0
            self._announce(env)
        else:
            self._failed(env, failure)

    def _advance(self, env: Environment) -> None:
        """Take the units of all records from ``position`` on. ``OSError`` leaves ``position`` before the culprit."""
        self.position = max(self.position, self._log.start)
        known, end = self._known, self.end
        while self.position < end:
            if known and known[0].physical_offset == self.position:
                record = known[0]
                self.take(env, record)
                known.popleft()
                self.position += record.size
            elif not self._read_one(env):
                break
            elif known:
                self._forget_passed()

    def _forget_passed(self) -> None:
        while self._known and self._known[0].physical_offset < self.position:
            self._known.popleft()

    def _read_one(self, env: Environment) -> bool:
        """Dispatch what begins at ``position`` by reading it; False where nothing more can be done now."""
        file = self._log.find(self.position)
        if file is None:
            return False
        size, record = self._reader.at(env, file, self.position)
        if record is not None:
            self.take(env, record)
            self.position += size
        elif size == BLANK:
            self.position = file.end
        elif size > 0:
            env.note("record_skipped", offset=self.position, size=size)
            self.position += size
        elif self.is_slave:
            return False
        else:
            env.note("log_unreadable", offset=self.position, skipped_to=file.start + file.wrote)
            self.position = file.start + file.wrote
        return True

    def take(self, env: Environment, record: Dispatched) -> None:
        """Collect one record's unit and index entries; visible only after ``write_out``."""
        if record.sys_flag & TRANSACTION_MASK not in OFFSETLESS and self._has_queue(env, record):
            queue = self._queues.of(record.topic, record.queue_id)
            if not queue.collected:
                self._touched.append(queue)
            queue.put(env, record.physical_offset, record.size, record.tags_code, record.queue_offset)
            self._checkpoint.logics_ms = record.store_timestamp
            if self.is_slave:
                self._checkpoint.physic_ms = record.store_timestamp
            self._arrived.append(record)
        if self._index is not None:
            try:
                self._index.put(env, record)
            except OSError as error:
                self._index_failed(env, error)

    def _has_queue(self, env: Environment, record: Dispatched) -> bool:
        fault = queue_fault(record.topic, record.queue_id)
        if fault:
            env.note("record_without_queue", offset=record.physical_offset, reason=fault)
        return not fault

    def _write_out(self, env: Environment) -> None:
        for queue in self._touched:
            queue.write_out(env)
        self._touched = []

    def finish_recovery(self, env: Environment) -> None:
        """Recovery has collected with ``take``: make it visible without telling anybody."""
        self._write_out(env)
        self._arrived.clear()

    def _announce(self, env: Environment) -> None:
        arrived, self._arrived = self._arrived, []
        if self.on_arrived is not None and not self.is_slave:
            for record in arrived:
                self.on_arrived(env, record.topic, record.queue_id, record.queue_offset + 1, record.tags_code)

    def _failed(self, env: Environment, error: OSError) -> None:
        self._queue_failures += 1
        if self._queue_failures < _QUEUE_TRIES:
            self._is_armed = True
            env.set_timer(TIMER, _RETRY_NS)
        elif self._flags.set(LOGICS_QUEUE_ERROR):
            env.note("read_only", why="consume queue cannot be written", error=str(error))
            self._on_flags()

    def _index_failed(self, env: Environment, error: OSError, *, is_last: bool = False) -> None:
        self._index_failures += 1
        if (is_last or self._index_failures >= _INDEX_TRIES) and self._flags.set(INDEX_FILE_ERROR):
            env.note("read_only", why="index cannot be written", error=str(error))
            self._on_flags()
