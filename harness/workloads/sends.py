"""The dialogue ``sends``: messages as nobody of the loads sends them, answers that are full, and many delayed messages.

Question: a message is sent without WAIT, or is as large as it may be, or a hundred come due at once. Is each taken or
refused as RocketMQ does it, given as it was sent, and in time?

Model. A round has a topic of one queue:

    full      11: 32 messages at most, whatever is asked for, and none that would bring the answer above 256 KiB
    delayed   more messages of one level than a look takes (32), all due within the level's time, in their order
    shapes    310 with WAIT=true, WAIT=false, without it, to queue −1 (any queue), to a queue that is not there, of more
              bytes than a message may have. Stored are all properties but WAIT

Nearly all sends of a round say WAIT=false, and are answered at once, also while forces hang.

Limits. Sends follow one another. Levels must be RocketMQ's own: the first is a second.
"""

from __future__ import annotations

from typing import Final

from harness.workloads.dialogues import SOON_NS, Ask, Dialogue, DialoguePart
from harness.workloads.orders import Desk, bodies
from harness.workloads.parts import PartHost
from reference_impl.environment import SECOND
from reference_impl.wire.frame import Command
from reference_impl.wire.message import decode_records

MESSAGE_MAX: Final = 4 << 20
LARGE: Final = 100_000
AT_ONCE: Final = 2
"""Large messages that an answer has room for."""
COUNT_MAX: Final = 32
BACKLOG: Final = 80
"""More than twice what a look takes."""
LEVEL, LEVEL_NS = "1", SECOND
FORCED_NS: Final = 8 * SECOND
"""A put waits five seconds for its force."""
SHOWN: Final = 20
"""Characters of a body."""


def sends(host: PartHost) -> DialoguePart:
    """Operator ``sends``."""
    return DialoguePart(host, "sends", lambda env, number: _Round(host, number).steps())


class _Round:
    def __init__(self, host: PartHost, number: int) -> None:
        self._desk = Desk(host, "sends", number)
        self._sent: list[str] = []

    def steps(self) -> Dialogue:
        yield self._desk.make_topic(1)
        yield from self._full()
        yield from self._delayed()
        yield from self._shapes()

    def _send(self, queue: int = 0, wait: str = "true", size: int = 0) -> Ask:
        """The next message."""
        number = len(self._sent)
        text = f"{self._desk.topic} {number} ".ljust(size, "x")
        self._sent.append(text)
        return self._desk.send(
            queue,
            text,
            number,
            {"number": str(number)},
            wait=wait,
            waits_for_nothing=wait == "false",
            timeout_ns=FORCED_NS,
        )

    def _shapes(self) -> Dialogue:
        desk, begin = self._desk, len(self._sent)
        for wait in ("false", "", "true", "false"):
            yield self._send(wait=wait)
        yield self._send(queue=-1)
        yield desk.send(7, "nowhere", "SYSTEM_ERROR")
        yield desk.send(0, "x" * (MESSAGE_MAX + 1), "MESSAGE_ILLEGAL")
        yield from desk.extent(0, 0, len(self._sent))
        for number, text in list(enumerate(self._sent))[begin:]:
            yield desk.pull([text, {"number": str(number)}], _whole, offset=number, at_most=1)

    def _full(self) -> Dialogue:
        large = len(self._sent)
        for _ in range(AT_ONCE + 2):
            yield self._send(wait="false", size=LARGE)
        small = len(self._sent)
        for _ in range(COUNT_MAX + 2):
            yield self._send(wait="false")
        yield from self._desk.extent(0, 0, len(self._sent))
        yield self._pull(large, AT_ONCE, at_most=4)
        yield self._pull(small, COUNT_MAX, at_most=2 * COUNT_MAX)
        yield self._pull(small, 3, at_most=3)

    def _pull(self, begin: int, count: int, at_most: int) -> Ask:
        """The beginnings of *count* messages."""
        must = [text[:SHOWN] for text in self._sent[begin : begin + count]]
        return self._desk.pull(must, _beginnings, offset=begin, at_most=at_most)

    def _delayed(self) -> Dialogue:
        """Where a message of a level is, nobody is told; which one it is, its place in the topic tells later."""
        desk, begin = self._desk, len(self._sent)
        for number in range(begin, begin + BACKLOG):
            text = f"{desk.topic} {number} "
            self._sent.append(text)
            yield desk.send(
                0,
                text,
                True,
                {"DELAY": LEVEL},
                read=lambda answer: True,
                wait="false",
                waits_for_nothing=True,
                timeout_ns=FORCED_NS,
            )
        end = begin + BACKLOG
        yield from desk.extent(0, 0, end, within_ns=LEVEL_NS + SOON_NS)
        for number in range(begin, end, COUNT_MAX):
            yield self._pull(number, min(COUNT_MAX, end - number), at_most=COUNT_MAX)


def _whole(answer: Command) -> list[object]:
    """Body and properties of the first message, but for what a broker adds."""
    record = decode_records(answer.body)[0]
    return [record.body.decode(), {k: v for k, v in record.property_map().items() if k != "CLUSTER"}]


def _beginnings(answer: Command) -> list[str]:
    return [text[:SHOWN] for text in bodies(answer)]
