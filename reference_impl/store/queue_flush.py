"""The flush of consume queues and of the checkpoint.

Question: how far may the consume queues lag behind the log on the disk? Model (RocketMQ: FlushConsumeQueueService).
Every second, a queue with at least two dirty pages is forced. Once a minute of wall clock, and one second after the
start, all that is dirty: *thorough*. A thorough pass takes the logics time first, and when every force is over puts it
back into the checkpoint and saves that: so the saved time never vouches for a unit that was not forced.

One timer; a pass begins only when the last is over. Within a pass the queues are forced side by side.
"""

from __future__ import annotations

from typing import Final

from reference_impl.environment import MS, Environment
from reference_impl.store.checkpoint import Checkpoint
from reference_impl.store.config import StoreConfig
from reference_impl.store.consume_queues import ConsumeQueues
from reference_impl.store.mapped_files import Done

TIMER: Final = ("store", "queue-flush")
_FLUSHES_AT_STOP: Final = 3


class QueueFlush:
    """The service of one store."""

    def __init__(self, config: StoreConfig, queues: ConsumeQueues, checkpoint: Checkpoint) -> None:
        self._config, self._queues, self._checkpoint = config, queues, checkpoint
        self._last_thorough_ms = 0
        self._outstanding = 0
        self._is_stopped = False

    def start(self, env: Environment) -> None:
        """Sleep one interval."""
        env.set_timer(TIMER, self._config.flush_interval_consume_queue * MS)

    def on_timer(self, env: Environment) -> None:
        """One pass."""
        wall = env.wall()
        if wall >= self._last_thorough_ms + self._config.flush_consume_queue_thorough_interval:
            self._last_thorough_ms = wall
            self._pass_thoroughly(env, self._checkpoint.logics_ms)
        else:
            self._flush(env, self._config.flush_consume_queue_least_pages, self._passed)

    def _pass_thoroughly(self, env: Environment, logics_ms: int) -> None:
        self._flush(env, 0, lambda env: self._save(env, logics_ms, self._passed))

    def _flush(self, env: Environment, least_pages: int, done: Done) -> None:
        queues = [queue.files for queue in self._queues.all() if queue.files.is_dirty]
        self._outstanding = 1 + len(queues)

        def one_done(env: Environment) -> None:
            self._outstanding -= 1
            if self._outstanding == 0:
                done(env)

        for files in queues:
            files.flush(env, least_pages, one_done)
        one_done(env)

    def _save(self, env: Environment, logics_ms: int, done: Done) -> None:
        if logics_ms > 0:
            self._checkpoint.logics_ms = logics_ms
        self._checkpoint.save(env, done)

    def _passed(self, env: Environment) -> None:
        if not self._is_stopped:
            self.start(env)

    def stop(self, env: Environment, done: Done) -> None:
        """Three tries a queue, as RocketMQ; the checkpoint is saved by the store itself."""
        self._is_stopped = True
        env.cancel_timer(TIMER)
        queues = [queue.files for queue in self._queues.all() if queue.files.is_dirty]
        outstanding = 1 + len(queues)

        def one_done(env: Environment) -> None:
            nonlocal outstanding
            outstanding -= 1
            if outstanding == 0:
                done(env)

        for files in queues:
            files.flush_all(env, _FLUSHES_AT_STOP, one_done)
        one_done(env)
