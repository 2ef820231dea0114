"""The load ``requests``: clients that ask and wait, and a group that replies.

Question: does each request get its own reply, at the client that asked, while brokers and clients die?

Model. Clients 1…P send requests: a message, and a wait of :data:`WAIT_NS` for the reply (``request``, whose read is the
message that the reply says it answers). Members of the group answer every request that they are given, through a broker
that need not be the one that it came from (``reply``: what the broker said). A reply that nobody waits for is a
``stray_reply``. The body of a reply is that of its request.

Limits. A request is sent once for each message; what comes twice to the group is answered twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from harness.payload import Body, decode
from harness.workloads.measuring import GROUP
from harness.workloads.producers import Application, OnResult
from harness.workloads.push import Member, PushWorkload
from harness.workloads.workload import Stage
from reference_impl.client import (
    Client,
    Message,
    Producer,
    ProducerSettings,
    PulledMessage,
    PushSettings,
    Replier,
    Requester,
)
from reference_impl.client.requesting import PROPERTY_CORRELATION_ID
from reference_impl.environment import SECOND, Environment

WAIT_NS: Final = 5 * SECOND
REPLIERS: Final = "repliers"


class AskingProducer(Producer):
    """A producer whose client also waits for replies."""

    def __init__(self, client: Client, settings: ProducerSettings, stage: Stage, name: str) -> None:
        super().__init__(client, settings)
        self.stage, self.name = stage, name
        self.requester = Requester(client, self, self._stray)

    def _stray(self, env: Environment, correlation: str, body: bytes) -> None:
        recorder = self.stage.recorder
        op = recorder.invoke(recorder.process(), "stray_reply", node=self.name)
        recorder.complete(
            op, "ok", "OK", count=1, detail=correlation, offsets=[0], messages=[_message_of(body, self.stage)]
        )


class AskingApplication(Application):
    """Sends requests instead of messages."""

    def hand_over(self, env: Environment, message: Message, number: int, ended: OnResult) -> int:
        producer, recorder, stage = self._producer, self._stage.recorder, self._stage
        assert isinstance(producer, AskingProducer), "made by RequestWorkload"
        op = recorder.invoke(recorder.process(), "request", message=number, node=producer.name)

        def replied(env: Environment, status: str, body: bytes) -> None:
            answers = [_message_of(body, stage)] if status == "OK" else []
            outcome = stage.classify("request", status)
            recorder.complete(op, outcome, status, count=len(answers), offsets=[0] * len(answers), messages=answers)

        return producer.requester.request(env, message, WAIT_NS, replied, ended)


def _message_of(body: bytes, stage: Stage) -> int:
    found = decode(body, stage.recorder.run)
    return found.message if isinstance(found, Body) else -1


class ReplyingMember(Member):
    """Answers what it is given; its listener refuses nothing, since a refused request is asked again."""

    def begin(self) -> Client:
        client = super().begin()
        self._replier = Replier(client, ProducerSettings(group=REPLIERS))
        return client

    def is_done(self, number: int, times: int) -> bool:
        return True

    def heard(self, env: Environment, message: PulledMessage, number: int) -> None:
        if PROPERTY_CORRELATION_ID not in message.properties:
            return  # an operator's
        recorder = self._stage.recorder
        op = recorder.invoke(recorder.process(), "reply", message=number, node=self.name)

        def told(env: Environment, status: str) -> None:
            recorder.complete(op, self._stage.classify("reply", status), status)

        self._replier.reply(env, message, message.body, told)


class RequestWorkload(PushWorkload):
    """``Workload`` of the load ``requests``."""

    application = AskingApplication
    member: Callable[[Stage, str, Counter[str], PushSettings], Member] = ReplyingMember

    def _make_producer(self, client: Client) -> Producer:
        return AskingProducer(client, ProducerSettings(group=GROUP), self.stage, client.settings.instance)
