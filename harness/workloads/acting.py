"""The dialogue ``acting``: a slave of 5.x acts as its dead master, and no longer when that is back.

Question: whom do NameServers show as master while it is dead, what does the slave do for it, and is everything as
before when it is back?

Model. One round, of the first broker, whose master dies while the load lasts (the scenario says when):

    before   routes show both ids and may be written to (105); the list of members has both (901)
    acting   within :data:`ACTS_NS` routes show the slave as id 0, to be read only, while the list of members keeps its
             own id; the slave locks queues (41), keeps and tells offsets (15, 14)
    back     routes and members are as before within :data:`BACK_NS`

Limits. Whether the master takes over the offsets that its slave was told is not asked: it does if they are newer.
"""

from __future__ import annotations

from typing import Any, Final

from harness.cluster import CLUSTER_NAME
from harness.workloads.dialogues import SOON_NS, Ask, Dialogue, DialoguePart, Rest, is_done
from harness.workloads.orders import Desk, brokers_of_route, queues_of_route
from harness.workloads.parts import PartHost
from reference_impl.environment import SECOND
from reference_impl.wire.bodies import LockBatchAnswer, LockBatchRequest, MessageQueue
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient, read_json, write_json
from reference_impl.wire.frame import Command

READY_NS: Final = 10 * SECOND
ACTS_NS: Final = 30 * SECOND
"""The scenario kills the master within a third of it; ten seconds without a heartbeat are
allowed, and NameServers look every five."""
BACK_NS: Final = 45 * SECOND
"""The scenario lets it lie for half of it; before it registers it looks for the others of its name."""
HOUR_NS: Final = 3600 * SECOND
READ, BOTH = 4, 6


def acting(host: PartHost) -> DialoguePart:
    """Operator ``acting``."""
    return DialoguePart(host, "acting", lambda env, number: _once(host, number))


def _once(host: PartHost, number: int) -> Dialogue:
    if number:
        yield Rest(HOUR_NS)
    yield from _Round(host).steps()


class _Round:
    def __init__(self, host: PartHost) -> None:
        self._desk = Desk(host, "acting", 0)
        stage = host.stage
        self._topic, self._broker, self._master = stage.topic, self._desk.master.broker, self._desk.master
        self._slave = stage.addressing.replicas(self._broker)[0]
        self._client_id = f"{stage.backend.host(host.name)}@acting"

    def steps(self) -> Dialogue:
        both = {"0": self._master.address, "1": self._slave.address}
        yield from self._seen(both, both, BOTH, READY_NS)
        yield from self._seen({"0": self._slave.address}, {"1": self._slave.address}, READ, ACTS_NS)
        yield from self._what_it_does()
        yield from self._seen(both, both, BOTH, BACK_NS)

    def _seen(self, shown: dict[str, str], members: dict[str, str], permission: int, within_ns: int) -> Dialogue:
        """At every NameServer."""
        desk = self._desk
        route, names = {"topic": self._topic, "acceptStandardJsonOnly": True}, {"brokerName": self._broker}
        for server in desk.stage.nameservers:
            code = Code.GET_ROUTEINFO_BY_TOPIC
            yield desk.ask(
                "who serves", code, route, {self._broker: shown}, brokers_of_route, within_ns=within_ns, of=server
            )
            yield desk.ask(
                "what it may",
                code,
                route,
                [permission],
                lambda a: [q[1] for q in queues_of_route(a)],
                within_ns=SOON_NS,
                of=server,
            )
            yield desk.ask(
                "members of its name",
                Code.GET_BROKER_MEMBER_GROUP,
                {"clusterName": CLUSTER_NAME, **names},
                members,
                _members,
                within_ns=SOON_NS,
                of=server,
            )

    def _what_it_does(self) -> Dialogue:
        queue = MessageQueue(self._broker, 0, self._topic)
        body = write_json(LockBatchRequest(self._client_id, self._desk.group, [queue]))
        yield self._ask_slave("lock a queue", Code.LOCK_BATCH_MQ, {}, 1, _locked, body)
        where = {"consumerGroup": self._desk.group, "topic": self._topic, "queueId": "0"}
        yield self._ask_slave("commit an offset", Code.UPDATE_CONSUMER_OFFSET, {**where, "commitOffset": "3"})
        yield self._ask_slave(
            "where the group stands", Code.QUERY_CONSUMER_OFFSET, where, 3, lambda answer: int(answer.fields["offset"])
        )

    def _ask_slave(
        self, name: str, code: Code, fields: dict[str, str], must: Any = "OK", read: Any = None, body: bytes = b""
    ) -> Ask:
        return Ask(name, self._slave.node, self._slave.address, Command(code, fields, body), must, read or is_done)


def _members(answer: Command) -> dict[str, str]:
    told = parse_lenient(answer.body)["brokerMemberGroup"]["brokerAddrs"]
    return {str(id_): address for id_, address in told.items()}


def _locked(answer: Command) -> int:
    return len(read_json(answer.body, LockBatchAnswer).queues)
