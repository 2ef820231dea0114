"""How many sends a second does the reference broker take, beside Apache RocketMQ 4.9.7, as real processes?

One broker at a time, reference and Apache in turns, each with both flush types, on a network and a disk of its own
where this machine allows it (``ProcessBackend``; else plain loopback and folders). The client is the same role for all:
frames are encoded before the clock starts and answers decoded after it has stopped, so that what is measured is the
broker and not the client. Only SEND_OK counts. Messages have 256 bytes and a unique key, as producers send them.

    pipelined   64 sends are under way at any time, on one connection: how much the broker does
    one by one  the next send leaves when the answer has come: how long a producer waits

Apache runs with its just-in-time compiler unbridled, unlike in tests, and is warmed up first. Ratios are to Apache with
the same flush type and way of sending. Without Java or its jars the reference is measured alone. A sync costs what this
machine's disk makes it cost: figures of SYNC_FLUSH compare brokers, not disks.
"""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import perf_counter_ns, time_ns

from benchmarks.figure import Figure
from faults.journal import HealJournal
from harness.backends.backend import Backend, NodeSpec, Target
from harness.backends.process import ProcessBackend
from harness.errors import BackendUnavailable, ClusterError
from harness.targets.reference import ReferenceTarget
from harness.targets.rocketmq import RocketmqTarget
from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame
from reference_impl.wire.message import UniqueKeys, properties_text

BROKER = "broker-a-0"
TOPIC = "Benchmark"
QUEUES = 4
BODY = b"x" * 256
APACHE_VERSION = "4.9.7"

IN_FLIGHT = 64
FRAMES = 10_000
"""Encoded in advance, sent over and over."""

ROUNDS = 3
ROUND_NS = 3 * SECOND // 2
WARM_UP_NS = 3 * SECOND
START_TIMEOUT_NS = 60 * SECOND
ANSWER_TIMEOUT_NS = 20 * SECOND
CONNECT_AGAIN_NS = 100 * MS

FILES = {
    "mappedFileSizeCommitLog": str(16 << 20),
    "mappedFileSizeConsumeQueue": str(20 * 20_000),
    "maxHashSlotNum": "20000",
    "maxIndexNum": "80000",
    "diskMaxUsedSpaceRatio": "95",
    "waitTimeMillsInSendQueue": "20000",  # else a busy machine makes Apache refuse what waited for 200 ms
}


class UnbridledRocketmq(RocketmqTarget):
    """Apache's broker with the compiler, the collector and the memory that a server has."""

    def command(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        argv, environment = super().command(spec, folder)
        slow = ("-XX:TieredStopAtLevel", "-XX:+UseSerialGC", "-Xmx")
        return [argv[0], "-Xmx512m", *(word for word in argv[1:] if not word.startswith(slow))], environment


class Sender:
    """The client (``Role``): keeps so many frames under way until its time is over and all are answered."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._link: Link | None = None
        self.is_connected = False
        self._frames: list[bytes] = []
        self._sent = self._answered = 0
        self._rest = b""
        self._received: list[bytes] = []
        self._began_ns = self._over_ns = 0
        self.took_ns = 0
        """Of a round that is done; 0 while it goes on."""

    def on_start(self, env: Environment) -> None:
        self._link = env.connect(self._address)

    def on_connected(self, env: Environment, link: Link) -> None:
        self.is_connected = True

    def on_closed(self, env: Environment, link: Link) -> None:
        if self._sent > self._answered:
            raise ClusterError(f"the broker hung up with {self._sent - self._answered} requests under way")
        self.is_connected = False
        env.set_timer("connect", CONNECT_AGAIN_NS)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        self._link = env.connect(self._address)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self._received.append(data)
        count = self._complete_frames(data)
        self._answered += count
        now_ns = perf_counter_ns()
        if now_ns < self._over_ns:
            self._send(env, count)
        if self._answered == self._sent:
            self.took_ns = now_ns - self._began_ns

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None: ...
    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...

    def on_stop(self, env: Environment) -> None:
        env.exit()

    def begin(self, env: Environment, frames: list[bytes], in_flight: int, duration_ns: int) -> None:
        """Start the clock and the first *in_flight* requests; go round *frames* for *duration_ns*."""
        self._frames, self._sent, self._answered = frames, 0, 0
        self._rest, self._received = b"", []
        self._began_ns, self.took_ns = perf_counter_ns(), 0
        self._over_ns = self._began_ns + duration_ns
        self._send(env, in_flight)

    def answers(self) -> list[Command]:
        """What the broker said, decoded now."""
        return list(FrameDecoder().feed(b"".join(self._received)))

    def _send(self, env: Environment, count: int) -> None:
        assert self._link is not None, "nothing is sent before on_start"
        frames = self._frames
        numbers = range(self._sent, self._sent + count)
        self._sent += count
        env.send(self._link, b"".join([frames[number % len(frames)] for number in numbers]))

    def _complete_frames(self, data: bytes) -> int:
        """How many frames *data* completes; no more is looked at while the clock runs."""
        data, position, count = self._rest + data, 0, 0
        while len(data) - position >= 4:
            end = position + 4 + int.from_bytes(data[position : position + 4], "big")
            if end > len(data):
                break
            position, count = end, count + 1
        self._rest = data[position:]
        return count


class Client:
    """The sender and what it sends: one broker's topic, filled in rounds."""

    def __init__(self, backend: Backend, host: str) -> None:
        self._backend = backend
        self._sender = Sender(f"{host}:10911")
        keys = UniqueKeys(host, Random(1))
        self._frames = [send_frame(number, keys) for number in range(FRAMES)]
        self.refused = 0
        """Answers in all rounds that were no SEND_OK."""

    def enter(self) -> None:
        """Connected, and the topic made."""
        backend = self._backend
        backend.add_client("client-1", self._sender)
        if not backend.run_until(lambda: self._sender.is_connected, backend.now() + START_TIMEOUT_NS):
            raise ClusterError("the broker did not listen in time")
        fields = {"topic": TOPIC, "defaultTopic": "TBW102", "perm": "6", "topicFilterType": "SINGLE_TAG"}
        fields |= {"readQueueNums": str(QUEUES), "writeQueueNums": str(QUEUES), "topicSysFlag": "0", "order": "false"}
        if not self._run([encode_frame(Command(RequestCode.UPDATE_AND_CREATE_TOPIC, fields, opaque=1))], 1, 0):
            raise ClusterError("the broker did not create the topic")

    def rate(self, in_flight: int, duration_ns: int) -> float:
        """SEND_OKs a second of one round."""
        stored = self._run(self._frames, in_flight, duration_ns)
        return stored * 1e9 / self._sender.took_ns

    def _run(self, frames: list[bytes], in_flight: int, duration_ns: int) -> int:
        """How many requests of a round were granted."""
        backend, sender = self._backend, self._sender
        backend.step("client-1", lambda env: sender.begin(env, frames, in_flight, duration_ns))
        if not backend.run_until(lambda: sender.took_ns > 0, backend.now() + duration_ns + ANSWER_TIMEOUT_NS):
            raise ClusterError("the broker did not answer in time")
        answers = sender.answers()
        granted = sum(answer.code == ResponseCode.SUCCESS for answer in answers)
        self.refused += len(answers) - granted
        return granted


class OneBroker:
    """A broker without a NameServer, which sends do not concern, and its client."""

    def __init__(self, backend: ProcessBackend, flush: str) -> None:
        self._backend = backend
        host = backend.host(BROKER)
        properties = {"brokerName": "broker-a", "brokerId": "0", "brokerIP1": host, "listenPort": "10911"}
        properties |= {"haListenPort": "10912", "flushDiskType": f"{flush.upper()}_FLUSH", **FILES}
        backend.add_node(NodeSpec(BROKER, "broker", properties))
        self.client = Client(backend, host)

    def start(self) -> None:
        """Running, with its topic."""
        self._backend.perform(lambda: self._backend.levers.start(BROKER))
        self.client.enter()


def send_frame(number: int, keys: UniqueKeys) -> bytes:
    """RocketMQ: SendMessageRequestHeaderV2."""
    now_ms = time_ns() // MS
    properties = properties_text({"UNIQ_KEY": keys.make(now_ms), "WAIT": "true"})
    fields = {"a": "benchmark", "b": TOPIC, "c": "TBW102", "d": "4", "e": str(number % QUEUES), "f": "0"}
    fields |= {"g": str(now_ms), "h": "0", "i": properties, "j": "0", "k": "false", "m": "false"}
    return encode_frame(Command(RequestCode.SEND_MESSAGE_V2, fields, BODY, opaque=number + 1))


@contextmanager
def processes(target: Target) -> Iterator[ProcessBackend]:
    """A world without a node; everything is gone on leaving."""
    with tempfile.TemporaryDirectory(prefix="mqchaos-benchmark-") as name:
        journal = HealJournal.open("benchmark", Path(name) / "heal")
        backend = ProcessBackend("benchmark", Path(name) / "run", target, journal)
        try:
            yield backend
        finally:
            backend.close()
            journal.close()


def rates(target: Target, flush: str, quick: bool) -> tuple[dict[str, float], str]:
    """The best of several rounds, by way of sending, and what is to be said about them."""
    with processes(target) as backend:
        broker = OneBroker(backend, flush)
        broker.start()
        return best_rates(broker.client, quick)


def best_rates(client: Client, quick: bool) -> tuple[dict[str, float], str]:
    """Warm up, then the best of several rounds, by way of sending, and what is to be said about them."""
    scale, rounds = (20, 1) if quick else (1, ROUNDS)
    client.rate(IN_FLIGHT, WARM_UP_NS // scale)
    best = {
        way: max(client.rate(in_flight, ROUND_NS // scale) for _ in range(rounds))
        for way, in_flight in (("pipelined", IN_FLIGHT), ("one by one", 1))
    }
    return best, f"{client.refused} answers were no SEND_OK" if client.refused else ""


def measure(quick: bool) -> Iterator[Figure]:
    apache = UnbridledRocketmq(APACHE_VERSION)
    missing = ""
    try:
        apache.prepare()
    except BackendUnavailable as error:
        missing = f"without Apache RocketMQ {APACHE_VERSION}: {error.what}"
    for flush in ("async", "sync"):
        beside, remark = ({}, "") if missing else rates(apache, flush, quick)
        ours, our_remark = rates(ReferenceTarget(), flush, quick)
        for way, rate in ours.items():
            label = f"{flush.upper()}_FLUSH, {way}"
            if beside:
                yield Figure(f"Apache {APACHE_VERSION}, {label}", beside[way], "sends/s", 1.0, "Apache", note=remark)
                yield Figure(f"reference, {label}", rate, "sends/s", rate / beside[way], "Apache", note=our_remark)
            else:
                yield Figure(f"reference, {label}", rate, "sends/s", note=missing)
