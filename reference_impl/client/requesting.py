"""Request and reply: a message that is answered, and the client that waits for the answer.

Question: who asked, who answers, and how does the answer find its way?

Model (RocketMQ: DefaultMQProducerImpl#request, MessageUtil#createReplyMessage, ClientRemotingProcessor). A request is a
message with three properties more: CORRELATION_ID (drawn), REPLY_TO_CLIENT (who asked), TTL (how long it waits, in
milliseconds). Whoever consumes it sends a reply to ``<cluster>_REPLY_TOPIC``, with the same three and MSG_TYPE=reply,
by code 325; the broker hands it to the connection of the client that asked (326).

    asks ── request ──► broker ──► consumer
      ▲                                │ 325
      └────── 326 ── some broker ◄─────┘

A reply that nobody waits for (any more) is given to ``on_stray``. The broker of the reply need not be that of the
request: the asking client tells every broker that it knows of, before its first request, that it is there.

Limits. One reply a request; a later one is a stray.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Final

from reference_impl.client.client import Client, Part
from reference_impl.client.model import Message, PulledMessage, SendResult
from reference_impl.client.producer import OnResult, Producer, ProducerSettings
from reference_impl.client.status import STORED
from reference_impl.environment import MS, Environment, Link
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.frame import Command
from reference_impl.wire.message import PROPERTY_CLUSTER, PROPERTY_REPLY_TO_CLIENT, parse_properties

PROPERTY_CORRELATION_ID: Final = "CORRELATION_ID"
PROPERTY_TTL: Final = "TTL"
PROPERTY_MESSAGE_TYPE: Final = "MSG_TYPE"

OnReply = Callable[[Environment, str, bytes], None]
"""OK and the body of the reply, or why there is none: TIMEOUT, or the status of a request that was not stored."""

OnStray = Callable[[Environment, str, bytes], None]
"""Correlation id and body of a reply that nobody waits for."""


class Requester(Part):
    """Asks, and waits for answers."""

    def __init__(self, client: Client, producer: Producer, on_stray: OnStray) -> None:
        """*producer* sends the requests; it is one of the same client."""
        self.client, self.producer, self._on_stray = client, producer, on_stray
        self._waiting: dict[str, OnReply] = {}
        client.parts.append(self)

    def request(self, env: Environment, message: Message, timeout_ns: int, on_reply: OnReply, on_sent: OnResult) -> int:
        """Send it and call *on_reply* once; returns the number of the send, of which *on_sent* is told."""
        correlation = env.rng.randbytes(16).hex()
        properties = {
            **message.properties,
            PROPERTY_CORRELATION_ID: correlation,
            PROPERTY_REPLY_TO_CLIENT: self.client.client_id,
            PROPERTY_TTL: str(timeout_ns // MS),
        }
        self._waiting[correlation] = on_reply
        env.set_timer(("request", correlation), timeout_ns)
        if not self.client.routes.publish_queues(message.topic):
            self.client.routes.refresh(env, message.topic, lambda env, _status: self.client.heartbeat(env))

        def sent(env: Environment, result: SendResult) -> None:
            on_sent(env, result)
            if result.status not in STORED:
                self._end(env, correlation, result.status, b"")

        return self.producer.send(env, replace(message, properties=properties), sent)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if not isinstance(key, tuple) or key[:1] != ("request",):
            return False
        self._end(env, key[1], "TIMEOUT", b"")
        return True

    def on_request(self, env: Environment, link: Link, request: Command) -> bool:
        """326: a reply, to a request of ours or to nobody's."""
        if request.code != RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT:
            return False
        correlation = parse_properties(request.fields.get("properties", "")).get(PROPERTY_CORRELATION_ID, "")
        if correlation in self._waiting:
            self._end(env, correlation, "OK", request.body)
        else:
            self._on_stray(env, correlation, request.body)
        return True

    def _end(self, env: Environment, correlation: str, status: str, body: bytes) -> None:
        on_reply = self._waiting.pop(correlation, None)
        if on_reply is not None:
            env.cancel_timer(("request", correlation))
            on_reply(env, status, body)


class Replier(Part):
    """Answers requests that a consumer of the same client was given."""

    def __init__(self, client: Client, settings: ProducerSettings) -> None:
        self.client, self._producer = client, Producer(client, settings)
        client.parts.append(self)

    def reply(
        self, env: Environment, request: PulledMessage, body: bytes, on_told: Callable[[Environment, str], None]
    ) -> None:
        """*on_told*: OK (handed over), or what the last broker that was asked said. ``ValueError`` for a message that
        is no request."""
        properties = request.properties
        if PROPERTY_CORRELATION_ID not in properties or PROPERTY_CLUSTER not in properties:
            raise ValueError("a message without CORRELATION_ID and CLUSTER is no request")
        passed_on = (PROPERTY_CORRELATION_ID, PROPERTY_REPLY_TO_CLIENT, PROPERTY_TTL)
        own = {name: properties[name] for name in passed_on if name in properties}
        message = Message(f"{properties[PROPERTY_CLUSTER]}_REPLY_TOPIC", body, {**own, PROPERTY_MESSAGE_TYPE: "reply"})
        self._producer.send_reply(env, message, on_told)
