"""Delay levels: the table behind ``messageDelayLevel`` and what a level does to a consume-queue unit.

Question: when is a delayed message due, and where does it wait? Model (RocketMQ: ScheduleMessageService): it is stored
in ``SCHEDULE_TOPIC_XXXX``, queue = level − 1, and its unit holds the due time in place of the tag hash. Levels above
the last count as the last. Delivering it when due is the broker's work.
"""

from __future__ import annotations

from typing import Final

from reference_impl.wire.fields import java_number

SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"

_UNIT_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class DelayLevels:
    """The levels of one broker; level 1 is the first word of the text."""

    def __init__(self, text: str) -> None:
        """*text* like ``1s 5s 10m``; ``ValueError`` names the word that is no delay."""
        self._delays_ms = tuple(_delay_ms(word) for word in text.split())
        if not self._delays_ms:
            raise ValueError("messageDelayLevel: at least one level expected, e.g. '1s 5s'")

    def clamp(self, level: int) -> int:
        """The level that is used for *level* > 0."""
        return min(level, len(self._delays_ms))

    def delay_ms(self, level: int) -> int:
        """Milliseconds of a clamped level."""
        return self._delays_ms[level - 1]

    def due_ms(self, level: int, store_timestamp: int) -> int:
        """Wall time at which a message of *level*, stored at *store_timestamp*, is to be delivered."""
        return store_timestamp + self.delay_ms(self.clamp(level))


def _delay_ms(word: str) -> int:
    try:
        return int(word[:-1]) * _UNIT_MS[word[-1:]]
    except (ValueError, KeyError):
        raise ValueError(f"messageDelayLevel: {word!r} is no delay like 10s, 5m, 1h or 2d") from None


def delay_level(text: str | None) -> int:
    """The DELAY property as a number, 0 where there is none; ``ValueError`` for anything but a decimal number."""
    level = 0 if text is None else java_number(text, 32)
    if level is None:
        raise ValueError(f"delay level {text!r} is no number")
    return level
