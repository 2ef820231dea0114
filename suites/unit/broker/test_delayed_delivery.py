"""Delayed messages: when they arrive, how often, and what a clock that jumps does to them."""

from __future__ import annotations

from reference_impl.environment import MS, SECOND
from reference_impl.store.request import PutStatus
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.message import decode_records
from suites.unit.broker.broker_by_hand import BrokerByHand, LateStore


def bodies(made: BrokerByHand, topic: str = "T") -> list[bytes]:
    (answer,) = made.pull(topic, 0)
    return [message.body for message in decode_records(answer.body)]


def delayed(made: BrokerByHand, body: bytes, level: int) -> None:
    assert made.send("T", body, f"DELAY\x01{level}").code == 0


def broker(**properties: str) -> BrokerByHand:
    made = BrokerByHand(**properties)
    made.create_topic("T")
    made.env.advance(2 * SECOND)
    return made


def test_a_message_arrives_at_the_first_look_after_its_delay() -> None:
    made = broker()
    delayed(made, b"m", 1)
    made.env.advance(990 * MS)
    assert bodies(made) == []
    made.env.advance(110 * MS)
    assert bodies(made) == [b"m"]
    made.env.advance(60 * SECOND)
    assert bodies(made) == [b"m"]


def test_messages_of_a_level_arrive_in_order_and_levels_do_not_wait_for_each_other() -> None:
    made = broker()
    for body, level in [(b"late", 2), (b"a", 1), (b"b", 1)]:
        delayed(made, body, level)
    made.env.advance(2 * SECOND)
    assert bodies(made) == [b"a", b"b"]
    made.env.advance(4 * SECOND)
    assert bodies(made) == [b"a", b"b", b"late"]


def test_more_than_one_batch_is_delivered() -> None:
    made = broker()
    for number in range(100):
        delayed(made, b"%d" % number, 1)
    made.env.advance(2 * SECOND)
    assert made.answer(Code.GET_MAX_OFFSET, topic="T", queueId=0).fields == {"offset": "100"}


def test_nothing_is_looked_at_while_nothing_is_pending() -> None:
    made = broker()
    assert ("delay", "look") not in made.env.timers
    delayed(made, b"m", 1)
    assert ("delay", "look") in made.env.timers
    made.env.advance(2 * SECOND)
    assert ("delay", "look") not in made.env.timers


def test_a_clock_that_jumps_forward_delivers_early() -> None:
    made = broker()
    delayed(made, b"m", 5)
    made.env.wall_offset_ms += 60_000
    made.env.advance(200 * MS)
    assert bodies(made) == [b"m"]


def test_a_clock_that_jumps_back_delivers_at_once_instead_of_much_later() -> None:
    """RocketMQ: correctDeliverTimestamp. The due time lies further away than the level's delay."""
    made = broker()
    delayed(made, b"m", 5)
    made.env.wall_offset_ms -= 3_600_000
    made.env.advance(200 * MS)
    assert bodies(made) == [b"m"]


def test_what_was_delivered_since_the_last_save_is_delivered_again_after_a_crash() -> None:
    made = broker()
    delayed(made, b"saved", 1)
    made.env.advance(10 * SECOND)
    delayed(made, b"unsaved", 1)
    made.env.advance(2 * SECOND)
    assert bodies(made) == [b"saved", b"unsaved"]
    again = BrokerByHand(disk=made.env.disk)
    again.env.wall_offset_ms += 20_000
    again.env.advance(3 * SECOND)
    assert bodies(again) == [b"saved", b"unsaved", b"unsaved"]


def test_an_orderly_stop_saves_and_nothing_is_delivered_again() -> None:
    made = broker()
    delayed(made, b"m", 1)
    made.env.advance(2 * SECOND)
    made.role.on_stop(made.env)
    made.sync_everything()
    again = BrokerByHand(disk=made.env.disk)
    again.env.wall_offset_ms += 20_000
    again.env.advance(3 * SECOND)
    assert bodies(again) == [b"m"]


def test_a_saved_offset_beyond_the_queue_is_brought_back_to_its_end() -> None:
    made = BrokerByHand(disk={"store/config/delayOffset.json": bytearray(b'{"offsetTable":{1:99}}')})
    made.create_topic("T")
    assert made.answer(Code.GET_ALL_DELAY_OFFSET).body == b'{"offsetTable":{1:0}}'
    delayed(made, b"m", 1)
    made.env.advance(3 * SECOND)
    assert bodies(made) == [b"m"]


def test_messages_pending_at_a_restart_are_delivered_by_the_next_life() -> None:
    made = broker()
    delayed(made, b"m", 3)
    again = BrokerByHand(disk=made.env.disk)
    again.env.wall_offset_ms += 5_000
    again.env.advance(4 * SECOND)
    assert bodies(again) == []
    again.env.advance(8 * SECOND)
    assert bodies(again) == [b"m"]


def test_a_level_waits_until_its_message_is_decided_and_other_levels_do_not() -> None:
    made = broker()
    for body, level in [(b"a", 1), (b"b", 1), (b"other", 2)]:
        delayed(made, body, level)
    store = LateStore(made)
    made.env.advance(10 * SECOND)
    assert store.waiting == [b"a", b"other"]
    store.decide()
    assert store.waiting == [b"other", b"b"], "the next one follows at once"
    store.decide()
    store.decide()
    made.env.advance(10 * SECOND)
    assert store.waiting == []
    assert bodies(made) == [b"a", b"other", b"b"]


def test_a_message_that_no_majority_took_is_put_again() -> None:
    made = broker()
    delayed(made, b"m", 1)
    store = LateStore(made)
    made.env.advance(2 * SECOND)
    store.decide(PutStatus.OS_PAGE_CACHE_BUSY)
    assert store.waiting == []
    made.env.advance(200 * MS)
    assert store.waiting == [b"m"]


def test_what_is_decided_after_a_stop_moves_nothing() -> None:
    made = broker()
    delayed(made, b"m", 1)
    store = LateStore(made)
    made.env.advance(2 * SECOND)
    made.role.state.delays.stop(made.env)
    store.decide()
    assert made.role.state.delays.offsets == {}
