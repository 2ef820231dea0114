"""An orderly member: no message without the queue's lock, none before the one before it is done."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_impl.client import OrderlyConsumer, PulledMessage, PushSettings
from reference_impl.client.orderly import Done
from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import LockBatchRequest, write_queue_offsets
from reference_impl.wire.bodies import MessageQueue as Queue
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.frame import Command
from reference_impl.wire.message import parse_properties
from suites.unit.client.client_by_hand import NS1, World, nameserver, route
from suites.unit.client.test_push_consumer import ME, A, GroupServer

FIRST = "10.0.0.0@first"
"""A member whose slice comes before ours."""


class LockServer(GroupServer):
    """Grants every lock but those of *taken* queue ids; ``None``: says nothing about locks."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: set[int] | None = set()
        self.locked: list[list[tuple[str, int]]] = []
        self.unlocked: list[tuple[str, int]] = []

    def __call__(self, request: Command) -> Command | None:
        if request.code not in (Code.LOCK_BATCH_MQ, Code.UNLOCK_BATCH_MQ):
            return super().__call__(request)
        asked = read_json(request.body, LockBatchRequest)
        assert (asked.client_id, asked.consumer_group) == (ME, "CG")
        named = [(queue.topic, queue.queue_id) for queue in asked.queues]
        if request.code == Code.UNLOCK_BATCH_MQ:
            self.unlocked += named
            return Command(0)
        self.locked.append(named)
        if self.taken is None:
            return None
        free = [queue for queue in asked.queues if queue.topic != "T" or queue.queue_id not in self.taken]
        return Command(0, {}, write_json({"lockOKMQSet": [vars_of(queue) for queue in free]}))


def vars_of(queue: Queue) -> dict[str, object]:
    return {"topic": queue.topic, "brokerName": queue.broker_name, "queueId": queue.queue_id}


class Setup:
    """One queue T/0 with messages; the listener notes what it is given, and *says* what becomes of it."""

    def __init__(self, queues: int = 1, says: Callable[[PulledMessage], bool | None] = lambda _message: True) -> None:
        self.world = World(start=False)
        self.a = LockServer()
        routes = {"T": route(queues=queues, broker_a=A), "%RETRY%CG": route(queues=1, broker_a=A)}
        self.world.scripts |= {NS1: nameserver(routes), A: self.a}
        self.says = says
        self.heard: list[tuple[bytes, int]] = []
        self.open: list[Done] = []
        settings = PushSettings("CG", {"T": "*"}, reconsume_times_max=2, confirm=True)
        self.consumer = OrderlyConsumer(self.world.client, settings, lambda env, m, done: self._listen(m, done))

    def _listen(self, message: PulledMessage, done: Done) -> None:
        """Answers at once, or (``None``) keeps *done*."""
        self.heard.append((message.body, message.reconsume_times))
        said = self.says(message)
        if said is None:
            self.open.append(done)
        else:
            done(self.world.env, said)

    def put(self, *bodies: bytes, queue: int = 0) -> None:
        for offset, body in enumerate(bodies):
            self.a.put("T", queue, offset, body)

    def go(self, duration_ns: int = 100 * MS) -> None:
        if not self.world.env.timers:
            self.world.start()
        self.world.pass_time(duration_ns)

    def own(self) -> list[int]:
        return [queue.queue_id for queue in self.consumer.queues() if queue.topic == "T"]

    def committed(self) -> int:
        told = [r for r in self.world.requests(Code.UPDATE_CONSUMER_OFFSET) if r.fields["topic"] == "T"]
        return int(told[-1].fields["commitOffset"]) if told else -1


def test_it_has_the_queues_whose_locks_are_granted_and_asks_for_the_others_every_half_second() -> None:
    setup = Setup(queues=3)
    setup.a.taken = {1}
    setup.go()
    assert setup.own() == [0, 2]
    asked = setup.a.locked[:]
    setup.go(450 * MS)
    assert setup.a.locked[len(asked) :] == [[("T", 1)]]
    setup.a.taken = set()
    setup.go(500 * MS)
    assert sorted(setup.own()) == [0, 1, 2]


def test_all_locks_are_asked_for_again_every_twenty_seconds_in_one_call() -> None:
    setup = Setup(queues=2)
    setup.go(42 * SECOND)
    renewals = [sorted(named) for named in setup.a.locked if len(named) == 3]
    assert renewals == [[("%RETRY%CG", 0), ("T", 0), ("T", 1)]] * 3, "after 1 s, 21 s, 41 s"


def test_messages_come_in_order_and_the_offset_follows() -> None:
    setup = Setup()
    setup.put(b"0", b"1", b"2")
    setup.go(11 * SECOND)
    assert setup.heard == [(b"0", 0), (b"1", 0), (b"2", 0)]
    assert setup.committed() == 3


def test_the_next_message_waits_for_the_answer() -> None:
    setup = Setup(says=lambda _message: None)
    setup.put(b"0", b"1")
    setup.go(11 * SECOND)
    assert (setup.heard, setup.committed()) == ([(b"0", 0)], -1)
    setup.open.pop()(setup.world.env, True)
    setup.go(6 * SECOND)
    assert (setup.heard, setup.committed()) == ([(b"0", 0), (b"1", 0)], 1)


def test_a_queue_whose_message_failed_rests_a_second() -> None:
    setup = Setup(says=lambda message: message.reconsume_times > 0)
    setup.put(b"0", b"1")
    setup.go(900 * MS)
    assert setup.heard == [(b"0", 0)]
    setup.go(200 * MS)
    assert setup.heard == [(b"0", 0), (b"0", 1), (b"1", 0)]
    assert setup.world.requests(Code.CONSUMER_SEND_MSG_BACK) == []


def test_what_failed_too_often_goes_to_the_dead_letters_and_the_next_one_comes() -> None:
    setup = Setup(says=lambda message: message.body != b"bad")
    setup.put(b"bad", b"1")
    setup.go(3 * SECOND)
    assert setup.heard == [(b"bad", 0), (b"bad", 1), (b"bad", 2), (b"1", 0)]
    (send,) = setup.world.requests(Code.SEND_MESSAGE_V2)
    assert (send.fields["b"], send.fields["j"], send.fields["l"]) == ("%RETRY%CG", "2", "2")
    assert parse_properties(send.fields["i"])["RETRY_TOPIC"] == "T"


def test_what_nobody_takes_comes_again() -> None:
    setup = Setup(says=lambda message: message.body != b"bad")
    setup.put(b"bad", b"1")
    setup.a.send_code = 13
    setup.go(4500 * MS)
    assert setup.heard == [(b"bad", times) for times in range(5)]
    setup.a.send_code = 0
    setup.go(SECOND)
    assert setup.heard[-1] == (b"1", 0)


def test_a_lock_that_is_refused_at_renewal_stops_the_queue_until_it_is_granted_again() -> None:
    setup = Setup()
    setup.go(2 * SECOND)
    setup.a.taken = {0}
    setup.go(20 * SECOND)
    setup.put(b"0")
    setup.go(6 * SECOND)
    assert (setup.own(), setup.heard) == ([0], []), "it is ours still, and idle"
    setup.a.taken = set()
    setup.go(20 * SECOND)
    assert setup.heard == [(b"0", 0)]


@pytest.mark.parametrize(("silent_s", "heard"), [(28, True), (31, False)])
def test_a_lock_that_nobody_renews_counts_for_thirty_seconds(silent_s: int, heard: bool) -> None:
    """Granted at 21 s; the broker says nothing of locks any more, and so long after that the next message is due."""
    setup = Setup(says=lambda _message: None)
    setup.put(b"0", b"1")
    setup.go(21500 * MS)
    setup.a.taken = None
    setup.go(silent_s * SECOND - 500 * MS)
    setup.open.pop()(setup.world.env, True)
    assert setup.heard == [(b"0", 0), (b"1", 0)][: 1 + heard]


def test_an_expired_lock_is_asked_for_and_the_message_given_when_it_is_granted() -> None:
    setup = Setup(says=lambda _message: None)
    setup.put(b"0", b"1")
    setup.go(22 * SECOND)
    setup.a.taken = None
    setup.go(35 * SECOND)
    setup.open.pop()(setup.world.env, True)
    setup.go(SECOND)
    assert setup.heard == [(b"0", 0)]
    setup.a.taken = set()
    setup.go(3 * SECOND)
    assert setup.heard == [(b"0", 0), (b"1", 0)]


def test_a_queue_that_is_let_go_has_its_offset_told_and_then_its_lock_given_back() -> None:
    setup = Setup()
    setup.put(b"0")
    setup.go(SECOND)
    setup.a.members = [FIRST, ME]
    setup.world.asked.clear()
    setup.go(20 * SECOND)
    codes = [request.code for _, request in setup.world.asked]
    assert (setup.own(), setup.committed()) == ([], 1)
    assert ("T", 0) in setup.a.unlocked
    assert codes.index(Code.UPDATE_CONSUMER_OFFSET) < codes.index(Code.UNLOCK_BATCH_MQ)


def test_a_queue_is_not_given_back_while_somebody_works_on_it() -> None:
    setup = Setup(says=lambda _message: None)
    setup.put(b"0", b"1")
    setup.go(SECOND)
    setup.a.members = [FIRST, ME]
    setup.go(21 * SECOND)
    assert (setup.own(), ("T", 0) in setup.a.unlocked) == ([0], False)
    setup.open.pop()(setup.world.env, True)
    setup.go()
    assert (setup.own(), ("T", 0) in setup.a.unlocked) == ([], True)
    assert (setup.heard, setup.committed()) == ([(b"0", 0)], 1)


def test_a_lock_that_comes_when_the_queue_is_another_member_s_is_given_back() -> None:
    setup = Setup()
    setup.a.taken = {0}
    setup.go(400 * MS)
    setup.a.taken, setup.a.members = set(), [FIRST, ME]
    setup.go(SECOND)
    assert setup.own() == [], "it looked for the members before it asked again"
    assert all(named != [("T", 0)] for named in setup.a.locked[2:])


def test_a_group_that_is_sent_back_gives_its_locks_back_and_takes_them_again() -> None:
    setup = Setup()
    setup.put(b"0", b"1")
    setup.go(SECOND)
    body = write_queue_offsets({Queue("broker-a", 0, "T"): 1})
    setup.world.tell(A, Command(Code.RESET_CONSUMER_CLIENT_OFFSET, {"group": "CG", "topic": "T"}, body, flag=2))
    setup.go()
    assert (setup.own(), setup.a.unlocked) == ([], [("T", 0)])
    setup.go(11 * SECOND)
    assert setup.own() == [0]


def test_a_stopping_member_tells_its_offsets_and_gives_all_locks_back() -> None:
    setup = Setup(queues=2)
    setup.put(b"0")
    setup.go(SECOND)
    link = setup.world.client.remoting.link_to(A)
    assert link is not None
    setup.world.client.on_stop(setup.world.env)
    said = setup.world.env.take(link)
    offset, unlock, leave = (said.find(text) for text in (b'"commitOffset":"1"', b"mqSet", b'"consumerGroup":"CG"'))
    assert 0 <= offset < unlock
    assert leave >= 0


def test_an_orderly_consumer_does_not_broadcast() -> None:
    world = World(start=False)
    with pytest.raises(ValueError, match="no broadcast"):
        OrderlyConsumer(world.client, PushSettings("CG", {"T": "*"}, broadcast=True), lambda _e, _m, _d: None)
