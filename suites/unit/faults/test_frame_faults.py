"""Rules on frames as a table: which frames pass, in which order, and what a rule counts."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable

import pytest

from faults.mechanisms.frameproxy.faulting import Asked, FrameFaults
from faults.mechanisms.frameproxy.toxics import Toxic, ToxicError, make


def request(code: int, opaque: int, flag: int = 0) -> bytes:
    header = json.dumps({"code": code, "opaque": opaque, "flag": flag}).encode()
    return struct.pack(">II", 4 + len(header) + 2, len(header)) + header + b"xy"


def response(opaque: int) -> bytes:
    return request(0, opaque, flag=1)


class RecordingWire:
    """Passes into a list; what is later waits until the test says so."""

    def __init__(self) -> None:
        self.passed: list[bytes] = []
        self.waiting: list[tuple[int, Callable[[], Awaitable[None]]]] = []

    async def pass_on(self, data: bytes) -> None:
        self.passed.append(data)

    def later(self, delay_ms: int, act: Callable[[], Awaitable[None]]) -> None:
        self.waiting.append((delay_ms, act))


def rule(**attributes: int | str) -> Toxic:
    return make({"type": "frames", "stream": "upstream", "attributes": attributes})


async def _pass(wire: RecordingWire, rules: list[Toxic], *frames: bytes) -> FrameFaults:
    faults = FrameFaults("upstream", Asked(), wire)
    for frame in frames:
        await faults.take(frame, rules)
    return faults


A, B, C = request(10, 1), request(11, 2), request(10, 3)
TABLE = [
    ("every frame that fits is dropped", {"action": "drop", "code": 10}, [B], 2, 2),
    ("the second that fits", {"action": "drop", "code": 10, "skip": 1, "count": 1}, [A, B], 2, 1),
    ("the first alone", {"action": "drop", "code": 10, "count": 1}, [B, C], 2, 1),
    ("by opaque", {"action": "drop", "opaque": 2}, [A, C], 1, 1),
    ("answers only: none", {"action": "drop", "kind": "response"}, [A, B, C], 0, 0),
    ("twice", {"action": "duplicate", "code": 11}, [A, B, B, C], 1, 1),
    ("overtaken by the next", {"action": "reorder", "code": 10, "count": 1}, [B, A, C], 2, 1),
    ("its last byte is another", {"action": "corrupt", "code": 11}, [A, B[:-1] + bytes([B[-1] ^ 255]), C], 1, 1),
]


@pytest.mark.parametrize(("what", "attributes", "passed", "seen", "done"), TABLE, ids=[row[0] for row in TABLE])
def test_table(what: str, attributes: dict[str, int | str], passed: list[bytes], seen: int, done: int) -> None:
    wire, toxic = RecordingWire(), rule(**attributes)
    asyncio.run(_pass(wire, [toxic], A, B, C))
    assert (wire.passed, toxic.seen, toxic.done) == (passed, seen, done)


@pytest.mark.parametrize(
    ("action", "at_once", "then"), [("delay", [B, C], [B, C, A]), ("replay", [A, B, C], [A, B, C, A])]
)
def test_later_frames_overtake(action: str, at_once: list[bytes], then: list[bytes]) -> None:
    wire = RecordingWire()

    async def scene() -> None:
        await _pass(wire, [rule(action=action, opaque=1, delay=70)], A, B, C)
        assert wire.passed == at_once
        [(delay_ms, act)] = wire.waiting
        assert delay_ms == 70
        await act()

    asyncio.run(scene())
    assert wire.passed == then


def test_a_frame_that_nobody_overtakes_goes_by_itself() -> None:
    wire = RecordingWire()

    async def scene() -> None:
        await _pass(wire, [rule(action="reorder", opaque=1)], A)
        assert wire.passed == []
        [(_, waited)] = wire.waiting
        await waited()
        await waited()

    asyncio.run(scene())
    assert wire.passed == [A]


def test_an_answer_has_the_code_of_its_request() -> None:
    wire, toxic = RecordingWire(), rule(action="drop", kind="response", code=10)

    async def scene() -> None:
        asked = Asked()
        upstream, downstream = FrameFaults("upstream", asked, wire), FrameFaults("downstream", asked, wire)
        for frame in (A, B, C):
            await upstream.take(frame, [])
        wire.passed.clear()
        for opaque in (2, 1, 3):
            await downstream.take(response(opaque), [toxic])

    asyncio.run(scene())
    assert (wire.passed, toxic.done) == ([response(2)], 2)


def test_what_is_held_passes_when_the_rules_go() -> None:
    wire = RecordingWire()

    async def scene() -> None:
        faults = await _pass(wire, [rule(action="reorder", opaque=1)], A, B[:5])
        await faults.leave()

    asyncio.run(scene())
    assert wire.passed == [A, B[:5]]


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [({"action": "lose"}, "action must be one of"), ({"skip": "2"}, "skip must be a number"), ({"kind": 1}, "a text")],
)
def test_rule_that_is_none(attributes: dict[str, int | str], sentence: str) -> None:
    with pytest.raises(ToxicError, match=sentence):
        rule(**attributes)
