"""A broker that may have an acting master looks for the others of its name before anybody hears of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from suites.unit.broker.broker_by_hand import HOST, BrokerByHand
from suites.unit.broker.test_members import ACTING, ONE, members_body, registrations

OWN, OTHER, THIRD = f"{HOST}:10911", "10.0.0.9:10911", "10.0.0.10:10911"
LATER = 9_999_999_999_999
DELAY_FILE = "store/config/delayOffset.json"


def isolated(members: Mapping[int, str], **properties: str) -> BrokerByHand:
    """Started, and told the members by its NameServer."""
    made = BrokerByHand(nameservers=(ONE,), totalReplicas="2", **(ACTING | properties))
    made.env.establish(made.link_to(ONE))
    tell(made, members)
    return made


def tell(made: BrokerByHand, members: Mapping[int, str]) -> None:
    (question,) = [request for request in made.heard(ONE) if request.code == Code.GET_ROUTEINFO_BY_TOPIC]
    made.reply(ONE, question, body=members_body(dict(members), compatible=True))


def is_registered(made: BrokerByHand) -> bool:
    return bool(registrations(made))


def asked(made: BrokerByHand, address: str, code: int) -> Command:
    """The one question to another broker."""
    made.env.establish(made.link_to(address))
    (question,) = made.heard(address)
    assert question.code == code
    return question


def offsets_body(counter: int, offset: int, *, timestamp: int = LATER) -> bytes:
    version = f'{{"counter":{counter},"stateVersion":0,"timestamp":{timestamp}}}'
    return f'{{"dataVersion":{version},"offsetTable":{{"T@CG":{{0:{offset}}}}}}}'.encode()


@pytest.mark.parametrize("members", [{}, {0: OWN}])
def test_a_broker_that_is_alone_goes_online_at_once(members: Mapping[int, str]) -> None:
    made = isolated(members)
    assert is_registered(made)
    assert made.env.noted("pre_online_done") == [{"least_id": 0}]


def test_a_slave_without_a_master_goes_online_at_once() -> None:
    made = isolated({2: OTHER}, brokerRole="SLAVE", brokerId="1")
    assert is_registered(made)


def test_nothing_is_said_before() -> None:
    made = isolated({1: OTHER})
    made.env.advance(30 * SECOND)
    assert {request.code for request in made.heard(ONE)} == {Code.GET_ROUTEINFO_BY_TOPIC}


@pytest.mark.parametrize("other", [{"totalReplicas": "1"}, {"skipPreOnline": "true"}, {"release": "4.9.7"}])
def test_who_registers_at_its_start(other: dict[str, str]) -> None:
    made = BrokerByHand(nameservers=(ONE,), **(ACTING | {"totalReplicas": "2"} | other))
    made.env.establish(made.link_to(ONE))
    assert is_registered(made)


def test_a_slave_waits_for_the_log_of_its_master() -> None:
    made = isolated({0: OTHER}, brokerRole="SLAVE", brokerId="1")
    question = asked(made, OTHER, Code.EXCHANGE_BROKER_HA_INFO)
    made.reply(OTHER, question, masterHaAddress="10.0.0.9:10912", masterAddress=OTHER)
    made.env.advance(2 * SECOND)
    assert not is_registered(made)
    made.env.establish(made.link_to("10.0.0.9:10912"))
    made.env.advance(SECOND)
    assert is_registered(made)


def test_a_slave_whose_master_does_not_answer_begins_again() -> None:
    made = isolated({0: OTHER}, brokerRole="SLAVE", brokerId="1")
    made.env.hang_up(made.link_to(OTHER))
    assert made.env.noted("pre_online_failed") == [{"why": "the master does not answer"}]
    made.heard(ONE)
    made.env.advance(SECOND)
    assert [request.code for request in made.heard(ONE)].count(Code.GET_ROUTEINFO_BY_TOPIC) >= 1


def connected(made: BrokerByHand, slave: str = OTHER) -> None:
    """The slave has been told, and its connection of the log stands."""
    question = asked(made, slave, Code.EXCHANGE_BROKER_HA_INFO)
    assert question.fields["masterHaAddress"] == f"{HOST}:10912"
    assert question.fields["masterAddress"] == OWN
    made.reply(slave, question)
    made.env.accept(f"{slave.partition(':')[0]}:45000", listener=f"{HOST}:10912")
    made.env.advance(SECOND)


def give_tables(made: BrokerByHand, slave: str, delays: bytes, offsets: bytes) -> None:
    made.reply(slave, asked(made, slave, Code.GET_ALL_DELAY_OFFSET), body=delays)
    made.reply(slave, asked(made, slave, Code.GET_ALL_CONSUMER_OFFSET), body=offsets)


DELAYS = b'{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":9},"offsetTable":{}}'


def offset_of(made: BrokerByHand) -> int | None:
    return made.role.state.offsets.query("CG", "T", 0)


def test_a_master_takes_what_its_slave_has_done() -> None:
    made = isolated({1: OTHER})
    connected(made)
    assert not is_registered(made)
    give_tables(made, OTHER, DELAYS, offsets_body(0, 41))
    assert is_registered(made)
    assert offset_of(made) == 41


def test_without_a_nameserver_it_stays_isolated_and_says_so() -> None:
    made = BrokerByHand(totalReplicas="2", **ACTING)
    made.env.advance(2 * SECOND + MS)
    assert made.env.noted("pre_online_failed") == [{"why": "no NameServer"}] * 3
    assert made.env.noted("pre_online_done") == []


NEW = b'"dataVersion":{"counter":9,"stateVersion":0,"timestamp":9}'


@pytest.mark.parametrize(
    "body", [b"\xff", b"{" + NEW + b"}", b"{" + NEW + b',"offsetTable":[]}', b"{" + NEW + b',"offsetTable":{"one":1}}']
)
def test_delay_offsets_that_cannot_be_read_are_not_kept(body: bytes) -> None:
    """Newer than the own, as far as they say so."""
    made = isolated({1: OTHER})
    connected(made)
    saved = made.env.disk.get(DELAY_FILE)
    made.reply(OTHER, asked(made, OTHER, Code.GET_ALL_DELAY_OFFSET), body=body)
    assert len(made.env.noted("pre_online_failed")) == 1
    assert made.env.disk.get(DELAY_FILE) == saved


def test_of_every_slave_one_after_the_other() -> None:
    made = isolated({2: THIRD, 1: OTHER})
    for slave, offset in ((OTHER, 41), (THIRD, 42)):
        connected(made, slave)
        give_tables(made, slave, DELAYS, offsets_body(0, offset))
    assert is_registered(made)
    assert offset_of(made) == 42


@pytest.mark.parametrize(("counter", "timestamp", "expected"), [(0, 1, None), (1, 1, 41), (0, LATER, 41)])
def test_an_older_table_is_not_taken(counter: int, timestamp: int, expected: int | None) -> None:
    """A fresh master's table has the time of its start."""
    made = isolated({1: OTHER})
    connected(made)
    give_tables(made, OTHER, DELAYS, offsets_body(counter, 41, timestamp=timestamp))
    assert is_registered(made)
    assert offset_of(made) == expected


def test_a_slave_that_does_not_connect_is_tried_again_and_those_that_are_done_are_not() -> None:
    made = isolated({1: OTHER, 2: THIRD})
    connected(made)
    give_tables(made, OTHER, DELAYS, offsets_body(0, 41))
    made.reply(THIRD, asked(made, THIRD, Code.EXCHANGE_BROKER_HA_INFO))
    made.env.advance(11 * SECOND)
    assert made.env.noted("pre_online_failed") == [{"why": "no connection of the log"}]
    made.heard(ONE)
    for _ in range(3):
        made.env.advance(SECOND)
        for question in made.heard(ONE):
            if question.code == Code.GET_ROUTEINFO_BY_TOPIC:
                made.reply(ONE, question, body=members_body({1: OTHER, 2: THIRD}, compatible=True))
    assert made.heard(OTHER) == []
    connected(made, THIRD)
    give_tables(made, THIRD, DELAYS, offsets_body(0, 43))
    made.env.advance(MS)
    assert is_registered(made)


def test_delayed_messages_wait_until_it_is_online() -> None:
    made = isolated({1: OTHER})
    assert made.send("T", properties="DELAY\x011").code == 0
    made.env.advance(2 * SECOND)
    assert not is_registered(made)
    assert made.pull("T", 0)[0].code == 19
    connected(made)
    give_tables(made, OTHER, DELAYS, offsets_body(0, 1))
    made.env.advance(2 * SECOND)
    assert made.pull("T", 0)[0].code == 0


def returning() -> tuple[BrokerByHand, str]:
    """A master that has asked its slave."""
    made = isolated({1: OTHER})
    made.env.establish(made.link_to(OTHER))
    return made, OTHER


def waiting_for_its_master() -> tuple[BrokerByHand, str]:
    """A slave that has asked where its master takes slaves."""
    made = isolated({0: OTHER}, brokerRole="SLAVE", brokerId="1")
    made.env.establish(made.link_to(OTHER))
    return made, OTHER


def looking() -> tuple[BrokerByHand, str]:
    """One whose NameServer has not answered yet."""
    made = BrokerByHand(nameservers=(ONE,), totalReplicas="2", **ACTING)
    made.env.establish(made.link_to(ONE))
    return made, ONE


@pytest.mark.parametrize("begin", [returning, waiting_for_its_master, looking])
def test_what_fails_after_its_stop_is_not_begun_again(begin: Callable[[], tuple[BrokerByHand, str]]) -> None:
    made, asked_one = begin()
    made.role.on_stop(made.env)
    made.env.hang_up(made.link_to(asked_one))
    assert made.env.noted("pre_online_failed") == []
