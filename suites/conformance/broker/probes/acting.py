"""Slaves that act as masters (5.x): what a NameServer shows and tells of them (W69 to W72), who is in sync (W76).

Slaves are scripted, and masters, too, where the NameServer is asked. All of it is 5.3.3's; 4.9.7 has no such settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.frame import ANSWER, Command, FrameDecoder, encode_frame
from suites.conformance.broker.lives import LivingPeer
from suites.conformance.broker.peer import Peer, answer, create_topic, eventually, max_offset
from suites.conformance.broker.probes.nameserver import NAMESRV, Scripted
from suites.conformance.broker.probes.reading import of_5x
from suites.conformance.broker.probes.replication import OK, SLAVE_TIMEOUT, FakeSlave, report, timed
from suites.conformance.broker.probing import Start, life
from suites.quiet_role import QuietRole

NOT_ENOUGH = 1
Seen = tuple[dict[int, str], int] | None


@dataclass
class Acting(Scripted):
    """A scripted broker that says whether it would act as a master (``None``: that it says nothing of it)."""

    acts: bool | None = True
    more: dict[str, int] = field(default_factory=dict)

    def join(self) -> None:
        words = {} if self.acts is None else {"enableActingMaster": self.acts}
        assert self.register(**words, **self.more).code == 0


def set_of(peer: Peer, name: str, *, acts: bool | None = True, **more: int) -> tuple[Acting, Acting, Acting]:
    """A master and two slaves of one name, not registered."""
    topics = (member_topic(name),)
    master, one, two = (Acting(peer, name, id_, others=topics, acts=acts, more=more) for id_ in range(3))
    return master, one, two


def member_topic(name: str) -> str:
    return f"rmq_sys_SYNC_BROKER_MEMBER_{name}"


def with_nameserver(start: Start, **properties: str) -> LivingPeer:
    peer: LivingPeer = start(nameserver=of_5x(start) | properties, **of_5x(start))
    return peer


def sees(peer: Peer, broker: Scripted, expected: Seen, topic: str = "") -> None:
    """Wait for it: brokers leave by way of a queue."""
    eventually(peer, lambda: broker.seen(topic) == expected or None)


@life("W69", "a slave is shown as its master")
def shown_as_master(start: Start) -> None:
    """To clients only: brokers that ask for the others of their name are told the real ids."""
    peer = with_nameserver(start, supportActingMaster="true")
    master, one, two = set_of(peer, "w69")
    for broker in (master, one, two):
        broker.join()
    everybody = {0: master.address, 1: one.address, 2: two.address}
    assert one.seen() == (everybody, 6)
    peer.hang_up(master.channel)
    sees(peer, one, ({0: one.address, 2: two.address}, 4))
    real = {1: one.address, 2: two.address}
    assert one.seen(member_topic("w69")) == (real, 4)
    assert members(peer, one) == real
    one.counter = 2
    one.join()
    assert one.seen() == ({0: one.address, 2: two.address}, 4)
    peer.hang_up(one.channel)
    sees(peer, two, ({0: two.address}, 4))
    master.join()
    assert two.seen() == ({0: master.address, 2: two.address}, 6)
    alone = Acting(peer, "w69b", id=1)
    alone.join()
    assert alone.seen() == ({0: alone.address}, 4)


def members(peer: Peer, broker: Scripted) -> dict[int, str]:
    """Code 901."""
    found = answer(
        peer, Code.GET_BROKER_MEMBER_GROUP, channel=NAMESRV, clusterName=f"C-{broker.name}", brokerName=broker.name
    )
    group = parse_lenient(found.body)["brokerMemberGroup"]  # type: ignore[index, call-overload]
    return {int(id_): address for id_, address in group["brokerAddrs"].items()}


@life("W70", "what slaves say of acting")
def what_they_say(start: Start) -> None:
    """The NameServer does not show acting masters here; the write bit goes all the same."""
    peer = with_nameserver(start)
    for acts, perm in [(True, 4), (False, 6), (None, 6)]:
        master, one, _ = set_of(peer, f"w70{acts}", acts=acts)
        master.join()
        one.join()
        peer.hang_up(master.channel)
        sees(peer, one, ({1: one.address}, perm))
        alone = Acting(peer, f"w70b{acts}", id=1, acts=acts)
        alone.join()
        assert alone.seen() == (None if acts is None else ({1: alone.address}, perm))
        newer = Acting(peer, f"w70b{acts}", id=2, acts=acts, counter=2, others=("w70-new",))
        newer.join()
        assert newer.route("w70-new") is None


@life("W71", "a broker with a time-out of its own", is_slow=True)
def own_timeout(start: Start) -> None:
    """A heartbeat (904) or the question for the data version keeps it, on whatever connection it comes."""
    peer = with_nameserver(start, supportActingMaster="true")
    master, one, _ = set_of(peer, "w71", heartbeatTimeoutMillis=4000)
    master.join()
    one.join()
    name = {"brokerName": "w71", "clusterName": "C-w71"}
    begin = peer.now_ns()
    while peer.now_ns() - begin < 15 * SECOND:
        assert answer(peer, Code.BROKER_HEARTBEAT, channel=NAMESRV, brokerAddr=master.address, **name).code == 0
        version = {"brokerAddr": one.address, "brokerId": 1, **name}
        body = b'{"counter":9,"stateVersion":0,"timestamp":1}'
        assert answer(peer, Code.QUERY_DATA_VERSION, body, channel=NAMESRV, **version).code == 0
        peer.sleep(500 * MS)
    assert one.seen() == ({0: master.address, 1: one.address}, 6)
    peer.sleep(4 * SECOND + 5 * SECOND + 500 * MS + peer.slack_ns // 4)
    assert one.seen() is None
    assert peer.is_closed(master.channel)


class Listener(QuietRole):
    """A client role that others connect to: what they ask, and a plain success to whoever waits for an answer."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.heard: list[tuple[int, Command]] = []
        """(ns, request)."""
        self._decoders: dict[Link, FrameDecoder] = {}

    def on_start(self, env: Environment) -> None:
        env.listen(self.address)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        for command in self._decoders.setdefault(link, FrameDecoder()).feed(data):
            self.heard.append((env.now(), command))
            if not command.is_one_way:
                env.send(link, encode_frame(Command(0, {}, flag=ANSWER, opaque=command.opaque)))

    def of(self, code: int) -> list[dict[str, str]]:
        """The fields of all such requests."""
        return [command.fields for _, command in self.heard if command.code == code]


@life("W76", "which replicas are in sync")
def in_sync(start: Start) -> None:
    """A slave counts if a NameServer lists it and the master has its connection, whatever that has said."""
    settings = {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", "totalReplicas": "2"}
    peer: LivingPeer = start(enableSlaveActingMaster="true", nameserver=of_5x(start), **settings, **of_5x(start))
    create_topic(peer, "T")
    slave = Acting(peer, peer.broker_name, id=1, owner=peer.cluster)
    slave.join()
    peer.sleep(3 * SECOND)  # it is asked for every second
    assert timed(peer)[0] == NOT_ENOUGH
    connection = FakeSlave(peer)
    peer.sleep(500 * MS)
    code, seconds = timed(peer)
    assert (code, 2.9 <= seconds <= 4.5 + peer.slack_ns / SECOND) == (SLAVE_TIMEOUT, True)
    connection.write(report(1 << 20))
    eventually(peer, lambda: timed(peer)[0] == OK or None)
    peer.hang_up(slave.channel)
    eventually(peer, lambda: timed(peer)[0] == NOT_ENOUGH or None)
    stored = max_offset(peer, "T")
    assert timed(peer, properties="WAIT\x01false")[0] == OK
    eventually(peer, lambda: max_offset(peer, "T") == stored + 1 or None)


@life("W72", "who hears of a new smallest id")
def least_id(start: Start) -> None:
    """Those who are left when the smallest went; those who were there when a smaller one came."""
    peer = with_nameserver(start, notifyMinBrokerIdChanged="true")
    listener = Listener(f"{peer.backend.host('client-2')}:20911")
    peer.backend.add_client("client-2", listener)
    master, heard = Acting(peer, "w72"), _Listening(peer, "w72", id=1, place=listener.address)
    for broker in (master, heard):
        broker.join()
    peer.sleep(500 * MS)
    assert listener.of(Code.NOTIFY_MIN_BROKER_ID_CHANGE) == []
    peer.hang_up(master.channel)
    gone = {"minBrokerId": "1", "minBrokerAddr": heard.address, "offlineBrokerAddr": master.address}
    eventually(peer, lambda: listener.of(Code.NOTIFY_MIN_BROKER_ID_CHANGE) == [gone] or None)
    master.join()
    back = {"minBrokerId": "0", "minBrokerAddr": master.address, "haBrokerAddr": "10.77.0.1:10912"}
    eventually(peer, lambda: listener.of(Code.NOTIFY_MIN_BROKER_ID_CHANGE) == [gone, back] or None)
    assert all(command.is_one_way for _, command in listener.heard)


@dataclass
class _Listening(Acting):
    """One that can be told something."""

    place: str = ""

    @property
    def address(self) -> str:
        return self.place
