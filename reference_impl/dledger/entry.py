"""One entry of the log: as a value, as a record of a data file, as a unit of an index file, as JSON in a push.

Question: which bytes does entry *i* have, and where does it lie?

Model (DLedger: DLedgerEntryCoder, DLedgerIndexEntry). Big endian:

    record   0 magic 1   4 size = 48 + body   8 index   16 term   24 pos   32 channel   36 chain CRC   40 body CRC
             44 body size   48 body
    unit     0 magic   4 pos   12 size   16 index   24 term                            (32 bytes, at index × 32)
    blank    0 magic −1   4 bytes left in the file, this word and the magic included

``pos`` is where the record begins in the data files taken as one array, the same on every member. A record never spans
two files: where fewer than size + 8 bytes are left, a blank ends the file.

Limits. Both CRCs are zero in every record that DLedger ever wrote, and nobody looks at them.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

import msgspec

MAGIC: Final = 1
MAGIC_BLANK: Final = -1
HEAD_SIZE: Final = 48
"""Where the body begins."""
UNIT_SIZE: Final = 32
BLANK_SIZE: Final = 8
RECORD_SIZE_MAX: Final = 4 * 1024 * 1024

_HEAD: Final = Struct(">iiqqqiiii")
_UNIT: Final = Struct(">iqiqq")
_BLANK: Final = Struct(">ii")


class Entry(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One entry. Members in the order that fastjson writes them."""

    body: bytes
    body_crc: int = 0
    chain_crc: int = 0
    channel: int = 0
    index: int = -1
    magic: int = MAGIC
    pos: int = -1
    size: int = 0
    term: int = -1


class Unit(msgspec.Struct, frozen=True, gc=False):
    """What the index knows of one entry."""

    pos: int
    size: int
    index: int
    term: int
    magic: int = MAGIC


def entry_of(body: bytes, *, index: int, term: int, pos: int) -> Entry:
    """An entry whose size fits its body."""
    return Entry(body, index=index, pos=pos, size=HEAD_SIZE + len(body), term=term)


def encode_record(entry: Entry) -> bytes:
    """The record of a data file."""
    return (
        _HEAD.pack(
            entry.magic,
            entry.size,
            entry.index,
            entry.term,
            entry.pos,
            entry.channel,
            entry.chain_crc,
            entry.body_crc,
            len(entry.body),
        )
        + entry.body
    )


def decode_record(data: bytes, at: int = 0) -> Entry | None:
    """The entry whose record begins at *at*; ``None`` where the bytes contradict themselves or end too early."""
    if len(data) - at < HEAD_SIZE:
        return None
    magic, size, index, term, pos, channel, chain_crc, body_crc, body_size = _HEAD.unpack_from(data, at)
    if magic != MAGIC or size != HEAD_SIZE + body_size or body_size < 0 or at + size > len(data):
        return None
    return Entry(data[at + HEAD_SIZE : at + size], body_crc, chain_crc, channel, index, magic, pos, size, term)


def record_head(data: bytes, at: int = 0) -> tuple[int, int]:
    """(magic, size) of whatever begins at *at*; zeros where nothing is."""
    return _BLANK.unpack_from(data, at) if len(data) - at >= BLANK_SIZE else (0, 0)


def encode_unit(entry: Entry) -> bytes:
    """The unit of an index file."""
    return _UNIT.pack(entry.magic, entry.pos, entry.size, entry.index, entry.term)


def decode_unit(data: bytes) -> Unit | None:
    """The unit, if these are 32 bytes that begin with a record's magic."""
    if len(data) != UNIT_SIZE:
        return None
    magic, pos, size, index, term = _UNIT.unpack(data)
    return Unit(pos, size, index, term, magic) if magic == MAGIC else None


def unit_of(entry: Entry) -> Unit:
    """What the index knows of *entry*."""
    return Unit(entry.pos, entry.size, entry.index, entry.term, entry.magic)


def encode_blank(left: int) -> bytes:
    """What ends a file in which *left* bytes are left."""
    return _BLANK.pack(MAGIC_BLANK, left)


def place(position: int, size: int, file_size: int) -> int:
    """Where a record of *size* bytes begins if the log ends at *position*: there, or in the next file."""
    left = file_size - position % file_size
    return position if size + BLANK_SIZE <= left else position + left
