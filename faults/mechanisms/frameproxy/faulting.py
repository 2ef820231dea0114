"""Faults of single frames: chosen requests or answers are dropped, delayed, duplicated, reordered, corrupted, replayed.

Question: the broker has stored the message and its answer is lost: what does the producer do? For that one answer must
vanish, not the connection. A rule says which frames and what happens to them:

    kind     any, request, response
    code     request code; of a response, that of the request it answers; −1: any
    opaque   −1: any
    skip     so many that fit pass first                     skip: 2, count: 1 is "the third"
    count    at most so many are hit; 0: all
    action   drop        it never arrives
             delay       it arrives ``delay`` ms later; later frames overtake it
             duplicate   it arrives twice, at once
             replay      it arrives, and once more ``delay`` ms later
             reorder     the next frame overtakes it (it waits ``delay`` ms at most, 0: 1 s)
             corrupt     its last byte is inverted (of the body; of the header, if there is none)

Limits. An answer's code is known only if its request passed while a rule was in force. Counts are per rule, over all
connections of the proxy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from faults.mechanisms.frameproxy.frames import Frame, Splitter
from faults.mechanisms.frameproxy.toxics import Toxic

REORDER_WAIT_MS: Final = 1000
ASKED_MAX: Final = 65_536


class Wire(Protocol):
    """Where frames go."""

    async def pass_on(self, data: bytes) -> None:
        """In order, now."""

    def later(self, delay_ms: int, act: Callable[[], Awaitable[None]]) -> None:
        """Call *act* after so long, between two frames."""


@dataclass
class Asked:
    """Requests of one connection that may still be answered: (direction in which they went, opaque) → code."""

    codes: dict[tuple[str, int], int] = field(default_factory=dict)

    def note(self, stream: str, frame: Frame) -> None:
        if len(self.codes) >= ASKED_MAX:
            del self.codes[next(iter(self.codes))]
        self.codes[stream, frame.opaque] = frame.code

    def code_of(self, stream: str, frame: Frame) -> int:
        """The request code that *frame* has or answers; −1 if that is unknown."""
        if not frame.is_response:
            return frame.code
        other = "downstream" if stream == "upstream" else "upstream"
        return self.codes.get((other, frame.opaque), -1)


class FrameFaults:
    """The frames of one direction, under all rules that concern it."""

    def __init__(self, stream: str, asked: Asked, wire: Wire) -> None:
        self._stream, self._asked, self._wire = stream, asked, wire
        self._splitter = Splitter()
        self._overtaken: Frame | None = None

    async def take(self, data: bytes, rules: list[Toxic]) -> None:
        for piece in self._splitter.feed(data):
            if isinstance(piece, bytes):
                await self._wire.pass_on(piece)
            else:
                await self._frame(piece, rules)

    async def leave(self) -> None:
        """No rule is in force any more: what was held passes."""
        await self._let_overtaken_pass()
        if rest := self._splitter.flush():
            await self._wire.pass_on(rest)

    async def _frame(self, frame: Frame, rules: list[Toxic]) -> None:
        code = self._asked.code_of(self._stream, frame)
        if not frame.is_response:
            self._asked.note(self._stream, frame)
        rule = next((rule for rule in rules if _hits(rule, frame, code)), None)
        if rule is None or rule.attributes["action"] != "reorder":
            await self._act(frame, rule)
            await self._let_overtaken_pass()
        else:
            await self._let_overtaken_pass()
            self._hold_back(frame, rule)

    async def _act(self, frame: Frame, rule: Toxic | None) -> None:
        action = "pass" if rule is None else str(rule.attributes["action"])
        delay_ms = 0 if rule is None else rule.number("delay")
        if action == "delay":
            self._wire.later(delay_ms, lambda: self._wire.pass_on(frame.data))
        elif action == "corrupt":
            await self._wire.pass_on(frame.data[:-1] + bytes([frame.data[-1] ^ 0xFF]))
        elif action != "drop":
            await self._wire.pass_on(frame.data)
        if action == "duplicate":
            await self._wire.pass_on(frame.data)
        if action == "replay":
            self._wire.later(delay_ms, lambda: self._wire.pass_on(frame.data))

    def _hold_back(self, frame: Frame, rule: Toxic) -> None:
        """Nobody may come to overtake it: it goes by itself after a while."""
        self._overtaken = frame

        async def waited() -> None:
            if self._overtaken is frame:
                await self._let_overtaken_pass()

        self._wire.later(rule.number("delay") or REORDER_WAIT_MS, waited)

    async def _let_overtaken_pass(self) -> None:
        held, self._overtaken = self._overtaken, None
        if held is not None:
            await self._wire.pass_on(held.data)


def _hits(rule: Toxic, frame: Frame, code: int) -> bool:
    """Whether *rule* acts on the frame; counts it if it fits."""
    wanted = rule.attributes
    kind = "response" if frame.is_response else "request"
    fits = wanted["kind"] in ("any", kind) and wanted["code"] in (-1, code) and wanted["opaque"] in (-1, frame.opaque)
    if not fits:
        return False
    rule.seen += 1
    is_hit = rule.seen > rule.number("skip") and (rule.number("count") == 0 or rule.done < rule.number("count"))
    rule.done += is_hit
    return is_hit
