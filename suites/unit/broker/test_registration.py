"""A broker and its NameServers: told at which times, with what, and what a silent one changes (nothing)."""

from __future__ import annotations

import pytest

from reference_impl.environment import SECOND
from reference_impl.wire.bodies import DataVersion
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from reference_impl.wire.message import body_crc
from reference_impl.wire.registration import read_registration
from suites.unit.broker.broker_by_hand import HOST, BrokerByHand

ONE, TWO = "10.1.0.1:9876", "10.1.0.2:9876"


def broker(**properties: str) -> BrokerByHand:
    """Both NameServers can be reached and have answered the first registration."""
    made = BrokerByHand(nameservers=(ONE, TWO), **properties)
    for link, _ in made.env.connects:
        made.env.establish(link)
    for server in (ONE, TWO):
        answer_all(made, server)
    return made


def answer_all(broker: BrokerByHand, server: str, code: int = 0, body: bytes = b"") -> list[Command]:
    heard = broker.heard(server)
    for request in heard:
        if not request.is_one_way:
            broker.reply(server, request, code, body)
    return heard


def topics_in(request: Command) -> list[str]:
    compressed = request.fields["compressed"] == "true"
    return list(read_registration(request.body, compressed=compressed).topics.topic_config_table)


def test_the_first_registration_says_who_and_what() -> None:
    made = BrokerByHand(nameservers=(ONE,))
    made.env.establish(made.link_to(ONE))
    (request,) = made.heard(ONE)
    assert request.code == Code.REGISTER_BROKER
    assert request.fields == {
        "brokerName": "broker-a",
        "brokerAddr": f"{HOST}:10911",
        "clusterName": "DefaultCluster",
        "haServerAddr": f"{HOST}:10912",
        "brokerId": "0",
        "compressed": "false",
        "bodyCrc32": str(body_crc(request.body)),
    }
    assert {"TBW102", "SELF_TEST_TOPIC", "broker-a", "DefaultCluster"} <= set(topics_in(request))


def test_every_nameserver_is_told_at_the_start_after_ten_seconds_and_every_thirty() -> None:
    """And once more at 60 s, when the first check of transactions has made the topic of half messages."""
    made = broker()
    told = {ONE: [0], TWO: [0]}
    for second in range(1, 101):
        made.env.advance(SECOND)
        for server, seconds in told.items():
            seconds += [second for _ in answer_all(made, server)]
    assert told == {ONE: [0, 10, 40, 60, 70, 100], TWO: [0, 10, 40, 60, 70, 100]}


def test_a_nameserver_that_is_silent_or_gone_hinders_nothing() -> None:
    made = BrokerByHand(nameservers=(ONE, TWO))
    made.env.establish(made.link_to(ONE))
    made.env.hang_up(made.link_to(TWO))
    assert [note["nameserver"] for note in made.env.noted("register_failed")] == [TWO]
    made.env.advance(6 * SECOND)  # ONE never answers
    assert [note["reason"] for note in made.env.noted("register_failed")] == ["connect", "timeout"]
    made.env.advance(4 * SECOND)
    assert len(made.heard(ONE)) == 2
    made.env.establish(made.link_to(TWO))
    assert len(made.heard(TWO)) == 1


def test_an_auto_created_topic_is_announced_one_way_with_the_full_table() -> None:
    made = broker()
    assert made.send("New").code == 0
    for server in (ONE, TWO):
        (request,) = made.heard(server)
        assert request.is_one_way
        assert {"New", "TBW102"} <= set(topics_in(request))
    assert made.send("New").code == 0
    assert made.heard(ONE) == []


def test_an_operators_topic_is_answered_when_every_nameserver_has_it() -> None:
    made = broker()
    fields = {"topic": "T", "defaultTopic": "TBW102", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6}
    assert made.ask(Code.UPDATE_AND_CREATE_TOPIC, topicFilterType="SINGLE_TAG", order=False, **fields) == []
    (first,) = answer_all(made, ONE)
    assert (topics_in(first), first.is_one_way) == (["T"], False)
    assert made.received(made.client) == []
    answer_all(made, TWO)
    (answer,) = made.received(made.client)
    assert (answer.code, answer.remark) == (0, "not set any response code")


def test_an_operators_topic_is_answered_although_a_nameserver_is_silent() -> None:
    made = broker()
    fields = {"topic": "T", "defaultTopic": "TBW102", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6}
    made.ask(Code.UPDATE_AND_CREATE_TOPIC, topicFilterType="SINGLE_TAG", order=False, **fields)
    answer_all(made, ONE)
    made.env.advance(6 * SECOND)
    (answer,) = made.received(made.client)
    assert answer.code == 0


def test_a_refusal_of_the_nameserver_is_noted() -> None:
    made = BrokerByHand(nameservers=(ONE,))
    made.env.establish(made.link_to(ONE))
    answer_all(made, ONE, code=1)
    (note,) = made.env.noted("register_failed")
    assert note["reason"] == "SYSTEM_ERROR"


def test_the_compressed_form() -> None:
    made = broker(compressedRegister="true")
    made.env.advance(10 * SECOND)
    (request,) = answer_all(made, ONE)
    assert request.fields["compressed"] == "true"
    assert "TBW102" in topics_in(request)


def test_the_order_table_of_the_answer_marks_topics_and_is_saved() -> None:
    made = broker()
    made.send("T")
    made.heard(ONE)
    made.env.advance(10 * SECOND)
    answer_all(made, ONE, body=b'{"table":{"T":"broker-a:4"}}')
    assert b'"order":true' in bytes(made.env.disk["store/config/topics.json"])
    (request,) = [command for command in made.heard(TWO) if not command.is_one_way]
    assert b'"order":true' not in request.body
    made.env.advance(30 * SECOND)
    assert any(b'"order":true' in command.body for command in made.heard(ONE))


@pytest.mark.parametrize(("answers", "registers"), [(("false", "false"), False), (("false", "true"), True)])
def test_without_force_the_nameservers_are_asked_first(answers: tuple[str, str], registers: bool) -> None:
    made = broker(forceRegister="false")
    made.env.advance(10 * SECOND)
    for server, changed in zip((ONE, TWO), answers, strict=True):
        (question,) = made.heard(server)
        assert question.code == Code.QUERY_DATA_VERSION
        made.reply(server, question, changed=changed)
    assert [[command.code for command in made.heard(server)] for server in (ONE, TWO)] == (
        [[Code.REGISTER_BROKER], [Code.REGISTER_BROKER]] if registers else [[], []]
    )


def test_a_changed_permission_is_registered_at_once_in_every_topic() -> None:
    made = broker()
    assert made.answer(Code.UPDATE_BROKER_CONFIG, b"brokerPermission=4\n").code == 0
    (request,) = answer_all(made, ONE)
    table = read_registration(request.body, compressed=False).topics
    assert {topic.perm for topic in table.topic_config_table.values()} == {4}
    assert table.data_version != DataVersion()
    assert made.answer(Code.UPDATE_BROKER_CONFIG, b"listenPort=1\n").code == 1


def test_a_stopping_broker_takes_its_leave_and_ends_when_all_have_heard_it() -> None:
    made = broker()
    made.role.on_stop(made.env)
    made.sync_everything()
    (first,) = made.heard(ONE)
    assert (first.code, first.fields["brokerName"], first.fields["brokerId"]) == (
        Code.UNREGISTER_BROKER,
        "broker-a",
        "0",
    )
    made.reply(ONE, first)
    assert made.env.exit_code is None
    answer_all(made, TWO)
    assert made.env.exit_code == 0


def test_a_stopping_broker_does_not_wait_for_ever_for_a_nameserver() -> None:
    made = broker()
    made.role.on_stop(made.env)
    made.sync_everything()
    answer_all(made, ONE)
    made.env.advance(3 * SECOND)
    assert made.env.exit_code == 0
