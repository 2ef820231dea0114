"""How far behind its master is a slave, and what does waiting for it cost, beside Apache RocketMQ 4.9.7?

Four pairs on real processes: reference and reference, Apache and Apache, and the two mixed ones; each node on a network
and a disk of its own where this machine allows it. Apache runs with its compiler unbridled. Files are flushed
asynchronously, so that no disk is measured.

    lag          ASYNC_MASTER, a steady load below what any of them can do, into one queue. How long after the producer
                 was told SEND_OK could the message be read on the slave? The slave is asked for its end again and
                 again, half a millisecond after its answer; it counts when the first answer that includes the message
                 is there, so up to a millisecond too late, for all alike. 0: it was on the slave first.
    throughput   SYNC_MASTER: SEND_OK means that the slave has the message. 64 sends under way, and one by one, as in
                 ``benchmarks/brokers.py``.

Ratios are to Apache's own pair in the same run; the lag's are better below 1, the throughput's above. Without Java or
its jars the reference pair is measured alone. Client and nodes share the processors, as they do in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from random import Random
from time import perf_counter_ns

from benchmarks.brokers import (
    APACHE_VERSION,
    CONNECT_AGAIN_NS,
    FILES,
    QUEUES,
    START_TIMEOUT_NS,
    TOPIC,
    Client,
    Sender,
    UnbridledRocketmq,
    best_rates,
    processes,
    send_frame,
)
from benchmarks.figure import Figure
from harness.backends.backend import Backend, NodeSpec, Target
from harness.errors import BackendUnavailable, ClusterError
from harness.targets.mixed import MixedTarget
from harness.targets.reference import ReferenceTarget
from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame
from reference_impl.wire.message import UniqueKeys

NAMESRV, MASTER, SLAVE = "namesrv-1", "broker-a-0", "broker-a-1"
PERIOD_NS = 2 * MS
"""Of the steady load: 500 messages a second."""
ASK_AGAIN_NS = MS // 2
LAG_WARM_UP = 1_500
LAG_COUNT = 3_000
FOLLOWS_TIMEOUT_NS = 60 * SECOND
FRAMES = 2_000 * QUEUES


class LagMeter:
    """The client (``Role``): sends to the master at its pace, asks the slave for its end all the time."""

    def __init__(self, master: str, slave: str, frames: list[bytes]) -> None:
        self._addresses, self._frames = (master, slave), frames
        self._connected: set[Link] = set()
        self._decoders = (FrameDecoder(), FrameDecoder())
        self._sending: Link | None = None
        self._asking: Link | None = None
        self._sent = self._wanted = 0
        self.told: dict[int, int] = {}
        """queue offset → when the producer was told, ns."""
        self.seen: list[tuple[int, int]] = []
        """(when, end of the slave's queue), as it was told."""
        self.refused = 0

    @property
    def end(self) -> int:
        """Of the slave's queue, as far as is known; −1 before the first answer."""
        return self.seen[-1][1] if self.seen else -1

    @property
    def is_connected(self) -> bool:
        """With both."""
        return {self._sending, self._asking} <= self._connected

    @property
    def is_done(self) -> bool:
        """Everything that was to be sent is sent, and all that was granted is on the slave."""
        return len(self.told) + self.refused == self._wanted and self.end > max(self.told, default=-1)

    def lags_ns(self, since: int) -> list[int]:
        """Of every message from offset *since* on, in the order of offsets; 0 for one that was on the slave first."""
        lags, index = [], 0
        for offset in sorted(offset for offset in self.told if offset >= since):
            while self.seen[index][1] <= offset:
                index += 1
            lags.append(max(0, self.seen[index][0] - self.told[offset]))
        return lags

    def begin(self, env: Environment, count: int) -> None:
        """Send so many more."""
        self._wanted += count
        env.set_timer("send", PERIOD_NS)

    def on_start(self, env: Environment) -> None:
        self._sending, self._asking = (env.connect(address) for address in self._addresses)

    def on_connected(self, env: Environment, link: Link) -> None:
        self._connected.add(link)
        if link == self._asking:
            self._ask(env)

    def on_closed(self, env: Environment, link: Link) -> None:
        if link in self._connected:
            raise ClusterError("a broker hung up")
        env.set_timer("connect", CONNECT_AGAIN_NS)  # it does not listen yet

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        now_ns = perf_counter_ns()
        is_slave = link == self._asking
        for answer in self._decoders[is_slave].feed(data):
            if is_slave:
                self.seen.append((now_ns, int(answer.fields.get("offset", "-1"))))
                env.set_timer("ask", ASK_AGAIN_NS)
            elif answer.code == ResponseCode.SUCCESS:
                self.told[int(answer.fields["queueOffset"])] = now_ns
            else:
                self.refused += 1

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if key == "connect":
            if self._sending not in self._connected:
                self._sending = env.connect(self._addresses[0])
            if self._asking not in self._connected:
                self._asking = env.connect(self._addresses[1])
        elif key == "ask":
            self._ask(env)
        elif self._sent < self._wanted:
            assert self._sending is not None, "nothing is sent before on_start"
            env.send(self._sending, self._frames[self._sent % len(self._frames)])
            self._sent += 1
            env.set_timer("send", PERIOD_NS)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None: ...
    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...

    def on_stop(self, env: Environment) -> None:
        env.exit()

    def _ask(self, env: Environment) -> None:
        assert self._asking is not None, "only a connection asks"
        fields = {"topic": TOPIC, "queueId": "0"}
        env.send(self._asking, encode_frame(Command(RequestCode.GET_MAX_OFFSET, fields, opaque=1)))


class PairOfBrokers:
    """A NameServer, a master and a slave that follows it."""

    def __init__(self, backend: Backend, role: str) -> None:
        self.backend = backend
        self.hosts = {node: backend.host(node) for node in (NAMESRV, MASTER, SLAVE)}
        server = {"bindAddress": self.hosts[NAMESRV], "listenPort": "9876"}
        backend.add_node(NodeSpec(NAMESRV, "namesrv", server))
        backend.add_node(NodeSpec(MASTER, "broker", self._properties(MASTER, "0", role)))
        backend.add_node(NodeSpec(SLAVE, "broker", self._properties(SLAVE, "1", "SLAVE")))
        self.client = Client(backend, self.hosts[MASTER])
        frames = _queue_0_frames(self.hosts[MASTER])
        self.meter = LagMeter(f"{self.hosts[MASTER]}:10911", f"{self.hosts[SLAVE]}:10911", frames)

    def _properties(self, node: str, number: str, role: str) -> dict[str, str]:
        host = self.hosts[node]
        own = {"brokerName": "broker-a", "brokerId": number, "brokerRole": role, "brokerIP1": host, "brokerIP2": host}
        own |= {"listenPort": "10911", "haListenPort": "10912", "namesrvAddr": f"{self.hosts[NAMESRV]}:9876"}
        return own | {"flushDiskType": "ASYNC_FLUSH", "registerNameServerPeriod": "10000", **FILES}

    def start(self) -> None:
        """All running, and one message has reached the slave.

        One after the other: who does not find the NameServer, or its master registered there, asks again with its next
        registration only.
        """
        knocker = Sender(f"{self.hosts[NAMESRV]}:9876")
        self._start(NAMESRV)
        self.backend.add_client("client-3", knocker)
        self._wait(lambda: knocker.is_connected, "the NameServer did not listen in time")
        self._start(MASTER)
        self.client.enter()
        self._start(SLAVE)
        self.backend.add_client("client-2", self.meter)
        self._wait(lambda: self.meter.is_connected, "the slave did not listen in time")
        self._wait_followed()

    def _start(self, node: str) -> None:
        self.backend.perform(lambda: self.backend.levers.start(node))

    def _wait_followed(self) -> None:
        """A synchronous master grants nothing before its slave has joined."""
        deadline_ns = self.backend.now() + FOLLOWS_TIMEOUT_NS
        while not self.meter.told:
            if self.backend.now() > deadline_ns:
                raise ClusterError("the slave did not join in time")
            self._send(1)
            self.backend.run_until(lambda: False, self.backend.now() + 100 * MS)

    def _wait(self, holds: Callable[[], bool], complaint: str) -> None:
        if not self.backend.run_until(holds, self.backend.now() + START_TIMEOUT_NS):
            raise ClusterError(complaint)

    def lags_ns(self, quick: bool) -> list[int]:
        """Of all messages of a steady load, after a warm-up."""
        scale = 20 if quick else 1
        self._send(LAG_WARM_UP // scale)
        first = self.meter.end
        self._send(LAG_COUNT // scale)
        return self.meter.lags_ns(first)

    def _send(self, count: int) -> None:
        """Send and wait until the slave has all of it."""
        self.backend.step("client-2", lambda env: self.meter.begin(env, count))
        deadline_ns = self.backend.now() + count * PERIOD_NS + FOLLOWS_TIMEOUT_NS
        if not self.backend.run_until(lambda: self.meter.is_done, deadline_ns):
            raise ClusterError("the slave did not follow in time")


def _queue_0_frames(host: str) -> list[bytes]:
    """Of the benchmark's sends those to queue 0."""
    keys = UniqueKeys(host, Random(2))
    return [send_frame(number, keys) for number in range(0, FRAMES, QUEUES)]


@contextmanager
def pair_of_brokers(master: Target, slave: Target, role: str) -> Iterator[PairOfBrokers]:
    """Started and following; everything is gone on leaving."""
    targets = {NAMESRV: ReferenceTarget(), MASTER: master, SLAVE: slave}
    with processes(MixedTarget("a pair", targets)) as backend:
        pair = PairOfBrokers(backend, role)
        pair.start()
        yield pair


def quantiles_ms(lags_ns: list[int]) -> dict[str, float]:
    """Median, 99th percentile and greatest, in ms."""
    ordered = sorted(lags_ns)
    return {
        "median": ordered[len(ordered) // 2] / MS,
        "99 %": ordered[len(ordered) * 99 // 100] / MS,
        "greatest": ordered[-1] / MS,
    }


def measure(quick: bool) -> Iterator[Figure]:
    apache, ours = UnbridledRocketmq(APACHE_VERSION), ReferenceTarget()
    pairs: dict[str, tuple[Target, Target]] = {"reference": (ours, ours)}
    note = ""
    try:
        apache.prepare()
        pairs = {"Apache": (apache, apache), **pairs}
        pairs |= {"reference master, Apache slave": (ours, apache), "Apache master, reference slave": (apache, ours)}
    except BackendUnavailable as error:
        note = f"without Apache RocketMQ {APACHE_VERSION}: {error.what}"
    yield from _lags(pairs, quick, note)
    yield from _rates(pairs, quick, note)


def _lags(pairs: dict[str, tuple[Target, Target]], quick: bool, note: str) -> Iterator[Figure]:
    yardstick: dict[str, float] = {}
    for name, (master, slave) in pairs.items():
        with pair_of_brokers(master, slave, "ASYNC_MASTER") as pair:
            lags_ns = pair.lags_ns(quick)
        figures = quantiles_ms(lags_ns)
        yardstick = yardstick or (figures if name == "Apache" else {})
        for what, value in figures.items():
            said = note or (f"{len(lags_ns)} messages" if what == "median" else "")
            yield _figure(f"{name}: lag, {what}", value, "ms", yardstick.get(what), said)


def _rates(pairs: dict[str, tuple[Target, Target]], quick: bool, note: str) -> Iterator[Figure]:
    yardstick: dict[str, float] = {}
    for name, (master, slave) in pairs.items():
        with pair_of_brokers(master, slave, "SYNC_MASTER") as pair:
            rates, remark = best_rates(pair.client, quick)
        yardstick = yardstick or (rates if name == "Apache" else {})
        for way, value in rates.items():
            yield _figure(f"{name}: SYNC_MASTER, {way}", value, "sends/s", yardstick.get(way), note or remark)


def _figure(label: str, value: float, unit: str, beside: float | None, note: str) -> Figure:
    """Beside Apache's, where there is one and it is not zero."""
    if not beside:
        return Figure(label, value, unit, note=note)
    return Figure(label, value, unit, value / beside, "Apache", note=note)
