"""When the log is forced to the disk, and who waits for it.

Question: what does an acknowledgement mean under each ``flushDiskType``?

Model. Two services over one row of files, never both:

    AsyncFlush    (RocketMQ: FlushRealTimeService) sleeps 500 ms, then flushes if 4 pages are dirty; once in 10 s of
                  *wall clock* whatever is dirty. A clock set back by X stops the thorough flushes for X. Nobody waits.
    GroupCommit   (RocketMQ: GroupCommitService, FlushDiskWatcher) forces as soon as somebody waits; everybody who came
                  while a force was under way shares the next one. A request gets at most two flushes (a file border)
                  and at most ``syncFlushTimeout``; then FLUSH_DISK_TIMEOUT, and its bytes stay in the log.

One timer a service. A failed force counts as done, as in Apache's broker; with ``strictFlush`` the row stops advancing
and everybody who waits, now and later, gets FLUSH_DISK_TIMEOUT.

Limits. RocketMQ's watcher looks every 10 ms, so that its time-outs come up to 10 ms later than ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from reference_impl.environment import MS, Environment
from reference_impl.store.checkpoint import Checkpoint
from reference_impl.store.config import StoreConfig
from reference_impl.store.mapped_files import Done, MappedFiles
from reference_impl.store.request import PutStatus

FLUSH_TIMER: Final = ("store", "flush")
DEADLINE_TIMER: Final = ("store", "flush-deadline")
_IDLE_FLUSH_NS: Final = 10 * MS
_FLUSHES_A_REQUEST: Final = 2
_FLUSHES_AT_STOP: Final = 10

Decide = Callable[[Environment, PutStatus], None]


class FlushService(Protocol):
    """What the store needs of either."""

    def start(self, env: Environment) -> None:
        """The store is loaded, and what it recovered is on the disk: nothing was flushed before."""

    def appended(self, env: Environment, *, is_urgent: bool) -> None:
        """Bytes were appended for which nobody waits; *is_urgent*: by a put."""

    def on_timer(self, env: Environment, name: str) -> None:
        """The timer ``("store", name)``, one of ours."""

    def fail_all(self, env: Environment) -> None:
        """A force failed under ``strictFlush``."""

    def stop(self, env: Environment, done: Done) -> None:
        """Flush what can be flushed, then *done*."""


class AsyncFlush:
    """ASYNC_FLUSH: a loop in the background."""

    def __init__(self, config: StoreConfig, files: MappedFiles, checkpoint: Checkpoint) -> None:
        self._config, self._files, self._checkpoint = config, files, checkpoint
        self._last_thorough_ms = 0
        self._is_stopped = False

    def start(self, env: Environment) -> None:
        env.set_timer(FLUSH_TIMER, self._config.flush_interval_commit_log * MS)

    def appended(self, env: Environment, *, is_urgent: bool) -> None:
        """The loop sleeps its time whatever happens (flushCommitLogTimed=true)."""

    def on_timer(self, env: Environment, name: str) -> None:
        if not self._is_stopped:
            self._files.flush(env, self._least_pages(env), self._flushed)

    def _least_pages(self, env: Environment) -> int:
        wall = env.wall()
        if wall >= self._last_thorough_ms + self._config.flush_commit_log_thorough_interval:
            self._last_thorough_ms = wall
            return 0
        return self._config.flush_commit_log_least_pages

    def _flushed(self, env: Environment) -> None:
        if self._files.flushed_timestamp > 0:
            self._checkpoint.physic_ms = self._files.flushed_timestamp
        if not self._is_stopped:
            self.start(env)

    def fail_all(self, env: Environment) -> None:
        """Nobody waits here."""

    def stop(self, env: Environment, done: Done) -> None:
        self._is_stopped = True
        env.cancel_timer(FLUSH_TIMER)
        self._files.flush_all(env, _FLUSHES_AT_STOP, done)


class _Request:
    __slots__ = ("deadline_ns", "decide", "end", "flushes")

    def __init__(self, end: int, deadline_ns: int, decide: Decide) -> None:
        self.end, self.deadline_ns, self.decide = end, deadline_ns, decide
        self.flushes = 0


class GroupCommit:
    """SYNC_FLUSH: puts wait, several share a force."""

    def __init__(self, config: StoreConfig, files: MappedFiles, checkpoint: Checkpoint) -> None:
        self._timeout_ns = config.sync_flush_timeout * MS
        self._files, self._checkpoint = files, checkpoint
        self._requests: deque[_Request] = deque()
        self._is_busy = True
        """A flush is under way, or ``start`` has not come yet."""
        self._has_deadline = False
        self._is_idle_flush_armed = False
        self._has_failed = False
        self._is_stopped = False

    def start(self, env: Environment) -> None:
        self._serve(env)

    def wait(self, env: Environment, end: int, decide: Decide) -> None:
        """*decide(env, status)* once everything below *end* is flushed, or the time is over."""
        if self._has_failed:
            decide(env, PutStatus.FLUSH_DISK_TIMEOUT)
            return
        self._requests.append(_Request(end, env.now() + self._timeout_ns, decide))
        if not self._has_deadline:
            self._has_deadline = True
            env.set_timer(DEADLINE_TIMER, self._timeout_ns)
        if not self._is_busy:
            self._serve(env)

    def appended(self, env: Environment, *, is_urgent: bool) -> None:
        if self._is_busy or self._is_idle_flush_armed:
            return
        if is_urgent:
            self._idle_flush(env)
        else:
            self._arm_idle_flush(env)

    def on_timer(self, env: Environment, name: str) -> None:
        if name == DEADLINE_TIMER[1]:
            self._expire(env)
            return
        self._is_idle_flush_armed = False
        if not self._is_busy and not self._is_stopped:
            self._idle_flush(env)

    # --- those who wait ---------------------------------------------------------------------------------------------

    def _serve(self, env: Environment) -> None:
        """Answer from the head of the line; where the head is not flushed yet, flush once more and come back."""
        self._is_busy = True
        requests, files = self._requests, self._files
        has_answered = False
        while requests:
            head = requests[0]
            if files.flushed_to < head.end and head.flushes < _FLUSHES_A_REQUEST and not self._has_failed:
                head.flushes += 1
                self._note_checkpoint(has_answered)
                files.flush(env, 0, self._serve)
                return
            requests.popleft()
            has_answered = True
            head.decide(env, PutStatus.PUT_OK if files.flushed_to >= head.end else PutStatus.FLUSH_DISK_TIMEOUT)
        self._note_checkpoint(has_answered)
        self._is_busy = False
        if files.is_dirty and not self._is_stopped:
            self._arm_idle_flush(env)

    def _note_checkpoint(self, has_answered: bool) -> None:
        if has_answered and self._files.flushed_timestamp > 0:
            self._checkpoint.physic_ms = self._files.flushed_timestamp

    def _expire(self, env: Environment) -> None:
        now = env.now()
        while self._requests and self._requests[0].deadline_ns <= now:
            self._requests.popleft().decide(env, PutStatus.FLUSH_DISK_TIMEOUT)
        self._has_deadline = bool(self._requests)
        if self._has_deadline:
            env.set_timer(DEADLINE_TIMER, self._requests[0].deadline_ns - now)

    def fail_all(self, env: Environment) -> None:
        self._has_failed = True

    # --- those who do not -------------------------------------------------------------------------------------------

    def _arm_idle_flush(self, env: Environment) -> None:
        if not self._is_idle_flush_armed and not self._has_failed:
            self._is_idle_flush_armed = True
            env.set_timer(FLUSH_TIMER, _IDLE_FLUSH_NS)

    def _idle_flush(self, env: Environment) -> None:
        if self._files.is_dirty and not self._has_failed:
            self._is_busy = True
            self._files.flush(env, 0, self._serve)

    # --- the end ----------------------------------------------------------------------------------------------------

    def stop(self, env: Environment, done: Done) -> None:
        self._is_stopped = True
        env.cancel_timer(FLUSH_TIMER)
        if self._is_busy and not self._files.is_flushing:
            self._is_busy = False

        def flushed(env: Environment) -> None:
            if not self._is_busy:
                self._serve(env)
            env.cancel_timer(DEADLINE_TIMER)
            done(env)

        self._files.flush_all(env, _FLUSHES_AT_STOP, flushed)
