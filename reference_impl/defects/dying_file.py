"""A log file that is as good as deleted still is the log's first.

Question: what does a broker that takes its first offsets from such a file tell its consumers?

Model (RocketMQ: ReferenceResource, MappedFile#destroy). Deleting a file that somebody still reads is refused, and tried
again until it is done by force after ``destroyMapedFileIntervalForcibly``; from the first try on nobody gets anything
of it any more. In use is here what was read since the clean-up before. Where the first offsets of queues are those of
that file, whoever asks for one is sent to the first offset, and is there already.

A store without this bug has none of it: reading is over when it returns, and no deletion is ever refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.defects.defect import StoreDefect, substitute
from reference_impl.environment import SECOND, Environment
from reference_impl.store import GetResult, GetStatus, MessageStore
from reference_impl.store.mapped_files import MappedFile, MappedFiles
from reference_impl.store.reader import Reader
from reference_impl.store.retention import Retention
from reference_impl.wire.message import decode_record

IN_USE_NS: Final = 10 * SECOND
FORCIBLY_NS: Final = 120 * SECOND


class DyingFile:
    """What is known about who reads the files of *log*, and the first of them once its deletion was refused."""

    def __init__(self, log: MappedFiles) -> None:
        self._log = log
        self._read_ns: dict[int, int] = {}
        """Beginning of a file → when it was last read."""
        self._dying: MappedFile | None = None
        self._since_ns = 0

    def read(self, env: Environment, physical_offset: int) -> None:
        """Somebody reads there."""
        self._read_ns[physical_offset - physical_offset % self._log.file_size] = env.now()

    def refuses(self, env: Environment, file: MappedFile) -> bool:
        """Whether the deletion of *file* is to be tried again later."""
        if file is self._dying:
            return env.now() - self._since_ns < FORCIBLY_NS
        read_ns = self._read_ns.pop(file.start, None)
        if read_ns is None or env.now() - read_ns >= IN_USE_NS:
            return False
        self._dying, self._since_ns = file, env.now()
        return True

    def holds(self, physical_offset: int) -> bool:
        """Whether the record there is in it."""
        is_dying = self._dying is not None and self._dying is self._log.files[0]
        return is_dying and self._log.find(physical_offset) is self._dying


class ReadsNothingOfIt(Reader):
    """Who asks for a message of the dying file is sent to the first offset, which is in it."""

    dying: DyingFile

    def get(
        self,
        env: Environment,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        tag_codes: frozenset[int] | None,
        wants: Callable[[bytes], bool] | None = None,
    ) -> GetResult:
        queue = self._queues.get(topic, queue_id)
        if queue is not None and queue.min_offset <= offset < queue.max_offset:
            units = queue.units(env, offset, 1)
            if units and self.dying.holds(units[0][0]):
                following = queue.min_offset if self._corrects else offset
                return GetResult(GetStatus.OFFSET_TOO_SMALL, following, queue.min_offset, queue.max_offset)
        result = super().get(env, topic, queue_id, offset, max_messages, tag_codes, wants)
        for record in result.records:
            self.dying.read(env, decode_record(record).physical_offset)
        return result


class DeletesLater(Retention):
    """A file that somebody reads is not deleted yet."""

    dying: DyingFile

    def _is_first_due(self, env: Environment) -> bool:
        if not super()._is_first_due(env):
            return False
        first = self._log.files[0]
        if not self.dying.refuses(env, first):
            return True
        env.note("log_file_in_use", file=first.name)
        return False


def min_offset_from_dying_file(store: MessageStore) -> None:
    """Reads and deletions know of each other."""
    dying = DyingFile(store.log.files)
    substitute(store.reader, ReadsNothingOfIt, dying=dying)
    substitute(store.retention, DeletesLater, dying=dying)


DYING_FILE: Final = {
    "min-offset-from-dying-file": StoreDefect(
        min_offset_from_dying_file,
        "the first offset of a queue is taken from a log file that is marked as deleted and cannot be deleted yet",
        "a reader that is sent to the first offset of its queue by the broker, and from there to the same",
        "minimum",
        ("B13",),
        "rocketmq#7283, fixed by #7284: after a deletion that has to be tried again the first file is not available, "
        "and the offset told to be the first is its",
    ),
}
