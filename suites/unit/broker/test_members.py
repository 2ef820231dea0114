"""A 5.x broker among the others of its name: its heartbeats, whom it asks, and what a changed smallest id does."""

from __future__ import annotations

import pytest

from reference_impl.broker.slave import TablesOfSlave
from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import BrokerData, TopicRouteData, write_route
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json, write_dialect
from reference_impl.wire.frame import Command
from reference_impl.wire.registration import read_registration
from suites.unit.broker.broker_by_hand import HOST, BrokerByHand

ONE, TWO = "10.1.0.1:9876", "10.1.0.2:9876"
MASTER, SLAVE = f"{HOST}:10911", "10.0.0.2:10911"
ACTING = {"release": "5.3.3", "enableSlaveActingMaster": "true"}


def acting(*, nameservers: tuple[str, ...] = (ONE,), **properties: str) -> BrokerByHand:
    """NameServers are connected, and have answered the first registration if there was one."""
    made = BrokerByHand(nameservers=nameservers, **(ACTING | properties))
    for link, _ in made.env.connects:
        made.env.establish(link)
    for server in nameservers:
        registrations(made, server)
    return made


def registrations(made: BrokerByHand, server: str = ONE) -> list[Command]:
    """Answered; everything else that has come is dropped."""
    heard = [request for request in made.heard(server) if request.code == Code.REGISTER_BROKER]
    for request in heard:
        made.reply(server, request)
    return heard


def members_body(members: dict[int, str], *, compatible: bool) -> bytes:
    group = BrokerData(members, "broker-a", "DefaultCluster")
    if compatible:
        return write_route(TopicRouteData(broker_datas=[group]))
    return write_dialect({"brokerMemberGroup": group})


def tell_members(made: BrokerByHand, members: dict[int, str], server: str = ONE, *, compatible: bool = True) -> None:
    """Wait for the next question, and answer it."""
    code = Code.GET_ROUTEINFO_BY_TOPIC if compatible else Code.GET_BROKER_MEMBER_GROUP
    made.env.advance(SECOND)
    (question,) = [request for request in made.heard(server) if request.code == code]
    made.reply(server, question, body=members_body(members, compatible=compatible))


def test_a_registration_says_that_it_acts_and_how_soon_it_is_missed() -> None:
    made = BrokerByHand(nameservers=(ONE,), **ACTING)
    made.env.establish(made.link_to(ONE))
    (request,) = registrations(made)
    assert (request.fields["enableActingMaster"], request.fields["heartbeatTimeoutMillis"]) == ("true", "10000")
    topics = read_registration(request.body, compressed=False).topics.topic_config_table
    assert topics["rmq_sys_SYNC_BROKER_MEMBER_broker-a"].perm == 1


@pytest.mark.parametrize(("release", "said"), [("5.3.3", "false"), ("4.9.7", None)])
def test_a_broker_that_does_not_act(release: str, said: str | None) -> None:
    """4.9 does not even know the word."""
    made = BrokerByHand(nameservers=(ONE,), release=release)
    made.env.establish(made.link_to(ONE))
    (request,) = registrations(made)
    assert request.fields.get("enableActingMaster") == said
    assert "heartbeatTimeoutMillis" not in request.fields
    made.env.advance(9 * SECOND)
    assert made.heard(ONE) == []


@pytest.mark.parametrize(
    ("compatible", "beat", "question"),
    [
        ("true", Code.QUERY_DATA_VERSION, Code.GET_ROUTEINFO_BY_TOPIC),
        ("false", Code.BROKER_HEARTBEAT, Code.GET_BROKER_MEMBER_GROUP),
    ],
)
def test_every_second_a_heartbeat_to_all_and_a_question_to_one(compatible: str, beat: int, question: int) -> None:
    made = acting(nameservers=(ONE, TWO), compatibleWithOldNameSrv=compatible)
    for _ in range(3):
        made.env.advance(SECOND)
        heard = {server: made.heard(server) for server in (ONE, TWO)}
        assert [(request.code, request.is_one_way) for request in heard[TWO]] == [(beat, True)]
        assert [request.code for request in heard[ONE]] == [beat, question]
        assert heard[ONE][0].fields["brokerAddr"] == MASTER
        body = members_body({0: MASTER}, compatible=compatible == "true")
        made.reply(ONE, heard[ONE][1], body=body)


def test_the_next_nameserver_is_asked_when_one_fails() -> None:
    made = acting(nameservers=(ONE, TWO))
    made.env.advance(SECOND)
    made.heard(ONE)
    made.env.advance(3 * SECOND - MS)
    assert {request.code for request in made.heard(TWO)} == {Code.QUERY_DATA_VERSION}
    made.env.advance(SECOND)
    assert Code.GET_ROUTEINFO_BY_TOPIC in {request.code for request in made.heard(TWO)}


@pytest.mark.parametrize(
    ("members", "alive"),
    [({0: MASTER}, 1), ({0: MASTER, 1: SLAVE}, 2), ({1: SLAVE}, 2), ({1: SLAVE, 2: "10.0.0.3:10911"}, 3)],
)
@pytest.mark.parametrize("compatible", [True, False])
def test_alive_are_those_that_are_listed_and_oneself(members: dict[int, str], alive: int, *, compatible: bool) -> None:
    made = acting(compatibleWithOldNameSrv=str(compatible).lower())
    tell_members(made, members, compatible=compatible)
    assert made.role.replication.transfer.alive_replicas == alive


@pytest.mark.parametrize("body", [b"", b"{", write_route(TopicRouteData())])
def test_an_answer_without_members_changes_nothing(body: bytes) -> None:
    made = acting(totalReplicas="3", skipPreOnline="true")
    made.env.advance(SECOND)
    (question,) = [request for request in made.heard(ONE) if request.code == Code.GET_ROUTEINFO_BY_TOPIC]
    made.reply(ONE, question, body=body)
    assert made.role.replication.transfer.alive_replicas == 3
    made.env.advance(SECOND)
    assert [request.code for request in made.heard(ONE)] == [Code.QUERY_DATA_VERSION, Code.GET_ROUTEINFO_BY_TOPIC]


# A slave --------------------------------------------------------------------------------------------------------------

OTHER = "10.0.0.9:10911"


def slave(**properties: str) -> BrokerByHand:
    made = acting(brokerRole="SLAVE", brokerId="1", **properties)
    made.role.replication.metadata.master = OTHER
    made.role.replication.client.address = "10.0.0.9:10912"
    return made


def test_a_slave_learns_within_a_second_that_its_master_went_and_came() -> None:
    made = slave()
    tell_members(made, {0: OTHER, 1: MASTER})
    tell_members(made, {1: MASTER})
    assert made.env.noted("acting_master_begins") == [{"least_id": 1}]
    assert (made.role.replication.metadata.master, made.role.replication.client.address) == (OTHER, "10.0.0.9:10912")
    tell_members(made, {0: OTHER, 1: MASTER})
    assert made.env.noted("acting_master_ends") == [{"least_id": 0}]
    made.env.establish(made.link_to(OTHER))
    (question,) = made.heard(OTHER)
    assert question.code == Code.EXCHANGE_BROKER_HA_INFO
    made.reply(OTHER, question, masterHaAddress="10.0.0.9:20912", masterAddress=OTHER)
    assert made.role.replication.client.address == "10.0.0.9:20912"


def test_a_master_that_went_is_forgotten_once_its_address_is_known() -> None:
    """A slave's first smallest id is 0 with no address, so it is the second loss that it can put a name to."""
    made = slave()
    for members in ({1: MASTER}, {0: OTHER, 1: MASTER}, {1: MASTER}):
        tell_members(made, members)
    assert made.role.replication.metadata.master is None
    assert made.role.replication.client.address is None


def test_a_nameserver_may_tell_by_itself() -> None:
    made = slave()
    gone = {"minBrokerId": 1, "minBrokerAddr": MASTER, "offlineBrokerAddr": OTHER}
    assert made.answer(Code.NOTIFY_MIN_BROKER_ID_CHANGE, **gone).code == 0
    assert made.role.replication.metadata.master is None
    back = {"minBrokerId": 0, "minBrokerAddr": OTHER, "haBrokerAddr": "10.0.0.9:30912"}
    assert made.answer(Code.NOTIFY_MIN_BROKER_ID_CHANGE, **back).code == 0
    assert made.env.connects[-1][1] == "10.0.0.9:30912"


def test_a_master_without_an_address_is_not_looked_for() -> None:
    made = slave()
    assert made.answer(Code.NOTIFY_MIN_BROKER_ID_CHANGE, minBrokerId=1, minBrokerAddr=MASTER).code == 0
    connects = len(made.env.connects)
    assert made.answer(Code.NOTIFY_MIN_BROKER_ID_CHANGE, minBrokerId=0).code == 0
    assert made.env.noted("acting_master_ends") == [{"least_id": 0}]
    assert len(made.env.connects) == connects


def test_where_a_returning_master_takes_slaves_counts_more_than_what_is_configured() -> None:
    """RocketMQ: onMasterOnline asks no configuration, as registering does."""
    made = slave(haMasterAddress="10.0.0.9:40912")
    back = {"minBrokerId": 0, "minBrokerAddr": OTHER, "haBrokerAddr": "10.0.0.9:30912"}
    for fields in ({"minBrokerId": 1, "minBrokerAddr": MASTER, "offlineBrokerAddr": OTHER}, back):
        assert made.answer(Code.NOTIFY_MIN_BROKER_ID_CHANGE, **fields).code == 0
    assert made.env.connects[-1][1] == "10.0.0.9:30912"


def test_who_asks_a_broker_for_its_ha_address() -> None:
    fields = acting().answer(Code.EXCHANGE_BROKER_HA_INFO).fields
    assert fields == {"masterHaAddress": f"{HOST}:10912", "masterAddress": MASTER, "masterFlushOffset": "0"}
    assert slave().answer(Code.EXCHANGE_BROKER_HA_INFO).fields == {}
    assert BrokerByHand().answer(Code.EXCHANGE_BROKER_HA_INFO).code == 3


def test_an_acting_slave_lets_the_store_refuse_a_send() -> None:
    made = slave()
    assert made.send("T").code == 14
    assert BrokerByHand(brokerRole="SLAVE", brokerId="1", release="5.3.3").send("T").code == 2


def test_offsets_have_a_version_that_every_500th_commit_bumps() -> None:
    made = acting()
    queue = {"consumerGroup": "CG", "topic": "T", "queueId": 0}
    for number in range(499):
        made.answer(Code.UPDATE_CONSUMER_OFFSET, **queue, commitOffset=number)
    assert counter(made) == 0
    made.answer(Code.UPDATE_CONSUMER_OFFSET, **queue, commitOffset=500)
    assert counter(made) == 1
    assert b"dataVersion" not in BrokerByHand().answer(Code.GET_ALL_CONSUMER_OFFSET).body


@pytest.mark.parametrize(("release", "told"), [("5.3.3", {"3": 70}), ("4.9.7", {})])
def test_a_slave_of_5x_tells_the_delay_offsets_that_it_has_from_its_master(release: str, told: dict[str, int]) -> None:
    """A returning master takes them back: they must be those of the last copy, not of the slave's start."""
    made = BrokerByHand(brokerRole="SLAVE", brokerId="1", release=release)
    text = '{"dataVersion":{"counter":2,"stateVersion":0,"timestamp":9},"offsetTable":{3:70}}'
    TablesOfSlave(made.role.state).take_delay_offsets(made.env, text)
    assert bytes(made.env.disk["store/config/delayOffset.json"]) == text.encode()
    body = read_json(made.answer(Code.GET_ALL_DELAY_OFFSET).body, dict)
    assert body["offsetTable"] == told
    assert body.get("dataVersion", {}).get("counter") == (2 if told else None)


def counter(made: BrokerByHand) -> int:
    body = made.answer(Code.GET_ALL_CONSUMER_OFFSET).body
    return int(read_json(body, dict)["dataVersion"]["counter"])


def test_a_slave_that_may_act_has_a_checkpoint_of_timers_that_never_began() -> None:
    assert slave().answer(Code.GET_TIMER_CHECK_POINT).body == bytes(56)
    assert BrokerByHand(brokerRole="SLAVE", brokerId="1").answer(Code.GET_TIMER_CHECK_POINT).code == 3, "of 5.x"
