"""A broker's messages as entries of a group's log: written, read, dispatched and recovered.

Question: where is the message of an entry, and which messages may be seen?

Model (RocketMQ: DLedgerCommitLog). The body of an entry is one message record, 48 bytes behind the entry's beginning;
consume queues, message ids and the record itself name *that* place. Dispatch goes from entry to entry, as far as the
log is committed, on leader and followers alike: what is not committed is in no consume queue.

    entry   | 48 bytes | TOTALSIZE, magic, … , queue offset, physical offset = pos + 48, …            | next entry

What a start dispatches again: after an orderly stop what lies behind the last unit; else everything from the newest
file on whose first message is not younger than the store's checkpoint. Units of a queue that point behind the end of
the log are cut.

An entry whose body is no message (a client may append anything at the group's own port) is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from reference_impl.dledger.entry import HEAD_SIZE, MAGIC_BLANK, record_head
from reference_impl.dledger.log import decode_head
from reference_impl.environment import Environment
from reference_impl.store.accepting import Accepted
from reference_impl.store.commit_log import OFFSETLESS, CommitLog
from reference_impl.store.consume_queues import ConsumeQueues
from reference_impl.store.delay import DelayLevels
from reference_impl.store.dispatch import Dispatcher
from reference_impl.store.mapped_files import MappedFile
from reference_impl.store.recovery import Recovered, Recovery
from reference_impl.store.request import Dispatched
from reference_impl.store.scan import BLANK, END, LogReader, Scanned, scan_record
from reference_impl.wire.host import encode_host
from reference_impl.wire.message import TRANSACTION_MASK, TRANSACTION_ROLLBACK, encode_record_parts

STAMP_AT = 28
"""Where a message record holds its own place."""

_MARKER_TOPIC = b"RMQ_SYS_DLEDGER_TERM"


class MessageLog(CommitLog):
    """The queue-offset table, and messages as bodies of entries."""

    def bodies(self, env: Environment, accepted: Accepted) -> tuple[list[bytes], list[Dispatched]]:
        """The records of a put, without their places."""
        store_timestamp = env.wall()
        has_offset = accepted.sys_flag & TRANSACTION_MASK not in OFFSETLESS
        queue_offset = self.next_offsets.get((accepted.topic, accepted.queue_id), 0) if has_offset else 0
        bodies, records = [], []
        for piece in accepted.pieces:
            body = self._encoded(accepted, piece, queue_offset, 0, store_timestamp)
            records.append(self._known(accepted, piece, queue_offset, 0, store_timestamp, len(body)))
            bodies.append(body)
            queue_offset += has_offset
        return bodies, records

    def count(self, accepted: Accepted, records: Sequence[Dispatched]) -> None:
        """They are in the log: their numbers are used up."""
        if accepted.sys_flag & TRANSACTION_MASK not in OFFSETLESS:
            self.next_offsets[accepted.topic, accepted.queue_id] = records[-1].queue_offset + 1


class EntryReader(LogReader):
    """Reads the log entry by entry. A ``Scanned`` has the size of the entry, and the record of its message."""

    def at(self, env: Environment, file: MappedFile, offset: int) -> Scanned:
        data = env.read(file.name, offset - file.start, HEAD_SIZE)
        if record_head(data)[0] == MAGIC_BLANK:
            return Scanned(BLANK)
        head = decode_head(data)
        if head is None or head.pos != offset:
            return Scanned(END)
        body = env.read(file.name, offset - file.start + HEAD_SIZE, head.size - HEAD_SIZE)
        record = scan_record(body, 0, self._levels, check_crc=self._check_crc).record
        if record is not None and record.physical_offset != offset + HEAD_SIZE:
            record = msgspec.structs.replace(record, physical_offset=offset + HEAD_SIZE)
        return Scanned(head.size, record)


class CommittedDispatcher(Dispatcher):
    """Goes as far as the log is committed."""

    committed_position: Callable[[], int]

    @property
    def end(self) -> int:
        return self.committed_position()

    def take(self, env: Environment, record: Dispatched) -> None:
        """The log is its own proof: what was dispatched last tells where a start begins."""
        super().take(env, record)
        self._checkpoint.physic_ms = record.store_timestamp


class QueueRecovery(Recovery):
    """The queues' recovery: the log has had its own."""

    def run(self, env: Environment, *, is_clean: bool) -> Recovered:
        self._is_clean = is_clean
        end = self._log.end
        for queue in self._queues.all():
            queue.recover(env)
        cut_queues(env, self._queues, end)
        for queue in self._queues.all():
            queue.is_behind_gap = queue.max_physical <= self._log.start
        start = self._redispatch_from(env)
        self._dispatcher.position = start
        self._dispatcher.run(env)
        for queue in self._queues.all():
            queue.correct_min_offset(env, self._log.start)
        return Recovered(is_clean, start, 0, end)

    def _redispatch_from(self, env: Environment) -> int:
        if self._is_clean:
            return max(self._queues.max_physical, self._log.start, 0)
        files, known_ms = self._log.files, self._checkpoint.min_ms
        reader = EntryReader(self._levels, check_crc=False, is_whole=True)
        for file in reversed(files):
            record = reader.at(env, file, file.start).record
            if record is not None and 0 < record.store_timestamp <= known_ms:
                return file.start
        return self._log.start


def cut_queues(env: Environment, queues: ConsumeQueues, end: int) -> None:
    """Units that point behind *end* go. The other queues are left alone: a cut tells a queue that everything before it
    is there, and theirs may have to be dispatched again."""
    for queue in queues.all():
        if queue.max_physical > end:
            queue.truncate(env, end)


def marker(store_host: str, levels: DelayLevels) -> bytes:
    """The message with which a new leader commits what older terms left: of a kind (a transaction rolled back) that no
    broker puts into a queue or an index."""
    host = encode_host(store_host)
    return encode_record_parts(
        topic=_MARKER_TOPIC,
        queue_id=0,
        flag=0,
        queue_offset=0,
        physical_offset=0,
        sys_flag=TRANSACTION_ROLLBACK,
        born_timestamp=0,
        born_host=host,
        store_timestamp=0,
        store_host=host,
        reconsume_times=0,
        prepared_transaction_offset=0,
        body=b"",
        properties=b"",
    )
