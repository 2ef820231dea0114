"""The commit log: records of all topics, one behind the other, with the numbers that they get on the way.

Question: where does a message go, and which queue offset is its own?

Model (RocketMQ: CommitLog, DefaultAppendMessageCallback). Under RocketMQ's put lock, here within one step: take the
wall clock as store time, take the next queue offset of (topic, queue id) from a table in memory, write the record at
the write position. Prepared and rolled-back transactional messages get offset 0 and do not move the table.

    ... record | record | blank: 4 bytes left size, 4 bytes magic | (next file) record ...

A record, and a batch as a whole, never spans two files: where size + 8 bytes are not left, eight bytes of blank end the
file. At least eight always remain for it.

Limits. A message that no file can hold is refused; RocketMQ would loop over empty files.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from reference_impl.environment import Environment
from reference_impl.store.accepting import BLANK_SIZE, Accepted, Piece, topic_bytes
from reference_impl.store.delay import DelayLevels
from reference_impl.store.mapped_files import MappedFile, MappedFiles
from reference_impl.store.request import Dispatched
from reference_impl.store.scan import dispatched
from reference_impl.wire.host import encode_host
from reference_impl.wire.message import (
    MAGIC_BLANK,
    TRANSACTION_MASK,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
    encode_record_parts,
)

_BLANK: Final = Struct(">ii")

OFFSETLESS: Final = (TRANSACTION_PREPARED, TRANSACTION_ROLLBACK)
"""Transaction types that are in no consume queue."""


class FileUnavailable(Exception):
    """No further log file could be created (CREATE_MAPEDFILE_FAILED)."""


class CommitLog:
    """The log and the queue-offset table."""

    def __init__(self, files: MappedFiles, store_host: str, levels: DelayLevels) -> None:
        self.files, self._levels = files, levels
        self._store_host = encode_host(store_host)
        self.next_offsets: dict[tuple[str, int], int] = {}

    def append(self, env: Environment, accepted: Accepted) -> list[Dispatched]:
        """Write the records of a put. :class:`FileUnavailable`, or ``OSError`` of the write: none is in the log then,
        and no number is used up."""
        file = self._room(env, accepted.size)
        store_timestamp = env.wall()
        key = (accepted.topic, accepted.queue_id)
        has_offset = accepted.sys_flag & TRANSACTION_MASK not in OFFSETLESS
        queue_offset = self.next_offsets.get(key, 0) if has_offset else 0
        place = file.start + file.position
        data: list[bytes] = []
        records: list[Dispatched] = []
        for piece in accepted.pieces:
            record = self._encoded(accepted, piece, queue_offset, place, store_timestamp)
            records.append(self._known(accepted, piece, queue_offset, place, store_timestamp, len(record)))
            data.append(record)
            place += len(record)
            queue_offset += has_offset
        self.files.append(env, file, data[0] if len(data) == 1 else b"".join(data))
        file.store_timestamp = store_timestamp
        if has_offset:
            self._count(key, queue_offset - len(records), len(records))
        return records

    def _count(self, key: tuple[str, int], queue_offset: int, records: int) -> None:
        """*records* numbers from *queue_offset* on are used up."""
        self.next_offsets[key] = queue_offset + records

    def _encoded(self, accepted: Accepted, piece: Piece, queue_offset: int, place: int, store_timestamp: int) -> bytes:
        request = accepted.request
        return encode_record_parts(
            topic=topic_bytes(accepted.topic),
            queue_id=accepted.queue_id,
            flag=piece.flag,
            queue_offset=queue_offset,
            physical_offset=place,
            sys_flag=accepted.sys_flag,
            born_timestamp=request.born_timestamp,
            born_host=accepted.born_host,
            store_timestamp=store_timestamp,
            store_host=self._store_host,
            reconsume_times=request.reconsume_times,
            prepared_transaction_offset=request.prepared_transaction_offset,
            body=piece.body,
            properties=piece.properties,
        )

    def _known(
        self, accepted: Accepted, piece: Piece, queue_offset: int, place: int, store_timestamp: int, size: int
    ) -> Dispatched:
        known = dispatched(
            accepted.topic,
            accepted.queue_id,
            place,
            size,
            store_timestamp,
            queue_offset,
            accepted.sys_flag,
            piece.property_map,
            self._levels,
        )
        assert known is not None, "a delay level that is no number is refused before"
        return known

    def _room(self, env: Environment, size: int) -> MappedFile:
        """A file with *size* + 8 bytes left, rolling to the next one if need be."""
        try:
            file = self.files.file_to_append(env)
            left = file.size - file.position
            if size + BLANK_SIZE <= left:
                return file
            self.files.fill(env, file, _BLANK.pack(left, MAGIC_BLANK))
            file.store_timestamp = env.wall()
            return self.files.file_to_append(env)
        except OSError as error:
            raise FileUnavailable(str(error)) from error

    # --- replication ------------------------------------------------------------------------------------------------

    def append_raw(self, env: Environment, offset: int, data: bytes) -> bool:
        """A slave's append. RocketMQ: CommitLog#appendData.

        Into an empty log any offset is accepted: its file begins at *offset* rounded down, and the bytes go to the
        *start* of that file. Data that does not fit into the file is refused.
        """
        if self.files.files and offset != self.files.end:
            return False
        try:
            file = self.files.file_to_append(env, offset)
            if len(data) > file.size - file.wrote:
                return False
            if data:
                self.files.append(env, file, data)
            return True
        except OSError as error:
            env.note("append_failed", offset=offset, error=str(error))
            return False

    def read_raw(self, env: Environment, offset: int, size: int) -> bytes:
        """Up to *size* written bytes of the file that holds *offset*."""
        file = self.files.find(offset)
        if file is None:
            return b""
        return self.files.read(env, offset, max(0, min(size, file.start + file.wrote - offset)))
