"""Why a store may not be written to. RocketMQ: RunningFlags, with its bit values.

Question: may a put go on? Model: a set of bits; writing needs none of them. Only ``DISK_FULL`` is ever taken back while
the broker runs.
"""

from __future__ import annotations

from typing import Final

NOT_WRITEABLE: Final = 2
"""A force failed under ``strictFlush``."""
LOGICS_QUEUE_ERROR: Final = 4
INDEX_FILE_ERROR: Final = 8
DISK_FULL: Final = 16


class RunningFlags:
    """The bits of one store."""

    def __init__(self) -> None:
        self.bits = 0

    def set(self, bit: int) -> bool:
        """True if the bit was not set before."""
        was_clear = not self.bits & bit
        self.bits |= bit
        return was_clear

    def clear(self, bit: int) -> bool:
        """True if the bit was set before."""
        was_set = bool(self.bits & bit)
        self.bits &= ~bit
        return was_set

    @property
    def is_writable(self) -> bool:
        return self.bits == 0
