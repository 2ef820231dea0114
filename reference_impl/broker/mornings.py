"""How many messages had gone in and out by last midnight, and by the one before (RocketMQ: BrokerStats#record).

Question: ``clusterList -m`` compares today with yesterday: with which counts did the days begin?

Model. Counts never go back. At the first look after a midnight (UTC) of the broker's wall clock today's morning becomes
yesterday's, and the counts of now are today's.

Limits. Looked at every 10 s. A wall clock that jumps makes a morning of its own; counts of before this process are not
known, as in RocketMQ.
"""

from __future__ import annotations

from typing import Final

DAY_MS: Final = 86_400_000


class Mornings:
    """Stored and handed-out messages at the last two midnights."""

    def __init__(self) -> None:
        self._day = -1
        self.yesterday = self.today = (0, 0)

    def look(self, wall_ms: int, put: int, got: int) -> None:
        """These are the counts now."""
        day = wall_ms // DAY_MS
        if day != self._day and self._day >= 0:
            self.yesterday, self.today = self.today, (put, got)
        self._day = day

    def table(self) -> dict[str, int]:
        """Of GET_BROKER_RUNTIME_INFO."""
        return {
            "msgPutTotalYesterdayMorning": self.yesterday[0],
            "msgPutTotalTodayMorning": self.today[0],
            "msgGetTotalYesterdayMorning": self.yesterday[1],
            "msgGetTotalTodayMorning": self.today[1],
        }
