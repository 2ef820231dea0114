"""The dialogue ``lookups``: messages are found by key, by time and by place, those and no others.

Question: an application asks for the messages of an order, or where in a queue this morning is. Is it given all of
them, none of anybody else's, and the right place? Do messages have the properties that they were sent with?

Model. A round sends messages with keys to the only queue of its topic, in two halves with some seconds between them,
each message with keys of its own, one of its half and one of all. Asked is

    by key       12: own keys, long and foreign ones, one of the least hash, the halves', everybody's, nobody's, the
                 unique one, another topic's; with a limit of numbers and of times (the index counts whole seconds, so
                 times lie between the halves)
    by time      29: the instant at which a message was stored, before the first, after the last (4.9: the last message)
    by place     33: the record at an offset of the log; 321: the places of a queue, with the hashes of their tags
    the oldest   32: when the first message was stored

Limits. Messages are some milliseconds apart, so that no two are stored at one instant. What lies between two messages
is not asked for: releases differ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from harness.workloads.dialogues import SOON_NS, Ask, Dialogue, DialoguePart, Rest
from harness.workloads.orders import Desk, bodies
from harness.workloads.parts import PartHost
from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.frame import Command
from reference_impl.wire.message import (
    Message,
    decode_record,
    decode_records,
    java_string_hash,
    parse_message_id,
    tags_code,
)

HALF: Final = 6
APART_NS: Final = 5 * MS
BETWEEN_HALVES_NS: Final = 4 * SECOND
FOREVER_MS: Final = (1 << 63) - 1
TAGS: Final = ("red", "green", "blue")


def lookups(host: PartHost) -> DialoguePart:
    """Operator ``lookups``."""
    return DialoguePart(host, "lookups", lambda env, number: _Round(host, number).steps())


class _Round:
    def __init__(self, host: PartHost, number: int) -> None:
        self._desk = Desk(host, "look", number)
        self._least = least_hashed(f"{self._desk.topic}#")
        self._places: list[int] = []
        self._records: list[Message] = []

    def steps(self) -> Dialogue:
        desk = self._desk
        yield desk.make_topic(1)
        yield from self._half(0)
        yield Rest(BETWEEN_HALVES_NS)
        yield from self._half(1)
        yield from desk.extent(0, 0, 2 * HALF)
        for number in range(2 * HALF):  # one by one: no answer goes beyond a file of the queue
            must = [self._text(number), self._properties(number)]
            answer = yield desk.pull(must, _first, offset=number)
            self._records.append(decode_records(answer.body)[0])
        yield from self._by_key()
        yield from self._by_time()
        yield from self._by_place()

    def _text(self, number: int) -> str:
        return f"{self._desk.topic} {number}"

    def _half(self, half: int) -> Dialogue:
        for number in range(half * HALF, (half + 1) * HALF):
            answer = yield self._desk.send(0, self._text(number), number, self._properties(number))
            self._places.append(parse_message_id(answer.fields["msgId"])[1])
            yield Rest(APART_NS)

    def _properties(self, number: int) -> dict[str, str]:
        """The later the message, the more: a table in Java grows with the thirteenth."""
        keys = f"own{number} half{number // HALF} everybody {_foreign(number)} {_long(number)}"
        keys += f" {self._least}" if number == 0 else ""
        own = {f"own-{place}": "x" * (place + 1) for place in range(number)}
        return {
            "KEYS": keys,
            "TAGS": TAGS[number % len(TAGS)],
            "UNIQ_KEY": f"{self._desk.topic}-U{number}",
            **own,
        }

    # Asked -----------------------------------------------------------------------------------------------------------

    def _query(
        self,
        key: str,
        numbers: range,
        begin_ms: int = 0,
        end_ms: int = FOREVER_MS,
        *,
        at_most: int = 64,
        topic: str = "",
        **more: object,
    ) -> Ask:
        """12. Found are the messages with these numbers, or of more than *at_most* the last."""
        fields = {
            "topic": topic or self._desk.topic,
            "key": key,
            "maxNum": at_most,
            "beginTimestamp": begin_ms,
            "endTimestamp": end_ms,
            **more,
        }
        must: Any = sorted(self._text(number) for number in numbers) or "QUERY_NOT_FOUND"
        name = f"messages with the key {key}"
        return self._desk.ask(name, Code.QUERY_MESSAGE, fields, must, lambda a: sorted(bodies(a)), within_ns=SOON_NS)

    def _by_key(self) -> Dialogue:
        everything, halves = range(2 * HALF), (range(HALF), range(HALF, 2 * HALF))
        for number in everything:
            for key in (f"own{number}", _foreign(number), _long(number)):
                yield self._query(key, range(number, number + 1))
            unique = f"{self._desk.topic}-U{number}"
            yield self._query(unique, range(number, number + 1), _UNIQUE_KEY_QUERY=True)
        yield from self._by_least()
        for half, numbers in enumerate(halves):
            yield self._query(f"half{half}", numbers)
        yield self._query("everybody", everything)
        yield self._query("nobody", range(0))
        yield self._query("everybody", range(0), topic=f"not-{self._desk.topic}")
        yield self._query("everybody", everything[-2:], at_most=2)
        between_ms = self._records[HALF - 1].store_timestamp + BETWEEN_HALVES_NS // MS // 2
        yield self._query("everybody", halves[0], end_ms=between_ms)
        yield self._query("everybody", halves[1], begin_ms=between_ms)
        yield self._query("half0", range(0), begin_ms=between_ms)
        yield self._query("half1", range(0), end_ms=between_ms)

    def _by_least(self) -> Dialogue:
        """Rounds before had keys of the same hash, and an index knows hashes only: strangers are the asker's to leave
        out."""
        ask = self._query(self._least, range(1))
        topic = f"{self._desk.topic} "
        yield replace(ask, read=lambda a: [text for text in bodies(a) if text.startswith(topic)])

    def _by_time(self) -> Dialogue:
        stored_ms = [record.store_timestamp for record in self._records]
        wanted = [*zip(stored_ms, range(2 * HALF), strict=True), (stored_ms[0] - 1000, 0), (stored_ms[-1] + 1000, -1)]
        for timestamp_ms, number in wanted:
            fields = {"topic": self._desk.topic, "queueId": 0, "timestamp": timestamp_ms}
            must = number if number >= 0 else 2 * HALF - 1
            yield self._desk.ask(
                "where an instant is", Code.SEARCH_OFFSET_BY_TIMESTAMP, fields, must, lambda a: int(a.fields["offset"])
            )
        fields = {"topic": self._desk.topic, "queueId": 0}
        yield self._desk.ask(
            "when the oldest message was stored",
            Code.GET_EARLIEST_MSG_STORETIME,
            fields,
            stored_ms[0],
            lambda a: int(a.fields["timestamp"]),
        )

    def _by_place(self) -> Dialogue:
        desk = self._desk

        def shown(answer: Command) -> list[Any]:
            record = decode_record(answer.body)
            return [record.topic, record.queue_offset, record.body.decode()]

        for number, place in enumerate(self._places):
            must = [desk.topic, number, self._text(number)]
            yield desk.ask("the message at a place", Code.VIEW_MESSAGE_BY_ID, {"offset": place}, must, shown)
        yield desk.ask("the message at no place", Code.VIEW_MESSAGE_BY_ID, {"offset": 1 << 40}, "SYSTEM_ERROR")
        for number, place in enumerate(self._places):
            fields = {"topic": desk.topic, "queueId": 0, "index": number, "count": 1}
            must = [0, 2 * HALF, [[place, tags_code(TAGS[number % len(TAGS)])]]]
            yield desk.ask("the unit of the queue", Code.QUERY_CONSUME_QUEUE, fields, must, _units)


def _foreign(number: int) -> str:
    """A key of which a byte is no character."""
    return f"Bestellung-№{number}-größer"


def least_hashed(prefix: str) -> str:
    """What to append to *prefix* for the hash −2^31, the one number that has no absolute value in 32 bits."""
    places = [31**power for power in range(_DIGITS - 1, -1, -1)]
    before = java_string_hash(prefix) * 31**_DIGITS + ord("0") * sum(places)
    left = ((1 << 31) - before) % (1 << 32)
    return "".join(chr(ord("0") + left // place % 31) for place in places)


_DIGITS: Final = 7
"""31^7 is more than there are hashes."""


def _long(number: int) -> str:
    return f"{number}-".ljust(300, "k")


def _first(answer: Command) -> list[Any]:
    """Body and properties of the first message, but for what a broker adds or leaves out."""
    record = decode_records(answer.body)[0]
    properties = {name: text for name, text in record.property_map().items() if name not in ("CLUSTER", "WAIT")}
    return [record.body.decode(), properties]


def _units(answer: Command) -> list[Any]:
    told = parse_lenient(answer.body)
    units = [[unit["physicOffset"], unit["tagsCode"]] for unit in told["queueData"]]
    return [told["minQueueIndex"], told["maxQueueIndex"], units]
