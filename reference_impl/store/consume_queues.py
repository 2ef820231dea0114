"""All consume queues of a store, by topic and queue id.

Question: which queues are there? Model: one folder ``consumequeue/<topic>/<queue id>`` a queue; queues come into being
with their first message. The table keeps the order of creation, so that nothing depends on hashing.
"""

from __future__ import annotations

from collections.abc import Iterable

from reference_impl.environment import Environment
from reference_impl.store.consume_queue import ConsumeQueue
from reference_impl.store.forcing import Forcing
from reference_impl.store.mapped_files import MappedFiles
from reference_impl.wire.fields import java_number


class ConsumeQueues:
    """The table. ``folder`` is the path of ``consumequeue``."""

    def __init__(self, folder: str, file_size: int, forcing: Forcing) -> None:
        self.folder, self.file_size, self._forcing = folder, file_size, forcing
        self._queues: dict[tuple[str, int], ConsumeQueue] = {}

    def load(self, env: Environment) -> None:
        """Take over existing files; ``WrongFileSize`` for a file that cannot be one of this store."""
        names: dict[tuple[str, int], list[str]] = {}
        for name in env.files(f"{self.folder}/"):
            topic, _, number = name[len(self.folder) + 1 :].rpartition("/")[0].rpartition("/")
            queue_id = java_number(number, 32)
            if topic and queue_id is not None and str(queue_id) == number:
                names.setdefault((topic, queue_id), []).append(name)
        for (topic, queue_id), files in names.items():
            self.of(topic, queue_id).files.load(env, files)

    def of(self, topic: str, queue_id: int) -> ConsumeQueue:
        """The queue, made if it is new."""
        key = (topic, queue_id)
        queue = self._queues.get(key)
        if queue is None:
            files = MappedFiles(f"{self.folder}/{topic}/{queue_id}", self.file_size, self._forcing)
            queue = self._queues[key] = ConsumeQueue(topic, queue_id, files)
        return queue

    def get(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """The queue, if there is one."""
        return self._queues.get((topic, queue_id))

    def all(self) -> Iterable[ConsumeQueue]:
        """Every queue, oldest first."""
        return self._queues.values()

    @property
    def max_physical(self) -> int:
        """End of the last record that any queue knows; −1: none."""
        return max((queue.max_physical for queue in self._queues.values()), default=-1)

    def truncate(self, env: Environment, physical_end: int) -> None:
        """Truncate what points at or behind *physical_end*."""
        for queue in self._queues.values():
            queue.truncate(env, physical_end)

    def destroy(self, env: Environment) -> None:
        """Empty every queue: the log is gone."""
        for queue in self._queues.values():
            queue.destroy(env)

    def remove(self, env: Environment, topic: str) -> None:
        """Delete the queues of *topic*, files and all."""
        for key in [key for key in self._queues if key[0] == topic]:
            self._queues.pop(key).destroy(env)

    def remove_expired(self, env: Environment, log_start: int, spared_topic: str) -> list[tuple[str, int]]:
        """Delete the queues whose last message lies below *log_start*, but none of *spared_topic*; which they were."""
        gone = [
            key
            for key, queue in self._queues.items()
            if key[0] != spared_topic and 0 <= queue.max_physical <= log_start
        ]
        for key in gone:
            self._queues.pop(key).destroy(env)
        return gone

    def next_offsets(self) -> dict[tuple[str, int], int]:
        """The queue-offset table that a start rebuilds: the next number of every queue."""
        return {key: queue.max_offset for key, queue in self._queues.items()}
