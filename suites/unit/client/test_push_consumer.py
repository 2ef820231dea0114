"""Members of a group: who reads what, and what becomes of a message that was refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.client import MessageQueue, PulledMessage, PushConsumer, PushSettings
from reference_impl.client.push import allocate
from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import MessageQueue as Queue
from reference_impl.wire.bodies import read_consumer_status, write_queue_offsets
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import write_json
from reference_impl.wire.frame import Command
from reference_impl.wire.heartbeat import read_heartbeat
from reference_impl.wire.message import Message, encode_record, parse_properties, properties_text
from suites.unit.client.client_by_hand import NS1, World, nameserver, route

A, B = "10.2.1.1:10911", "10.2.2.1:10911"
ME = "10.0.0.9@DEFAULT"


@pytest.mark.parametrize(
    ("queues", "members", "slices"),
    [(8, 3, [[0, 1, 2], [3, 4, 5], [6, 7]]), (2, 3, [[0], [1], []]), (4, 4, [[0], [1], [2], [3]]), (0, 2, [[], []]),
     (3, 1, [[0, 1, 2]])],
)  # fmt: skip
def test_slices(queues: int, members: int, slices: list[list[int]]) -> None:
    all_queues = [MessageQueue("T", "a", number) for number in range(queues)]
    names = [f"c{number}" for number in range(members)]
    assert [[queue.queue_id for queue in allocate(all_queues, names, name)] for name in names] == slices
    assert allocate(all_queues, names, "stranger") == []


@given(st.integers(0, 40), st.integers(1, 12))
def test_slices_cover_every_queue_once_and_differ_by_one_at_most(queues: int, members: int) -> None:
    all_queues = [MessageQueue("T", "a", number) for number in range(queues)]
    names = [f"c{number:02}" for number in range(members)]
    slices = [allocate(all_queues, names, name) for name in names]
    assert [queue for part in slices for queue in part] == all_queues
    assert max(map(len, slices)) - min(map(len, slices)) <= 1


class GroupServer:
    """A broker with the members of a group, one message a queue, and an opinion on what is sent back."""

    def __init__(self) -> None:
        self.members = [ME]
        self.records: dict[tuple[str, int, int], bytes] = {}
        self.send_back_code: int | None = 0
        self.send_code = 0

    def put(self, topic: str, queue: int, offset: int, body: bytes, **properties: str) -> None:
        message = Message(topic=topic, queue_id=queue, queue_offset=offset, physical_offset=1000 + offset, body=body)
        message.properties = properties_text(properties)
        message.born_host = message.store_host = A
        self.records[topic, queue, offset] = encode_record(message)

    def __call__(self, request: Command) -> Command | None:
        if request.code == Code.GET_CONSUMER_LIST_BY_GROUP:
            return Command(0, {}, write_json({"consumerIdList": self.members})) if self.members else Command(1, {})
        if request.code == Code.PULL_MESSAGE:
            return self._pull(request)
        if request.code == Code.CONSUMER_SEND_MSG_BACK:
            return None if self.send_back_code is None else Command(self.send_back_code)
        if request.code == Code.SEND_MESSAGE_V2:
            return Command(self.send_code, {"msgId": "0" * 32, "queueId": "0", "queueOffset": "0"})
        return Command(0, {"offset": "0"})

    def _pull(self, request: Command) -> Command | None:
        offset = int(request.fields["queueOffset"])
        record = self.records.get((request.fields["topic"], int(request.fields["queueId"]), offset))
        fields = {"nextBeginOffset": str(offset + 1), "minOffset": "0", "maxOffset": "9", "suggestWhichBrokerId": "0"}
        return Command(0, fields, record) if record is not None else None


class Setup:
    def __init__(self, *, subscriptions: dict[str, str] | None = None) -> None:
        self.world = World(start=False)
        self.a = GroupServer()
        routes = {"T": route(queues=4, broker_a=A), "%RETRY%CG": route(queues=1, broker_a=A)}
        self.world.scripts |= {NS1: nameserver(routes), A: self.a}
        self.refuse: set[bytes] = set()
        self.heard: list[PulledMessage] = []
        settings = PushSettings("CG", subscriptions or {"T": "*"})
        self.consumer = PushConsumer(self.world.client, settings, lambda _env, message: self._listen(message))

    def _listen(self, message: PulledMessage) -> bool:
        self.heard.append(message)
        return message.body not in self.refuse

    def go(self, duration_ns: int = 100 * MS) -> None:
        if not self.world.env.timers:
            self.world.start()
        self.world.pass_time(duration_ns)

    def own(self) -> list[tuple[str, int]]:
        return [(queue.topic, queue.queue_id) for queue in self.consumer.queues()]

    def committed(self) -> dict[tuple[str, int], int]:
        return {
            (request.fields["topic"], int(request.fields["queueId"])): int(request.fields["commitOffset"])
            for request in self.world.requests(Code.UPDATE_CONSUMER_OFFSET)
        }


def test_a_lone_member_takes_everything_at_once() -> None:
    setup = Setup()
    setup.go()
    assert sorted(setup.own()) == [("%RETRY%CG", 0), ("T", 0), ("T", 1), ("T", 2), ("T", 3)]


def test_the_heartbeat_says_what_is_wanted() -> None:
    setup = Setup(subscriptions={"T": "TagA || TagB"})
    setup.go()
    (group,) = read_heartbeat(setup.world.requests(Code.HEART_BEAT)[0].body).consumer_data_set
    assert (group.group_name, group.consume_type, group.message_model) == ("CG", "CONSUME_PASSIVELY", "CLUSTERING")
    told = {data.topic: (data.sub_string, data.tags_set, data.code_set) for data in group.subscription_data_set}
    assert told == {"T": ("TagA || TagB", ["TagA", "TagB"], [2598919, 2598920]), "%RETRY%CG": ("*", [], [])}
    assert all("subscription" not in pull.fields for pull in setup.world.requests(Code.PULL_MESSAGE))


def test_a_notice_makes_it_look_again_at_once() -> None:
    setup = Setup()
    setup.go()
    setup.a.members = [ME, "10.9.9.9@x"]
    setup.world.tell(A, Command(Code.NOTIFY_CONSUMER_IDS_CHANGED, {"consumerGroup": "CG"}, flag=2))
    setup.go()
    assert [queue for topic, queue in setup.own() if topic == "T"] == [0, 1]


def asks_for_progress(setup: Setup, group: str) -> tuple[dict, dict]:
    fields = {"group": group, "topic": "T"}
    setup.world.tell(A, Command(Code.GET_CONSUMER_STATUS_FROM_CLIENT, fields, opaque=77))
    setup.go()
    (told,) = [command for _, command in setup.world.asked if command.is_answer and command.opaque == 77]
    setup.world.asked.clear()
    return read_consumer_status(told.body)


def test_it_tells_how_far_its_group_is_and_of_others_nothing() -> None:
    setup = Setup()
    setup.a.put("T", 2, 0, b"one")
    setup.go()
    assert asks_for_progress(setup, "CG") == ({Queue("broker-a", 2, "T"): 1}, {})
    assert asks_for_progress(setup, "another") == ({}, {})


def test_a_group_that_is_sent_back_lets_its_queues_go_and_takes_them_again_at_the_new_offsets() -> None:
    setup = Setup()
    for offset in range(3):
        setup.a.put("T", 1, offset, b"%d" % offset)
    setup.go()
    body = write_queue_offsets({Queue("broker-a", 1, "T"): 1, Queue("broker-z", 0, "T"): 5})
    notice = Command(Code.RESET_CONSUMER_CLIENT_OFFSET, {"group": "CG", "topic": "T"}, body, flag=2)
    setup.world.tell(A, notice)
    setup.go()
    assert sorted(setup.own()) == [("%RETRY%CG", 0), ("T", 0), ("T", 2), ("T", 3)]
    assert setup.committed()["T", 1] == 3, "what it had done was told once more"
    setup.go(9 * SECOND)
    assert ("T", 1) not in setup.own(), "what is under way gets time to end"
    setup.go(SECOND)
    assert setup.committed()["T", 1] == 1
    assert ("T", 1) in setup.own()
    assert ("T", 0, "broker-z") not in [(q.topic, q.queue_id, q.broker_name) for q in setup.consumer.queues()]


def test_a_notice_for_another_group_or_one_that_cannot_be_read_sends_nobody_back() -> None:
    setup = Setup()
    setup.go()
    before = setup.own()
    for group, body in (("another", write_queue_offsets({Queue("broker-a", 1, "T"): 1})), ("CG", b"{]")):
        setup.world.tell(A, Command(Code.RESET_CONSUMER_CLIENT_OFFSET, {"group": group}, body, flag=2))
        setup.go()
        assert setup.own() == before


def test_without_a_notice_it_looks_again_after_twenty_seconds() -> None:
    setup = Setup()
    setup.go()
    setup.a.members = [ME, "10.9.9.9@x"]
    setup.go(19 * SECOND)
    assert len(setup.own()) == 5
    setup.go(2 * SECOND)
    assert len(setup.own()) == 3


def test_who_is_not_in_the_list_has_nothing_and_an_unanswered_question_changes_nothing() -> None:
    setup = Setup()
    setup.go()
    setup.a.members = []
    setup.go(21 * SECOND)
    assert len(setup.own()) == 5
    setup.a.members = ["10.9.9.9@x"]
    setup.go(21 * SECOND)
    assert setup.own() == []


def test_a_queue_that_is_taken_away_is_committed_first() -> None:
    setup = Setup()
    setup.a.put("T", 3, 0, b"m")
    setup.go()
    setup.a.members = ["10.0.0.0@first", ME]
    setup.go(20 * SECOND)
    assert ("T", 0) not in setup.own()
    assert setup.committed()[("T", 3)] == 1


def test_done_messages_are_committed() -> None:
    setup = Setup()
    for offset in range(3):
        setup.a.put("T", 0, offset, b"%d" % offset)
    setup.go(11 * SECOND)
    assert [message.body for message in setup.heard] == [b"0", b"1", b"2"]
    assert setup.committed()[("T", 0)] == 3


def test_a_refused_message_is_sent_back_and_then_counts_as_done() -> None:
    setup = Setup()
    setup.refuse = {b"bad"}
    setup.a.put("T", 0, 0, b"bad")
    setup.a.put("T", 0, 1, b"good")
    setup.go(11 * SECOND)
    (back,) = setup.world.requests(Code.CONSUMER_SEND_MSG_BACK)
    assert (back.fields["offset"], back.fields["group"], back.fields["delayLevel"]) == ("1000", "CG", "0")
    assert (back.fields["originTopic"], back.fields["maxReconsumeTimes"]) == ("T", "16")
    assert setup.committed()[("T", 0)] == 2


def test_what_cannot_be_sent_back_is_sent_to_the_retry_topic() -> None:
    setup = Setup()
    setup.refuse = {b"bad"}
    setup.a.send_back_code = 1
    setup.a.put("T", 0, 0, b"bad", KEYS="k")
    setup.go(11 * SECOND)
    (send,) = setup.world.requests(Code.SEND_MESSAGE_V2)
    told = parse_properties(send.fields["i"])
    assert (send.fields["b"], send.fields["j"], send.fields["l"]) == ("%RETRY%CG", "1", "16")
    assert (told["RETRY_TOPIC"], told["DELAY"], told["KEYS"]) == ("T", "3", "k")
    assert setup.committed()[("T", 0)] == 1


def test_what_nobody_takes_comes_again_and_holds_the_offset_back() -> None:
    setup = Setup()
    setup.refuse = {b"bad"}
    setup.a.send_back_code, setup.a.send_code = 1, 13
    setup.a.put("T", 0, 0, b"bad")
    setup.a.put("T", 0, 1, b"good")
    setup.go(4 * SECOND)
    assert [message.body for message in setup.heard] == [b"bad", b"good"]
    setup.go(8 * SECOND)
    assert [(message.body, message.reconsume_times) for message in setup.heard[2:]] == [(b"bad", 1), (b"bad", 2)]
    assert setup.committed()[("T", 0)] == 0
    setup.refuse = set()
    setup.go(10 * SECOND)
    assert setup.committed()[("T", 0)] == 2


def test_a_stopping_member_leaves_the_group() -> None:
    setup = Setup()
    setup.go()
    link = setup.world.client.remoting.link_to(A)
    assert link is not None
    setup.world.client.on_stop(setup.world.env)
    assert b'"consumerGroup":"CG"' in setup.world.env.take(link)
