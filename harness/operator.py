"""The operator: brings a cluster up, mends what a fault took, proves that it serves again.

Question: is the cluster ready? Has a broker that came back lost its topic? Does everything serve again?

Model. One client node, ``operator``, that speaks the protocol like any other client; nothing is read from logs or
processes. Ready means: every NameServer lists every broker, every broker has the topic, every NameServer routes it.
*Settled* means, of one broker: it answers pulls of the topic (an operator who finds the topic gone writes that down
and creates it again, as RocketMQ does not persist topics safely), it accepts a message, and that message is readable.
Since a broker dispatches its log in order, a readable last message proves that everything before it is readable, too.

    probe ──TOPIC_NOT_EXIST──► note "unreachable" ──► create_topic ──► probe
      └──answers──► [mending: done]  send a marker ──ok──► pull it ──FOUND──► settled

Limits. What never settles is named when the deadline passes; it is for the checkers to say whose fault that was. The
operator's own requests are ops of the history like everybody's. Slaves are asked only how far they are: whether what
they hold is right is for the checkers, so a slave that stays behind delays the end of a run, but no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Final

from harness.addressing import SERVING_ID, BrokerNode, registered
from harness.errors import ClusterError
from harness.workloads.measuring import QUERY_TIMEOUT_NS, MeasuringClient, Process, Pulled, status_of
from harness.workloads.workload import QueueAddress, Stage
from reference_impl.environment import MS, SECOND, Environment
from reference_impl.wire.bodies import ClusterInfo, TopicRouteData
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Answer

RunUntil = Callable[[Callable[[], bool], int], bool]
"""``Backend.run_until``, perhaps watched."""

NAME: Final = "operator"
SEE_LOGS: Final = "see nodes/*/log in the run folder"
ASK_AGAIN_NS: Final = 200 * MS
SETTLE_AGAIN_NS: Final = 300 * MS
CATCH_UP_AGAIN_NS: Final = SECOND
ROLES_EVERY_NS: Final = 500 * MS
_ROLES: Final = "roles"


class _Settling:
    """One broker name on its way to being settled, by whoever serves it; ``is_mending`` stops before the marker."""

    def __init__(self, queue: QueueAddress, process: Process, is_mending: bool) -> None:
        self.queue, self.process, self.is_mending = queue, process, is_mending
        self.marker_offset = -1
        self.is_settled = self.is_given_up = False
        self.waits_for = "an answer to a pull"


class OperatorRole(MeasuringClient):
    """The client node; everything here returns at once."""

    def __init__(self, stage: Stage, name: str, queues_per_broker: int) -> None:
        super().__init__(stage, name)
        self._queues_per_broker = queues_per_broker
        self._settling: list[_Settling] = []
        self._infos: dict[str, ClusterInfo] = {}
        """What each NameServer has told last."""
        self.mends_moved = False
        """Whether who serves a name anew is asked for its topic: from the moment on at which there is one."""

    def on_start(self, env: Environment) -> None:
        if self.stage.addressing.roles_move:
            self._look_at_roles(env)

    def _look_at_roles(self, env: Environment) -> None:
        """Ask every NameServer who serves each name, now and again and again."""
        env.set_timer(_ROLES, ROLES_EVERY_NS)
        for server, address in self.stage.nameservers.items():
            request = Command(RequestCode.GET_BROKER_CLUSTER_INFO)
            self.remoting.call(
                env, address, request, QUERY_TIMEOUT_NS, partial(self._told_roles, server), close_on_timeout=True
            )

    def _told_roles(self, server: str, env: Environment, answer: Answer) -> None:
        self._infos.pop(server, None)
        if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
            self._infos[server] = read_json(answer.body, ClusterInfo)
        served = {queue.broker: self._server_of(queue) for queue in reversed(self.stage.queues)}
        self.learn_roles()
        for queue in reversed(self.stage.queues):
            if self.mends_moved and self._server_of(queue) != served[queue.broker]:
                served[queue.broker] = self._server_of(queue)
                self._mend_moved(env, queue)

    def _server_of(self, queue: QueueAddress) -> str:
        return self.stage.addressing.at(queue).node

    def _mend_moved(self, env: Environment, queue: QueueAddress) -> None:
        """Another serves this name: unless somebody is looking already, see whether it has the topic."""
        one = [s for s in self._settling if s.queue.broker == queue.broker]
        if all(s.is_settled or s.is_given_up for s in one):
            self.settle(env, queue, is_mending=True)

    def learn_roles(self) -> None:
        """Of what NameServers have told last, in their order."""
        infos = [self._infos[server] for server in self.stage.nameservers if server in self._infos]
        self.stage.addressing.learn(registered(self.stage.addressing.brokers, infos))

    def ask(self, env: Environment, address: str, request: Command, timeout_ns: int, into: list[Answer]) -> None:
        """One request that is no op of the history; its answer is appended to *into*."""
        self.remoting.call(
            env, address, request, timeout_ns, lambda _, answer: into.append(answer), close_on_timeout=True
        )

    def create_topic(
        self, env: Environment, process: Process, queue: QueueAddress, then: Callable[[Environment, str], None]
    ) -> None:
        """Create the topic on the broker of *queue*; ``then(env, status)``."""
        op = self.recorder.invoke(process.number, "create_topic", node=queue.node)

        def answered(env: Environment, answer: Answer) -> None:
            self.in_flight -= 1
            status = status_of(answer, "OK")
            self.complete(op, "create_topic", status, process)
            then(env, status)

        self.in_flight += 1
        request = Command(RequestCode.UPDATE_AND_CREATE_TOPIC, self._topic_fields())
        self.remoting.call(env, queue.address, request, QUERY_TIMEOUT_NS, answered, close_on_timeout=True)

    def settle(self, env: Environment, queue: QueueAddress, is_mending: bool) -> _Settling:
        """Begin to settle the broker of *queue*; an earlier attempt on it is given up."""
        for earlier in self._settling:
            earlier.is_given_up |= earlier.queue.broker == queue.broker
        settling = _Settling(queue, Process(self.recorder.process()), is_mending)
        self._settling.append(settling)
        self._probe(env, settling)
        return settling

    def give_up(self) -> None:
        """Whatever is not settled by now is left as it is."""
        for settling in self._settling:
            settling.is_given_up = True

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if isinstance(key, int):
            self._probe(env, self._settling[key])
        elif key == _ROLES:
            self._look_at_roles(env)
        else:
            super().on_timer(env, key)

    # Settling --------------------------------------------------------------------------------------------------------

    def _probe(self, env: Environment, s: _Settling) -> None:
        if s.is_given_up:
            return
        queue = self._where(s)
        if s.marker_offset < 0:
            self.pull(env, s.process, queue, 0, lambda env, pulled: self._probed(env, s, pulled))
        else:
            offset = s.marker_offset
            self.pull(env, s.process, queue, offset, lambda env, pulled: self._looked(env, s, pulled))

    def _where(self, s: _Settling) -> QueueAddress:
        return self.stage.addressing.at(s.queue)

    def _probed(self, env: Environment, s: _Settling, pulled: Pulled) -> None:
        if pulled.status == "TOPIC_NOT_EXIST":
            self._recreate(env, s)
        elif pulled.next_offset < 0:
            self._again(env, s)
        elif s.is_mending:
            s.is_settled = True
        else:
            self._mark(env, s)

    def _recreate(self, env: Environment, s: _Settling) -> None:
        s.waits_for = "its topic, which it had lost"
        detail = {"topic": self.stage.topic, "broker": s.queue.broker}
        queue = self._where(s)
        self.recorder.event("note", node=queue.node, step="unreachable", detail=detail)
        self.create_topic(env, s.process, queue, lambda env, status: self._again(env, s))

    def _mark(self, env: Environment, s: _Settling) -> None:
        s.waits_for = "an accepted message"
        self.send(env, s.process, self._where(s), lambda env, outcome: self._marked(env, s, outcome))

    def _marked(self, env: Environment, s: _Settling, outcome: str) -> None:
        if outcome in ("ok", "weak") and self.last_offset >= 0:
            s.marker_offset, s.waits_for = self.last_offset, "a message that it accepted to be readable"
            self._probe(env, s)
        else:
            self._again(env, s)

    def _looked(self, env: Environment, s: _Settling, pulled: Pulled) -> None:
        if pulled.count:
            s.is_settled = True
        else:
            self._again(env, s)

    def _again(self, env: Environment, s: _Settling) -> None:
        env.set_timer(self._settling.index(s), SETTLE_AGAIN_NS)

    def _topic_fields(self) -> dict[str, str]:
        """RocketMQ: CreateTopicRequestHeader, permission 6 (read and write)."""
        return {
            "topic": self.stage.topic,
            "defaultTopic": "TBW102",
            "readQueueNums": str(self._queues_per_broker),
            "writeQueueNums": str(self._queues_per_broker),
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
        }


class Operator:
    """What the life cycle asks for, one thing after the other; waits are runs of the world, all bounded."""

    def __init__(
        self,
        stage: Stage,
        queues_per_broker: int,
        run_until: RunUntil,
        crashed: Callable[[], list[str]],
    ) -> None:
        """*crashed*: sentences about nodes that ended by themselves; nobody waits for those to become ready."""
        self.stage, self._run_until, self._crashed = stage, run_until, crashed
        self.brokers = stage.addressing.brokers
        self.role = OperatorRole(stage, NAME, queues_per_broker)
        self._backend, self._addressing = stage.backend, stage.addressing
        self._first_queue = {queue.broker: queue for queue in reversed(stage.queues)}

    def enter(self) -> None:
        """Become a client of the cluster."""
        self._backend.add_client(NAME, self.role)

    def wait_nameservers(self, deadline_ns: int) -> None:
        """Until every NameServer answers; :class:`ClusterError` with the silent ones."""
        self._until(deadline_ns, self._silent, "no answer from the NameServers {}")

    def wait_registered(self, deadline_ns: int) -> None:
        """Until every NameServer lists every broker; :class:`ClusterError` with what is missing."""
        self._until(deadline_ns, self._unlisted, "not registered in time: {}")
        for broker in self.brokers:
            self.stage.recorder.event("node", node=broker.node, step="ready")

    def create_topics(self, deadline_ns: int) -> None:
        """The topic on whoever serves each name, and its route on every NameServer."""
        process = Process(self.stage.recorder.process())
        self.role.mends_moved = True
        for queue in self._first_queue.values():
            self._until(deadline_ns, partial(self._topic_missing, process, queue), "no topic on {}")
        self._until(deadline_ns, self._unrouted, "the topic is not routed: {}")

    def wait_slaves(self, deadline_ns: int) -> None:
        """Until every slave has a message that its master has taken; :class:`ClusterError` with those that lag."""
        copied = {name: queue for name, queue in self._first_queue.items() if self._addressing.replicas(name)}
        marked = {name: self._marked(queue, deadline_ns) for name, queue in copied.items()}

        def lagging() -> list[str]:
            return [
                replica.node
                for name, queue in copied.items()
                for replica in self._addressing.replicas(name)
                if self._end(replica.address, queue) <= marked[name]
            ]

        self._until(deadline_ns, lagging, "nothing arrives at the slaves {}")

    def _marked(self, queue: QueueAddress, deadline_ns: int) -> int:
        """Send a message and return its queue offset."""
        process = Process(self.stage.recorder.process())
        offsets: list[int] = []

        def stored(env: Environment, outcome: str) -> None:
            offsets.append(self.role.last_offset if outcome in ("ok", "weak") else -1)

        while not offsets or offsets[-1] < 0:
            count = len(offsets)
            now = self._addressing.at(queue)
            self._backend.step(NAME, lambda env, now=now: self.role.send(env, process, now, stored))  # type: ignore[misc]
            self._run_until(lambda count=count: len(offsets) > count, deadline_ns)  # type: ignore[misc]
            if (len(offsets) == count or offsets[-1] < 0) and not self._pause(deadline_ns):
                raise ClusterError(f"{now.node} takes no message", hint=SEE_LOGS)
        return offsets[-1]

    def _end(self, address: str, queue: QueueAddress) -> int:
        """The end of a queue as the broker at *address* has it; −1 where it does not say."""
        fields = {"topic": self.stage.topic, "queueId": str(queue.queue_id)}
        answer = self._ask(address, Command(RequestCode.GET_MAX_OFFSET, fields))
        if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
            return int(answer.fields["offset"])
        return -1

    def _is_apart(self) -> bool:
        """Some replica's end of a queue is not that of who serves it."""
        return any(
            self._end(replica.address, queue) != self._end(self._addressing.at(queue).address, queue)
            for queue in self.stage.queues
            for replica in self._addressing.replicas(queue.broker)
        )

    def mend(self, node: str) -> None:
        """A broker was started again: if it serves its name, find out, while the load goes on, whether it still has its
        topic."""
        for queue in self._first_queue.values():
            if self._addressing.at(queue).node == node:
                self._settle(queue, is_mending=True)

    def settle(self, deadline_ns: int, stop: Callable[[], bool], tend: Callable[[], None]) -> tuple[str, ...]:
        """Until every broker is listed and settled; what is not by the deadline, in words (empty: all is well).

        *tend* is called every second meanwhile.
        """
        found = [self._settle(queue, is_mending=False) for queue in self._first_queue.values()]
        while not all(s.is_settled for s in found) and not stop() and self._backend.now() < deadline_ns:
            tend()
            second_ns = min(deadline_ns, self._backend.now() + SECOND)
            self._run_until(lambda: stop() or all(s.is_settled for s in found), second_ns)
        late = [f"{self._addressing.at(s.queue).node} waits for {s.waits_for}" for s in found if not s.is_settled]
        while not stop() and (unlisted := self._unlisted()):
            tend()
            if not self._pause(deadline_ns):
                late += [f"not registered: {words}" for words in unlisted]
                break
        while not late and not stop() and self._is_apart():
            tend()
            if not self._pause(deadline_ns, CATCH_UP_AGAIN_NS):
                break
        self.role.give_up()
        return tuple(late)

    def _settle(self, queue: QueueAddress, is_mending: bool) -> _Settling:
        begun: list[_Settling] = []
        self._backend.step(NAME, lambda env: begun.append(self.role.settle(env, queue, is_mending)))
        return begun[0]

    # Questions -------------------------------------------------------------------------------------------------------

    def _until(self, deadline_ns: int, lacks: Callable[[], list[str]], complaint: str) -> None:
        while lacking := lacks():
            if crashed := self._crashed():
                raise ClusterError(f"a node ended while it was starting: {'; '.join(crashed)}", hint=SEE_LOGS)
            if not self._pause(deadline_ns):
                raise ClusterError(complaint.format(", ".join(lacking)), hint=SEE_LOGS)

    def _pause(self, deadline_ns: int, pause_ns: int = ASK_AGAIN_NS) -> bool:
        """Let the world go on for a moment; false at the deadline."""
        now_ns = self._backend.now()
        self._run_until(lambda: False, min(deadline_ns, now_ns + pause_ns))
        return self._backend.now() < deadline_ns

    def _ask(self, address: str, request: Command) -> Answer | None:
        answers: list[Answer] = []
        self._backend.step(NAME, lambda env: self.role.ask(env, address, request, QUERY_TIMEOUT_NS, answers))
        self._run_until(lambda: bool(answers), self._backend.now() + QUERY_TIMEOUT_NS + SECOND)
        return answers[0] if answers else None

    def _silent(self) -> list[str]:
        return [name for name, server in self.stage.nameservers.items() if self._cluster_info(server) is None]

    def _unlisted(self) -> list[str]:
        lacking = []
        for name, server in self.stage.nameservers.items():
            info = self._cluster_info(server)
            for broker in self.brokers:
                if info is None or not self._lists(info, broker):
                    lacking.append(f"{broker.node} at {name}")
        return lacking

    def _lists(self, info: ClusterInfo, broker: BrokerNode) -> bool:
        """Where roles move every node of a name is listed, under whatever id, and one of them serves."""
        data = info.broker_addr_table.get(broker.broker)
        listed = data.broker_addrs if data is not None else {}
        if self._addressing.roles_move:
            return broker.address in listed.values() and SERVING_ID in listed
        return listed.get(broker.broker_id) == broker.address

    def ask_roles(self) -> None:
        """Learn from the NameServers who serves each name."""
        infos = [info for server in self.stage.nameservers.values() if (info := self._cluster_info(server)) is not None]
        self._addressing.learn(registered(self.brokers, infos))

    def _cluster_info(self, server: str) -> ClusterInfo | None:
        answer = self._ask(server, Command(RequestCode.GET_BROKER_CLUSTER_INFO))
        if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
            return read_json(answer.body, ClusterInfo)
        return None

    def _unrouted(self) -> list[str]:
        return [
            f"{broker} at {name}"
            for name, server in self.stage.nameservers.items()
            for broker in dict.fromkeys(queue.broker for queue in self._first_queue.values())
            if broker not in self._routed(server)
        ]

    def _routed(self, server: str) -> list[str]:
        fields = {"topic": self.stage.topic, "acceptStandardJsonOnly": "true"}
        answer = self._ask(server, Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields))
        if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
            return [data.broker_name for data in read_json(answer.body, TopicRouteData).queue_datas]
        return []

    def _topic_missing(self, process: Process, queue: QueueAddress) -> list[str]:
        statuses: list[str] = []
        queue = self._addressing.at(queue)
        self._backend.step(
            NAME, lambda env: self.role.create_topic(env, process, queue, lambda _, status: statuses.append(status))
        )
        self._run_until(lambda: bool(statuses), self._backend.now() + QUERY_TIMEOUT_NS + SECOND)
        return [] if statuses == ["OK"] else [f"{queue.node} ({', '.join(statuses) or 'no answer'})"]
