"""The check: what becomes of halves whose producer never ended them.

Question: whom does a broker ask about an open transaction, how often, and when does it give up?

Model (RocketMQ: TransactionalMessageServiceImpl#check). Every ``transactionCheckInterval`` the broker walks over the
halves from where it stood last, with the ops of ended ones beside them:

    ended                                       passed over
    asked ``transactionCheckMax`` times, or
    older than ``fileReservedTime``             moved to TRANS_CHECK_MAX_TIME_TOPIC
    stored after this walk began, or younger
    than ``transactionTimeOut``                 the walk ends here
    younger than its own
    CHECK_IMMUNITY_TIME_IN_SECONDS              put at the end of the half queue, passed over
    else                                        put at the end of the half queue with TRANSACTION_CHECK_TIMES + 1; then
                                                one producer of its group, in turn, is asked (39, one-way) about that
                                                new copy

Its progress is the consumer offset of the group CID_RMQ_SYS_TRANS in both topics, saved with all others: so a kill
leads to checks that had been made already. A half that nobody is connected for is counted, too.

Limits. RocketMQ stops a walk after 60 s; ours takes no time. Slaves do not check.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

import msgspec

from reference_impl.broker.state import State
from reference_impl.broker.topics import GIVEN_UP_TOPIC, HALF_TOPIC, OP_TOPIC
from reference_impl.broker.transactions import OP_TAG, QUEUE
from reference_impl.environment import Environment, Link
from reference_impl.store.properties import java_text
from reference_impl.store.request import GetStatus, PutRequest, PutResult, PutStatus
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.fields import java_number
from reference_impl.wire.frame import Command
from reference_impl.wire.message import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TAGS,
    PROPERTY_UNIQUE_KEY,
    PROPERTY_WAIT,
    Message,
    decode_record,
    encode_record,
)

GROUP: Final = "CID_RMQ_SYS_TRANS"
PROPERTY_CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
PROPERTY_IMMUNITY: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
PROPERTY_FIRST_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"

_TIMER: Final = ("transactions", "check")
_OPS_AT_ONCE: Final = 32
_HOUR_MS: Final = 3_600_000


class TransactionCheck:
    """The walks of one master, and whose turn it is in each producer group."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._turns: dict[str, int] = {}
        self._walk: _Walk | None = None

    def start(self, env: Environment) -> None:
        """The first walk comes after one interval."""
        env.set_timer(_TIMER, self._state.config.transaction_check_interval_ns)

    def stop(self, env: Environment) -> None:
        """No further walk, and no step of one."""
        env.cancel_timer(_TIMER)
        if self._walk is not None:
            self._walk.is_over = True

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key != _TIMER:
            return False
        env.set_timer(_TIMER, self._state.config.transaction_check_interval_ns)
        self._state.internal_topic(env, HALF_TOPIC, 1)
        if self._state.store.is_writable and (self._walk is None or self._walk.is_over):
            self._walk = _Walk(self._state, env, self._ask)
            self._walk.run()
        return True

    def _ask(self, env: Environment, half: Message) -> None:
        """39 to one producer. RocketMQ: AbstractTransactionalMessageCheckListener#sendCheckMessage."""
        properties = half.property_map()
        link = self._next_producer(properties.get(PROPERTY_PRODUCER_GROUP, ""))
        if link is None:
            env.note("transaction_unasked", group=properties.get(PROPERTY_PRODUCER_GROUP, ""), half=half.queue_offset)
            return
        key = properties.get(PROPERTY_UNIQUE_KEY)
        fields = {"tranStateTableOffset": str(half.queue_offset), "commitLogOffset": str(half.physical_offset)}
        fields |= {"msgId": key, "transactionId": key} if key is not None else {}
        fields["offsetMsgId"] = half.message_id()
        real = msgspec.structs.replace(
            half,
            topic=properties.get(PROPERTY_REAL_TOPIC, ""),
            queue_id=java_number(properties.get(PROPERTY_REAL_QUEUE_ID), 32) or 0,
        )
        request = Command(RequestCode.CHECK_TRANSACTION_STATE, fields, encode_record(real))
        self._state.remoting.oneway_link(env, link, request)

    def _next_producer(self, group: str) -> Link | None:
        """In turn, beginning with the second (RocketMQ: ProducerManager#getAvailableChannel)."""
        links = list(self._state.clients.producers.get(group, {}))
        if not links:
            return None
        self._turns[group] = self._turns.get(group, 0) + 1
        return links[self._turns[group] % len(links)]


class _Ops:
    """The ops from the last walk on, read as they are needed."""

    def __init__(self, state: State, env: Environment, first_half: int) -> None:
        self._state, self._env, self._first_half = state, env, first_half
        self._began = self._next = _committed(state, OP_TOPIC)
        self._of_half: dict[int, int] = {}
        self._done: set[int] = set()

    def ended(self, half: int) -> bool:
        """Whether some op names this half; its op is then done with."""
        while half not in self._of_half:
            if not self._fetch():
                return False
        self._done.add(self._of_half.pop(half))
        return True

    def _fetch(self) -> bool:
        """False at the end of the queue."""
        found = self._state.store.get(self._env, OP_TOPIC, QUEUE, self._next, _OPS_AT_ONCE)
        if found is None or not found.records:
            if found is not None and found.next_offset > self._next:  # the log no longer has them
                self._next = self._began = found.next_offset
                return True
            return False
        for record in map(decode_record, found.records):
            self._take(record)
        self._next = found.next_offset
        return True

    def _take(self, op: Message) -> None:
        """5.x writes several halves into one op, ``0,1,``: it is done with when the last of them is passed."""
        if op.property_map().get(PROPERTY_TAGS) != OP_TAG:
            return
        words = op.body.decode("ascii", "replace").split(",")
        halves = [half for word in words if (half := java_number(word, 64)) is not None]
        if max(halves, default=-1) < self._first_half:
            self._done.add(op.queue_offset)
        self._of_half |= {half: op.queue_offset for half in halves if half >= self._first_half}

    def progress(self) -> tuple[int, int]:
        """(where this began, the first op that is not done with)."""
        offset = self._began
        while offset in self._done:
            offset += 1
        return self._began, offset


class _Walk:
    """One walk over the halves. What it puts into the store may be decided later, if a group keeps the log: it goes on
    then, and does nothing more once it is dropped."""

    def __init__(self, state: State, env: Environment, ask: Callable[[Environment, Message], None]) -> None:
        self._state, self._env, self._ask = state, env, ask
        self._began_ms = env.wall()
        self._reserved_ms = state.store.config.file_reserved_time_hours * _HOUR_MS
        self._first = self._reached = _committed(state, HALF_TOPIC)
        self._ops = _Ops(state, env, self._first)
        self._following: int | None = None
        self._is_going = False
        self.is_over = False

    def run(self, offset: int | None = None) -> None:
        """Look at one half after the other, from *offset*; commit how far it got."""
        self._following = self._first if offset is None else offset
        if self._is_going:
            return  # decided at once: the loop below has it
        self._is_going = True
        while self._following is not None and not self.is_over:
            self._reached, self._following = self._following, None
            self._pass(self._reached)
        self._is_going = False

    def _end(self) -> None:
        """Here it ends; how far it got is committed."""
        self.is_over = True
        if self._reached != self._first:
            self._state.offsets.commit(GROUP, HALF_TOPIC, QUEUE, self._reached)
        began, done = self._ops.progress()
        if done != began or done != _committed(self._state, OP_TOPIC):
            self._state.offsets.commit(GROUP, OP_TOPIC, QUEUE, done)

    def _pass(self, offset: int) -> None:
        """What is at *offset*: on to the next one, or the end."""
        if self._ops.ended(offset):
            return self.run(offset + 1)
        found = self._state.store.get(self._env, HALF_TOPIC, QUEUE, offset, 1)
        if found is not None and found.records:
            return self._judge(decode_record(found.records[0]))
        is_gone = found is not None and found.status is not GetStatus.OFFSET_OVERFLOW_ONE
        if is_gone and found and found.next_offset > offset:
            return self.run(found.next_offset)
        return self._end()

    def _judge(self, half: Message) -> None:
        """The table above, for a half that nobody has ended."""
        state, following = self._state, half.queue_offset + 1
        properties = half.property_map()
        times = java_number(properties.get(PROPERTY_CHECK_TIMES), 64) or 0
        age_ms = self._began_ms - half.born_timestamp
        if times >= state.config.transaction_check_max or age_ms > self._reserved_ms:
            return self._give_up(half)
        immunity_ms = _immunity_ms(properties, state.config.transaction_timeout_ms)
        is_young = immunity_ms is None and 0 <= age_ms < state.config.transaction_timeout_ms
        if half.store_timestamp >= self._began_ms or is_young:
            return self._end()
        if immunity_ms is not None and age_ms < immunity_ms:
            return self._put_off(half, properties)
        properties[PROPERTY_CHECK_TIMES] = str(times + 1)

        def copied(copy: Message) -> None:
            self._ask(self._env, copy)
            self.run(following)

        return self._put_back(half, properties, copied)

    def _put_off(self, half: Message, properties: dict[str, str]) -> None:
        """A half in its own immunity time: ended meanwhile, or put at the end once more, with its first place."""
        following = half.queue_offset + 1
        first = java_number(properties.get(PROPERTY_FIRST_QUEUE_OFFSET), 64)
        if first is not None and self._ops.ended(first):
            return self.run(following)
        properties.setdefault(PROPERTY_FIRST_QUEUE_OFFSET, str(half.queue_offset))
        return self._put_back(half, properties, lambda _copy: self.run(following))

    def _put_back(self, half: Message, properties: dict[str, str], then: Callable[[Message], None]) -> None:
        """The half at the end of its queue with these properties; the walk ends where the store refuses.

        *then* is given the places of the new copy, but the store time of the old one, and WAIT=false in its text, which
        the copy has not (RocketMQ: putBackHalfMsgQueue changes the message that it read)."""

        def stored(result: PutResult) -> None:
            if result.status is not PutStatus.PUT_OK:
                return self._end()
            text = java_text(properties | {PROPERTY_WAIT: "false"})
            places = {"queue_offset": result.queue_offset, "physical_offset": result.physical_offset}
            return then(msgspec.structs.replace(half, properties=text, **places))

        self._put(_copy(half, HALF_TOPIC, QUEUE, java_text(properties)), stored)

    def _give_up(self, half: Message) -> None:
        """RocketMQ: DefaultTransactionalMessageCheckListener#resolveDiscardMsg."""

        def stored(_result: PutResult) -> None:
            self._env.note("transaction_given_up", half=half.queue_offset)
            self.run(half.queue_offset + 1)

        self._state.internal_topic(self._env, GIVEN_UP_TOPIC, 1)
        self._put(_copy(half, GIVEN_UP_TOPIC, QUEUE, half.properties), stored)

    def _put(self, request: PutRequest, then: Callable[[PutResult], None]) -> None:
        def stored(env: Environment, result: PutResult) -> None:
            self._env = env
            if not self.is_over:
                then(result)

        self._state.store.put(self._env, request, stored)


def _copy(half: Message, topic: str, queue_id: int, properties: str) -> PutRequest:
    return PutRequest(
        topic=topic,
        queue_id=queue_id,
        body=half.body,
        properties=properties,
        flag=half.flag,
        sys_flag=half.sys_flag,
        born_timestamp=half.born_timestamp,
        born_host=half.born_host,
        reconsume_times=half.reconsume_times,
        prepared_transaction_offset=half.prepared_transaction_offset,
        is_internal=True,
        wait=False,
    )


def _committed(state: State, topic: str) -> int:
    """Where the check stands; the queue's beginning where it never was. RocketMQ: fetchConsumeOffset."""
    offset = state.offsets.query(GROUP, topic, QUEUE)
    return state.store.min_offset(topic, QUEUE) if offset is None else offset


def _immunity_ms(properties: dict[str, str], timeout_ms: int) -> int | None:
    """The half's own immunity, ``None`` where it has none; −1 s means the broker's."""
    if PROPERTY_IMMUNITY not in properties:
        return None
    seconds = java_number(properties[PROPERTY_IMMUNITY], 64)
    return timeout_ms if seconds is None or seconds == -1 else seconds * 1000
