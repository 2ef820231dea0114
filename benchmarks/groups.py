"""How many sends a second does a DLedger group of three take, beside Apache RocketMQ's group of three?

SEND_OK means here that two of three members have the message; none of them waits for a disk. Real processes, each on a
network and a disk of its own where this machine allows it, Apache's group and the reference's in turn, twice, and the
best round counts; both register with the same NameServer, which tells the client who leads. The client, its frames and
its two ways of sending are those of ``benchmarks/brokers.py``:

    pipelined   64 sends are under way at any time, on one connection
    one by one  the next send leaves when the answer has come

Apache runs with its compiler unbridled, and is warmed up first. Ratios are to Apache's group in the same run. Without
Java or its jars the reference is measured alone. Client and members share the processors, as they do in tests.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from benchmarks.brokers import (
    APACHE_VERSION,
    CONNECT_AGAIN_NS,
    FILES,
    START_TIMEOUT_NS,
    Client,
    UnbridledRocketmq,
    best_rates,
    processes,
)
from benchmarks.figure import Figure
from harness.backends.backend import Backend, NodeSpec, Target
from harness.cluster import MEMBER_PORT
from harness.errors import BackendUnavailable, ClusterError
from harness.targets.mixed import MixedTarget
from harness.targets.reference import ReferenceTarget
from reference_impl.environment import MS, Environment, Link
from reference_impl.wire.bodies import ClusterInfo
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame

NAMESRV, BROKER = "namesrv-1", "broker-a"
MEMBERS = tuple(f"{BROKER}-{number}" for number in range(3))
ASK_AGAIN_NS = 200 * MS
ELECTED_TIMEOUT_NS = 3 * START_TIMEOUT_NS
"""Three members start at once, and a busy machine is slow at that."""
TURNS = 2


class Asker:
    """A client (``Role``) that asks the NameServer again and again who is in the group."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._link: Link | None = None
        self._decoder = FrameDecoder()
        self.members: dict[int, str] = {}
        """Broker id → address, as the NameServer told last."""

    def on_start(self, env: Environment) -> None:
        self._link = env.connect(self._address)

    def on_connected(self, env: Environment, link: Link) -> None:
        self._ask(env)

    def on_closed(self, env: Environment, link: Link) -> None:
        env.set_timer("connect", CONNECT_AGAIN_NS)  # it does not listen yet

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if key == "connect":
            self.on_start(env)
        else:
            self._ask(env)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        for answer in self._decoder.feed(data):
            if answer.code == ResponseCode.SUCCESS:
                told = read_json(answer.body, ClusterInfo).broker_addr_table.get(BROKER)
                self.members = dict(told.broker_addrs) if told else {}
            env.set_timer("ask", ASK_AGAIN_NS)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None: ...
    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...

    def on_stop(self, env: Environment) -> None:
        env.exit()

    def _ask(self, env: Environment) -> None:
        assert self._link is not None, "only a connection asks"
        env.send(self._link, encode_frame(Command(RequestCode.GET_BROKER_CLUSTER_INFO, opaque=1)))


class Group:
    """A NameServer and three members that elect who serves."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._hosts = {node: backend.host(node) for node in (NAMESRV, *MEMBERS)}
        server = {"bindAddress": self._hosts[NAMESRV], "listenPort": "9876"}
        backend.add_node(NodeSpec(NAMESRV, "namesrv", server))
        for number, member in enumerate(MEMBERS):
            backend.add_node(NodeSpec(member, "broker", self._properties(number, member)))

    def _properties(self, number: int, member: str) -> dict[str, str]:
        host = self._hosts[member]
        peers = ";".join(f"n{number}-{self._hosts[peer]}:{MEMBER_PORT}" for number, peer in enumerate(MEMBERS))
        own = {"brokerName": BROKER, "brokerId": str(number), "brokerIP1": host, "brokerIP2": host}
        own |= {"listenPort": "10911", "haListenPort": "10912", "namesrvAddr": f"{self._hosts[NAMESRV]}:9876"}
        own |= {"enableDLegerCommitLog": "true", "dLegerGroup": BROKER, "dLegerSelfId": f"n{number}"}
        return own | {"dLegerPeers": peers, "flushDiskType": "ASYNC_FLUSH", **FILES}

    def start(self) -> Client:
        """All running, one of them elected, and its topic made; the client that sends to it."""
        for node in (NAMESRV, *MEMBERS):
            self._start(node)
        asker = Asker(f"{self._hosts[NAMESRV]}:9876")
        self._backend.add_client("client-2", asker)
        deadline_ns = self._backend.now() + ELECTED_TIMEOUT_NS
        if not self._backend.run_until(lambda: 0 in asker.members and len(asker.members) == len(MEMBERS), deadline_ns):
            raise ClusterError(f"no leader with two followers in time: the NameServer lists {asker.members}")
        client = Client(self._backend, asker.members[0].partition(":")[0])
        client.enter()
        return client

    def _start(self, node: str) -> None:
        self._backend.perform(lambda: self._backend.levers.start(node))


def rates(member: Target, quick: bool) -> tuple[dict[str, float], str]:
    """The best of several rounds, by way of sending, and what is to be said about them."""
    targets = {NAMESRV: ReferenceTarget(), **dict.fromkeys(MEMBERS, member)}
    with processes(MixedTarget("a group", targets)) as backend:
        return best_rates(Group(backend).start(), quick)


def measure(quick: bool) -> Iterator[Figure]:
    """Figures of all groups that run here, Apache's first."""
    apache = UnbridledRocketmq(APACHE_VERSION)
    groups: dict[str, Target] = {"reference": ReferenceTarget()}
    missing = ""
    try:
        apache.prepare()
        groups = {f"Apache {APACHE_VERSION}": apache, **groups}
    except BackendUnavailable as error:
        missing = f"without Apache RocketMQ {APACHE_VERSION}: {error.what}"
    best: dict[str, dict[str, float]] = {name: {} for name in groups}
    remarks: dict[str, str] = dict.fromkeys(groups, missing)
    for _ in range(1 if quick else TURNS):
        for name, member in groups.items():
            found, remark = rates(member, quick)
            best[name] = {way: max(rate, best[name].get(way, 0)) for way, rate in found.items()}
            remarks[name] = remark or remarks[name]
    yardstick = {} if missing else best[f"Apache {APACHE_VERSION}"]
    for name, its_rates in best.items():
        for way, rate in its_rates.items():
            ratio = rate / yardstick[way] if yardstick else None
            yield Figure(f"{name}, {way}", rate, "sends/s", ratio, "Apache", note=remarks[name])
