"""The bytes between master and slave: RocketMQ's HA protocol, which is no remoting.

Question: what did the other end say, whatever TCP did to the borders?

    slave ──► master    8 bytes: the end of the slave's log
    master ──► slave    12 bytes: log offset (8), size (4), then *size* bytes of the log; size 0: a heartbeat

All numbers are signed and big-endian. Records may be split anywhere by frames; frames never cross a log file.
RocketMQ: HAConnection, HAService.HAClient.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

REPORT: Final = Struct(">q")
HEADER: Final = Struct(">qi")

SLAVE_BUFFER_BYTES: Final = 4 * 1024 * 1024
"""RocketMQ's slave reads into a buffer of this size: a larger frame can never be complete."""


def encode_report(log_end: int) -> bytes:
    """What a slave says."""
    return REPORT.pack(log_end)


def encode_frame(offset: int, data: bytes = b"") -> bytes:
    """What a master says; without *data* a heartbeat."""
    return HEADER.pack(offset, len(data)) + data


class ReportReader:
    """The master's ear. Of what has come, only the last complete 8 bytes count; they are counted from the start."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> int | None:
        """The newest report that *data* completes, if it completes one."""
        received = self._rest + data if self._rest else data
        whole = len(received) - len(received) % REPORT.size
        self._rest = received[whole:]
        return int.from_bytes(received[whole - REPORT.size : whole], "big", signed=True) if whole else None


class Header(NamedTuple):
    """The head of the frame that comes next."""

    offset: int
    size: int


class FrameReader:
    """The slave's ear. The head of a frame is seen before its body is there, since it is checked first."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """More bytes have come."""
        self._buffer += data

    def header(self) -> Header | None:
        """The head of the frame at the front; ``None`` while it is not complete."""
        if len(self._buffer) < HEADER.size:
            return None
        return Header(*HEADER.unpack_from(self._buffer))

    def body(self, size: int) -> bytes | None:
        """Take the frame at the front, whose head says *size*; ``None`` while its body is not complete."""
        end = HEADER.size + size
        if len(self._buffer) < end:
            return None
        data = bytes(self._buffer[HEADER.size : end])
        del self._buffer[:end]
        return data
