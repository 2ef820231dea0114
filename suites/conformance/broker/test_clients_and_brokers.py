"""Our own clients against our own brokers in the simulator: several of each, some of which die."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from harness.backends.backend import NodeSpec
from harness.backends.sim.world import SimBackend
from harness.targets.reference import ReferenceTarget
from reference_impl.client import (
    Admin,
    AdminAnswer,
    Client,
    ClientSettings,
    Message,
    Producer,
    ProducerSettings,
    PulledMessage,
    PushConsumer,
    PushSettings,
    SendResult,
)
from reference_impl.environment import MS, SECOND

FILES = {"mappedFileSizeCommitLog": str(1 << 20), "mappedFileSizeConsumeQueue": "20000"}


class Cluster:
    """Two NameServers, brokers ``broker-a-0`` and ``broker-b-0``, an operator; clients as the test adds them."""

    def __init__(self, seed: int = 1) -> None:
        self.world = SimBackend(ReferenceTarget(), seed)
        self.crashes: list[tuple[str, str]] = []
        self.world.on_event = self._event
        names = ("namesrv-1", "namesrv-2")
        self.nameservers = tuple(f"{self.world.host(name)}:9876" for name in names)
        for name in names:
            self.world.add_node(NodeSpec(name, "namesrv", {"bindAddress": self.world.host(name)}))
            self.world.levers.start(name)
        self.wait(SECOND)
        for name in ("broker-a", "broker-b"):
            host = self.world.host(f"{name}-0")
            known = {"brokerName": name, "brokerIP1": host, "namesrvAddr": ";".join(self.nameservers), **FILES}
            self.world.add_node(NodeSpec(f"{name}-0", "broker", known))
            self.world.levers.start(f"{name}-0")
        self.wait(SECOND)
        self.operator = self.client("operator")
        self.admin = Admin(self.operator)

    def _event(self, node: str, event: str, fields: dict[str, object]) -> None:
        if event in ("crashed", "handler_failed"):
            self.crashes.append((node, str(fields)))

    def client(self, name: str, *make: Callable[[Client], object]) -> Client:
        client = Client(ClientSettings(ip=self.world.host(name), nameservers=self.nameservers, instance=name))
        for part in make:
            part(client)
        self.world.add_client(name, client)
        return client

    def wait(self, duration_ns: int) -> None:
        self.world.run_until(lambda: False, self.world.now() + duration_ns)

    def until(self, holds: Callable[[], bool], within_ns: int) -> None:
        assert self.world.run_until(holds, self.world.now() + within_ns)

    def create_topic(self, topic: str, queues: int = 4) -> None:
        answers: list[AdminAnswer] = []
        for name in ("broker-a-0", "broker-b-0"):
            broker = f"{self.world.host(name)}:10911"
            self.world.step(
                "operator",
                lambda env, broker=broker: self.admin.create_topic(
                    env, broker, topic, queues, lambda _env, answer: answers.append(answer)
                ),
            )
        self.until(lambda: len(answers) == 2, 10 * SECOND)
        assert [answer.status for answer in answers] == ["OK", "OK"]

    def send(self, name: str, producer: Producer, count: int, first: int = 0) -> list[SendResult]:
        results: list[SendResult] = []
        for number in range(first, first + count):
            self.world.step(
                name,
                lambda env, number=number: producer.send(
                    env, Message("T", b"%d" % number), lambda _env, result: results.append(result)
                ),
            )
        self.until(lambda: len(results) == count, 30 * SECOND)
        return results


def producer_of(cluster: Cluster, name: str = "client-9", **settings: object) -> Producer:
    made: list[Producer] = []
    cluster.client(name, lambda client: made.append(Producer(client, ProducerSettings("PG", **settings))))  # type: ignore[arg-type]
    return made[0]


class Member:
    """A push consumer that keeps what it hears and refuses what it is told to."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.heard: list[PulledMessage] = []
        self.refuse: set[bytes] = set()
        self.push: PushConsumer

        def make(client: Client) -> None:
            settings = PushSettings("CG", {"T": "*"}, from_last=False)
            self.push = PushConsumer(client, settings, lambda _env, message: self._listen(message))

        cluster.client(name, make)

    def _listen(self, message: PulledMessage) -> bool:
        self.heard.append(message)
        return message.body not in self.refuse

    def bodies(self) -> list[bytes]:
        return [message.body for message in self.heard]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_group_shares_the_queues_and_hears_every_message_once(seed: int) -> None:
    cluster = Cluster(seed)
    cluster.create_topic("T")
    producer = producer_of(cluster)
    members = [Member(cluster, f"client-{number}") for number in (1, 2, 3)]
    cluster.wait(25 * SECOND)
    owned = [queue for member in members for queue in member.push.queues() if queue.topic == "T"]
    assert sorted(owned) == sorted(dict.fromkeys(owned))
    assert len(owned) == 8
    cluster.send("client-9", producer, 40)
    cluster.wait(SECOND)
    heard = Counter(body for member in members for body in member.bodies())
    assert heard == Counter(b"%d" % number for number in range(40))
    assert all(member.heard for member in members)
    assert cluster.crashes == []


def test_the_queues_of_a_member_that_dies_go_to_the_others() -> None:
    cluster = Cluster()
    cluster.create_topic("T")
    producer = producer_of(cluster)
    first, second = Member(cluster, "client-1"), Member(cluster, "client-2")
    cluster.wait(22 * SECOND)
    cluster.world.step("client-2", lambda env: env.exit())
    cluster.wait(2 * SECOND)
    assert len([queue for queue in first.push.queues() if queue.topic == "T"]) == 8
    heard_before = len(second.heard)
    cluster.send("client-9", producer, 16)
    cluster.wait(SECOND)
    assert sorted(first.bodies()) == sorted(b"%d" % number for number in range(16))
    assert len(second.heard) == heard_before


def test_a_refused_message_comes_again_and_is_done_then() -> None:
    cluster = Cluster()
    cluster.create_topic("T")
    producer = producer_of(cluster)
    member = Member(cluster, "client-1")
    cluster.wait(2 * SECOND)
    member.refuse = {b"3"}
    cluster.send("client-9", producer, 5)
    cluster.wait(2 * SECOND)
    member.refuse = set()
    cluster.wait(45 * SECOND)  # ten seconds at the broker, and the retry topic's route at the next poll
    again = [message for message in member.heard if message.body == b"3"]
    assert [message.reconsume_times for message in again] == [0, 1]
    assert again[1].properties["RETRY_TOPIC"] == "T"
    assert again[1].queue.topic == "%RETRY%CG"


def test_a_restarted_member_goes_on_where_its_group_stood() -> None:
    cluster = Cluster()
    cluster.create_topic("T")
    producer = producer_of(cluster)
    first = Member(cluster, "client-1")
    cluster.wait(2 * SECOND)
    cluster.send("client-9", producer, 8)
    cluster.wait(12 * SECOND)
    cluster.world.step("client-1", lambda env: env.exit())
    cluster.send("client-9", producer, 8, first=8)
    second = Member(cluster, "client-2")
    cluster.wait(3 * SECOND)
    assert sorted(first.bodies(), key=int) == [b"%d" % number for number in range(8)]
    assert sorted(second.bodies(), key=int) == [b"%d" % number for number in range(8, 16)]


@pytest.mark.parametrize("latency_fault", [False, True])
def test_a_producer_goes_on_with_the_other_broker_when_one_is_killed(latency_fault: bool) -> None:
    cluster = Cluster()
    cluster.create_topic("T")
    producer = producer_of(cluster, latency_fault=latency_fault)
    assert {result.status for result in cluster.send("client-9", producer, 8)} == {"SEND_OK"}
    cluster.world.levers.kill("broker-a-0")
    results = cluster.send("client-9", producer, 16, first=8)
    assert {result.status for result in results} == {"SEND_OK"}
    assert {result.queue.broker_name for result in results if result.queue} == {"broker-b"}


def test_a_paused_broker_costs_a_send_its_whole_budget() -> None:
    """The first timeout closes the connection, and with it every other send that waits on it, as with Java."""
    cluster = Cluster()
    cluster.create_topic("T")
    producer = producer_of(cluster)
    cluster.send("client-9", producer, 8)
    cluster.world.levers.pause("broker-a-0")
    results = cluster.send("client-9", producer, 8, first=8)
    unlucky = [result for result in results if result.status != "SEND_OK"]
    assert {result.status for result in unlucky} == {"TIMEOUT", "CONNECTION_CLOSED"}
    assert all(3000 * MS <= result.ended_ns - result.started_ns < 3100 * MS for result in unlucky)
    assert {result.queue.broker_name for result in unlucky if result.queue} == {"broker-a"}


def test_with_all_nameservers_gone_running_clients_go_on_and_new_ones_cannot_start() -> None:
    cluster = Cluster()
    cluster.create_topic("T")
    producer = producer_of(cluster)
    cluster.send("client-9", producer, 4)
    for name in ("namesrv-1", "namesrv-2"):
        cluster.world.levers.kill(name)
    cluster.wait(60 * SECOND)
    assert {result.status for result in cluster.send("client-9", producer, 8)} == {"SEND_OK"}
    late = producer_of(cluster, "client-8")
    assert {result.status for result in cluster.send("client-8", late, 1)} == {"NO_ROUTE"}


def test_a_killed_nameserver_is_not_missed() -> None:
    cluster = Cluster()
    cluster.create_topic("T")
    cluster.world.levers.kill("namesrv-1")
    late = [producer_of(cluster, f"client-{number}") for number in (6, 7, 8)]
    for number, producer in zip((6, 7, 8), late, strict=True):
        assert {result.status for result in cluster.send(f"client-{number}", producer, 4)} == {"SEND_OK"}
