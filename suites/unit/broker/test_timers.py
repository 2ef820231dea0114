"""Messages that want a time of their own (5.x): which are parked, when they come, and what a crash changes of that."""

from __future__ import annotations

import pytest

from reference_impl.broker.config import BrokerConfig
from reference_impl.broker.timer_wheel import CHECKPOINT
from reference_impl.broker.timers import TIMER_TOPIC, parked
from reference_impl.environment import MS, SECOND
from reference_impl.store.request import PutRequest, PutStatus
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.fields import RequestRefused
from reference_impl.wire.message import Message, decode_records, parse_properties, properties_text
from suites.unit.broker.broker_by_hand import BrokerByHand, LateStore

DAYS_4 = str(4 * 24 * 3600)
CHECKPOINT_FILE = "store/config/timercheck"

# Which are parked -----------------------------------------------------------------------------------------------------


def stored(now_ms: int, put: dict[str, object], **config: str) -> PutRequest:
    """What is stored of a message sent at *now_ms*."""
    fields = {"topic": "T", "queue_id": 3, "body": b"m", **put}
    given = {"brokerIP1": "10.0.0.1", "release": "5.3.3", **config}
    return parked(PutRequest(**fields), now_ms, BrokerConfig.from_properties(given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wish", "slot_ms"),
    [
        ({"TIMER_DELAY_MS": "2000"}, 12_000),
        ({"TIMER_DELAY_MS": "1700"}, 11_000),  # due at 12.000 s sharp: the slot before is over by then
        ({"TIMER_DELAY_MS": "1"}, 10_000),
        ({"TIMER_DELAY_SEC": "2"}, 12_000),
        ({"TIMER_DELIVER_MS": "12300"}, 12_000),
        ({"TIMER_DELAY_SEC": "2", "TIMER_DELAY_MS": "9000", "TIMER_DELIVER_MS": "90000"}, 12_000),
        ({"TIMER_DELAY_MS": "2000", "TIMER_DELIVER_MS": "90000"}, 12_000),
        ({"TIMER_DELAY_SEC": "259200"}, 259_210_000),
    ],
)
def test_a_message_waits_in_the_slot_of_its_time(wish: dict[str, str], slot_ms: int) -> None:
    put = stored(10_300, {"properties": properties_text({"KEYS": "k", **wish})})
    assert (put.topic, put.queue_id) == (TIMER_TOPIC, 0)
    own = {"TIMER_OUT_MS": str(slot_ms), "REAL_TOPIC": "T", "REAL_QID": "3"}
    assert parse_properties(put.properties) == {"KEYS": "k", **wish, **own}


@pytest.mark.parametrize(
    ("put", "config"),
    [
        ({"properties": properties_text({"KEYS": "k"})}, {}),
        ({"properties": properties_text({"TIMER_DELAY_MS": "0"})}, {}),
        ({"properties": properties_text({"TIMER_DELAY_MS": "-5"})}, {}),
        ({"properties": properties_text({"TIMER_DELIVER_MS": "10300"})}, {}),
        ({"properties": properties_text({"TIMER_DELAY_SEC": "2"})}, {"release": "4.9.7"}),
        ({"properties": properties_text({"TIMER_DELAY_SEC": "2"}), "sys_flag": 4}, {}),
        ({"properties": properties_text({"TIMER_DELAY_SEC": "2", "TIMER_OUT_MS": "1000"})}, {}),
    ],
)
def test_what_has_no_time_ahead_of_it_is_stored_as_any(put: dict[str, object], config: dict[str, str]) -> None:
    assert stored(10_300, put, **config) == stored(10_300, put, release="4.9.7")


def test_a_level_counts_before_a_time() -> None:
    put = stored(10_300, {"properties": properties_text({"DELAY": "3", "TIMER_DELAY_SEC": "2", "KEYS": "k"})})
    assert (put.topic, parse_properties(put.properties)) == ("T", {"DELAY": "3", "KEYS": "k"})


OFF = "accurate timer message is not enabled, timerWheelEnable is false"
FAR = (
    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if set del msg, the "
    "delay time should be bigger than the current time"
)


@pytest.mark.parametrize(
    ("put", "config", "code", "remark"),
    [
        ({"properties": properties_text({"TIMER_DELAY_SEC": "2"})}, {"timerWheelEnable": "false"}, 1, OFF),
        ({"properties": properties_text({"TIMER_DELAY_SEC": DAYS_4})}, {}, 13, FAR),
        ({"properties": properties_text({"TIMER_DELAY_MS": "259200001"})}, {}, 13, FAR),
        ({"properties": properties_text({"TIMER_DELAY_SEC": "soon"})}, {}, 13, FAR),
        ({"properties": properties_text({"TIMER_DELAY_SEC": "2", "TIMER_DEL_UNIQKEY": "k"})}, {}, 13, FAR),
        ({"properties": properties_text({"TIMER_DELAY_SEC": "2"}), "is_batch": True}, {}, 13, FAR),
        (
            {"properties": properties_text({"TIMER_DELAY_SEC": "11"})},
            {"timerMaxDelaySec": "10"},
            13,
            FAR.replace("259200000", "10000"),
        ),
    ],
)
def test_what_is_refused(put: dict[str, object], config: dict[str, str], code: int, remark: str) -> None:
    """Words and codes of Apache 5.3.3."""
    with pytest.raises(RequestRefused) as caught:
        stored(10_300, put, **config)
    assert (caught.value.code, caught.value.remark) == (code, remark)


# When they come -------------------------------------------------------------------------------------------------------


def broker(**properties: str) -> BrokerByHand:
    """At the begin of a second of its wall clock."""
    made = BrokerByHand(release="5.3.3", **properties)
    made.create_topic("T")
    made.env.advance((1000 - made.env.wall() % 1000) * MS)
    return made


def again(made: BrokerByHand, after_ms: int = 0) -> BrokerByHand:
    """The next life, *after_ms* later, on the same disk."""
    next_life = BrokerByHand(release="5.3.3", disk=made.env.disk)
    next_life.env.wall_offset_ms += made.env.wall() - next_life.env.wall() + after_ms
    next_life.role.state.timers.stop(next_life.env)
    next_life.role.state.timers.start(next_life.env)
    return next_life


def given(made: BrokerByHand) -> list[Message]:
    (answer,) = made.pull("T", 0)
    return decode_records(answer.body)


def bodies(made: BrokerByHand) -> list[bytes]:
    return [message.body for message in given(made)]


def flushed(made: BrokerByHand) -> None:
    """Fourteen seconds pass: a log with little in it is forced every ten, and then a checkpoint."""
    made.env.advance(12 * SECOND)
    made.sync_everything()
    made.env.advance(2 * SECOND)


def send(made: BrokerByHand, body: bytes, delay_ms: int) -> None:
    assert made.send("T", body, f"TIMER_DELAY_MS\x01{delay_ms}").code == 0


@pytest.mark.parametrize(("delay_ms", "first_ms"), [(1_700, 2_000), (1_998, 2_000), (2_001, 3_000), (1, 1_000)])
def test_a_message_comes_with_the_first_look_after_its_slot(delay_ms: int, first_ms: int) -> None:
    made = broker()
    send(made, b"m", delay_ms)  # two milliseconds pass
    made.env.advance((first_ms - 10) * MS)
    assert bodies(made) == []
    made.env.advance(120 * MS)
    assert bodies(made) == [b"m"]
    made.env.advance(60 * SECOND)
    assert bodies(made) == [b"m"]


def test_messages_come_by_their_slots_and_in_a_slot_as_they_were_sent() -> None:
    made = broker()
    for body, delay_ms in [(b"late", 5_500), (b"a", 2_900), (b"first", 1_000), (b"b", 2_100)]:
        send(made, body, delay_ms)
    made.env.advance(10 * SECOND)
    assert bodies(made) == [b"first", b"a", b"b", b"late"]


def test_a_finer_precision_delivers_sooner() -> None:
    made = broker(timerPrecisionMs="100")
    send(made, b"m", 1_210)
    made.env.advance(1_250 * MS)
    assert bodies(made) == []
    made.env.advance(100 * MS)
    assert bodies(made) == [b"m"]


def test_what_a_message_says_when_it_comes() -> None:
    """As Apache 5.3.3's: its text keeps everything, and two times are added."""
    made = broker()
    now_ms = made.env.wall()
    send(made, b"m", 2_500)
    made.env.advance(4 * SECOND)
    (message,) = given(made)
    properties = message.property_map()
    dequeued = int(properties.pop("TIMER_DEQUEUE_MS"))
    assert now_ms + 3_000 <= dequeued <= now_ms + 3_100
    assert properties == {
        "TIMER_DELAY_MS": "2500",
        "TIMER_OUT_MS": str(now_ms + 2_000),
        "TIMER_ENQUEUE_MS": str(now_ms),
        "REAL_TOPIC": "T",
        "REAL_QID": "0",
        "CLUSTER": "DefaultCluster",
    }
    assert len(parse_properties(message.properties)) == 7


def test_nobody_looks_while_nothing_waits() -> None:
    made = broker()
    assert ("timers", "look") not in made.env.timers
    send(made, b"m", 1_000)
    assert ("timers", "look") in made.env.timers
    made.env.advance(3 * SECOND)
    assert ("timers", "look") not in made.env.timers


@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
def test_without_a_wheel_there_is_neither_topic_nor_file(release: str) -> None:
    made = BrokerByHand(release=release, timerWheelEnable="false")
    made.env.advance(10 * SECOND)
    assert TIMER_TOPIC not in made.role.state.topics.topics
    assert CHECKPOINT_FILE not in made.env.disk


# Crashes --------------------------------------------------------------------------------------------------------------


def test_what_waits_at_a_crash_comes_in_the_next_life_late_if_it_must() -> None:
    made = broker()
    for body, delay_ms in [(b"due meanwhile", 2_000), (b"later", 30_000)]:
        send(made, body, delay_ms)
    next_life = again(made, 10_000)
    next_life.env.advance(200 * MS)
    assert bodies(next_life) == [b"due meanwhile"]
    next_life.env.advance(25 * SECOND)
    assert bodies(next_life) == [b"due meanwhile", b"later"]


def test_only_what_was_delivered_since_the_last_save_comes_again_after_a_crash() -> None:
    made = broker()
    send(made, b"saved", 1_500)
    flushed(made)
    send(made, b"unsaved", 500)
    made.env.advance(1_100 * MS)
    assert bodies(made) == [b"saved", b"unsaved"]
    next_life = again(made)
    next_life.env.advance(5 * SECOND)
    assert bodies(next_life).count(b"saved") == 1
    assert bodies(next_life).count(b"unsaved") <= 2


def test_nothing_comes_again_after_an_orderly_stop() -> None:
    made = broker()
    for body, delay_ms in [(b"m", 1_000), (b"waits", 9_000)]:
        send(made, body, delay_ms)
    made.env.advance(3 * SECOND)
    made.role.on_stop(made.env)
    made.sync_everything()
    next_life = again(made, 1_000)
    next_life.env.advance(3 * SECOND)
    assert bodies(next_life) == [b"m"]
    next_life.env.advance(5 * SECOND)
    assert bodies(next_life) == [b"m", b"waits"]


def test_the_checkpoint_never_tells_of_a_delivery_that_is_not_on_the_disk() -> None:
    """Ours: Apache's saves it whatever the log has."""
    made = broker()
    send(made, b"m", 500)
    wheel, before = made.role.state.timers, made.role.state.timers.mark
    safe, wheel._is_safe = wheel._is_safe, lambda log_end: False  # type: ignore[method-assign]
    made.env.advance(5 * SECOND)
    assert (bodies(made), wheel.mark) == ([b"m"], before)
    wheel._is_safe = safe  # type: ignore[method-assign]
    flushed(made)
    assert wheel.mark.read_ms > before.read_ms
    assert CHECKPOINT.unpack(bytes(made.env.disk[CHECKPOINT_FILE][: CHECKPOINT.size]))[0] == wheel.mark.read_ms


def test_a_checkpoint_beyond_the_queue_is_brought_back_to_its_end() -> None:
    """The log lost its tail (museum B06): what is parked there from now on is not taken for delivered."""
    made = broker()
    far = made.env.wall() + 3_600_000
    made.env.disk[CHECKPOINT_FILE] = bytearray(CHECKPOINT.pack(far, 0, 99, 99, 0, 0, 0).ljust(4096, b"\0"))
    next_life = again(made)
    send(next_life, b"m", 1_000)
    next_life.env.advance(3 * SECOND)
    assert bodies(next_life) == [b"m"]


def test_a_clock_that_goes_back_loses_nothing() -> None:
    made = broker()
    send(made, b"before", 500)
    made.env.advance(3 * SECOND)
    made.env.wall_offset_ms -= 3_600_000
    send(made, b"after", 2_000)
    flushed(made)
    next_life = again(made)
    next_life.env.advance(5 * SECOND)
    assert set(bodies(next_life)) == {b"before", b"after"}


def test_what_no_majority_took_is_put_again() -> None:
    made = broker()
    for body in (b"a", b"b"):
        send(made, body, 500)
    store = LateStore(made)
    made.env.advance(1_200 * MS)
    assert store.waiting == [b"a"]
    store.decide(PutStatus.OS_PAGE_CACHE_BUSY)
    assert store.waiting == []
    made.env.advance(200 * MS)
    assert store.waiting == [b"a"]
    store.decide()
    assert store.waiting == [b"b"], "the next one follows at once"


def test_what_is_decided_after_a_stop_counts_as_not_delivered() -> None:
    made = broker()
    send(made, b"m", 500)
    store = LateStore(made)
    made.env.advance(1_200 * MS)
    wheel = made.role.state.timers
    wheel.stop(made.env)
    store.decide()
    assert (wheel.delivered, wheel.mark.lowest) == (0, 0)


def test_a_slave_writes_its_masters_checkpoint_down_and_delivers_nothing() -> None:
    slave = BrokerByHand(release="5.3.3", brokerRole="SLAVE", brokerId="1")
    told = CHECKPOINT.pack(12_000, 0, 3, 7, 0, 12_000, 5)
    slave.role.state.timers.take(slave.env, told)
    assert bytes(slave.env.disk[CHECKPOINT_FILE][:32]) == told[:32]
    assert slave.answer(Code.GET_TIMER_CHECK_POINT).body[:32] == told[:32]
    assert ("timers", "look") not in slave.env.timers


def test_a_slave_asks_its_master_for_the_checkpoint_every_three_seconds() -> None:
    master = "10.0.0.2:10911"
    slave = BrokerByHand(release="5.3.3", brokerRole="SLAVE", brokerId="1")
    slave.role.replication.metadata.master = master
    slave.env.advance(10 * SECOND + 100 * MS)
    slave.env.establish(slave.link_to(master))
    for number in (1, 2):
        (request,) = slave.heard(master)
        assert request.code == Code.GET_TIMER_CHECK_POINT
        slave.reply(master, request, body=CHECKPOINT.pack(12_000, 0, 3, 7 * number, 0, 12_000, 5))
        assert slave.role.state.timers.mark.taken == 7 * number
        slave.env.advance(3 * SECOND)


@pytest.mark.parametrize("properties", ["", "TIMER_OUT_MS\x01x", "TIMER_OUT_MS\x011000"])
def test_a_record_that_names_no_time_or_place_is_passed_over(properties: str) -> None:
    made = broker()
    assert made.send(TIMER_TOPIC, b"nobody's", properties).code == 0
    send(made, b"m", 500)
    made.env.advance(3 * SECOND)
    assert bodies(made) == [b"m"]
    assert len(made.env.noted("timer_dropped")) == 1


def test_a_message_that_came_is_as_long_as_that_of_apache_5_3_3() -> None:
    """345 bytes, the last of them a separator that ours leaves out: REAL_TOPIC and REAL_QID stay in it."""
    made = broker(brokerClusterName="C")
    made.create_topic("TD")
    own = {"TIMER_DELAY_SEC": "2", "MSG_REGION": "DefaultRegion", "UNIQ_KEY": "F" * 56, "TRACE_ON": "true"}
    assert made.send("TD", b"timer", properties_text(own)).code == 0
    made.env.advance(4 * SECOND)
    (answer,) = made.pull("TD", 0)
    assert len(answer.body) == 344
