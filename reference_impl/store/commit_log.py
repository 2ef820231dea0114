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
from typing import Final, NamedTuple

from reference_impl.environment import Environment
from reference_impl.store.delay import DelayLevels
from reference_impl.store.mapped_files import MappedFile, MappedFiles
from reference_impl.store.request import Dispatched
from reference_impl.store.scan import dispatched
from reference_impl.wire.host import encode_host
from reference_impl.wire.message import (
    BORN_HOST_IPV6,
    MAGIC_BLANK,
    STORE_HOST_IPV6,
    TRANSACTION_MASK,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
    encode_record_parts,
    record_size,
)

_BLANK: Final = Struct(">ii")
BLANK_SIZE: Final = 8

OFFSETLESS: Final = (TRANSACTION_PREPARED, TRANSACTION_ROLLBACK)
"""Transaction types that are in no consume queue."""


class Piece(NamedTuple):
    """One record's own part: body, stored property text as bytes, the same as a map, application flag."""

    body: bytes
    properties: bytes
    property_map: dict[str, str]
    flag: int


class Appending(NamedTuple):
    """What all records of a put share."""

    topic: str
    topic_bytes: bytes
    queue_id: int
    sys_flag: int
    born_timestamp: int
    born_host: str
    reconsume_times: int
    prepared_transaction_offset: int


class FileUnavailable(Exception):
    """No further log file could be created (CREATE_MAPEDFILE_FAILED)."""


class CommitLog:
    """The log and the queue-offset table."""

    def __init__(self, files: MappedFiles, store_host: str, levels: DelayLevels) -> None:
        self.files, self._levels = files, levels
        self._store_host = encode_host(store_host)
        self._host_bits = STORE_HOST_IPV6 if len(self._store_host) == 20 else 0
        self.next_offsets: dict[tuple[str, int], int] = {}

    @property
    def end(self) -> int:
        return self.files.end

    def size_of(self, appending: Appending, pieces: list[Piece]) -> int:
        """Bytes of all records of a put."""
        hosts = len(encode_host(appending.born_host)) + len(self._store_host)
        topic = len(appending.topic_bytes)
        return sum([record_size(len(piece.body), topic, len(piece.properties), hosts) for piece in pieces])

    def append(self, env: Environment, appending: Appending, pieces: list[Piece], size: int) -> list[Dispatched]:
        """Write the records, *size* bytes together. :class:`FileUnavailable`, or ``OSError`` of the write: none is in
        the log then, and no number is used up."""
        file = self._room(env, size)
        born_host = encode_host(appending.born_host)
        sys_flag = appending.sys_flag | self._host_bits | (BORN_HOST_IPV6 if len(born_host) == 20 else 0)
        key = (appending.topic, appending.queue_id)
        has_offset = sys_flag & TRANSACTION_MASK not in OFFSETLESS
        queue_offset = self.next_offsets.get(key, 0) if has_offset else 0
        store_timestamp = env.wall()
        place = file.start + file.wrote
        data: list[bytes] = []
        records: list[Dispatched] = []
        for piece in pieces:
            record = encode_record_parts(
                topic=appending.topic_bytes,
                queue_id=appending.queue_id,
                flag=piece.flag,
                queue_offset=queue_offset,
                physical_offset=place,
                sys_flag=sys_flag,
                born_timestamp=appending.born_timestamp,
                born_host=born_host,
                store_timestamp=store_timestamp,
                store_host=self._store_host,
                reconsume_times=appending.reconsume_times,
                prepared_transaction_offset=appending.prepared_transaction_offset,
                body=piece.body,
                properties=piece.properties,
            )
            known = dispatched(
                appending.topic,
                appending.queue_id,
                place,
                len(record),
                store_timestamp,
                queue_offset,
                sys_flag,
                piece.property_map,
                self._levels,
            )
            assert known is not None, "a delay level that is no number must be refused before"
            data.append(record)
            records.append(known)
            place += len(record)
            queue_offset += has_offset
        self.files.append(env, file, data[0] if len(data) == 1 else b"".join(data))
        file.store_timestamp = store_timestamp
        if has_offset:
            self.next_offsets[key] = queue_offset
        return records

    def _room(self, env: Environment, size: int) -> MappedFile:
        """A file with *size* + 8 bytes left, rolling to the next one if need be."""
        try:
            file = self.files.file_to_append(env)
            left = file.size - file.wrote
            if size + BLANK_SIZE <= left:
                return file
            self.files.append(env, file, _BLANK.pack(left, MAGIC_BLANK))
            file.wrote = file.size
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
        if self.files.files and offset != self.end:
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
