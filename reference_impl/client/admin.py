"""Administration: what an operator does to a cluster, one call each, each with a callback.

Question: how are topics made, offsets looked up and configuration changed from outside?

Model (RocketMQ: DefaultMQAdminExt). Every call goes to one named address and ends in one callback with an
:class:`AdminAnswer`; nothing is retried. Answers about a NameServer's view come from the NameServer that is named, not
from the one that the client has chosen, so that their views can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reference_impl.client.client import Client
from reference_impl.client.model import MessageQueue
from reference_impl.client.status import remark_of, status_of
from reference_impl.configuration import properties_text
from reference_impl.environment import Address, Environment
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Answer, CallFailed


@dataclass(frozen=True)
class AdminAnswer:
    """``status`` is OK, RocketMQ's name of the response code, or CONNECT_FAILED, TIMEOUT, CONNECTION_CLOSED."""

    status: str
    fields: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    remark: str = ""


OnAnswer = Callable[[Environment, AdminAnswer], None]


class Admin:
    """Operator calls of a client."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def call(self, env: Environment, address: Address, request: Command, done: OnAnswer) -> None:
        """Any request to any address."""

        def answered(env: Environment, answer: Answer) -> None:
            if isinstance(answer, CallFailed):
                done(env, AdminAnswer(status_of(answer)))
            else:
                done(env, AdminAnswer(status_of(answer), dict(answer.fields), answer.body, remark_of(answer)))

        self.client.remoting.call(env, address, request, self.client.settings.call_timeout_ns, answered)

    # --- topics and groups ------------------------------------------------------------------------------------------

    def create_topic(
        self, env: Environment, broker: Address, topic: str, queues: int, done: OnAnswer, permission: int = 6
    ) -> None:
        """Create or replace a topic on one broker (17); answered when the broker has registered it everywhere."""
        fields = ext_fields(
            topic=topic,
            defaultTopic="TBW102",
            readQueueNums=queues,
            writeQueueNums=queues,
            perm=permission,
            topicFilterType="SINGLE_TAG",
            topicSysFlag=0,
            order=False,
        )
        self.call(env, broker, Command(RequestCode.UPDATE_AND_CREATE_TOPIC, fields), done)

    def delete_topic(self, env: Environment, broker: Address, topic: str, done: OnAnswer) -> None:
        """Delete a topic on one broker (215); NameServers route it until they are told by :meth:`forget_topic`."""
        self.call(env, broker, Command(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}), done)

    def forget_topic(self, env: Environment, nameserver: Address, topic: str, done: OnAnswer) -> None:
        """Make one NameServer forget a topic (216)."""
        self.call(env, nameserver, Command(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}), done)

    def topics(self, env: Environment, broker: Address, done: OnAnswer) -> None:
        """All topics of a broker (21); the body is a TopicConfigTable."""
        self.call(env, broker, Command(RequestCode.GET_ALL_TOPIC_CONFIG), done)

    # --- offsets ----------------------------------------------------------------------------------------------------

    def max_offset(self, env: Environment, broker: Address, queue: MessageQueue, done: OnAnswer) -> None:
        """One past the last readable message (30), in the field ``offset``."""
        self.call(env, broker, Command(RequestCode.GET_MAX_OFFSET, _queue(queue)), done)

    def min_offset(self, env: Environment, broker: Address, queue: MessageQueue, done: OnAnswer) -> None:
        """The first readable message (31), in the field ``offset``."""
        self.call(env, broker, Command(RequestCode.GET_MIN_OFFSET, _queue(queue)), done)

    def committed(self, env: Environment, broker: Address, group: str, queue: MessageQueue, done: OnAnswer) -> None:
        """Where a group stands (14), in the field ``offset``; QUERY_NOT_FOUND where nothing is stored."""
        fields = {"consumerGroup": group, **_queue(queue)}
        self.call(env, broker, Command(RequestCode.QUERY_CONSUMER_OFFSET, fields), done)

    def commit(
        self, env: Environment, broker: Address, group: str, queue: MessageQueue, offset: int, done: OnAnswer
    ) -> None:
        """Put a group anywhere (15)."""
        fields = {"consumerGroup": group, "commitOffset": str(offset), **_queue(queue)}
        self.call(env, broker, Command(RequestCode.UPDATE_CONSUMER_OFFSET, fields), done)

    # --- cluster and configuration ----------------------------------------------------------------------------------

    def cluster_info(self, env: Environment, nameserver: Address, done: OnAnswer) -> None:
        """All brokers that one NameServer knows (106); the body is a ClusterInfo."""
        self.call(env, nameserver, Command(RequestCode.GET_BROKER_CLUSTER_INFO), done)

    def route(self, env: Environment, nameserver: Address, topic: str, done: OnAnswer) -> None:
        """One NameServer's route of a topic (105); the body is a TopicRouteData."""
        self.call(env, nameserver, Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}), done)

    def config(self, env: Environment, broker: Address, done: OnAnswer) -> None:
        """A broker's configuration (26); the body is lines of ``name=value``."""
        self.call(env, broker, Command(RequestCode.GET_BROKER_CONFIG), done)

    def update_config(self, env: Environment, broker: Address, changes: Mapping[str, str], done: OnAnswer) -> None:
        """Change properties of a running broker (25)."""
        body = properties_text(changes).encode()
        self.call(env, broker, Command(RequestCode.UPDATE_BROKER_CONFIG, body=body), done)

    def runtime(self, env: Environment, broker: Address, done: OnAnswer) -> None:
        """What a broker tells of itself (28); the body is a KVTable."""
        self.call(env, broker, Command(RequestCode.GET_BROKER_RUNTIME_INFO), done)


def _queue(queue: MessageQueue) -> dict[str, str]:
    return {"topic": queue.topic, "queueId": str(queue.queue_id), "bname": queue.broker_name}
