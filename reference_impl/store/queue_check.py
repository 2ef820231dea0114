"""Queues against the log: is every message where its queue says, and does the queue have every message?

Question: a queue file was lost, or a bit of one flipped; which queues say something else than the log? RocketMQ
believes queues: a unit that points nowhere, or at another queue's message, is served as it is, and a lost file is a
hole.

Model. With ``queueSelfCheck=true`` a start reads the whole log once. A queue is wrong if a record of it that is in the
log has no unit at its queue offset, or one with another place, size or tags code, or if the queue ends elsewhere than
behind its last record. A wrong queue is deleted and filled again from the log, with the same offsets; so messages that
retention has taken out of the log are gone from it, and it begins with the first that is left.

Limits. It costs one pass over the log, and one more where something is wrong. What follows a damaged record in its log
file is not seen: as for a running dispatch, the rest of that file is passed over.
"""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.environment import Environment
from reference_impl.store.commit_log import OFFSETLESS
from reference_impl.store.consume_queues import ConsumeQueues
from reference_impl.store.dispatch import Dispatcher
from reference_impl.store.mapped_files import MappedFiles
from reference_impl.store.names import queue_fault
from reference_impl.store.request import Dispatched
from reference_impl.store.scan import LogReader, walk_file
from reference_impl.wire.message import TRANSACTION_MASK

Key = tuple[str, int]


class QueueCheck:
    """One comparison, after recovery has found the end of the log and dispatched it."""

    def __init__(self, log: MappedFiles, queues: ConsumeQueues, reader: LogReader) -> None:
        self._log, self._queues, self._reader = log, queues, reader
        self._ends: dict[Key, int] = {}
        self._wrong: dict[Key, None] = {}

    def wrong(self, env: Environment) -> list[Key]:
        """(topic, queue id) of every queue that is not what the log says."""
        self._each_record(env, lambda record: self._compare(env, record))
        for key, end in self._ends.items():
            queue = self._queues.get(*key)
            if queue is None or queue.max_offset != end:
                self._wrong[key] = None
        return list(self._wrong)

    def _compare(self, env: Environment, record: Dispatched) -> None:
        key = (record.topic, record.queue_id)
        self._ends[key] = record.queue_offset + 1
        if key in self._wrong:
            return
        queue = self._queues.get(*key)
        unit = (record.physical_offset, record.size, record.tags_code)
        if queue is None or queue.units(env, record.queue_offset, 1) != [unit]:
            self._wrong[key] = None

    def rebuild(self, env: Environment, wrong: list[Key], dispatcher: Dispatcher) -> None:
        """Fill these queues again."""
        for key in wrong:
            queue = self._queues.get(*key)
            if queue is not None:
                queue.destroy(env)

        def take(record: Dispatched) -> None:
            if (record.topic, record.queue_id) in wrong:
                dispatcher.take(env, record)

        self._each_record(env, take)
        dispatcher.finish_recovery(env)

    def _each_record(self, env: Environment, seen: Callable[[Dispatched], None]) -> None:
        def look(place: int, record: Dispatched) -> None:
            has_queue = record.sys_flag & TRANSACTION_MASK not in OFFSETLESS
            if has_queue and not queue_fault(record.topic, record.queue_id) and place < self._log.end:
                seen(record)

        for file in self._log.files:
            walk_file(env, file, self._reader, look)
        self._reader.forget()
