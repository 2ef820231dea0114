"""Hostile frames at a NameServer: it goes on answering, and a plain broker stays listed.

Question: can a client make a NameServer fail, fall silent or forget a broker that it does not name? One seed is one
NameServer of either release in the hand, a plain broker that is registered, and FRAMES frames of all its codes with
hostile fields and bodies. The plain broker's name and address are not among them.
"""

from __future__ import annotations

from random import Random

from reference_impl.environment import SECOND
from reference_impl.namesrv.registry import BrokerKey
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import BINARY, JSON, Command, LocalWireError, encode_frame
from reference_impl.wire.registration import write_registration
from suites.conformance.namesrv.cluster_by_hand import NameServerByHand, topics
from suites.hostile.values import damaged, disturbed, json_text, number, text

NAME = "nameserver_frames"
A_SEED = "50 frames at a NameServer"
FRAMES = 50
PLAIN = BrokerKey("PlainCluster", "plain-broker", 0, "10.0.0.7:10911")

_KEY = {"clusterName": "DefaultCluster", "brokerName": "broker-a", "brokerId": "0", "brokerAddr": "10.0.0.1:10911"}
_WORDS = _KEY | {"topic": "T", "namespace": "N", "key": "k", "value": "v", "cluster": "DefaultCluster"}
_WORDS |= {"bodyCrc32": "0"}
_WORDS |= {"compressed": "true", "haServerAddr": "10.0.0.1:10912", "enableActingMaster": "true"}
_WORDS |= {"heartbeatTimeoutMillis": "1000", "acceptStandardJsonOnly": "true"}
_TABLE = {"dataVersion": {"counter": 1, "timestamp": 1}, "topicConfigTable": {"T": {"topicName": "T", "perm": 6}}}
_SETTINGS = ["listenPort", "orderMessageEnable", "scanNotActiveBrokerInterval", "release", "x"]


def attack(seed: int) -> None:
    """One seed."""
    rng = Random(seed)
    server = NameServerByHand(release=rng.choice(["4.9.7", "5.3.3"]), support_acting_master=rng.random() < 0.5)
    codes = sorted(int(code) for code in server.role._handlers)
    plain = server.env.accept("10.0.0.7:50001")
    _register(server, plain)
    link = server.env.accept("10.0.0.66:6666")
    for _ in range(FRAMES):
        if link not in server.env._peers:
            link = server.env.accept("10.0.0.66:6666")
        server.env.deliver(link, _request(rng, codes))
        server.env.take(link)
        if rng.random() < 0.1:
            _register(server, plain)
            server.env.advance(rng.choice([SECOND, 29 * SECOND]))
        if rng.random() < 0.05:
            server.env.hang_up(link)
    failed = server.env.noted("handler_failed")
    assert not failed, failed[0]
    found = server.role.registry.route("PlainTopic")
    assert found is not None, "a plain broker is not listed any more"
    assert [data.broker_name for data in found.broker_datas] == [PLAIN.name]


def _register(server: NameServerByHand, link: int) -> None:
    fields = {"clusterName": PLAIN.cluster, "brokerName": PLAIN.name, "brokerId": "0", "brokerAddr": PLAIN.address}
    body = write_registration(topics("PlainTopic", "Other"), compressed=False)
    command = Command(Code.REGISTER_BROKER, fields | {"haServerAddr": "10.0.0.7:10912"}, body)
    server.env.deliver(link, encode_frame(command))
    server.env.take(link)


def _request(rng: Random, codes: list[int]) -> bytes:
    code = rng.choice(codes)
    names = sorted(_KEY) if code in (Code.REGISTER_BROKER, Code.UNREGISTER_BROKER) else []
    names += rng.sample(sorted(_WORDS), rng.randrange(6))
    fields = {name: _WORDS[name] for name in names}
    for name in rng.sample(sorted(fields), min(len(fields), rng.choice([0, 1, 1, 2]))):
        fields[name] = rng.choice([number, text])(rng)
    body = rng.randbytes(rng.choice([0, 0, 20]))
    if code in (Code.REGISTER_BROKER, Code.QUERY_DATA_VERSION):
        whole = {"topicConfigSerializeWrapper": _TABLE, "filterServerList": []}
        body = json_text(rng, disturbed(rng, whole if code == Code.REGISTER_BROKER else _TABLE["dataVersion"]))
    if code == Code.UPDATE_NAMESRV_CONFIG:
        body = f"{rng.choice(_SETTINGS)}={number(rng)}".encode()
    command = Command(code, fields, body, opaque=rng.getrandbits(31), version=rng.choice([0, 407, 469]))
    command.serialization = rng.choice([JSON, JSON, BINARY])
    try:
        frame = encode_frame(command)
    except (LocalWireError, UnicodeEncodeError):
        return rng.randbytes(30)
    return damaged(rng, frame) if rng.random() < 0.15 else frame
