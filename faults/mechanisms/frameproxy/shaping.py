"""What each toxic does to the bytes of one direction of one connection.

Question: data came at some time; what goes on, when, in which pieces? Each toxic is a function that is given the data
and hands on what it lets pass (``onward``), in order; the next toxic is behind it. A wait ends early when its toxic is
removed or changed, and nothing is lost by that: what was held goes on.

Limits. A direction waits as a whole: data behind data that waits waits, too, as on a wire.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from faults.mechanisms.frameproxy.toxics import Toxic

Onward = Callable[[bytes], Awaitable[None]]

PIECE_S: Final = 0.1
"""A slow direction passes its data in pieces of so much time, as toxiproxy does."""


class Direction(Protocol):
    """What a toxic may ask of the direction that it shapes."""

    def draw(self, below: int) -> int:
        """A number from 0 to *below* − 1."""

    def now_s(self) -> float: ...

    async def hold(self, toxic: Toxic, until_s: float | None) -> bool:
        """Wait until then (``None``: for good); False as soon as the toxic is not in force any more."""

    def passed(self, toxic: Toxic, byte_count: int = 0) -> int:
        """How many bytes have passed the toxic in this direction, these included."""

    def end(self) -> None:
        """Close towards the receiver after what was sent."""

    def reset(self) -> None:
        """Reset the connection at both ends; what is under way is lost."""


Shape = Callable[[Direction, Toxic, float, bytes, Onward], Awaitable[None]]
"""(direction, toxic, when the data came, data, onward)"""


async def _latency(direction: Direction, toxic: Toxic, came_s: float, data: bytes, onward: Onward) -> None:
    jitter = toxic.number("jitter")
    delay_ms = toxic.number("latency") + (direction.draw(2 * jitter) - jitter if jitter > 0 else 0)
    await direction.hold(toxic, came_s + delay_ms / 1000)
    await onward(data)


async def _bandwidth(direction: Direction, toxic: Toxic, came_s: float, data: bytes, onward: Onward) -> None:
    rate = toxic.number("rate")
    piece = max(1, int(rate * 1000 * PIECE_S))
    while data and rate > 0:
        sent, data = data[:piece], data[piece:]
        if not await direction.hold(toxic, direction.now_s() + len(sent) / (rate * 1000)):
            rate = 0
        await onward(sent)
    if data:
        await onward(data)


async def _slicer(direction: Direction, toxic: Toxic, came_s: float, data: bytes, onward: Onward) -> None:
    average, variation = max(1, toxic.number("average_size")), toxic.number("size_variation")
    while data:
        size = max(1, average + (direction.draw(2 * variation) - variation if variation > 0 else 0))
        await onward(data[:size])
        data = data[size:]
        if not await direction.hold(toxic, direction.now_s() + toxic.number("delay") / 1_000_000):
            size = len(data)
            if data:
                await onward(data)
            return


async def _limit_data(direction: Direction, toxic: Toxic, came_s: float, data: bytes, onward: Onward) -> None:
    left = toxic.number("bytes") - direction.passed(toxic)
    if passing := data[: max(0, left)]:
        await onward(passing)
    if direction.passed(toxic, len(passing)) >= toxic.number("bytes"):
        direction.end()


async def _timeout(direction: Direction, toxic: Toxic, came_s: float, data: bytes, onward: Onward) -> None:
    """Dropped. The end after a silence is the direction's to make (``Flow``): it may come without any data."""


async def _reset_peer(direction: Direction, toxic: Toxic, came_s: float, data: bytes, onward: Onward) -> None:
    if await direction.hold(toxic, direction.now_s() + toxic.number("timeout") / 1000):
        direction.reset()
    else:
        await onward(data)


async def _slow_close(direction: Direction, toxic: Toxic, came_s: float, data: bytes, onward: Onward) -> None:
    await onward(data)


async def _jam(direction: Direction, toxic: Toxic, came_s: float, data: bytes, onward: Onward) -> None:
    await direction.hold(toxic, None)
    await onward(data)


SHAPES: Final[dict[str, Shape]] = {
    "latency": _latency,
    "bandwidth": _bandwidth,
    "slicer": _slicer,
    "limit_data": _limit_data,
    "timeout": _timeout,
    "reset_peer": _reset_peer,
    "slow_close": _slow_close,
    "jam": _jam,
}


async def before_end(direction: Direction, toxic: Toxic) -> None:
    """What a toxic does when the sender has closed: wait, or reset instead of closing."""
    if toxic.type == "slow_close":
        await direction.hold(toxic, direction.now_s() + toxic.number("delay") / 1000)
    elif toxic.type == "jam":
        await direction.hold(toxic, None)
    elif toxic.type == "reset_peer" and await direction.hold(toxic, direction.now_s() + toxic.number("timeout") / 1000):
        direction.reset()
