"""One direction of one connection: what comes in on one side goes out on the other, as the toxics let it.

Question: how do several toxics that come and go act on bytes that are already under way? One task reads into a bounded
queue, with the time at which each piece came; one task takes pieces out and leads them through the toxics in force
(frames first, then the others in the order in which they were added). The second task is the only one that writes and
waits, so nothing overtakes but what a rule on frames lets overtake.

Limits. A direction holds :data:`HELD_BYTES_MAX` at most; then its sender feels it (TCP's window closes).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Final

from faults.mechanisms.frameproxy.faulting import Asked, FrameFaults
from faults.mechanisms.frameproxy.frames import Boundaries
from faults.mechanisms.frameproxy.shaping import SHAPES, before_end
from faults.mechanisms.frameproxy.toxics import Stream, Toxic

READ_BYTES: Final = 65_536
HELD_BYTES_MAX: Final = 4 << 20

Act = Callable[[], Awaitable[None]]


@dataclass
class Line:
    """What a direction needs of its connection."""

    host: str
    """The client's address: toxics may be for some only."""
    toxics: Callable[[], list[Toxic]]
    """Those in force on the proxy now."""
    reset: Callable[[], None]
    rng: Random
    asked: Asked = field(default_factory=Asked)


class Flow:
    """From *reader* to *writer*. ``run`` ends when this direction has ended."""

    def __init__(self, stream: Stream, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._stream, self._line, self._reader, self._writer = stream, line, reader, writer
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[float, bytes] | Act | None] = asyncio.Queue()
        self._held_bytes, self._room, self._changed = 0, asyncio.Event(), asyncio.Event()
        self._is_hit: dict[Toxic, bool] = {}
        self._passed: dict[Toxic, int] = {}
        self._boundaries = Boundaries()
        self._frames: FrameFaults | None = None
        self._came_s, self._is_ended = 0.0, False
        self._silence: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Until the sender has closed and all has gone, or the connection is ended by a toxic or an error."""
        reading = asyncio.create_task(self._read())
        try:
            self.toxics_changed()
            await self._pass_all()
        finally:
            reading.cancel()
            if self._silence is not None:
                self._silence.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await reading
            self._writer.close()

    def toxics_changed(self) -> None:
        """Whoever waits looks again; what is held for a toxic that is gone goes on."""
        self._changed.set()
        self._changed = asyncio.Event()
        gone = [toxic for toxic in self._is_hit if toxic not in self._line.toxics()]
        for toxic in gone:
            was_hit = self._is_hit.pop(toxic)
            if toxic.type == "timeout" and was_hit:
                self.end()  # as toxiproxy: what was dropped is missing, the connection is of no use
        self._watch_silence()
        self._queue.put_nowait(self._leave_frames)

    # -- what toxics ask (``shaping.Direction``, ``faulting.Wire``) --------------------------------------------------

    def draw(self, below: int) -> int:
        return self._line.rng.randrange(below)

    def now_s(self) -> float:
        return self._loop.time()

    async def hold(self, toxic: Toxic, until_s: float | None) -> bool:
        while self._is_in_force(toxic) and not self._is_ended:
            left_s = None if until_s is None else until_s - self._loop.time()
            if left_s is not None and left_s <= 0:
                return True
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left_s)
        return False

    def passed(self, toxic: Toxic, byte_count: int = 0) -> int:
        self._passed[toxic] = self._passed.get(toxic, 0) + byte_count
        return self._passed[toxic]

    def end(self) -> None:
        self._is_ended = True
        self._queue.put_nowait(None)
        self._changed.set()

    def reset(self) -> None:
        self._is_ended = True
        self._line.reset()

    async def pass_on(self, data: bytes) -> None:
        await self._through(self._shaping(), self._came_s, data)

    def later(self, delay_ms: int, act: Act) -> None:
        self._loop.call_later(delay_ms / 1000, self._queue.put_nowait, act)

    # -- how -------------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        while data := await self._read_some():
            self._queue.put_nowait((self._loop.time(), data))
            self._held_bytes += len(data)
            while self._held_bytes > HELD_BYTES_MAX:
                self._room.clear()
                await self._room.wait()
        self._queue.put_nowait(None)

    async def _read_some(self) -> bytes:
        try:
            return await self._reader.read(READ_BYTES)
        except OSError:
            return b""  # reset by its peer: to the other side that is an end, too

    async def _pass_all(self) -> None:
        while not self._is_ended and (item := await self._queue.get()) is not None:
            if not isinstance(item, tuple):
                await item()
                continue
            self._came_s, data = item
            self._watch_silence()
            await self._take(data)
            self._held_bytes -= len(data)
            self._room.set()
        if not self._is_ended:
            await self._leave_frames(is_end=True)
            for toxic in self._in_force():
                await before_end(self, toxic)

    async def _take(self, data: bytes) -> None:
        """To the rules on frames from the next boundary on, if there are any; past them otherwise."""
        rules = [toxic for toxic in self._in_force() if toxic.type == "frames"]
        if rules and self._frames is None and self._boundaries.is_framed:
            under_way = self._boundaries.next_boundary(data)
            if under_way:
                self._boundaries.take(data[:under_way])
                await self.pass_on(data[:under_way])
                data = data[under_way:]
            if self._boundaries.is_at_boundary:
                self._frames = FrameFaults(self._stream, self._line.asked, self)
        self._boundaries.take(data)
        if self._frames is not None:
            await self._frames.take(data, rules)
        elif data:
            await self.pass_on(data)

    async def _leave_frames(self, is_end: bool = False) -> None:
        if self._frames is None or (not is_end and any(toxic.type == "frames" for toxic in self._in_force())):
            return
        await self._frames.leave()
        self._frames = None

    def _shaping(self) -> list[Toxic]:
        return [toxic for toxic in self._in_force() if toxic.type != "frames"]

    async def _through(self, toxics: list[Toxic], came_s: float, data: bytes) -> None:
        if self._is_ended:
            return
        if not toxics:
            await self._write(data)
            return
        first, *others = toxics
        await SHAPES[first.type](self, first, came_s, data, lambda piece: self._through(others, came_s, piece))

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            self._is_ended = True  # the receiver is gone

    def _in_force(self) -> list[Toxic]:
        return [toxic for toxic in self._line.toxics() if self._is_in_force(toxic)]

    def _is_in_force(self, toxic: Toxic) -> bool:
        """Whether it is there, and hits this direction of this connection: drawn once."""
        if toxic.stream != self._stream or not toxic.concerns(self._line.host) or toxic not in self._line.toxics():
            return False
        if toxic not in self._is_hit:
            self._is_hit[toxic] = self._line.rng.random() < toxic.toxicity
        return self._is_hit[toxic]

    def _watch_silence(self) -> None:
        """The toxic *timeout* closes after so long without data."""
        if self._silence is not None:
            self._silence.cancel()
        limits = [toxic.number("timeout") for toxic in self._in_force() if toxic.type == "timeout"]
        if positive := [limit for limit in limits if limit > 0]:
            self._silence = self._loop.call_later(min(positive) / 1000, self.end)
