"""Topics of a broker: which exist from the start, which come into being, what the file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reference_impl.broker import BrokerConfig
from reference_impl.broker.topics import TopicTable, name_fault
from reference_impl.wire.bodies import DataVersion, TopicConfig
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient
from suites.unit.broker.broker_by_hand import BrokerByHand

NOW_MS = 1_700_000_000_000
GOLDEN = Path(__file__).parents[2] / "conformance" / "golden" / "store" / "4.9.7" / "pair" / "master" / "config"


def table(**properties: str) -> TopicTable:
    return TopicTable(BrokerConfig.from_properties({"brokerName": "b", "brokerClusterName": "C", **properties}))


def shape(topic: TopicConfig | None) -> tuple[int, int, int] | None:
    return None if topic is None else (topic.read_queue_nums, topic.write_queue_nums, topic.perm)


def test_system_topics_exist_and_count_as_no_change() -> None:
    topics = table()
    assert {name: shape(topic) for name, topic in topics.topics.items()} == {
        "SELF_TEST_TOPIC": (1, 1, 6),
        "TBW102": (8, 8, 7),
        "BenchmarkTest": (1024, 1024, 6),
        "C": (16, 16, 7),
        "b": (1, 1, 7),
        "OFFSET_MOVED_EVENT": (1, 1, 6),
        "SCHEDULE_TOPIC_XXXX": (18, 18, 6),
        "C_REPLY_TOPIC": (1, 1, 6),
    }
    assert topics.version == DataVersion()
    topics.start_version(NOW_MS)
    assert topics.version == DataVersion(0, timestamp=NOW_MS)


@pytest.mark.parametrize(
    ("template", "asked", "made"),
    [("TBW102", 4, (4, 4, 6)), ("TBW102", 99, (8, 8, 6)), ("TBW102", -1, (0, 0, 6)), ("C", 99, (16, 16, 6)),
     ("BenchmarkTest", 4, None), ("NoSuchTopic", 4, None)],
)  # fmt: skip
def test_a_send_makes_a_topic_after_its_template(template: str, asked: int, made: tuple[int, int, int] | None) -> None:
    topics = table()
    assert shape(topics.create_from_template("T", template, asked, 0, NOW_MS)) == made
    assert ("T" in topics.topics, topics.version.counter) == (made is not None, int(made is not None))


def test_without_auto_creation_the_template_cannot_be_inherited() -> None:
    topics = table(autoCreateTopicEnable="false")
    assert topics.create_from_template("T", "TBW102", 4, 0, NOW_MS) is None
    topics.put(TopicConfig(topic_name="TBW102", perm=7), NOW_MS)  # left over from a time when it was on
    assert topics.create_from_template("T", "TBW102", 4, 0, NOW_MS) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [("T_1-a%|Z", None), ("x" * 127, None), ("x" * 128, "longer"), ("", "blank"), ("  ", "blank"), ("a b", "illegal"),
     ("a/b", "illegal"), ("ä", "illegal"), ("a\n", "illegal")],
)  # fmt: skip
def test_names(name: str, words: str | None) -> None:
    fault = name_fault(name)
    assert fault is None if words is None else words in (fault or "")


@pytest.mark.parametrize("name", ["TBW102", "rmq_sys_x", "C", "b", "C_REPLY_TOPIC", "RMQ_SYS_TRACE_TOPIC"])
def test_reserved_names(name: str) -> None:
    assert table().is_system(name)
    assert not table().is_system("T")


def test_a_restricted_broker_announces_its_own_permission() -> None:
    topics = table()
    topics.put(TopicConfig(topic_name="T", perm=6), NOW_MS)
    assert topics.announced(6).topic_config_table["T"].perm == 6
    assert {topic.perm for topic in topics.announced(4).topic_config_table.values()} == {4}
    assert topics.announced_one(topics.topics["T"], 4).topic_config_table["T"].perm == 4
    assert topics.topics["T"].perm == 6


def test_the_nameserver_says_which_topics_are_ordered() -> None:
    topics = table()
    for name in ("T1", "T2"):
        topics.put(TopicConfig(topic_name=name), NOW_MS)
    counter = topics.version.counter
    assert topics.apply_order({"T1": "b:4", "Other": "b:4"}, NOW_MS)
    assert [topics.topics[name].order for name in ("T1", "T2")] == [True, False]
    assert not topics.apply_order({"T1": "b:4"}, NOW_MS)
    assert topics.version.counter == counter + 1
    assert not topics.apply_order({}, NOW_MS, unmarks=False)  # 5.x
    assert topics.topics["T1"].order
    assert topics.apply_order({}, NOW_MS)
    assert not topics.topics["T1"].order


def test_a_file_of_apaches_broker_is_read_and_written_as_it_was() -> None:
    text = (GOLDEN / "topics.json").read_text()
    topics = table()
    topics.load(parse_lenient(text.encode()))
    wanted = json.loads(text)
    assert topics.version.counter == wanted["dataVersion"]["counter"]
    topics.topics = {name: topics.topics[name] for name in wanted["topicConfigTable"]}
    assert topics.file_text() == text


def test_system_topics_stay_beside_a_file_that_lacks_them() -> None:
    topics = table()
    topics.load({"topicConfigTable": {"T": {"topicName": "T", "readQueueNums": 2}}})
    assert shape(topics.topics["T"]) == (2, 16, 6)
    assert "TBW102" in topics.topics


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        (Code.GET_TOPIC_STATS_INFO, {"topic": "T"}),
        (Code.GET_CONSUME_STATS, {"consumerGroup": "CG", "topic": "T"}),
        (Code.QUERY_CONSUME_TIME_SPAN, {"topic": "T", "group": "CG"}),
        (Code.INVOKE_BROKER_TO_RESET_OFFSET, {"topic": "T", "group": "CG", "timestamp": -1, "isForce": True}),
        (Code.GET_BROKER_CONSUME_STATS, {"isOrder": False}),
    ],
)
def test_no_answer_lists_two_thousand_million_queues(code: int, fields: dict[str, object]) -> None:
    """Any client may make such a topic; RocketMQ fills its heap with the list."""
    broker = BrokerByHand()
    broker.create_topic("T", queues=2**31 - 1)
    broker.pull("T", 0)  # the group comes into being
    broker.ask(Code.UPDATE_CONSUMER_OFFSET, consumerGroup="CG", topic="T", queueId=0, commitOffset=1)
    answer = broker.answer(code, **fields)
    assert answer.code == 1
    assert answer.remark == "topic[T] has 2147483647 queues, an answer lists 100000"
    assert broker.env.noted("handler_failed") == []
