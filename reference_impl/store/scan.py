"""Walking through the log record by record: what is a good record, where does the log end?

Question: which bytes count as a record? Model (RocketMQ: CommitLog#checkMessageAndReturnSize). From a position:

    record   known magic, fields inside the file, body CRC right (if asked), size = computed size
    blank    blank magic: the rest of the file is empty, the next file follows
    damaged  a record by its magic, but its size contradicts its fields: recovery stops, a running dispatch skips it
    end      anything else: zeros, unknown magic, wrong CRC, fields beyond the file

The CRC covers the body only: a damaged topic or property is accepted. What is *not* compared is the record's own
physical offset with its place; stale records behind a truncated tail can therefore come back to life.

A topic that no folder can be named after makes no difference here: the record is good, it only gets no queue
(dispatch).
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple
from zlib import crc32

from reference_impl.environment import Environment
from reference_impl.store.delay import SCHEDULE_TOPIC, DelayLevels, delay_level
from reference_impl.store.mapped_files import MappedFile
from reference_impl.store.request import Dispatched
from reference_impl.wire.message import (
    BORN_HOST_IPV6,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    PROPERTY_DELAY,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQUE_KEY,
    STORE_HOST_IPV6,
    parse_properties,
    tags_code,
)

_HEAD: Final = Struct(">iiiiiqqiq")
_TAIL: Final = Struct(">iqi")
_LONG: Final = Struct(">q")
_SHORT: Final = Struct(">h")
_SIZE_AND_MAGIC: Final = Struct(">ii")

_CHUNK: Final = 64 * 1024
"""Bytes read at once; a longer record is read whole."""

END: Final = -1
BLANK: Final = 0


class Scanned(NamedTuple):
    """What begins at a position: ``record`` and its ``size``; size 0: blank; −1: end; > 0 without record: damaged."""

    size: int
    record: Dispatched | None = None


_END: Final = Scanned(END)
_BLANK: Final = Scanned(BLANK)


def scan_record(data: bytes, position: int, levels: DelayLevels, *, check_crc: bool) -> Scanned:
    """What begins at *position* of *data*; bytes behind the end of *data* do not exist."""
    try:
        size, magic = _SIZE_AND_MAGIC.unpack_from(data, position)
        if magic == MAGIC_BLANK:
            return _BLANK
        if magic != MAGIC_V1 and magic != MAGIC_V2:
            return _END
        return _scan_fields(data, position, size, magic, levels, check_crc)
    except (StructError, IndexError):
        return _END


def _scan_fields(data: bytes, position: int, size: int, magic: int, levels: DelayLevels, check_crc: bool) -> Scanned:
    _, _, crc, queue_id, _, queue_offset, physical_offset, sys_flag, _ = _HEAD.unpack_from(data, position)
    store_at = position + (68 if sys_flag & BORN_HOST_IPV6 else 56)
    tail_at = store_at + (28 if sys_flag & STORE_HOST_IPV6 else 16)
    body_size = _TAIL.unpack_from(data, tail_at)[2]
    topic_at = tail_at + 16 + body_size + (1 if magic == MAGIC_V1 else 2)
    topic_size = data[topic_at - 1] if magic == MAGIC_V1 else _SHORT.unpack_from(data, topic_at - 2)[0]
    properties_at = topic_at + topic_size + 2
    properties_size = _SHORT.unpack_from(data, properties_at - 2)[0]
    end = properties_at + properties_size
    if body_size < 0 or properties_size < 0 or topic_size < 0 or end > len(data):
        return _END
    if check_crc and body_size and crc32(data[tail_at + 16 : tail_at + 16 + body_size]) & 0x7FFFFFFF != crc:
        return _END
    if position + size != end:
        return Scanned(size) if size > 0 else _END
    topic = str(data[topic_at : properties_at - 2], "utf-8", "replace")
    text = str(data[properties_at:end], "utf-8", "replace")
    store_timestamp = _LONG.unpack_from(data, store_at)[0]
    record = dispatched(
        topic, queue_id, physical_offset, size, store_timestamp, queue_offset, sys_flag, parse_properties(text), levels
    )
    return _END if record is None else Scanned(size, record)


def dispatched(
    topic: str,
    queue_id: int,
    physical_offset: int,
    size: int,
    store_timestamp: int,
    queue_offset: int,
    sys_flag: int,
    properties: dict[str, str],
    levels: DelayLevels,
) -> Dispatched | None:
    """The record as its indexes need it; ``None`` where a delayed message's level is no number (Java throws there)."""
    code = tags_code(properties.get(PROPERTY_TAGS))
    if topic == SCHEDULE_TOPIC and PROPERTY_DELAY in properties:
        try:
            level = delay_level(properties[PROPERTY_DELAY])
        except ValueError:
            return None
        code = levels.due_ms(level, store_timestamp) if level > 0 else code
    return Dispatched(
        topic,
        queue_id,
        physical_offset,
        size,
        code,
        store_timestamp,
        queue_offset,
        properties.get(PROPERTY_KEYS, ""),
        properties.get(PROPERTY_UNIQUE_KEY, ""),
        sys_flag,
    )


class LogReader:
    """Reads a log forward in chunks.

    Recovery reads whole files (``is_whole``): where the log ends is what it wants to find out. A running dispatch reads
    no further than was written.
    """

    def __init__(self, levels: DelayLevels, *, check_crc: bool, is_whole: bool) -> None:
        self._levels, self._check_crc, self._is_whole = levels, check_crc, is_whole
        self._chunk = b""
        self._chunk_at = 0

    def at(self, env: Environment, file: MappedFile, offset: int) -> Scanned:
        """What begins at log offset *offset*, which lies in *file*."""
        limit = file.start + (file.size if self._is_whole else file.wrote)
        held = self._held(offset)
        if held < 8:
            held = self._read(env, file, offset, min(_CHUNK, limit - offset))
        if held >= 8:
            size = _SIZE_AND_MAGIC.unpack_from(self._chunk, offset - self._chunk_at)[0]
            if size > held and offset + held < limit:
                # Never more than the file holds: a damaged size must not lead beyond it.
                self._read(env, file, offset, min(max(size, _CHUNK), limit - offset))
        return scan_record(self._chunk, offset - self._chunk_at, self._levels, check_crc=self._check_crc)

    def forget(self) -> None:
        """What was read may be outdated: bytes were appended since."""
        self._chunk, self._chunk_at = b"", 0

    def _held(self, offset: int) -> int:
        return self._chunk_at + len(self._chunk) - offset if offset >= self._chunk_at else 0

    def _read(self, env: Environment, file: MappedFile, offset: int, size: int) -> int:
        self._chunk, self._chunk_at = env.read(file.name, offset - file.start, size) if size > 0 else b"", offset
        return len(self._chunk)


def walk(env: Environment, files: list[MappedFile], reader: LogReader, seen: Callable[[int, Dispatched], None]) -> int:
    """Recovery's scan: *seen(place, record)* for every good record of *files* in order; returns where the log ends.

    A blank leads to the next file; where there is none, the log ends *before* the blank (RocketMQ: "can not happen").
    """
    offset = files[0].start
    for file in files:
        offset, is_blank = walk_file(env, file, reader, seen)
        if not is_blank:
            break
    return offset


def walk_file(
    env: Environment, file: MappedFile, reader: LogReader, seen: Callable[[int, Dispatched], None]
) -> tuple[int, bool]:
    """(where the records of *file* end, whether a blank is there)."""
    offset = file.start
    while True:
        size, record = reader.at(env, file, offset)
        if record is None:
            return offset, size == BLANK
        seen(offset, record)
        offset += size
