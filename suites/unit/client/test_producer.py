"""What a producer does with its attempts: budget, retries, avoidance, and the one word at the end."""

from __future__ import annotations

import zlib

import pytest

from reference_impl.client import Message, MessageQueue, Producer, ProducerSettings, SendResult
from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import TopicRouteData
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.message import decode_batch, parse_properties
from suites.unit.client.client_by_hand import NS1, ScriptedBroker, World, nameserver, route

A, B = "10.2.1.1:10911", "10.2.2.1:10911"


class Setup:
    """Two brokers of a topic T with four queues each."""

    def __init__(self, *, routes: dict[str, TopicRouteData] | None = None, **settings: object) -> None:
        self.world = World(start=False)
        self.routes = {"T": route(broker_a=A, broker_b=B)} if routes is None else routes
        self.world.scripts[NS1] = nameserver(self.routes)
        self.a, self.b = ScriptedBroker(), ScriptedBroker()
        self.world.scripts |= {A: self.a, B: self.b}
        self.producer = Producer(self.world.client, ProducerSettings(group="PG", **settings))  # type: ignore[arg-type]
        self.world.start()
        self.results: list[SendResult] = []

    def send(
        self, body: bytes = b"m", topic: str = "T", queue: MessageQueue | None = None, **properties: str
    ) -> SendResult:
        """One send and its result."""
        count = len(self.results)
        message = Message(topic, body, properties)
        self.producer.send(self.world.env, message, lambda _env, result: self.results.append(result), queue)
        assert len(self.results) == count, "the result came from within send"
        self.world.until(lambda: len(self.results) > count, 20 * SECOND)
        return self.results[-1]

    def statuses(self) -> list[tuple[str, str]]:
        return [(attempt.queue.broker_name, attempt.status) for attempt in self.world.watcher.attempts]


# The plain case ------------------------------------------------------------------------------------------------------


def test_messages_go_to_all_queues_of_all_brokers_in_turn() -> None:
    setup = Setup()
    for number in range(16):
        assert setup.send(b"%d" % number).status == "SEND_OK"
    assert (
        sorted(queue for queue, _ in setup.a.stored)
        == sorted(queue for queue, _ in setup.b.stored)
        == [0, 0, 1, 1, 2, 2, 3, 3]
    )


def test_the_result_tells_where_the_message_is() -> None:
    setup = Setup(routes={"T": route(queues=1, broker_a=A)})
    setup.send()
    result = setup.send()
    assert (result.queue, result.queue_offset, result.message_id) == (MessageQueue("T", "broker-a", 0), 1, f"{2:032X}")
    assert (result.attempts, result.send) == (1, 2)


def test_the_request_is_javas() -> None:
    setup = Setup(routes={"T": route(queues=1, broker_a=A)})
    result = setup.send(TAGS="TagA")
    (request,) = setup.world.requests(Code.SEND_MESSAGE_V2)
    told = parse_properties(request.fields["i"])
    assert told == {"TAGS": "TagA", "UNIQ_KEY": result.unique_key, "WAIT": "true"}
    assert len(result.unique_key) == 32
    plain = {name: value for name, value in request.fields.items() if name not in "gi"}
    assert plain == {"a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "h": "0", "j": "0", "k": "false",
                     "m": "false", "n": "broker-a"}  # fmt: skip


def test_a_large_body_is_compressed() -> None:
    setup = Setup()
    body = b"x" * 4096
    setup.send(body)
    (request,) = setup.world.requests(Code.SEND_MESSAGE_V2)
    assert (zlib.decompress(request.body), int(request.fields["f"])) == (body, 0x301)
    setup.send(body[:-1])
    assert setup.world.requests(Code.SEND_MESSAGE_V2)[-1].body == body[:-1]


def test_a_batch_is_one_request() -> None:
    setup = Setup()
    messages = [Message("T", b"%d" % number, {"n": str(number)}) for number in range(3)]
    setup.producer.send_batch(setup.world.env, messages, lambda _env, result: setup.results.append(result))
    setup.world.until(lambda: setup.results, SECOND)
    (request,) = setup.world.requests(Code.SEND_BATCH_MESSAGE)
    entries = decode_batch(request.body)
    assert [entry.body for entry in entries] == [b"0", b"1", b"2"]
    keys = [parse_properties(entry.properties)["UNIQ_KEY"] for entry in entries]
    assert (setup.results[0].unique_key, request.fields["m"]) == (",".join(keys), "true")
    with pytest.raises(ValueError, match="one topic"):
        setup.producer.send_batch(setup.world.env, [Message("T", b"1"), Message("U", b"2")], lambda _env, _result: None)


def test_a_one_way_send_is_sent_and_nobody_hears_of_it() -> None:
    setup = Setup()
    setup.producer.send_oneway(setup.world.env, Message("T", b"m"))
    setup.world.pass_time(SECOND)
    (request,) = setup.world.requests(Code.SEND_MESSAGE_V2)
    assert request.is_one_way
    assert setup.world.watcher.results == []


@pytest.mark.parametrize(
    ("topic", "body"), [("T", b""), ("", b"m"), ("x" * 128, b"m"), ("T", bytes(4 * 1024 * 1024 + 1))]
)
def test_what_no_broker_could_take_is_refused_before_it_is_sent(topic: str, body: bytes) -> None:
    setup = Setup()
    with pytest.raises(ValueError, match=r"a (topic|message) has 1 to"):
        setup.producer.send(setup.world.env, Message(topic, body), lambda _env, _result: None)


# Status words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status"),
    [(10, "FLUSH_DISK_TIMEOUT"), (11, "SLAVE_NOT_AVAILABLE"), (12, "FLUSH_SLAVE_TIMEOUT")],
)
def test_stored_but_not_promised_is_a_result_and_not_retried(code: int, status: str) -> None:
    setup = Setup()
    setup.a.code = setup.b.code = code
    result = setup.send()
    assert (result.status, result.attempts, result.queue_offset) == (status, 1, 0)


def test_it_is_sent_again_elsewhere_if_that_is_asked_for() -> None:
    setup = Setup(retry_another_when_not_ok=True)
    setup.a.code = 10
    for _ in range(2):
        assert setup.send().status == "SEND_OK"
    setup.b.code = 11
    assert setup.send().status in ("FLUSH_DISK_TIMEOUT", "SLAVE_NOT_AVAILABLE")


@pytest.mark.parametrize(
    ("release", "code", "attempts"),
    [("4.9.7", 1, 3), ("4.9.7", 14, 3), ("4.9.7", 16, 3), ("4.9.7", 17, 3), ("4.9.7", 2, 1), ("4.9.7", 13, 1),
     ("5.3.3", 2, 3), ("5.3.3", 13, 1), ("5.3.3", 29, 1)],
)  # fmt: skip
def test_which_codes_are_retried(release: str, code: int, attempts: int) -> None:
    setup = Setup(release=release)
    setup.a.code = setup.b.code = code
    assert setup.send().attempts == attempts


@pytest.mark.parametrize(
    ("code", "status"), [(14, "SERVICE_NOT_AVAILABLE"), (13, "MESSAGE_ILLEGAL"), (2, "SYSTEM_BUSY"), (77, "CODE_77")]
)
def test_a_broker_that_refuses_is_named(code: int, status: str) -> None:
    setup = Setup()
    setup.a.code = setup.b.code = code
    setup.a.remark = setup.b.remark = "why"
    result = setup.send()
    assert (result.status, result.remark, result.queue_offset) == (status, "why", -1)


# A broker that fails -------------------------------------------------------------------------------------------------


def test_a_dead_broker_costs_an_attempt_and_its_messages_go_elsewhere() -> None:
    setup = Setup()
    setup.world.kill(A)
    results = [setup.send() for _ in range(8)]
    assert {result.status for result in results} == {"SEND_OK"}
    assert len(setup.b.stored) == 8
    assert ("broker-a", "CONNECT_FAILED") in setup.statuses()
    assert all(result.attempts <= 2 for result in results)


def test_a_broker_that_dies_in_mid_send_may_have_stored_the_message() -> None:
    setup = Setup(routes={"T": route(broker_a=A)})
    setup.a.code = None
    setup.producer.send(setup.world.env, Message("T", b"m"), lambda _env, result: setup.results.append(result))
    setup.world.pass_time(100 * MS)
    setup.world.kill(A)
    setup.world.until(lambda: setup.results, SECOND)
    assert [status for _, status in setup.statuses()] == ["CONNECTION_CLOSED", "CONNECT_FAILED", "CONNECT_FAILED"]
    assert setup.results[0].status == "CONNECTION_CLOSED"


def test_a_silent_broker_eats_the_whole_budget() -> None:
    setup = Setup()
    setup.a.code = setup.b.code = None
    result = setup.send()
    assert (result.status, result.attempts) == ("TIMEOUT", 1)
    assert 3000 * MS <= result.ended_ns - result.started_ns <= 3010 * MS


def test_the_budget_is_shared_by_all_attempts() -> None:
    setup = Setup(routes={"T": route(broker_a=A)})
    setup.world.dark[A] = True
    result = setup.send()
    assert result.status == "CONNECT_FAILED"
    assert result.ended_ns - result.started_ns <= 3010 * MS


def test_a_timeout_closes_the_connection() -> None:
    setup = Setup(routes={"T": route(broker_a=A)})
    setup.a.code = None
    setup.send()
    assert len(setup.world.env.closed_by_role) >= 1


def test_the_least_certain_failure_is_the_result() -> None:
    setup = Setup()
    setup.a.code = 1
    setup.b.code = 14
    results = [setup.send() for _ in range(2)]
    assert {result.status for result in results} == {"SYSTEM_ERROR"}


def test_a_send_to_a_given_queue_is_tried_once() -> None:
    setup = Setup()
    setup.a.code = 14
    result = setup.send(queue=MessageQueue("T", "broker-a", 2))
    assert (result.status, result.attempts) == ("SERVICE_NOT_AVAILABLE", 1)
    assert setup.send(queue=MessageQueue("T", "broker-b", 3)).queue == MessageQueue("T", "broker-b", 3)


def test_the_latency_strategy_leaves_a_failed_broker_alone_for_ten_minutes() -> None:
    setup = Setup(latency_fault=True)
    setup.a.code = 14
    for _ in range(20):
        assert setup.send().status == "SEND_OK"
    assert [status for status in setup.statuses() if status[0] == "broker-a"] == [("broker-a", "SERVICE_NOT_AVAILABLE")]
    setup.a.code = 0
    setup.world.env.wall_offset_ms += 600_000
    for _ in range(20):
        setup.send()
    assert len(setup.a.stored) > 0


def test_without_the_strategy_a_failed_broker_is_tried_again_and_again() -> None:
    setup = Setup()
    setup.a.code = 14
    for _ in range(20):
        assert setup.send().status == "SEND_OK"
    assert len([status for status in setup.statuses() if status[0] == "broker-a"]) >= 5


# Routes --------------------------------------------------------------------------------------------------------------


def test_a_topic_that_nobody_knows_borrows_the_templates_route() -> None:
    setup = Setup(routes={"TBW102": route(queues=8, perm=7, broker_a=A)})
    results = [setup.send(topic="New") for _ in range(8)]
    assert {result.status for result in results} == {"SEND_OK"}
    assert sorted({queue for queue, _ in setup.a.stored}) == [0, 1, 2, 3]
    assert [topic for topic, _, _ in setup.world.watcher.routes] == ["New", "TBW102"]


def test_no_route_at_all() -> None:
    setup = Setup(routes={})
    result = setup.send()
    assert (result.status, result.attempts, result.queue) == ("NO_ROUTE", 0, None)


def test_brokers_without_master_or_without_write_permission_get_nothing() -> None:
    only_slave = route(broker_a={1: "10.2.1.2:10911"}, broker_b=B)
    setup = Setup(routes={"T": only_slave})
    assert {setup.send().queue.broker_name for _ in range(8) if setup.results is not None} == {"broker-b"}  # type: ignore[union-attr]
    read_only = Setup(routes={"T": route(perm=4, broker_a=A)})
    assert read_only.send().status == "NO_ROUTE"


def test_a_new_route_is_used_from_the_next_poll_on() -> None:
    setup = Setup(routes={"T": route(broker_a=A)})
    setup.send()
    setup.routes["T"] = route(broker_b=B)
    assert {setup.send().queue.broker_name for _ in range(4)} == {"broker-a"}  # type: ignore[union-attr]
    setup.world.pass_time(30 * SECOND)
    assert {setup.send().queue.broker_name for _ in range(4)} == {"broker-b"}  # type: ignore[union-attr]


def test_without_any_nameserver_a_running_producer_goes_on() -> None:
    setup = Setup()
    setup.send()
    setup.world.kill(NS1)
    setup.world.pass_time(90 * SECOND)
    assert {setup.send().status for _ in range(8)} == {"SEND_OK"}
    assert setup.send(topic="Unknown").status == "NO_ROUTE"


def test_a_producer_makes_itself_known_to_masters_only_and_takes_its_leave() -> None:
    setup = Setup(routes={"T": route(broker_a={0: A, 1: "10.2.1.2:10911"}, broker_b=B)})
    setup.send()
    setup.world.pass_time(2 * SECOND)
    assert {to for to, request in setup.world.asked if request.code == Code.HEART_BEAT} == {A, B}
    setup.world.client.on_stop(setup.world.env)
    assert setup.world.env.exit_code == 0
