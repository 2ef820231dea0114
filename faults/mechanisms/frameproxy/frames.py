"""RocketMQ's remoting frames, as far as a proxy must understand them.

    4 bytes   length of all that follows
    4 bytes   how the header is written (1 byte: 0 JSON, 1 binary) and its length (3 bytes)
    header    code, flag (bit 0: response, bit 1: one-way), opaque (an answer has that of its request) …
    body

Question: where in a stream does a frame begin, and which request or answer is it? A stream that is something else (the
replication protocol, nonsense) is recognised by lengths that no frame has; it then passes as it is.

Limits. Frames above 16 MiB do not exist (RocketMQ: com.rocketmq.remoting.frameMaxLength).
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Final

FRAME_BYTES_MAX: Final = 16 << 20
HEADER_PREFIX_BYTES: Final = 4
RESPONSE_FLAG: Final = 1
_BINARY_HEADER: Final = struct.Struct(">hbhii")
"""code, language, version, opaque, flag: the fixed beginning of a binary header."""


@dataclass(frozen=True)
class Frame:
    """One whole frame with its length. Fields are −1 where the header could not be read."""

    data: bytes
    code: int
    opaque: int
    is_response: bool


class Boundaries:
    """Where the next frame begins in a stream of which every byte is told, for who joins later."""

    def __init__(self) -> None:
        self._length = b""
        self.missing = 0
        """Bytes that the current frame lacks, its length aside; 0 and no part of a length: at a boundary."""
        self.is_framed = True

    @property
    def is_at_boundary(self) -> bool:
        return self.is_framed and not self.missing and not self._length

    def next_boundary(self, data: bytes) -> int:
        """How many bytes of *data* belong to the frame under way (0: a frame begins with it); all of them, if it does
        not end there. *data* is not taken in."""
        if not self.is_framed:
            return len(data)
        if not self._length:
            return min(len(data), self.missing)
        rest = 4 - len(self._length)
        length = int.from_bytes((self._length + data[:rest]).ljust(4, b"\xff"), "big")
        return min(len(data), rest + length)

    def take(self, data: bytes) -> None:
        """The stream goes on with *data*."""
        while data and self.is_framed:
            if self.missing:
                taken = min(self.missing, len(data))
                self.missing -= taken
            else:
                taken = min(4 - len(self._length), len(data))
                self._length += data[:taken]
                if len(self._length) == 4:
                    self.missing = int.from_bytes(self._length, "big")
                    self.is_framed = HEADER_PREFIX_BYTES <= self.missing <= FRAME_BYTES_MAX
                    self._length = b""
            data = data[taken:]


class Splitter:
    """Splits a stream that starts at a boundary into frames."""

    def __init__(self) -> None:
        self.rest = b""
        self.is_framed = True

    def feed(self, data: bytes) -> list[Frame | bytes]:
        """Whole frames that *data* completes; raw bytes from the first nonsense on."""
        self.rest += data
        found: list[Frame | bytes] = []
        while self.is_framed and len(self.rest) >= 4:
            length = int.from_bytes(self.rest[:4], "big")
            self.is_framed = HEADER_PREFIX_BYTES <= length <= FRAME_BYTES_MAX
            if not self.is_framed or len(self.rest) < 4 + length:
                break
            found.append(read_frame(self.rest[: 4 + length]))
            self.rest = self.rest[4 + length :]
        if not self.is_framed and self.rest:
            found.append(self.flush())
        return found

    def flush(self) -> bytes:
        """What has come of an unfinished frame; it is nobody's any more."""
        rest, self.rest = self.rest, b""
        return rest


def read_frame(data: bytes) -> Frame:
    """A whole frame, its length included; a header that says nothing is no error here."""
    kind, size = data[4], int.from_bytes(data[5:8], "big")
    header = data[8 : 8 + size]
    try:
        code, opaque, flag = _json_fields(header) if kind == 0 else _binary_fields(header)
    except (ValueError, TypeError, KeyError, struct.error):
        return Frame(data, -1, -1, False)
    return Frame(data, code, opaque, bool(flag & RESPONSE_FLAG))


def _json_fields(header: bytes) -> tuple[int, int, int]:
    fields = json.loads(header)
    return int(fields["code"]), int(fields["opaque"]), int(fields.get("flag", 0))


def _binary_fields(header: bytes) -> tuple[int, int, int]:
    code, _, _, opaque, flag = _BINARY_HEADER.unpack_from(header)
    return code, opaque, flag
