"""Registration and routes, probe by probe (numbers: the probes of the wire description's section 10)."""

from __future__ import annotations

import json

import pytest

from reference_impl.wire.bodies import DataVersion
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient, write_json
from reference_impl.wire.frame import BINARY, JSON, Command, FrameDecoder, encode_frame
from suites.conformance.namesrv.cluster_by_hand import VERSION_1, VERSION_2, NameServerByHand, topics

RELEASES = ("4.9.7", "5.3.3")


@pytest.fixture(params=RELEASES)
def server(request: pytest.FixtureRequest) -> NameServerByHand:
    return NameServerByHand(release=request.param)


@pytest.fixture
def server_4_9() -> NameServerByHand:
    return NameServerByHand()


@pytest.fixture
def server_5_x() -> NameServerByHand:
    return NameServerByHand(release="5.3.3")


# Probes 1 to 7: the frame --------------------------------------------------------------------------------------------


@pytest.mark.conformance("W01")
def test_probe_1_an_answer_repeats_the_opaque(server: NameServerByHand) -> None:
    answer = server.answer(Code.GET_BROKER_CLUSTER_INFO)
    assert (answer.flag & 1, answer.opaque) == (1, 7)


@pytest.mark.conformance("W02")
def test_probe_2_one_way_requests_are_silent_but_obeyed(server: NameServerByHand) -> None:
    link = server.broker()
    server.register(link, topics("T1", "T2"))
    assert server.ask(Code.DELETE_TOPIC_IN_NAMESRV, flag=2, topic="T1") == []
    assert server.route("T1") is None


@pytest.mark.conformance("W04")
def test_probe_4_an_unknown_code_is_not_answered_by_4_9(server_4_9: NameServerByHand) -> None:
    assert server_4_9.ask(9999) == []
    assert server_4_9.env.closed_by_role == []


@pytest.mark.conformance("W04")
def test_probe_4_an_unknown_code_is_refused_by_5_x(server_5_x: NameServerByHand) -> None:
    answer = server_5_x.answer(9999)
    assert (answer.code, answer.remark) == (3, " request type 9999 not supported")
    assert server_5_x.ask(9999, flag=2) == []


@pytest.mark.conformance("W05")
def test_probe_5_a_bad_serialization_type_closes_the_connection(server: NameServerByHand) -> None:
    server.env.deliver(server.client, bytes.fromhex("0000000407000000"))
    assert server.env.closed_by_role == [server.client]
    assert server.env.take(server.client) == b""


@pytest.mark.conformance("W06")
def test_probe_6_an_oversize_frame_closes_the_connection(server: NameServerByHand) -> None:
    server.env.deliver(server.client, (16_777_213).to_bytes(4, "big"))
    assert server.env.closed_by_role == [server.client]


@pytest.mark.conformance("W08")
def test_probe_8_pipelined_and_fragmented_requests_are_answered(server: NameServerByHand) -> None:
    first, second, third = (encode_frame(Command(Code.GET_BROKER_CLUSTER_INFO, opaque=n)) for n in (1, 2, 3))
    server.env.deliver(server.client, first + second)
    for byte in third:
        server.env.deliver(server.client, bytes([byte]))
    assert [answer.opaque for answer in FrameDecoder().feed(server.env.take(server.client))] == [1, 2, 3]


@pytest.mark.conformance("W09")
def test_probe_9_ext_fields_are_texts(server: NameServerByHand) -> None:
    _registered(server, "T1", "T2")
    request = Command(Code.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "b-a"})
    server.env.deliver(server.client, encode_frame(request))
    assert b'"extFields":{"wipeTopicCount":"2"}' in server.env.take(server.client)


@pytest.mark.conformance("W07")
@pytest.mark.parametrize(("release", "serialization"), [("4.9.7", BINARY), ("5.3.3", JSON)])
def test_probe_7_a_binary_request(release: str, serialization: int) -> None:
    server = NameServerByHand(release=release)
    assert server.answer(Code.GET_BROKER_CLUSTER_INFO, serialization=BINARY).serialization == serialization


# Probes 10 to 13: routes ---------------------------------------------------------------------------------------------


@pytest.mark.conformance("W10")
def test_probe_10_an_unknown_topic_has_no_route(server: NameServerByHand) -> None:
    answer = server.answer(Code.GET_ROUTEINFO_BY_TOPIC, topic="NoSuchTopic")
    assert (answer.code, answer.body) == (17, b"")
    assert "No topic route info in name server for the topic: NoSuchTopic" in (answer.remark or "")


@pytest.mark.conformance("W11")
def test_probe_11_strict_json_for_those_who_can(server: NameServerByHand) -> None:
    server.register(server.broker(), topics("T1", "T2"))
    strict = [
        server.answer(Code.GET_ROUTEINFO_BY_TOPIC, topic="T1", version=401).body,
        server.answer(Code.GET_ROUTEINFO_BY_TOPIC, topic="T1", version=479).body,
        server.answer(Code.GET_ROUTEINFO_BY_TOPIC, topic="T1", version=0, acceptStandardJsonOnly=True).body,
    ]
    for body in strict:
        assert json.loads(body)["brokerDatas"][0]["brokerAddrs"] == {"0": "10.0.0.1:10911"}
    for version in (0, 317, 333, 400):
        legacy = server.answer(Code.GET_ROUTEINFO_BY_TOPIC, topic="T1", version=version).body
        assert b'"brokerAddrs":{0:"10.0.0.1:10911"}' in legacy
        assert parse_lenient(legacy) == json.loads(strict[0])


@pytest.mark.conformance("W12")
def test_probe_12_routes_hold_no_blank(server: NameServerByHand) -> None:
    server.register(server.broker(), topics("T1", "T2"))
    for version in (0, 407):
        assert b" " not in server.answer(Code.GET_ROUTEINFO_BY_TOPIC, topic="T1", version=version).body


@pytest.mark.conformance("W13")
def test_probe_13_a_registered_topic_is_routed(server: NameServerByHand) -> None:
    server.register(server.broker(), topics("T1", "T2"))
    route = server.route("T1")
    assert route is not None
    assert server.addresses("T1") == {"b-a": {0: "10.0.0.1:10911"}}
    (queues,) = route.queue_datas
    assert (queues.read_queue_nums, queues.write_queue_nums, queues.perm) == (4, 4, 6)


def test_a_route_names_every_broker_of_the_topic(server: NameServerByHand) -> None:
    server.register(server.broker(), topics("T1", "T2"))
    server.register(server.broker("10.0.0.2"), topics("T1", "T3"), name="b-b", host="10.0.0.2")
    assert server.addresses("T1") == {"b-a": {0: "10.0.0.1:10911"}, "b-b": {0: "10.0.0.2:10911"}}
    assert server.addresses("T3") == {"b-b": {0: "10.0.0.2:10911"}}


# Probes 14 to 16: registration ---------------------------------------------------------------------------------------


@pytest.mark.conformance("W14")
def test_probe_14_a_slave_learns_its_master(server: NameServerByHand) -> None:
    assert server.register(server.broker(), topics("T1", "T2")).fields == {}
    slave = server.register(server.broker("10.0.0.2"), topics("T1", "T2"), id=1, host="10.0.0.2")
    assert slave.fields == {"masterAddr": "10.0.0.1:10911", "haServerAddr": "10.0.0.1:10912"}
    assert server.addresses("T1") == {"b-a": {0: "10.0.0.1:10911", 1: "10.0.0.2:10911"}}


def test_a_slave_without_a_live_master_learns_nothing_and_brings_no_topics(server: NameServerByHand) -> None:
    assert server.register(server.broker(), topics("T1", "T2"), id=1).fields == {}
    assert server.route("T1") is None


@pytest.mark.conformance("W15")
def test_probe_15_a_wrong_crc_is_refused(server: NameServerByHand) -> None:
    answer = server.register(server.broker(), topics("T1", "T2"), crc=12345)
    assert (answer.code, answer.remark) == (1, "crc32 not match")
    assert server.route("T1") is None


@pytest.mark.parametrize("crc", [0, 0xFFFFFFFF])
def test_a_crc_of_zero_or_beyond_31_bits_is_not_checked(server: NameServerByHand, crc: int) -> None:
    assert server.register(server.broker(), topics("T1", "T2"), crc=crc).code == 0


@pytest.mark.conformance("W16")
def test_probe_16_a_compressed_registration_gives_the_same_route() -> None:
    plain, packed = NameServerByHand(), NameServerByHand()
    plain.register(plain.broker(), topics("T1", "T2"))
    packed.register(packed.broker(), topics("T1", "T2"), compressed=True)
    assert plain.route("T1") == packed.route("T1") is not None


def test_a_compressed_registration_by_version_413_must_hold_mappings_on_5_x(server_5_x: NameServerByHand) -> None:
    assert server_5_x.register(server_5_x.broker(), topics("T1", "T2"), compressed=True, version=413).code == 1
    assert server_5_x.register(server_5_x.broker(), topics("T1", "T2"), compressed=True, version=412).code == 0


def test_a_body_that_is_no_registration_is_refused_and_the_connection_stays(server: NameServerByHand) -> None:
    answer = server.answer(
        Code.REGISTER_BROKER,
        b"junk",
        brokerName="b",
        brokerAddr="1.1.1.1:1",
        clusterName="C",
        brokerId=0,
        haServerAddr="",
    )
    assert answer.code == 1
    assert server.env.closed_by_role == []
    assert server.env.noted("handler_failed") == []


@pytest.mark.parametrize("missing", ["brokerName", "brokerAddr", "clusterName", "brokerId"])
def test_a_registration_without_its_mandatory_fields_is_a_null_pointer(server: NameServerByHand, missing: str) -> None:
    fields = {"brokerName": "b", "brokerAddr": "1.1.1.1:1", "clusterName": "C", "brokerId": "0"}
    del fields[missing]
    answer = server.answer(Code.REGISTER_BROKER, **fields)
    assert answer.code == 1
    assert (answer.remark or "").startswith("java.lang.NullPointerException")


# Data versions -------------------------------------------------------------------------------------------------------


def test_topics_count_only_when_the_data_version_changed(server: NameServerByHand) -> None:
    link = server.broker()
    server.register(link, topics("T1", "T2"))
    server.register(link, topics("T1", "T2", perm=4))
    assert server.permissions("T1") == {"b-a": 6}
    server.register(link, topics("T1", "T2", perm=4, version=VERSION_2))
    assert server.permissions("T1") == {"b-a": 4}


def test_topics_that_a_later_registration_lacks_stay(server: NameServerByHand) -> None:
    link = server.broker()
    server.register(link, topics("T1", "T2"))
    server.register(link, topics("T2", "T3", version=VERSION_2))
    assert all(server.route(topic) for topic in ("T1", "T2", "T3"))


def test_a_dropped_address_that_first_returns_with_one_topic_loses_the_others(server_4_9: NameServerByHand) -> None:
    """RocketMQ's trap: the one-topic registration leaves its data version, full ones of that version add nothing."""
    server_4_9.env.hang_up(_registered(server_4_9, "T1", "T2"))
    link = server_4_9.broker()
    server_4_9.register(link, topics("T9", version=VERSION_2))
    server_4_9.register(link, topics("T1", "T2", "T9", version=VERSION_2))
    assert (server_4_9.route("T1"), bool(server_4_9.route("T9"))) == (None, True)


def test_5_x_refuses_a_first_registration_of_one_topic(server_5_x: NameServerByHand) -> None:
    link = server_5_x.broker()
    answer = server_5_x.register(link, topics("T1"))
    assert (answer.code, answer.remark) == (1, "register broker failed")
    server_5_x.register(link, topics("T1", "T2"))
    assert server_5_x.register(link, topics("T3", version=VERSION_2)).code == 0
    assert server_5_x.route("T3")


def test_5_x_ignores_a_second_address_of_an_older_state(server_5_x: NameServerByHand) -> None:
    newer, older = DataVersion(1, 5, 1_700_000_000_000), DataVersion(1, 4, 1_700_000_000_000)
    server_5_x.register(server_5_x.broker(), topics("T1", "T2", version=newer))
    answer = server_5_x.register(server_5_x.broker("10.0.0.2"), topics("T1", "T2", version=older), host="10.0.0.2")
    assert answer.code == 0
    assert server_5_x.addresses("T1") == {"b-a": {0: "10.0.0.1:10911"}}


def _query(server: NameServerByHand, version: DataVersion, host: str = "10.0.0.1") -> tuple[str, bytes]:
    answer = server.answer(
        Code.QUERY_DATA_VERSION,
        write_json(version),
        brokerName="b-a",
        brokerAddr=f"{host}:10911",
        clusterName="C1",
        brokerId=0,
    )
    return answer.fields["changed"], answer.body


def test_query_data_version(server: NameServerByHand) -> None:
    _registered(server, "T1", "T2")
    known = write_json(VERSION_1)
    assert _query(server, VERSION_1) == ("false", known)
    assert _query(server, VERSION_2) == ("true", known)
    assert _query(server, VERSION_1, "10.0.0.7") == ("true", b"")


def test_the_state_version_counts_in_5_x_only() -> None:
    for release, changed in (("4.9.7", "false"), ("5.3.3", "true")):
        server = NameServerByHand(release=release)
        _registered(server, "T1", "T2")
        assert _query(server, DataVersion(VERSION_1.counter, 3, VERSION_1.timestamp))[0] == changed


# Probes 19 and 20: operators -----------------------------------------------------------------------------------------


@pytest.mark.conformance("W19")
def test_probe_19_an_unregistered_broker_vanishes(server: NameServerByHand) -> None:
    _registered(server, "T1", "T2")
    assert server.unregister().code == 0
    assert server.route("T1") is None
    body = parse_lenient(server.answer(Code.GET_BROKER_CLUSTER_INFO).body)
    assert body == {"brokerAddrTable": {}, "clusterAddrTable": {}}


def test_unregistering_one_id_leaves_the_other(server: NameServerByHand) -> None:
    _registered(server, "T1", "T2")
    server.register(server.broker("10.0.0.2"), topics("T1", "T2"), id=1, host="10.0.0.2")
    server.unregister()
    assert server.addresses("T1") == {"b-a": {1: "10.0.0.2:10911"}}
    assert server.permissions("T1") == {"b-a": 6}


def test_unregistering_a_stranger_is_no_error(server: NameServerByHand) -> None:
    assert server.unregister(name="nobody", host="10.9.9.9").code == 0


@pytest.mark.conformance("W20")
def test_probe_20_write_permission_is_wiped_until_the_version_changes(server: NameServerByHand) -> None:
    link = _registered(server, "T1", "T2")
    assert server.answer(Code.WIPE_WRITE_PERM_OF_BROKER, brokerName="b-a").fields == {"wipeTopicCount": "2"}
    assert server.permissions("T1") == {"b-a": 4}
    server.register(link, topics("T1", "T2"))
    assert server.permissions("T1") == {"b-a": 4}
    server.register(link, topics("T1", "T2", version=VERSION_2))
    assert server.permissions("T1") == {"b-a": 6}


@pytest.mark.conformance("W20")
def test_probe_20_write_permission_is_added(server: NameServerByHand) -> None:
    server.register(server.broker(), topics("T1", "T2", perm=7))
    server.answer(Code.WIPE_WRITE_PERM_OF_BROKER, brokerName="b-a")
    assert server.permissions("T1") == {"b-a": 5}
    assert server.answer(Code.ADD_WRITE_PERM_OF_BROKER, brokerName="b-a").fields == {"addTopicCount": "2"}
    assert server.permissions("T1") == {"b-a": 6}
    assert server.answer(Code.WIPE_WRITE_PERM_OF_BROKER, brokerName="stranger").fields == {"wipeTopicCount": "0"}


def test_a_topic_is_deleted_everywhere_or_in_one_cluster(server: NameServerByHand) -> None:
    server.register(server.broker(), topics("T1", "T2"))
    server.register(server.broker("10.0.0.2"), topics("T1", "T2"), name="b-b", host="10.0.0.2", cluster="C2")
    server.answer(Code.DELETE_TOPIC_IN_NAMESRV, topic="T1", clusterName="C2")
    assert list(server.addresses("T1")) == ["b-a"]
    server.answer(Code.DELETE_TOPIC_IN_NAMESRV, topic="T1")
    assert server.route("T1") is None
    assert list(server.addresses("T2")) == ["b-a", "b-b"]
    assert server.answer(Code.DELETE_TOPIC_IN_NAMESRV, topic="NoSuchTopic").code == 0


# Who holds an address ------------------------------------------------------------------------------------------------


def test_a_broker_that_changes_its_role_leaves_its_old_id(server: NameServerByHand) -> None:
    _registered(server, "T1", "T2")
    link = server.broker("10.0.0.2")
    server.register(link, topics("T1", "T2"), id=1, host="10.0.0.2")
    server.unregister()
    server.register(link, topics("T1", "T2"), id=0, host="10.0.0.2")
    assert server.addresses("T1") == {"b-a": {0: "10.0.0.2:10911"}}


def test_a_second_address_takes_a_used_id(server: NameServerByHand) -> None:
    first = _registered(server, "T1", "T2")
    server.register(server.broker("10.0.0.2"), topics("T1", "T2"), host="10.0.0.2")
    assert server.addresses("T1") == {"b-a": {0: "10.0.0.2:10911"}}
    server.env.hang_up(first)
    assert server.addresses("T1") == {"b-a": {0: "10.0.0.2:10911"}}


# Lists ---------------------------------------------------------------------------------------------------------------


def _listed(server: NameServerByHand, code: int, **fields: str) -> list[str]:
    return json.loads(server.answer(code, **fields).body)["topicList"]


def test_topic_lists(server: NameServerByHand) -> None:
    server.register(server.broker(), topics("T1", "T2"))
    server.register(server.broker("10.0.0.2"), topics("T3", "T4"), name="b-b", host="10.0.0.2", cluster="C2")
    assert _listed(server, Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == ["T1", "T2", "T3", "T4"]
    assert _listed(server, Code.GET_TOPICS_BY_CLUSTER, cluster="C2") == ["T3", "T4"]
    assert _listed(server, Code.GET_TOPICS_BY_CLUSTER, cluster="none") == []
    assert _listed(server, Code.GET_SYSTEM_TOPIC_LIST_FROM_NS) == ["C1", "C2", "b-a", "b-b"]
    system = json.loads(server.answer(Code.GET_SYSTEM_TOPIC_LIST_FROM_NS).body)
    assert system["brokerAddr"] == "10.0.0.1:10911"


def test_unit_lists_go_by_the_topic_flags(server: NameServerByHand) -> None:
    for number, flag in enumerate((0, 1, 2, 3)):
        name, host = f"b-{number}", f"10.0.1.{number}"
        server.register(server.broker(host), topics(f"T{flag}", f"U{flag}", topic_sys_flag=flag), name=name, host=host)
    assert _listed(server, Code.GET_UNIT_TOPIC_LIST) == ["T1", "U1", "T3", "U3"]
    assert _listed(server, Code.GET_HAS_UNIT_SUB_TOPIC_LIST) == ["T2", "U2", "T3", "U3"]
    assert _listed(server, Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST) == ["T2", "U2"]


def test_cluster_info_has_bare_keys_whoever_asks(server_4_9: NameServerByHand) -> None:
    _registered(server_4_9, "T1", "T2")
    assert server_4_9.answer(Code.GET_BROKER_CLUSTER_INFO, version=479).body == (
        b'{"brokerAddrTable":{"b-a":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"b-a","cluster":"C1"}},'
        b'"clusterAddrTable":{"C1":["b-a"]}}'
    )


@pytest.mark.parametrize("wish", [True, False])
def test_5_x_shows_a_brokers_wish_for_an_acting_master(server_5_x: NameServerByHand, wish: bool) -> None:
    server_5_x.register(server_5_x.broker(), topics("T1", "T2"), enableActingMaster=wish)
    route = server_5_x.route("T1")
    assert route is not None
    assert route.broker_datas[0].enable_acting_master is wish


def test_member_group_is_a_request_of_5_x(server_5_x: NameServerByHand) -> None:
    _registered(server_5_x, "T1", "T2")
    answer = server_5_x.answer(Code.GET_BROKER_MEMBER_GROUP, clusterName="C1", brokerName="b-a")
    assert answer.body == (
        b'{"brokerMemberGroup":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"b-a","cluster":"C1"}}'
    )


def _registered(server: NameServerByHand, *names: str) -> int:
    """A link on which the master of b-a registered these topics."""
    link = server.broker()
    assert server.register(link, topics(*names)).code == 0
    return link
