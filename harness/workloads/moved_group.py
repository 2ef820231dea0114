"""The dialogue ``moved-group``: a push consumer works, an operator sends its group back in time, and it leaves.

Question: is everything from that instant on given again, and nothing before it; does the group's offset come to the end
each time; and what becomes of a message that the broker will not take back?

Model. A round has a topic of one queue and one member, a client of its own, which counts what its listener is given:

    works      messages, each given once; the offset comes to the end (14)
    is asked   223: how far the member is, by the member's own word; 203 and 300 know it
    goes back  222 to the instant of a drawn message: from there on everything is given once more
    refused    a message that the listener refuses comes again, and the offset goes on: once while the
               broker may not write (25), which takes nothing back then, once as it is
    leaves     the member stops as soon as one more, which it refused, was taken back: the broker knows nobody of the
               group, and where it stood

Limits. One member, so no queue changes hands.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from harness.workloads.dialogues import SOON_NS, Ask, Dialogue, DialoguePart, Look, Rest
from harness.workloads.newcomers import newcomer
from harness.workloads.orders import Desk
from harness.workloads.parts import PartHost
from reference_impl.client.model import PulledMessage
from reference_impl.client.push import PushConsumer, PushSettings
from reference_impl.environment import MS, SECOND, Environment
from reference_impl.wire.bodies import read_consumer_status, read_queue_offsets
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.frame import Command
from reference_impl.wire.message import decode_records

COUNT: Final = 8
APART_NS: Final = 20 * MS
COMES_NS: Final = 25 * SECOND
"""A member that enters has its queues after a rebalance at the latest."""
GOES_BACK_NS: Final = 35 * SECOND
"""Ten seconds of rest, then a rebalance at the latest."""
RETRIED_NS: Final = 65 * SECOND
"""Ten seconds of delay; the topic of what comes again is made by the member's first heartbeat, its route is looked for
every 30 s, and its queues are taken with a rebalance, every 20 s."""
OFFSET_NS: Final = 8 * SECOND
"""Offsets are told every five seconds."""
TAKEN_BACK_NS: Final = 100 * MS
READ, BOTH = 4, 6


def moved_group(host: PartHost) -> DialoguePart:
    """Operator ``moved-group``."""
    member = _Member(host)
    return DialoguePart(host, "moved-group", lambda env, number: _Round(host, member, env, number).steps())


class _Member:
    """The client of the rounds: a push consumer a round, one after the other."""

    def __init__(self, host: PartHost) -> None:
        self._stage, (self.name, self.client) = host.stage, newcomer(host.stage)
        self.given: Counter[str] = Counter()
        self.refuses: set[str] = set()
        self._is_there = False

    def enter(self, topic: str, group: str) -> None:
        """With a consumer of that group."""
        self.given, self.refuses = Counter(), set()
        self.client.parts.clear()
        settings = PushSettings(group, {topic: "*"}, from_last=False, confirm=True)
        self.consumer = PushConsumer(self.client, settings, self._listen)
        if self._is_there:
            self._stage.backend.step(self.name, self.client.start_parts)
        else:
            self._is_there = True
            self._stage.backend.add_client(self.name, self.client)

    def leave(self) -> None:
        """The consumer stops; the client stays, and its next heartbeat names nobody."""
        self._stage.backend.step(self.name, self.consumer.stop)
        self.client.parts.clear()

    def _listen(self, env: Environment, message: PulledMessage) -> bool:
        text = message.body.decode()
        self.given[text] += 1
        return text not in self.refuses


class _Round:
    def __init__(self, host: PartHost, member: _Member, env: Environment, number: int) -> None:
        self._desk, self._member = Desk(host, "moved", number), member
        self._rng = env.rng
        self._times: dict[str, int] = {}

    def steps(self) -> Dialogue:
        desk = self._desk
        yield desk.make_topic(1)
        yield desk.make_group(desk.group)
        self._member.enter(desk.topic, desk.group)
        stored_ms = yield from self._works()
        yield from self._is_asked()
        yield from self._goes_back(stored_ms)
        yield from self._is_refused()
        yield from self._comes_again(COUNT + 1)
        yield from self._one_more(COUNT + 2)
        self._member.leave()
        yield self._status("SYSTEM_ERROR", within_ns=SOON_NS)
        fields = {"consumerGroup": desk.group}
        yield desk.ask("who is in the group", Code.GET_CONSUMER_CONNECTION_LIST, fields, "CONSUMER_NOT_ONLINE")
        yield desk.committed(desk.group, 0, COUNT + 3)

    def _send(self, number: int) -> Ask:
        text = f"{self._desk.topic} {number}"
        self._times[text] = 1
        return self._desk.send(0, text, number)

    def _given(self, name: str, within_ns: int) -> Look:
        """How often the listener was given each message."""
        return Look(
            name, self._member.name, dict(self._times), lambda: dict(sorted(self._member.given.items())), within_ns
        )

    def _works(self) -> Any:
        desk = self._desk
        stored_ms = []
        for number in range(COUNT):
            yield self._send(number)
            yield Rest(APART_NS)
        for number in range(COUNT):
            answer = yield desk.pull([f"{desk.topic} {number}"], offset=number, at_most=1)
            stored_ms.append(decode_records(answer.body)[0].store_timestamp)
        yield self._given("given", COMES_NS)
        yield desk.committed(desk.group, 0, COUNT, within_ns=COMES_NS)
        return stored_ms

    def _is_asked(self) -> Dialogue:
        desk, client_id = self._desk, self._member.client.client_id
        yield self._status({client_id: COUNT})
        yield self._status({client_id: COUNT}, client=client_id)
        yield self._status({}, client="nobody")

        def ids(answer: Command) -> list[str]:
            return [connection["clientId"] for connection in parse_lenient(answer.body)["connectionSet"]]

        fields = {"consumerGroup": desk.group}
        yield desk.ask("who is in the group", Code.GET_CONSUMER_CONNECTION_LIST, fields, [client_id], ids)
        yield desk.ask(
            "who consumes the topic",
            Code.QUERY_TOPIC_CONSUME_BY_WHO,
            {"topic": desk.topic},
            [desk.group],
            lambda answer: parse_lenient(answer.body)["groupList"],
        )

    def _status(self, must: Any, *, client: str = "", within_ns: int = 0) -> Ask:
        """223: client id → where it is in the queue."""

        def read(answer: Command) -> dict[str, int]:
            told = read_consumer_status(answer.body)[1]
            return {one: offset for one, offsets in told.items() for offset in offsets.values()}

        fields = {"topic": self._desk.topic, "group": self._desk.group, "clientAddr": client}
        name = "how far its members are"
        code = Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
        return self._desk.ask(name, code, fields, must, read, within_ns=within_ns)

    def _goes_back(self, stored_ms: list[int]) -> Dialogue:
        desk = self._desk
        back_to = self._rng.randrange(1, COUNT)
        fields = {"topic": desk.topic, "group": desk.group, "timestamp": stored_ms[back_to], "isForce": False}
        yield desk.ask(
            "send the group back in time",
            Code.INVOKE_BROKER_TO_RESET_OFFSET,
            fields,
            [back_to],
            lambda answer: list(read_queue_offsets(answer.body).values()),
            orders=True,
        )
        for number in range(back_to, COUNT):
            self._times[f"{desk.topic} {number}"] += 1
        yield self._given("given again from there on", GOES_BACK_NS)
        yield desk.committed(desk.group, 0, COUNT, within_ns=COMES_NS)

    def _is_refused(self) -> Dialogue:
        """A broker that may not write takes nothing back. Its topics without order take messages all the same, if the
        client has not heard of it yet; else the listener gets the message from its client, after five seconds."""
        desk, text, given = self._desk, f"{self._desk.topic} {COUNT}", self._member.given
        self._member.refuses.add(text)
        yield self._permission(READ)
        yield self._send(COUNT)
        yield Look("given", self._member.name, 1, lambda: given[text], COMES_NS)
        self._member.refuses.discard(text)
        yield self._permission(BOTH)
        yield Look("given again", self._member.name, 2, lambda: given[text], RETRIED_NS)
        yield desk.committed(desk.group, 0, COUNT + 1, within_ns=OFFSET_NS)

    def _permission(self, number: int) -> Ask:
        body = f"brokerPermission={number}\n".encode()
        return self._desk.ask(f"permission {number}", Code.UPDATE_BROKER_CONFIG, {}, body=body)

    def _comes_again(self, number: int) -> Dialogue:
        """The listener refuses the message once; the offset does not wait for it."""
        desk, text, given = self._desk, f"{self._desk.topic} {number}", self._member.given
        self._member.refuses.add(text)
        yield self._send(number)
        yield Look("given", self._member.name, 1, lambda: given[text], COMES_NS)
        yield desk.committed(desk.group, 0, number + 1, within_ns=OFFSET_NS)
        self._member.refuses.discard(text)
        yield Look("given again", self._member.name, 2, lambda: given[text], RETRIED_NS)

    def _one_more(self, number: int) -> Dialogue:
        """Refused and taken back, so that the offset goes on behind the next pull, which has told the one before: who
        leaves now, before offsets are told again, has to tell it then."""
        text, given = f"{self._desk.topic} {number}", self._member.given
        self._member.refuses.add(text)
        yield self._send(number)
        yield Look("given", self._member.name, 1, lambda: given[text], COMES_NS)
        yield Rest(TAKEN_BACK_NS)
