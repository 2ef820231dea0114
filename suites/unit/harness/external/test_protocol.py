"""The line protocol, as its page says it: transcripts, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.errors import ClusterError
from harness.external.protocol import Assigned, Delivering, Done, Hello, Tried, Trouble, Trying
from harness.external.session import Session

HELLO = b'{"is":"hello","at":1,"protocol":1,"client":"c","tells_attempts":true}\n'


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.lines: list[Any] = []

    def _hear(self, session: Session, line: Any) -> None:
        self.lines.append(line)

    on_hello = on_trying = on_tried = on_delivering = on_checking = on_assigned = on_trouble = _hear


class World:
    """A session with what it wrote, and a clock that we turn."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.said: list[dict[str, Any]] = []
        self.heard = Heard()
        self.session = Session("client-1", self._written, lambda: self.now_ns, self.heard)

    def _written(self, data: bytes) -> None:
        assert data.endswith(b"\n")
        self.said.append(msgspec.json.decode(data))


def test_a_client_says_hello_and_is_asked_for_its_clock() -> None:
    world = World()
    world.session.feed(HELLO)
    assert isinstance(world.heard.lines[0], Hello)
    assert world.said == [{"do": "clock", "id": 1}]


def test_a_command_ends_with_done_and_only_once() -> None:
    world = World()
    ended: list[Done] = []
    world.session.feed(HELLO)
    number = world.session.command("send", ended.append, message={"body": b"\x00\xff"})
    assert world.said[-1] == {"do": "send", "id": number, "message": {"body": "AP8="}}
    line = b'{"is":"done","at":2,"id":%d,"status":"SEND_OK","broker":"broker-a","queue":3,"offset":7}\n' % number
    world.session.feed(line)
    assert (ended[0].status, ended[0].queue, ended[0].offset) == ("SEND_OK", 3, 7)
    with pytest.raises(ClusterError, match="not under way"):
        world.session.feed(line)


def test_lines_may_be_cut_anywhere_and_unknown_fields_are_ignored() -> None:
    world = World()
    text = HELLO + b'{"is":"trouble","at":2,"text":"\xc3\xa9","mood":"bad"}\n\n'
    for byte in text:
        world.session.feed(bytes([byte]))
    assert [type(line) for line in world.heard.lines] == [Hello, Trouble]


@pytest.mark.parametrize(
    ("line", "kind", "fields"),
    [
        (
            '{"is":"trying","at":2,"id":3,"question":1,"broker":"b","queue":2}',
            Trying,
            {"id": 3, "question": 1, "broker": "b", "queue": 2},
        ),
        ('{"is":"tried","at":2,"id":3,"status":"TIMEOUT"}', Tried, {"status": "TIMEOUT", "offset": -1}),
        (
            '{"is":"delivering","at":2,"question":7,"consumer":2,"topic":"t","body":"AQI=","times":1}',
            Delivering,
            {"body": b"\x01\x02", "times": 1, "queue": -1},
        ),
        ('{"is":"assigned","at":2,"consumer":2,"topic":"t","queues":[["b",0]]}', Assigned, {"queues": [("b", 0)]}),
    ],
)
def test_lines_of_a_client(line: str, kind: type, fields: dict[str, Any]) -> None:
    world = World()
    world.session.feed(HELLO + line.encode() + b"\n")
    heard = world.heard.lines[-1]
    assert type(heard) is kind
    assert {name: getattr(heard, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b'{"is":"clock","at":2,"id":1}\n', "did not begin with hello"),
        (b'{"is":"hello","at":1,"protocol":2,"client":"c"}\n', "speaks protocol 2"),
        (HELLO + b"log4j: no appenders\n", "no line of the protocol"),
        (HELLO + b'{"is":"done","id":1,"status":"OK"}\n', "no line of the protocol"),
        (HELLO + b'{"is":"clock","at":2,"id":99}\n', "nobody had asked"),
    ],
)
def test_what_a_client_must_not_say(text: bytes, complaint: str) -> None:
    world = World()
    with pytest.raises(ClusterError, match=complaint):
        world.session.feed(text)


def test_stamps_are_put_on_our_clock_by_the_quickest_exchange() -> None:
    world = World()
    world.now_ns = 1_000
    world.session.feed(HELLO)  # asked at 1000
    world.now_ns = 1_500
    world.session.feed(b'{"is":"clock","at":50200,"id":1}\n')  # ahead by 48700 … 49200
    assert world.session.ours(50_300) == (50_300 - 49_200, 50_300 - 48_700)
    world.now_ns = 2_000
    world.session.ask_clock()
    world.now_ns = 2_040
    world.session.feed(b'{"is":"clock","at":51020,"id":2}\n')  # ahead by 48980 … 49020
    assert world.session.stamps.width_ns == 40


def test_a_clock_that_moved_begins_anew() -> None:
    world = World()
    world.session.feed(HELLO + b'{"is":"clock","at":100,"id":1}\n')
    world.now_ns = 10
    world.session.ask_clock()
    world.session.feed(b'{"is":"clock","at":5000,"id":2}\n')
    assert (world.session.stamps.steps, world.session.ours(5_000)) == (1, (10, 10))


def test_nobody_is_called_after_the_end() -> None:
    world = World()
    ended: list[Done] = []
    world.session.feed(HELLO)
    world.session.command("send", ended.append)
    world.session.died()
    count = len(world.said)
    world.session.answer("go", 1)
    assert (ended, world.session.open_commands, len(world.said)) == ([], 0, count)
