"""The dialogue ``admin-client``: the project's own administrative client does what operators do, call by call.

Question: does each call of :class:`reference_impl.client.Admin` reach whom it names, do what it says, and bring back
what was answered?

Model. A client of its own hosts the calls; each is begun, and looked at until its answer is there. A round makes a
topic, fills it by hand, asks for its ends, moves a group, changes a setting and back, and deletes the topic everywhere.
What must come back is what the round has done; a node that is not there is told as that.

Limits. One broker. What the figures of 28 mean is the dialogue ``figures``'s business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from harness.workloads.dialogues import SOON_NS, Dialogue, DialoguePart, Look
from harness.workloads.newcomers import newcomer
from harness.workloads.orders import Desk
from harness.workloads.parts import PartHost
from reference_impl.client import MessageQueue
from reference_impl.client.admin import Admin, AdminAnswer, OnAnswer
from reference_impl.environment import Environment
from reference_impl.wire.bodies import ClusterInfo, KVTable, TopicConfigTable, TopicRouteData
from reference_impl.wire.dialect import read_json

SETTING: Final = "transactionCheckMax"
QUEUES: Final = 3
COUNT: Final = 4
NOWHERE_PORT: Final = 1
Begin = Callable[[Environment, OnAnswer], None]
Read = Callable[[AdminAnswer], Any]


def admin_client(host: PartHost) -> DialoguePart:
    """Operator ``admin-client``."""
    caller = _Caller(host)
    return DialoguePart(host, "admin-client", lambda env, number: _Round(host, caller, number).steps())


class _Caller:
    """The client, and what its last call has brought."""

    def __init__(self, host: PartHost) -> None:
        self._stage, (self.name, client) = host.stage, newcomer(host.stage)
        self.admin = Admin(client)
        self._is_there = False
        self.answer: AdminAnswer | None = None

    def begin(self, call: Begin) -> None:
        """The next call; the answer to the one before is forgotten."""
        self.answer = None
        if not self._is_there:
            self._is_there = True
            self._stage.backend.add_client(self.name, self.admin.client)
        self._stage.backend.step(self.name, lambda env: call(env, self._answered))

    def _answered(self, env: Environment, answer: AdminAnswer) -> None:
        self.answer = answer


class _Round:
    def __init__(self, host: PartHost, caller: _Caller, number: int) -> None:
        self._desk, self._caller, self._admin = Desk(host, "admin", number), caller, caller.admin
        self._number = number
        self._broker = self._desk.master.address
        self._queue = MessageQueue(self._desk.topic, self._desk.master.broker, number % QUEUES)

    def _call(self, name: str, begin: Begin, must: Any = "OK", read: Read | None = None) -> Dialogue:
        """Begin it, and look until it is answered."""

        def shown() -> Any:
            answer = self._caller.answer
            if answer is None or answer.status != "OK" or read is None:
                return "nothing yet" if answer is None else answer.status
            return read(answer)

        self._caller.begin(begin)
        yield Look(name, self._caller.name, must, shown, SOON_NS)

    def steps(self) -> Dialogue:
        yield from self._makes()
        yield from self._counts()
        yield from self._commits()
        yield from self._sets()
        yield from self._deletes()

    def _makes(self) -> Dialogue:
        admin, broker, topic = self._admin, self._broker, self._desk.topic
        yield from self._call("make a topic", lambda env, done: admin.create_topic(env, broker, topic, QUEUES, done, 6))
        yield from self._is_known([QUEUES, 6])
        yield from self._routes([[self._desk.master.broker, QUEUES, 6]])
        yield from self._call("make it anew", lambda env, done: admin.create_topic(env, broker, topic, 2, done, 4))
        yield from self._is_known([2, 4])
        yield from self._call("make it again", lambda env, done: admin.create_topic(env, broker, topic, QUEUES, done))
        yield from self._is_known([QUEUES, 6])

    def _is_known(self, must: list[int]) -> Dialogue:
        """Its queues and permission at the broker; nothing if it is not there."""

        def read(answer: AdminAnswer) -> list[int]:
            known = read_json(answer.body, TopicConfigTable).topic_config_table.get(self._desk.topic)
            return [] if known is None else [known.read_queue_nums, known.perm]

        yield from self._call("topics", lambda env, done: self._admin.topics(env, self._broker, done), must, read)

    def _routes(self, must: Any) -> Dialogue:
        def read(answer: AdminAnswer) -> list[list[Any]]:
            route = read_json(answer.body, TopicRouteData)
            return [[queues.broker_name, queues.read_queue_nums, queues.perm] for queues in route.queue_datas]

        for server, address in self._desk.stage.nameservers.items():
            yield from self._call(f"route at {server}", self._route_of(address), must, read)

    def _route_of(self, address: str) -> Begin:
        return lambda env, done: self._admin.route(env, address, self._desk.topic, done)

    def _counts(self) -> Dialogue:
        admin, broker, queue = self._admin, self._broker, self._queue
        for number in range(COUNT):
            yield self._desk.send(queue.queue_id, f"{self._desk.topic} {number}", number)
        yield from self._desk.extent(queue.queue_id, 0, COUNT)
        yield from self._call("the end", lambda env, done: admin.max_offset(env, broker, queue, done), COUNT, _offset)
        yield from self._call("the begin", lambda env, done: admin.min_offset(env, broker, queue, done), 0, _offset)
        info = self._cluster_of(next(iter(self._desk.stage.nameservers.values())))
        yield from self._call("the cluster", info, self._broker, self._address)

    def _cluster_of(self, address: str) -> Begin:
        return lambda env, done: self._admin.cluster_info(env, address, done)

    def _address(self, answer: AdminAnswer) -> str:
        return read_json(answer.body, ClusterInfo).broker_addr_table[self._desk.master.broker].broker_addrs[0]

    def _commits(self) -> Dialogue:
        admin, broker, group, queue = self._admin, self._broker, self._desk.group, self._queue
        for offset in (COUNT, 1):
            yield from self._call("commit", self._commit_at(offset))
            yield from self._call(
                "committed", lambda env, done: admin.committed(env, broker, group, queue, done), offset, _offset
            )
            yield self._desk.committed(group, queue.queue_id, offset)

    def _commit_at(self, offset: int) -> Begin:
        group, queue = self._desk.group, self._queue
        return lambda env, done: self._admin.commit(env, self._broker, group, queue, offset, done)

    def _sets(self) -> Dialogue:
        for text in (str(20 + self._number), "15"):
            yield from self._call(f"{SETTING}={text}", self._set_to(text))
            yield from self._call(
                SETTING, lambda env, done: self._admin.config(env, self._broker, done), text, _setting
            )
        yield from self._call(
            "runtime", lambda env, done: self._admin.runtime(env, self._broker, done), True, _has_version
        )
        nowhere = f"{self._broker.rpartition(':')[0]}:{NOWHERE_PORT}"
        yield from self._call(
            "nobody's runtime", lambda env, done: self._admin.runtime(env, nowhere, done), "CONNECT_FAILED"
        )

    def _set_to(self, text: str) -> Begin:
        return lambda env, done: self._admin.update_config(env, self._broker, {SETTING: text}, done)

    def _deletes(self) -> Dialogue:
        admin, broker, topic = self._admin, self._broker, self._desk.topic
        yield from self._call("delete the topic", lambda env, done: admin.delete_topic(env, broker, topic, done))
        yield from self._is_known([])
        for server, address in self._desk.stage.nameservers.items():
            yield from self._call(f"forget it at {server}", self._forget_at(address))
        yield from self._routes("TOPIC_NOT_EXIST")

    def _forget_at(self, address: str) -> Begin:
        return lambda env, done: self._admin.forget_topic(env, address, self._desk.topic, done)


def _offset(answer: AdminAnswer) -> int:
    return int(answer.fields["offset"])


def _setting(answer: AdminAnswer) -> str:
    return dict(line.split("=", 1) for line in answer.body.decode().splitlines() if "=" in line)[SETTING]


def _has_version(answer: AdminAnswer) -> bool:
    return "brokerVersion" in read_json(answer.body, KVTable).table
