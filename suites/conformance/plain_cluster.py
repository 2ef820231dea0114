"""One NameServer and one broker on the process backend, driven by hand: ask, wait, look.

Question: does a target run on this machine as the backend starts it, and does it keep and lose what its documents say?
Below the scenarios on purpose: no workload, no recorder, no checker; what a test sees here is what the broker said.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from faults.journal import HealJournal
from harness.backends.backend import NodeSpec, Target
from harness.backends.process import Isolation, ProcessBackend
from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.frame import Command
from reference_impl.wire.message import decode_records, parse_message_id
from reference_impl.wire.remoting import Answer, CallFailed, Remoting
from suites.quiet_role import QuietRole

TOPIC = "Smoke"
START_TIMEOUT_NS = 150 * SECOND
CALL_TIMEOUT_NS = 30 * SECOND
PATIENCE = {"waitTimeMillsInSendQueue": "20000"}
"""By default a broker answers "busy" to what waited 200 ms, as everything does on a machine with much to do."""

SMALL_FILES = {
    "mappedFileSizeCommitLog": "262144",
    "mappedFileSizeConsumeQueue": "20000",
    "maxIndexNum": "20000",
    "maxHashSlotNum": "5000",
}


class Asker(QuietRole):
    """A client role that only asks (``Role``)."""

    def __init__(self) -> None:
        self.remoting = Remoting()

    def on_connected(self, env: Environment, link: Link) -> None:
        self.remoting.on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        self.remoting.on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self.remoting.on_bytes(env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        self.remoting.on_timer(env, key)


class PlainCluster:
    """``namesrv-1``, ``broker-a-0`` and the clients ``client-1``, ``client-2``."""

    def __init__(self, backend: ProcessBackend, flush: str, properties: Mapping[str, str]) -> None:
        self.backend, self.levers = backend, backend.levers
        self.events: list[tuple[str, str, dict[str, object]]] = []
        backend.on_event = lambda node, event, fields: self.events.append((node, event, fields))
        namesrv, broker = backend.host("namesrv-1"), backend.host("broker-a-0")
        self.namesrv, self.broker = f"{namesrv}:9876", f"{broker}:10911"
        backend.add_node(NodeSpec("namesrv-1", "namesrv", {"bindAddress": namesrv, "listenPort": "9876"}))
        backend.add_node(NodeSpec("broker-a-0", "broker", self._broker(broker, flush) | dict(properties)))
        self.askers = {name: Asker() for name in ("client-1", "client-2")}
        for name, asker in self.askers.items():
            backend.add_client(name, asker)

    def _broker(self, host: str, flush: str) -> dict[str, str]:
        return {
            "brokerClusterName": "smoke",
            "brokerName": "broker-a",
            "brokerId": "0",
            "brokerRole": "ASYNC_MASTER",
            "brokerIP1": host,
            "brokerIP2": host,
            "listenPort": "10911",
            "haListenPort": "10912",
            "namesrvAddr": self.namesrv,
            "flushDiskType": f"{flush}_FLUSH",
            **SMALL_FILES,
            **PATIENCE,
        }

    def start(self, *nodes: str) -> None:
        for node in nodes:
            self.backend.perform(lambda node=node: self.levers.start(node))

    def perform(self, lever: Callable[..., object], *arguments: object) -> object:
        return self.backend.perform(lambda: lever(*arguments))

    # -- asking ----------------------------------------------------------------------------------------------------

    def ask_all(
        self, requests: list[Command], address: str, client: str = "client-1", timeout_ns: int = CALL_TIMEOUT_NS
    ) -> list[Answer]:
        """Pipelined on one connection; answers in the order of the requests."""
        answers: dict[int, Answer] = {}

        def send(env: Environment) -> None:
            for number, request in enumerate(requests):
                self.askers[client].remoting.call(
                    env,
                    address,
                    request,
                    timeout_ns,
                    lambda _, answer, number=number: answers.__setitem__(number, answer),
                    close_on_timeout=True,
                )

        self.backend.step(client, send)
        deadline = self.backend.now() + timeout_ns + CALL_TIMEOUT_NS
        assert self.backend.run_until(lambda: len(answers) == len(requests), deadline)
        return [answers[number] for number in range(len(requests))]

    def ask(self, code: int, address: str, fields: Mapping[str, str]) -> Answer:
        return self.ask_all([Command(code, fields)], address)[0]

    def until(self, holds: Callable[[], bool], timeout_ns: int = START_TIMEOUT_NS) -> None:
        """Ask again and again until it holds; between two askings the world runs on for 100 ms."""
        deadline = self.backend.now() + timeout_ns
        while not holds():
            crashes = [event for event in self.events if event[1] == "crashed"]
            assert not crashes, crashes
            assert self.backend.now() < deadline, f"not within {timeout_ns / 1e9:g} s"
            self.backend.run_until(lambda: False, self.backend.now() + 100 * MS)

    def is_registered(self) -> bool:
        answer = self.ask(RequestCode.GET_BROKER_CLUSTER_INFO, self.namesrv, {})
        return isinstance(answer, Command) and self.broker.encode() in answer.body

    def wait_ready(self) -> None:
        self.until(self.is_registered)
        self.until(lambda: code_of(self.ask(RequestCode.GET_MAX_OFFSET, self.broker, _queue(0))) == 0)

    # -- messages --------------------------------------------------------------------------------------------------

    def create_topic(self) -> None:
        fields = {"topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": "4", "writeQueueNums": "4", "perm": "6"}
        fields |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}
        assert code_of(self.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, self.broker, fields)) == 0

    def send(self, numbers: range, in_flight: int = 50) -> dict[int, int]:
        """Send messages by number; those acknowledged with code 0, with their physical offsets in the commit log."""
        acknowledged: dict[int, int] = {}
        for start in range(numbers.start, numbers.stop, in_flight):
            batch = range(start, min(start + in_flight, numbers.stop))
            answers = self.ask_all([send_request(number) for number in batch], self.broker)
            acknowledged |= {
                number: parse_message_id(answer.fields["msgId"])[1]
                for number, answer in zip(batch, answers, strict=True)
                if isinstance(answer, Command) and answer.code == 0
            }
        return acknowledged

    def pull(self, queue: int, offset: int, client: str = "client-1", timeout_ns: int = CALL_TIMEOUT_NS) -> Answer:
        fields = _queue(queue) | {"consumerGroup": "smoke", "queueOffset": str(offset), "maxMsgNums": "32"}
        fields |= {"sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*"}
        request = Command(RequestCode.PULL_MESSAGE, fields | {"subVersion": "0", "expressionType": "TAG"})
        return self.ask_all([request], self.broker, client, timeout_ns)[0]

    def keep_sending(self, numbers: range, in_flight: int = 50) -> dict[int, int]:
        """Begin to send and return at once: what is acknowledged appears in the result while the world runs."""
        acknowledged: dict[int, int] = {}
        left = iter(numbers)

        def send_next(env: Environment) -> None:
            if (number := next(left, None)) is None:
                return

            def answered(env: Environment, answer: Answer) -> None:
                if isinstance(answer, Command) and answer.code == 0:
                    acknowledged[number] = parse_message_id(answer.fields["msgId"])[1]
                    send_next(env)

            self.askers["client-1"].remoting.call(env, self.broker, send_request(number), CALL_TIMEOUT_NS, answered)

        for _ in range(in_flight):
            self.backend.step("client-1", send_next)
        return acknowledged

    def read_all(self) -> dict[int, int]:
        """Every readable message: its number and its physical offset."""
        found: dict[int, int] = {}
        for queue in range(4):
            offset = 0
            while isinstance(answer := self.pull(queue, offset), Command) and answer.code in (0, 20):
                records = decode_records(answer.body) if answer.code == 0 else []
                found |= {int(record.body[:10]): record.physical_offset for record in records}
                offset = int(answer.fields["nextBeginOffset"])
        return found


def send_request(number: int) -> Command:
    """Message *number* to queue *number* mod 4; 100 bytes of body."""
    body = f"{number:010d}".encode().ljust(100, b".")
    fields = {"producerGroup": "smoke", "topic": TOPIC, "defaultTopic": "TBW102", "defaultTopicQueueNums": "4"}
    fields |= {"queueId": str(number % 4), "sysFlag": "0", "bornTimestamp": "1", "flag": "0", "properties": ""}
    fields |= {"reconsumeTimes": "0", "unitMode": "false", "batch": "false"}
    return Command(RequestCode.SEND_MESSAGE, fields, body)


def code_of(answer: Answer) -> int | str:
    """The response code, or what became of the call."""
    return answer.kind if isinstance(answer, CallFailed) else answer.code


@contextmanager
def plain_cluster(
    target: Target,
    folder: Path,
    *,
    flush: str = "ASYNC",
    isolation: Isolation = "auto",
    properties: Mapping[str, str] | None = None,
) -> Iterator[PlainCluster]:
    """A running, ready cluster; everything is gone on leaving."""
    target.prepare()
    journal = HealJournal.open("plain", folder / "heal")
    backend = ProcessBackend("plain", folder / "run", target, journal, isolation=isolation)
    try:
        cluster = PlainCluster(backend, flush, properties or {})
        cluster.start("namesrv-1")
        cluster.until(lambda: code_of(cluster.ask(RequestCode.GET_BROKER_CLUSTER_INFO, cluster.namesrv, {})) == 0)
        cluster.start("broker-a-0")
        cluster.wait_ready()
        yield cluster
    finally:
        backend.close()
        journal.close()


def _queue(queue: int) -> dict[str, str]:
    return {"topic": TOPIC, "queueId": str(queue)}
