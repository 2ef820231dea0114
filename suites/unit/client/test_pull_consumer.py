"""What a pull consumer asks next, from whom, and what it tells the broker of its progress."""

from __future__ import annotations

import zlib

import pytest

from reference_impl.client import MessageQueue, Observer, PullConsumer, PullOutcome, PullSettings
from reference_impl.environment import MS, SECOND, Address, Environment
from reference_impl.wire.bodies import TopicRouteData
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from reference_impl.wire.message import Message, encode_record, properties_text
from suites.unit.client.client_by_hand import NS1, World, nameserver, route

A, A1, B = "10.2.1.1:10911", "10.2.1.2:10911", "10.2.2.1:10911"
Q = MessageQueue("T", "broker-a", 0)


def record(offset: int, body: bytes = b"m", **more: object) -> bytes:
    hosts = {"born_host": "10.0.0.9:1", "store_host": A}
    return encode_record(Message(topic="T", queue_id=0, queue_offset=offset, body=body, **hosts, **more))  # type: ignore[arg-type]


class PullServer:
    """Answers pulls by offset from ``answers``; at any other offset it is silent, as a broker that parks the pull."""

    def __init__(self) -> None:
        self.answers: dict[int, Command] = {}
        self.committed: int | None = None
        self.extent = (0, 9)
        self.suggestion = 0

    def found(self, offset: int, *records: bytes, next_offset: int | None = None) -> None:
        self.answers[offset] = self._answer(0, next_offset or offset + len(records), b"".join(records))

    def nothing(self, offset: int, code: int, next_offset: int) -> None:
        self.answers[offset] = self._answer(code, next_offset)

    def _answer(self, code: int, next_offset: int, body: bytes = b"") -> Command:
        fields = {
            "nextBeginOffset": next_offset,
            "minOffset": 0,
            "maxOffset": 9,
            "suggestWhichBrokerId": self.suggestion,
        }
        return Command(code, {name: str(value) for name, value in fields.items()}, body)

    def __call__(self, request: Command) -> Command | None:
        if request.code == Code.PULL_MESSAGE:
            return self.answers.get(int(request.fields["queueOffset"]))
        if request.code == Code.QUERY_CONSUMER_OFFSET:
            return Command(22) if self.committed is None else Command(0, {"offset": str(self.committed)})
        if request.code in (Code.GET_MIN_OFFSET, Code.GET_MAX_OFFSET):
            return Command(0, {"offset": str(self.extent[request.code == Code.GET_MAX_OFFSET])})
        return Command(0, {})


class Setup:
    def __init__(self, routes: dict[str, TopicRouteData] | None = None, **settings: object) -> None:
        self.world = World(start=False)
        self.routes = routes or {"T": route(broker_a=A)}
        self.server = PullServer()
        self.world.scripts |= {NS1: nameserver(self.routes), A: self.server}
        self.outcomes: list[PullOutcome] = []
        self.consumer = PullConsumer(
            self.world.client, PullSettings(group="CG", **settings), lambda _env, outcome: self.outcomes.append(outcome)
        )  # type: ignore[arg-type]
        self.world.start()
        self.world.client.routes.refresh(self.world.env, "T")
        self.world.pass_time(20 * MS)

    def assign(self, offset: int, *queues: MessageQueue) -> None:
        self.consumer.assign(self.world.env, dict.fromkeys(queues or (Q,), offset))
        self.world.pass_time(10 * MS)

    def pulled(self) -> list[int]:
        """Offsets that were asked for."""
        return [int(request.fields["queueOffset"]) for request in self.world.requests(Code.PULL_MESSAGE)]

    def statuses(self) -> list[str]:
        return [outcome.status for outcome in self.outcomes]


def test_found_messages_are_handed_over_and_the_next_pull_leaves_at_once() -> None:
    setup = Setup()
    setup.server.found(0, record(0, b"a"), record(1, b"b"))
    setup.server.found(2, record(2, b"c"))
    setup.assign(0)
    assert [[message.body for message in outcome.messages] for outcome in setup.outcomes] == [[b"a", b"b"], [b"c"]]
    assert (setup.pulled(), setup.consumer.position(Q)) == ([0, 2, 3], 3)
    first = setup.outcomes[0].messages[0]
    assert (first.queue, first.queue_offset, first.message_id[:16]) == (Q, 0, "0A02010100002A9F")


def test_a_pull_is_javas() -> None:
    setup = Setup()
    setup.assign(7)
    (request,) = setup.world.requests(Code.PULL_MESSAGE)
    assert request.fields == {
        "consumerGroup": "CG",
        "topic": "T",
        "queueId": "0",
        "queueOffset": "7",
        "maxMsgNums": "32",
        "sysFlag": "6",
        "commitOffset": "0",
        "suspendTimeoutMillis": "15000",
        "subscription": "*",
        "subVersion": "0",
        "expressionType": "TAG",
        "bname": "broker-a",
    }


@pytest.mark.parametrize("code", [19, 20])
def test_nothing_found_goes_on_at_once_from_where_the_broker_says(code: int) -> None:
    setup = Setup()
    setup.server.nothing(0, code, 5)
    setup.assign(0)
    assert setup.pulled() == [0, 5]


def test_a_moved_offset_is_followed() -> None:
    setup = Setup()
    setup.server.nothing(100, 21, 9)
    setup.assign(100)
    assert (setup.statuses(), setup.pulled()) == (["PULL_OFFSET_MOVED"], [100, 9])


@pytest.mark.parametrize(("code", "status"), [(1, "SYSTEM_ERROR"), (17, "TOPIC_NOT_EXIST"), (16, "NO_PERMISSION")])
def test_a_refused_pull_is_repeated_after_a_second_from_the_same_offset(code: int, status: str) -> None:
    setup = Setup()
    setup.server.answers[3] = Command(code, {}, remark="why")
    setup.assign(3)
    assert (setup.statuses(), setup.pulled()) == ([status], [3])
    assert (setup.outcomes[0].next_offset, setup.outcomes[0].remark) == (-1, "why")
    setup.world.pass_time(SECOND)
    assert setup.pulled() == [3, 3]


def test_flow_control_is_repeated_after_twenty_milliseconds() -> None:
    setup = Setup()
    setup.server.answers[0] = Command(215, {})
    setup.assign(0)
    assert len(setup.pulled()) == 1
    setup.world.pass_time(20 * MS)
    assert len(setup.pulled()) == 2


def test_a_broker_that_dies_is_asked_again_when_it_is_back() -> None:
    setup = Setup()
    setup.assign(0)
    setup.world.kill(A)
    setup.world.pass_time(3 * SECOND)
    assert set(setup.statuses()) == {"CONNECTION_CLOSED", "CONNECT_FAILED"}
    setup.world.dead.clear()
    setup.server.found(0, record(0))
    setup.world.pass_time(2 * SECOND)
    assert setup.statuses()[-1] == "OK"


def test_the_suggested_broker_is_asked_next_and_another_when_it_is_gone() -> None:
    setup = Setup({"T": route(broker_a={0: A, 1: A1})})
    slave = PullServer()
    setup.world.scripts[A1] = slave
    setup.server.suggestion = 1
    setup.server.found(0, record(0))
    setup.assign(0)
    assert [(to, request.fields["queueOffset"]) for to, request in setup.world.asked if request.code == 11] == [
        (A, "0"),
        (A1, "1"),
    ]
    setup.routes["T"] = route(broker_a={0: A})
    setup.world.client.routes.refresh(setup.world.env, "T")
    setup.world.kill(A1)
    setup.world.pass_time(2 * SECOND)
    assert [to for to, request in setup.world.asked if request.code == 11][-1] == A


def test_tags_are_compared_by_their_text() -> None:
    setup = Setup(expression="TagA || TagB")
    texts = [properties_text({"TAGS": tag}) for tag in ("TagA", "Other", "TagB")]
    setup.server.found(0, *(record(offset, properties=text) for offset, text in enumerate(texts)))
    setup.assign(0)
    assert [message.queue_offset for message in setup.outcomes[0].messages] == [0, 2]
    assert setup.world.requests(Code.PULL_MESSAGE)[0].fields["subscription"] == "TagA || TagB"


DAMAGED = {
    "a compressed body that is none": record(3, b"not zlib", sys_flag=0x301),
    "a record that is cut off": record(3)[:-1],
    "no record at all": b"\0" * 64,
}


@pytest.mark.parametrize("body", DAMAGED.values(), ids=DAMAGED)
def test_an_answer_that_cannot_be_read_is_asked_for_again_after_a_second(body: bytes) -> None:
    setup = Setup()
    setup.server.found(3, body)
    setup.assign(3)
    (outcome,) = setup.outcomes
    assert (outcome.status, outcome.next_offset, outcome.messages) == ("DAMAGED_ANSWER", -1, ())
    assert outcome.remark
    setup.world.pass_time(SECOND)
    assert setup.pulled() == [3, 3]


def test_a_compressed_body_is_inflated() -> None:
    setup = Setup()
    setup.server.found(0, record(0, zlib.compress(b"packed"), sys_flag=0x301))
    setup.assign(0)
    assert setup.outcomes[0].messages[0].body == b"packed"


# Where to start ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("committed", "from_last", "start"), [(5, True, 5), (0, True, 0), (None, True, 9), (None, False, 0)]
)
def test_a_queue_without_an_offset_starts_where_the_group_stands(
    committed: int | None, from_last: bool, start: int
) -> None:
    setup = Setup(from_last=from_last)
    setup.server.committed = committed
    setup.assign(-1)
    assert setup.pulled() == [start]


def test_the_start_is_looked_for_until_somebody_answers() -> None:
    setup = Setup()
    setup.world.dead[A] = True
    setup.assign(-1)
    setup.world.pass_time(3 * SECOND)
    assert (setup.pulled(), setup.consumer.position(Q)) == ([], -1)
    setup.world.dead.clear()
    setup.server.committed = 4
    setup.world.pass_time(2 * SECOND)
    assert setup.pulled() == [4]


def test_without_a_master_a_slave_is_asked_where_the_group_stands() -> None:
    setup = Setup({"T": route(broker_a={1: A1})})
    slave = PullServer()
    slave.committed = 6
    setup.world.scripts[A1] = slave
    setup.assign(-1)
    assert [(to, request.code) for to, request in setup.world.asked if to == A1] == [(A1, 14), (A1, 11)]


# Progress ------------------------------------------------------------------------------------------------------------


def test_what_was_seen_is_committed_with_the_next_pull_and_every_five_seconds() -> None:
    setup = Setup()
    setup.server.found(0, record(0), record(1))
    setup.assign(0)
    second = setup.world.requests(Code.PULL_MESSAGE)[1]
    assert (second.fields["sysFlag"], second.fields["commitOffset"]) == ("7", "2")
    setup.world.pass_time(21 * SECOND)
    updates = setup.world.requests(Code.UPDATE_CONSUMER_OFFSET)
    assert [update.fields["commitOffset"] for update in updates] == ["2", "2", "2"]
    assert all(update.is_one_way for update in updates)
    assert setup.world.watcher.commits == [(Q, 2)] * 3


def test_without_auto_commit_the_application_says_what_is_done() -> None:
    setup = Setup(auto_commit=False)
    setup.server.found(0, record(0), record(1))
    setup.assign(0)
    assert setup.world.requests(Code.PULL_MESSAGE)[1].fields["sysFlag"] == "6"
    setup.consumer.commit(setup.world.env, Q, 1)
    setup.world.pass_time(11 * SECOND)
    assert [update.fields["commitOffset"] for update in setup.world.requests(Code.UPDATE_CONSUMER_OFFSET)] == ["1"]


def test_a_pull_from_a_slave_never_commits() -> None:
    setup = Setup({"T": route(broker_a={1: A1})})
    slave = PullServer()
    slave.found(0, record(0))
    setup.world.scripts[A1] = slave
    setup.assign(0)
    assert [request.fields["sysFlag"] for request in setup.world.requests(Code.PULL_MESSAGE)] == ["6", "6"]


def test_a_queue_that_is_taken_away_is_committed_and_its_late_answer_ignored() -> None:
    setup = Setup()
    setup.server.found(0, record(0))
    setup.assign(0)
    count = len(setup.outcomes)
    setup.consumer.assign(setup.world.env, {})
    setup.world.pass_time(10 * MS)
    assert [update.fields["commitOffset"] for update in setup.world.requests(Code.UPDATE_CONSUMER_OFFSET)] == ["1"]
    assert (setup.consumer.assigned(), setup.consumer.position(Q)) == ((), -1)
    setup.world.pass_time(40 * SECOND)
    assert len(setup.outcomes) == count


def test_a_queue_that_stays_is_not_disturbed_and_one_that_comes_back_starts_anew() -> None:
    setup = Setup()
    other = MessageQueue("T", "broker-a", 1)
    setup.server.found(0, record(0))
    setup.assign(0)
    setup.consumer.assign(setup.world.env, {Q: 0, other: 5})
    setup.world.pass_time(10 * MS)
    assert setup.pulled() == [0, 1, 5]
    setup.consumer.assign(setup.world.env, {other: 5})
    setup.consumer.assign(setup.world.env, {other: 5, Q: 8})
    setup.world.pass_time(10 * MS)
    assert setup.pulled() == [0, 1, 5, 8]


def test_a_stopping_client_sends_its_offsets() -> None:
    setup = Setup()
    setup.server.found(0, record(0))
    setup.assign(0)
    link = setup.world.client.remoting.link_to(A)
    assert link is not None
    setup.world.client.on_stop(setup.world.env)
    assert b'"commitOffset":"1"' in setup.world.env.take(link)
    assert setup.world.env.exit_code == 0


# Who watches ---------------------------------------------------------------------------------------------------------


class Calls(Observer):
    """Every call of a consumer, as it begins and ends: number, and what was said."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def on_pulling(
        self, env: Environment, number: int, queue: MessageQueue, address: Address, offset: int, committed: int
    ) -> None:
        self.told.append(("pulling", number, address, offset, committed))

    def on_pull(self, env: Environment, outcome: PullOutcome) -> None:
        self.told.append(("pull", outcome.number, outcome.status))

    def on_late_pull(self, env: Environment, outcome: PullOutcome) -> None:
        self.told.append(("late", outcome.number, outcome.status, len(outcome.messages)))

    def on_asking_offset(self, env: Environment, number: int, queue: MessageQueue, address: Address) -> None:
        self.told.append(("asking", number, address))

    def on_offset(self, env: Environment, number: int, status: str, offset: int) -> None:
        self.told.append(("offset", number, status, offset))

    def on_committing(self, env: Environment, number: int, queue: MessageQueue, address: Address, offset: int) -> None:
        self.told.append(("committing", number, address, offset))

    def on_committed(self, env: Environment, number: int, status: str) -> None:
        self.told.append(("committed", number, status))


def watched(**settings: object) -> tuple[Setup, Calls]:
    setup = Setup(**settings)
    calls = Calls()
    setup.world.client.observer = calls
    return setup, calls


def test_a_watcher_sees_each_call_begin_and_end() -> None:
    setup, calls = watched()
    setup.server.committed = 3
    setup.server.found(3, record(3))
    setup.assign(-1)
    assert calls.told == [
        ("asking", 1, A),
        ("offset", 1, "OK", 3),
        ("pulling", 2, A, 3, -1),
        ("pull", 2, "OK"),
        ("pulling", 3, A, 4, 4),
    ]


def test_confirmed_offsets_are_calls() -> None:
    setup, calls = watched(confirm=True)
    setup.server.found(0, record(0))
    setup.assign(0)
    calls.told.clear()
    setup.consumer.assign(setup.world.env, {})
    setup.world.pass_time(10 * MS)
    (update,) = setup.world.requests(Code.UPDATE_CONSUMER_OFFSET)
    assert not update.is_one_way
    assert calls.told == [("committing", 3, A, 1), ("committed", 3, "OK")]


def test_a_commit_that_nobody_confirms_is_told_as_such() -> None:
    setup, calls = watched(confirm=True)
    setup.server.found(0, record(0))
    setup.assign(0)
    setup.world.kill(A)
    setup.consumer.assign(setup.world.env, {})
    setup.world.pass_time(10 * MS)
    assert calls.told[-1] == ("committed", 3, "CONNECT_FAILED")


def test_what_comes_for_a_queue_that_was_taken_away_is_told_apart() -> None:
    setup, calls = watched()
    setup.assign(0)
    setup.consumer.assign(setup.world.env, {})
    setup.world.kill(A)
    setup.world.pass_time(10 * MS)
    assert calls.told[-1] == ("late", 1, "CONNECTION_CLOSED", 0)
    assert setup.outcomes == []
