"""A client that asks: what it does with a reply, and what it tells the broker that brought it."""

from __future__ import annotations

import pytest

from reference_impl.client import Message, Producer, ProducerSettings, Requester
from reference_impl.environment import SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame
from reference_impl.wire.message import parse_properties, properties_text
from suites.unit.client.client_by_hand import NS1, ScriptedBroker, World, nameserver, route

A = "10.2.1.1:10911"


class Asking:
    """A client that has sent one request, for whose reply it waits five seconds."""

    def __init__(self) -> None:
        self.world = World(start=False)
        self.world.scripts = {NS1: nameserver({"T": route(a=A)}), A: ScriptedBroker()}
        self.told: list[tuple[str, bytes]] = []
        self.strays: list[bytes] = []
        producer = Producer(self.world.client, ProducerSettings("askers"))
        requester = Requester(self.world.client, producer, lambda _env, _id, body: self.strays.append(body))
        self.world.start()
        message, env = Message("T", b"how many?"), self.world.env
        requester.request(env, message, 5 * SECOND, lambda _, *told: self.told.append(told), lambda *_: None)
        self.world.pass_time(SECOND)
        (sent,) = self.world.requests(Code.SEND_MESSAGE_V2)
        self.correlation = parse_properties(sent.fields["i"])["CORRELATION_ID"]

    def replied(self, correlation: str, code: int = Code.PUSH_REPLY_MESSAGE_TO_CLIENT) -> list[Command]:
        """The broker pushes a reply; what comes back on the connection."""
        (link,) = [link for link, (to, _) in self.world._open.items() if to == A]
        fields = {"properties": properties_text({"CORRELATION_ID": correlation})}
        self.world.env.deliver(link, encode_frame(Command(code, fields, b"seven", opaque=77)))
        return list(FrameDecoder().feed(self.world.env.take(link)))


@pytest.mark.parametrize("is_mine", [True, False])
def test_a_broker_that_brings_a_reply_is_answered_whoever_asked(is_mine: bool) -> None:
    """RocketMQ: ClientRemotingProcessor#receiveReplyMessage. Without the answer whoever replied waits in vain."""
    asking = Asking()
    (answer,) = asking.replied(asking.correlation if is_mine else "another")
    assert (answer.code, answer.opaque, answer.is_answer) == (0, 77, True)
    assert (asking.told, asking.strays) == (([("OK", b"seven")], []) if is_mine else ([], [b"seven"]))


def test_a_reply_after_the_time_is_a_stray_and_answered() -> None:
    asking = Asking()
    asking.world.pass_time(5 * SECOND)
    assert asking.told == [("TIMEOUT", b"")]
    assert [answer.code for answer in asking.replied(asking.correlation)] == [0]
    assert asking.strays == [b"seven"]
