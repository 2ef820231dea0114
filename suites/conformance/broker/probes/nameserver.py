"""A NameServer asked by brokers that are none (W04, W10 to W20), and about one that stands still (P77)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from harness.targets.releases import row_of
from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import DataVersion, TopicConfig, TopicConfigTable, TopicRouteData
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient, read_json
from reference_impl.wire.frame import ONE_WAY, Command
from reference_impl.wire.message import body_crc
from reference_impl.wire.registration import write_registration
from suites.conformance.broker.peer import Peer, answer, eventually
from suites.conformance.broker.probing import Start, life, probe

NAMESRV = "namesrv:"


@dataclass
class Scripted:
    """A broker of a name of its own, with one connection, that owns the topics ``<name>-1`` and ``<name>-2``."""

    peer: Peer
    name: str
    id: int = 0
    counter: int = 1
    others: tuple[str, ...] = ()
    """More topics."""
    owner: str = ""
    """The cluster, if it is not to be one of its own."""

    @property
    def address(self) -> str:
        return f"10.77.0.{self.id + 1}:10911"

    @property
    def cluster(self) -> str:
        return self.owner or f"C-{self.name}"

    @property
    def channel(self) -> str:
        return f"namesrv:{self.name}-{self.id}"

    @property
    def topic(self) -> str:
        return f"{self.name}-1"

    def register(self, *, compressed: bool = False, crc: int | None = None, **more: str | int | bool) -> Command:
        table = TopicConfigTable(
            DataVersion(self.counter, timestamp=1_700_000_000_000),
            {
                name: TopicConfig(topic_name=name, read_queue_nums=4, write_queue_nums=4, perm=6)
                for name in (f"{self.name}-1", f"{self.name}-2", *self.others)
            },
        )
        body = write_registration(table, compressed=compressed)
        return answer(
            self.peer,
            Code.REGISTER_BROKER,
            body,
            channel=self.channel,
            brokerName=self.name,
            brokerAddr=self.address,
            clusterName=self.cluster,
            haServerAddr=self.address.replace("10911", "10912"),
            brokerId=self.id,
            compressed=compressed,
            bodyCrc32=body_crc(body) if crc is None else crc,
            **more,
        )

    def unregister(self) -> Command:
        fields = {"brokerName": self.name, "brokerAddr": self.address, "clusterName": self.cluster}
        return answer(self.peer, Code.UNREGISTER_BROKER, channel=NAMESRV, **fields, brokerId=self.id)

    def route(self, topic: str = "") -> TopicRouteData | None:
        found = answer(self.peer, Code.GET_ROUTEINFO_BY_TOPIC, channel=NAMESRV, topic=topic or self.topic)
        return read_json(found.body, TopicRouteData) if found.code == 0 else None

    def seen(self, topic: str = "") -> tuple[dict[int, str], int] | None:
        """(addresses by id, permission) in the route."""
        route = self.route(topic)
        return None if route is None else (route.broker_datas[0].broker_addrs, route.queue_datas[0].perm)


@probe("W04", "an unknown code at the NameServer")
def unknown_code(peer: Peer) -> None:
    found = peer.ask(Command(9999), "namesrv:w04", SECOND)
    if row_of(peer.release).is_4:
        assert found is None
    else:
        assert found is not None
        assert found.code == 3
    assert peer.ask(Command(9999, flag=ONE_WAY), "namesrv:w04", SECOND) is None
    assert answer(peer, Code.GET_BROKER_CLUSTER_INFO, channel="namesrv:w04").code == 0


@probe("W10", "no route")
def no_route(peer: Peer) -> None:
    found = answer(peer, Code.GET_ROUTEINFO_BY_TOPIC, channel=NAMESRV, topic="NoSuchTopicW10")
    assert (found.code, found.body) == (17, b"")


@probe("W11", "W12", "strict and loose routes")
def strictness(peer: Peer) -> None:
    broker = Scripted(peer, "w11")
    broker.register()
    ask = {"channel": NAMESRV, "topic": broker.topic}
    strict = answer(peer, Code.GET_ROUTEINFO_BY_TOPIC, version=401, **ask).body
    assert json.loads(strict)["brokerDatas"][0]["brokerAddrs"] == {"0": broker.address}
    loose = answer(peer, Code.GET_ROUTEINFO_BY_TOPIC, version=0, **ask).body
    assert b'"brokerAddrs":{0:' in loose
    assert parse_lenient(loose) == parse_lenient(strict)
    assert b" " not in strict + loose
    peer.hang_up(broker.channel)


@probe("W13", "W14", "W19", "a master and its slave register and leave")
def registration(peer: Peer) -> None:
    master, slave = Scripted(peer, "w13"), Scripted(peer, "w13", id=1)
    assert not {"masterAddr", "haServerAddr"} & master.register().fields.keys()
    assert master.seen() == ({0: master.address}, 6)
    route = master.route()
    assert route is not None
    assert (route.queue_datas[0].read_queue_nums, route.queue_datas[0].write_queue_nums) == (4, 4)
    told = slave.register().fields
    assert (told["masterAddr"], told["haServerAddr"]) == (master.address, master.address.replace("10911", "10912"))
    eventually(peer, lambda: master.seen() == ({0: master.address, 1: slave.address}, 6) or None)
    assert slave.unregister().code == 0
    assert master.unregister().code == 0
    eventually(peer, lambda: master.route() is None or None)
    assert b"w13" not in answer(peer, Code.GET_BROKER_CLUSTER_INFO, channel=NAMESRV).body


@probe("W15", "a registration with a wrong sum")
def wrong_crc(peer: Peer) -> None:
    broker = Scripted(peer, "w15")
    found = broker.register(crc=12345)
    assert (found.code, found.remark) == (1, "crc32 not match")
    assert broker.route() is None
    assert broker.register().code == 0
    assert broker.route() is not None
    peer.hang_up(broker.channel)


@probe("W16", "a compressed registration")
def compressed(peer: Peer) -> None:
    broker = Scripted(peer, "w16")
    assert broker.register(compressed=True).code == 0
    assert broker.seen() == ({0: broker.address}, 6)
    peer.hang_up(broker.channel)


@probe("W17", "a closed connection takes its master")
def closed_connection(peer: Peer) -> None:
    master, slave = Scripted(peer, "w17"), Scripted(peer, "w17", id=1)
    master.register()
    slave.register()
    peer.hang_up(master.channel)
    eventually(peer, lambda: master.seen() == ({1: slave.address}, 6) or None)
    peer.hang_up(slave.channel)
    eventually(peer, lambda: master.seen() is None or None)


@probe("W18", "a silent broker is dropped after two minutes", is_slow=True)
def silent_broker(peer: Peer) -> None:
    """The connection is used, the registration is not renewed."""
    broker = Scripted(peer, "w18")
    broker.register()
    for _ in range(11):
        peer.sleep(10 * SECOND)
        assert answer(peer, Code.GET_ROUTEINFO_BY_TOPIC, channel=broker.channel, topic=broker.topic).code == 0
    peer.sleep(25 * SECOND)
    assert broker.route() is None
    assert peer.is_closed(broker.channel)


@probe("W20", "write permission is wiped and added")
def write_permission(peer: Peer) -> None:
    broker = Scripted(peer, "w20")
    broker.register()

    def permission() -> int:
        seen = broker.seen()
        assert seen is not None
        return seen[1]

    found = answer(peer, Code.WIPE_WRITE_PERM_OF_BROKER, channel=NAMESRV, brokerName=broker.name)
    assert int(found.fields["wipeTopicCount"]) >= 1
    assert permission() == 4
    broker.register()
    assert permission() == 4
    broker.counter = 2
    broker.register()
    eventually(peer, lambda: permission() == 6 or None)
    answer(peer, Code.WIPE_WRITE_PERM_OF_BROKER, channel=NAMESRV, brokerName=broker.name)
    found = answer(peer, Code.ADD_WRITE_PERM_OF_BROKER, channel=NAMESRV, brokerName=broker.name)
    assert int(found.fields["addTopicCount"]) >= 1
    assert permission() == 6
    peer.hang_up(broker.channel)
    peer.sleep(100 * MS)


@life("P77", "a broker that stands still is dropped and comes back", is_slow=True)
def paused_broker(start: Start) -> None:
    """Its last registration is at most 30 s old when it stops."""
    peer = start()
    levers, node = peer.backend.levers, peer.NODE
    peer.sleep(11 * SECOND)
    peer.backend.perform(lambda: levers.pause(node))
    peer.sleep(85 * SECOND)
    assert peer.is_registered()
    peer.sleep(50 * SECOND)
    assert not peer.is_registered()
    peer.backend.perform(lambda: levers.resume(node))
    eventually(peer, lambda: peer.is_registered() or None)
