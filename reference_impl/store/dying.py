"""The planted bug ``min-offset-from-dying-file``: a log file that is as good as deleted still is the log's first.

Question: what does a broker that takes its first offsets from such a file tell its consumers?

Model (RocketMQ: ReferenceResource, MappedFile#destroy). Deleting a file that somebody still reads is refused, and tried
again until it is done by force after ``destroyMapedFileIntervalForcibly``; from the first try on nobody gets anything
of it any more. In use is here what was read since the clean-up before. Where the first offsets of queues are those of
that file, whoever asks for one is sent to the first offset, and is there already.

Limits. An honest store has none of this: reading is over when it returns, and no deletion is ever refused.
"""

from __future__ import annotations

from typing import Final

from reference_impl.environment import SECOND, Environment
from reference_impl.store.consume_queue import ConsumeQueue
from reference_impl.store.mapped_files import MappedFile, MappedFiles

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

    def holds(self, env: Environment, queue: ConsumeQueue, queue_offset: int) -> bool:
        """Whether the message at *queue_offset* is in it."""
        if self._dying is None or self._dying is not self._log.files[0]:
            return False
        units = queue.units(env, queue_offset, 1)
        return bool(units) and self._log.find(units[0][0]) is self._dying
