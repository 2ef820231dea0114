"""Messages a second, lately: what RocketMQ's StoreStatsService tells in GET_BROKER_RUNTIME_INFO (28).

Question: how many messages were stored, and how many pulls found something, a second, over the last 10 s, minute and
ten minutes?

Model. Counters are sampled every 10 s by the broker's clock of rates. A figure is the growth over the window divided by
the time that its samples really span; a window that is not yet full spans what there is. Three figures in one text, as
RocketMQ prints them; nothing sampled yet is ``0.0``.

    putTps             messages stored
    getFoundTps        pulls that found messages        getMissTps   pulls that found none
    getTotalTps        both                             getTransferedTps   messages handed out

Limits. RocketMQ samples every second; here the shortest window is one sample.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from reference_impl.broker.rates import SAMPLE_NS
from reference_impl.environment import SECOND

WINDOWS_S: Final = (10, 60, 600)
_KEPT: Final = WINDOWS_S[-1] * SECOND // SAMPLE_NS + 1


class Totals(NamedTuple):
    """Counters since the start."""

    put: int = 0
    found: int = 0
    missed: int = 0
    transferred: int = 0


class Throughput:
    """The samples of one broker."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, Totals]] = deque(maxlen=_KEPT)

    def sample(self, now_ns: int, totals: Totals) -> None:
        """Ten seconds are over."""
        self._samples.append((now_ns, totals))

    def table(self) -> dict[str, str]:
        """The five texts."""
        return {
            "putTps": self._text(lambda totals: totals.put),
            "getFoundTps": self._text(lambda totals: totals.found),
            "getMissTps": self._text(lambda totals: totals.missed),
            "getTotalTps": self._text(lambda totals: totals.found + totals.missed),
            "getTransferedTps": self._text(lambda totals: totals.transferred),
        }

    def _text(self, counter: Callable[[Totals], int]) -> str:
        return " ".join(str(self._each_second(window, counter)) for window in WINDOWS_S)

    def _each_second(self, window_s: int, counter: Callable[[Totals], int]) -> float:
        if len(self._samples) < 2:
            return 0.0
        end_ns, end = self._samples[-1]
        first = max(-len(self._samples), -1 - window_s * SECOND // SAMPLE_NS)
        begin_ns, begin = self._samples[first]
        return (counter(end) - counter(begin)) * SECOND / (end_ns - begin_ns)
