"""The third stage of a message: a buffer in process memory, before the page cache and the disk.

Question: with ``transientStorePoolEnable``, when do acknowledged bytes reach the file, and what takes a kill?

Model (RocketMQ: TransientStorePool, CommitLog.CommitRealTimeService). Of a pool of ``transientStorePoolSize`` buffers
each new log file gets one, also the file made in advance; writes go there. A commit copies what is pending to the file:
as soon as 4 pages are pending, else when 200 ms have passed since the last commit. Readers, dispatch and slaves see
committed bytes only; a flush forces committed bytes only. A file that is full and committed gives its buffer back.

    acknowledged ── ≤ 200 ms ──► page cache ── flush ──► disk
    kill takes it                power cut takes it

It is in effect only with ASYNC_FLUSH on a master; elsewhere the setting does nothing. Files that a start finds have no
buffer: after a restart the pool is out of use until the log rolls. While the pool is empty, sends are refused before
they are looked at (SYSTEM_BUSY).

Limits. ``fastFailIfNoBufferInStorePool`` is not obeyed: it changes how soon a broker under pressure gives up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.environment import MS, Environment
from reference_impl.store.config import StoreConfig
from reference_impl.store.mapped_files import PAGE, MappedFiles

COMMIT_TIMER: Final = ("store", "commit")


class CommitService:
    """Copies pending bytes to their files; *on_committed* is told when there is more to read."""

    def __init__(self, config: StoreConfig, files: MappedFiles, on_committed: Callable[[Environment], None]) -> None:
        self._files, self._on_committed = files, on_committed
        self._thorough_ns = config.commit_commit_log_thorough_interval * MS
        self._least_bytes = config.commit_commit_log_least_pages * PAGE
        self._last_ns: int | None = None
        self._due_ns: int | None = None

    def appended(self, env: Environment) -> None:
        """A put wrote into a buffer: commit when it is time (RocketMQ: the put wakes the thread, which looks)."""
        pending = self._files.pending_bytes
        if not pending:
            return
        now = env.now()
        due = now
        if pending < self._least_bytes and self._last_ns is not None:
            due = max(now, self._last_ns + self._thorough_ns)
        if self._due_ns is None or due < self._due_ns:
            self._due_ns = due
            env.set_timer(COMMIT_TIMER, due - now)

    def on_timer(self, env: Environment) -> None:
        """Time to commit."""
        self._due_ns = None
        self.commit(env)

    def commit(self, env: Environment) -> None:
        """Everything that is pending; where a file cannot be written, it stays pending and is tried again."""
        try:
            self._files.commit(env)
        except OSError as error:
            env.note("commit_failed", error=str(error), pending=self._files.pending_bytes)
            self._due_ns = env.now() + self._thorough_ns
            env.set_timer(COMMIT_TIMER, self._thorough_ns)
        self._last_ns = env.now()
        self._on_committed(env)

    def stop(self, env: Environment) -> None:
        """The last commit."""
        env.cancel_timer(COMMIT_TIMER)
        self.commit(env)
        env.cancel_timer(COMMIT_TIMER)
