"""What a start makes of the files that survived.

Question: after an orderly stop, a kill or a power cut, where do log and queues end, and what is built again?

Model (RocketMQ: DefaultMessageStore#load, CommitLog#recoverNormally, #recoverAbnormally, DefaultMessageStore#start).

    abort file absent   normal: scan from the third-last file; nothing is dispatched again while scanning
    abort file present  abnormal: scan from the newest file whose first record is not younger than the checkpoint's
                        time, else from the first file; every good record is dispatched again, what is there is skipped

    then, both: the log ends at T, behind the last good record. Later files go; bytes behind T in its own file stay.
    Queues that point at or behind T are truncated. A log without files destroys all queues. Whatever lies behind the
    last position that any queue knows is dispatched. The table of next queue offsets is the queues' own ends, so that
    the offsets of lost messages are given again.

A later file that begins with a whole record is not deleted, as RocketMQ does, but moved to ``set-aside``: a damaged
record may have ended the scan, and what is behind it may be all there.

Bytes behind an end stay where they are, in the log and in the queues, as in RocketMQ. A later start may take them for
good: stale records when the log ends exactly where one begins, stale units as soon as the log has grown past the offset
that they name. ``cleanTruncatedTail=true`` zeroes them.

After an abnormal end nobody knows which of the accepted bytes were ever forced: a kill leaves them in the page cache.
RocketMQ counts all of them as flushed, and never forces them unless something is appended to the same file; a power cut
after a kill can then take records and units that are vouched for (``countRecoveredAsFlushed=true`` does the same). By
default ``files_to_force`` are forced before anything is acknowledged or checkpointed.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from reference_impl.environment import Environment
from reference_impl.store.checkpoint import Checkpoint
from reference_impl.store.config import StoreConfig
from reference_impl.store.consume_queues import ConsumeQueues
from reference_impl.store.delay import DelayLevels
from reference_impl.store.dispatch import Dispatcher
from reference_impl.store.mapped_files import MappedFile, MappedFiles
from reference_impl.store.queue_check import QueueCheck
from reference_impl.store.reader import store_timestamp_at
from reference_impl.store.request import Dispatched
from reference_impl.store.scan import LogReader, walk
from reference_impl.wire.message import MAGIC_V1, MAGIC_V2

_MAGIC: Final = Struct(">i")
_FILES_SCANNED: Final = 3
_CHUNK: Final = 1 << 16
_BLANK_ENOUGH: Final = 1 << 24

SET_ASIDE: Final = "set-aside"
"""The folder for log files behind the end that hold whole records."""


class Recovered(NamedTuple):
    """What a recovery found: for the ``recovered`` note."""

    is_clean: bool
    scanned_from: int
    records: int
    log_end: int


class Recovery:
    """One recovery."""

    def __init__(
        self,
        config: StoreConfig,
        log: MappedFiles,
        queues: ConsumeQueues,
        checkpoint: Checkpoint,
        dispatcher: Dispatcher,
        levels: DelayLevels,
    ) -> None:
        self._config, self._log, self._queues, self._checkpoint = config, log, queues, checkpoint
        self._dispatcher, self._levels = dispatcher, levels
        self._records = 0
        self._is_clean = True
        self._cleaned: dict[str, None] = {}

    def run(self, env: Environment, *, is_clean: bool) -> Recovered:
        """Files are loaded; afterwards positions, queues and dispatch position are right."""
        self._is_clean = is_clean
        queues_end = self._recover_queues(env)
        if self._log.files:
            first = self._first_file(env)
            end = self._scan(env, first)
            self._cut(env, end, queues_end)
            scanned_from = self._log.files[first].start if first < len(self._log.files) else end
        else:
            scanned_from = end = 0
            self._queues.destroy(env)
        self._dispatch_rest(env)
        if self._config.queue_self_check:
            self._check_queues(env)
        for queue in self._queues.all():
            queue.correct_min_offset(env, self._log.start)
        return Recovered(is_clean, scanned_from, self._records, end)

    def next_offsets(self) -> dict[tuple[str, int], int]:
        """The table of next queue offsets, after the run."""
        return self._queues.next_offsets()

    def _recover_queues(self, env: Environment) -> int:
        """The ends of the queues by their own files; returns the end of the last record that any of them knows."""
        for queue in self._queues.all():
            queue.recover(env)
        return self._queues.max_physical

    def files_to_force(self, scanned_from: int) -> list[str]:
        """Files whose content is accepted but may not be on the disk: after an orderly stop only what was cleaned."""
        if self._is_clean:
            return list(self._cleaned)
        log = [file.name for file in self._log.files if file.end > scanned_from]
        return log + [file.name for queue in self._queues.all() for file in queue.files.files]

    # --- the scan ---------------------------------------------------------------------------------------------------

    def _first_file(self, env: Environment) -> int:
        """Index of the file that the scan begins with."""
        files = self._log.files
        if self._is_clean:
            return max(0, len(files) - _FILES_SCANNED)
        is_index_safe = self._config.message_index_enable and self._config.message_index_safe
        known_ms = self._checkpoint.min_index_ms if is_index_safe else self._checkpoint.min_ms
        for index in range(len(files) - 1, -1, -1):
            if self._begins_by(env, files[index], known_ms):
                return index
        return 0

    def _begins_by(self, env: Environment, file: MappedFile, known_ms: int) -> bool:
        """RocketMQ: CommitLog#isMappedFileMatchedRecover."""
        magic = _MAGIC.unpack(env.read(file.name, 4, 4))[0]
        if magic not in (MAGIC_V1, MAGIC_V2):
            return False
        stored_ms = store_timestamp_at(env, self._log, file.start)
        return stored_ms != 0 and stored_ms <= known_ms

    def _scan(self, env: Environment, first: int) -> int:
        reader = LogReader(self._levels, check_crc=self._config.check_crc_on_recover, is_whole=True)
        return walk(env, self._files_from(first), reader, lambda place, record: self._seen(env, place, record))

    def _files_from(self, first: int) -> list[MappedFile]:
        return self._log.files[first:]

    def _seen(self, env: Environment, place: int, record: Dispatched) -> None:
        self._records += 1
        if not self._is_clean:
            self._dispatch_again(env, record)

    def _dispatch_again(self, env: Environment, record: Dispatched) -> None:
        self._dispatcher.take(env, record)

    # --- afterwards -------------------------------------------------------------------------------------------------

    def _cut(self, env: Environment, end: int, queues_end: int) -> None:
        self._dispatcher.finish_recovery(env)
        self._spare(env, end)
        self._log.truncate(env, end)
        if queues_end >= end:
            self._cut_queues(env, end)
        if self._config.clean_truncated_tail:
            for row in (self._log, *[queue.files for queue in self._queues.all()]):
                self._clean(env, row)

    def _spare(self, env: Environment, end: int) -> None:
        """RocketMQ deletes the files behind the end, whatever is in them. Those that hold messages are set aside."""
        for file in [file for file in self._log.files if file.start > end]:
            reader = LogReader(self._levels, check_crc=True, is_whole=True)
            if reader.at(env, file, file.start).record is not None:
                place = self._log.set_aside(env, file, f"{self._config.store_path_root_dir}/{SET_ASIDE}")
                env.note("log_file_set_aside", file=file.name, to=place, log_end=end)

    def _cut_queues(self, env: Environment, end: int) -> None:
        self._queues.truncate(env, end)

    def _clean(self, env: Environment, row: MappedFiles) -> None:
        """Zeros over what is behind the end of *row*, so that it cannot come back.

        Ends at the first 16 MiB of zeros: what was never forced is not scattered wider than that.
        """
        if not row.files:
            return
        file, zeros, blank_bytes = row.files[-1], bytes(_CHUNK), 0
        for offset in range(file.wrote, file.size, _CHUNK):
            size = min(_CHUNK, file.size - offset)
            if env.read(file.name, offset, size) == (zeros if size == _CHUNK else bytes(size)):
                blank_bytes += size
                if blank_bytes >= _BLANK_ENOUGH:
                    return
            else:
                env.write(file.name, offset, bytes(size))
                self._cleaned[file.name], blank_bytes = None, 0

    def _dispatch_rest(self, env: Environment) -> None:
        """RocketMQ waits at its start until dispatch has caught up, then goes on."""
        self._dispatcher.position = self._undispatched_from()
        self._dispatcher.run(env)

    def _check_queues(self, env: Environment) -> None:
        """``queueSelfCheck``: what the log says of a queue counts, and a queue that says otherwise is built anew."""
        check = QueueCheck(self._log, self._queues, LogReader(self._levels, check_crc=False, is_whole=False))
        wrong = check.wrong(env)
        if wrong:
            check.rebuild(env, wrong, self._dispatcher)
            env.note("queues_rebuilt", queues=[f"{topic}/{queue_id}" for topic, queue_id in wrong])

    def _undispatched_from(self) -> int:
        return max(self._queues.max_physical, self._log.start, 0)
