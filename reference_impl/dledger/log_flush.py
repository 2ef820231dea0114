"""When the log is forced to the disk.

Question: how much of the log can a power cut take?

Model (DLedger: DLedgerMmapFileStore.FlushDataService). 10 ms after a write everything written is forced, data before
index; what is written meanwhile waits for the next time. Nobody waits for it: an answer may leave before. With strict
persistence the force begins at once, and ``on_forced`` tells what waits for it how far it went.

A failed force counts as done, as with Apache's; with strict persistence it ends the node: after a failed fsync nobody
knows what is on the disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.dledger.log import FileLog
from reference_impl.environment import MS, Environment
from reference_impl.store.forcing import Forcing
from reference_impl.store.mapped_files import Done

TIMER: Final = ("dledger", "flush")
_FILES_MAX: Final = 1_000_000


class LogFlush:
    """Of one log. ``on_forced(env, writes, end_index)``: the first *writes* writes of this life are durable."""

    def __init__(self, log: FileLog, forcing: Forcing, interval_ms: int, *, is_strict: bool) -> None:
        self._log, self._forcing, self._interval_ns, self._is_strict = log, forcing, interval_ms * MS, is_strict
        self.on_forced: Callable[[Environment, int, int], None] | None = None
        self._is_busy = self._is_armed = self._is_stopped = False
        self._forced_writes = 0
        self._when_idle: list[Done] = []
        for row in (log.data, log.index):
            row.on_force_failed = _fail

    def wrote(self, env: Environment) -> None:
        """Something was written."""
        if self._is_busy or self._is_armed or self._is_stopped:
            return
        if self._is_strict:
            self._begin(env)
        else:
            self._is_armed = True
            env.set_timer(TIMER, self._interval_ns)

    def on_timer(self, env: Environment) -> None:
        self._is_armed = False
        if not self._is_busy:
            self._begin(env)

    def _begin(self, env: Environment) -> None:
        log = self._log
        self._is_busy = True
        writes, end_index = log.writes, log.end_index
        cleared = log.flush_begins()

        def cleared_forced(env: Environment, error: str) -> None:
            if error and self._is_strict:
                _fail(env, cleared[0], error)
            log.data.flush_all(env, _FILES_MAX, lambda env: log.index.flush_all(env, _FILES_MAX, index_forced))

        def index_forced(env: Environment) -> None:
            log.flush_ended()
            self._is_busy = False
            self._forced_writes = writes
            if self.on_forced is not None:
                self.on_forced(env, writes, min(end_index, log.end_index))
            self._go_on(env)

        self._forcing.force_all(env, cleared, cleared_forced)

    def _go_on(self, env: Environment) -> None:
        if self._log.writes > self._forced_writes:
            self.wrote(env)
        if not self._is_busy and self._when_idle:
            self._when_idle.pop(0)(env)

    def stop(self, env: Environment, done: Done) -> None:
        """Force what is left, then *done*."""
        if self._is_busy:
            self._when_idle.append(lambda env: self.stop(env, done))
            return
        self._is_stopped = True
        env.cancel_timer(TIMER)
        self._when_idle.append(done)
        self._begin(env)


def _fail(env: Environment, file: str, error: str) -> None:
    raise OSError(f"{error}: {file} could not be forced")
