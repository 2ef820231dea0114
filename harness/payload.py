"""The body of every message that a workload sends: any reader can tell whose it is and whether it is whole.

Question: a consumer meets a body. Is it a message of this run, which one, and has a byte of it changed?

Layout, big-endian, 32 bytes of head and then filler up to the message size:

    0   4  magic    b"MQCH"
    4   4  run      32-bit id of the run (a function of the seed, not of time)
    8   8  message  number of the message in the run
    16  8  process  number of the process that sent it
    24  4  sequence how many messages that process had sent before
    28  4  check    CRC-32 of the 28 bytes before and of the filler

The filler is the message number over and over, so that two bodies never share their tails and a body assembled from
two messages cannot pass. Limits: CRC-32 finds accidents, not forgery.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct
from typing import Final
from zlib import crc32

import msgspec

MAGIC: Final = b"MQCH"
HEAD_SIZE: Final = 32
_HEAD: Final = Struct(">4sIQQI")
_CHECK: Final = Struct(">I")


class Body(msgspec.Struct, frozen=True, gc=False):
    """What the head of a body of ours says."""

    run: int
    message: int
    process: int
    sequence: int


class Unrecognised(msgspec.Struct, frozen=True, gc=False):
    """A body that is not a whole message of this run: why, and a digest (first 16 hex digits of its SHA-256)."""

    reason: str
    digest: str


def encode(body: Body, size: int) -> bytes:
    """A body of *size* bytes; ``ValueError`` if it cannot hold the head."""
    if size < HEAD_SIZE:
        raise ValueError(f"a message body needs at least {HEAD_SIZE} bytes, got {size}")
    head = _HEAD.pack(MAGIC, body.run, body.message, body.process, body.sequence)
    filler_size = size - HEAD_SIZE
    filler = (body.message.to_bytes(8, "big") * (filler_size // 8 + 1))[:filler_size]
    return head + _CHECK.pack(crc32(filler, crc32(head))) + filler


def decode(data: bytes, run: int) -> Body | Unrecognised:
    """The head of a whole message of *run*, or why it is none."""
    if len(data) < HEAD_SIZE or data[:4] != MAGIC:
        return _unrecognised("not ours", data)
    _, its_run, message, process, sequence = _HEAD.unpack_from(data)
    if _CHECK.unpack_from(data, 28)[0] != crc32(data[HEAD_SIZE:], crc32(data[:28])):
        return _unrecognised(f"damaged (claims to be message {message})", data)
    if its_run != run:
        return _unrecognised(f"of another run ({its_run:#010x})", data)
    return Body(its_run, message, process, sequence)


def _unrecognised(reason: str, data: bytes) -> Unrecognised:
    return Unrecognised(reason, sha256(data).hexdigest()[:16])
