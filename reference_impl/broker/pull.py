"""Pulls: PULL_MESSAGE (11) on the main port, and LITE_PULL_MESSAGE (361), its alias.

Question: what does a consumer read at this offset, and if nothing is there yet, how long does it wait?

Model (RocketMQ: PullMessageProcessor). Checks in RocketMQ's order: broker readable (16), group known (26) and allowed
(16), topic known (17) and readable (16), queue id in range (1), expression or heartbeat usable (23, 24, 25, 16, 1).
Then the store's status becomes the answer:

    found                                       0     next = behind the last entry looked at
    nothing matches, or the data is gone        20    next = behind the last entry looked at
    at the end, queue empty and offset 0        19    parked if the consumer may be suspended
    before the start, beyond the end, other     21    next = min, max or 0; first an event message is stored
                                                      on a slave 20, next unchanged, and the master is suggested

Answers 0, 19, 20 and 21 always carry the four offsets, errors carry none. A parked pull is answered by the first
message that fits, by the sweep, or by its end (:mod:`reference_impl.broker.parking`); it is then run again in full, and
must not be parked a second time. Where too many wait, those of the connection with more than its part are answered 2.
A slave takes no commits with pulls, and nothing wakes a pull there but the sweep.

Limits. 361 is answered although 4.9.7 does not know it, because lite-pull clients of 5.x insist.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from reference_impl.broker.filters import EVERYTHING, Wanted, by_condition, check_kind, checked_condition
from reference_impl.broker.parking import Parked, ParkedPulls
from reference_impl.broker.send import FAQ
from reference_impl.broker.sql92 import SqlRefused
from reference_impl.broker.state import State
from reference_impl.broker.topics import OFFSET_MOVED_EVENT
from reference_impl.environment import MS, Environment, Link
from reference_impl.store.request import GetResult, GetStatus, PutRequest
from reference_impl.wire.bodies import PERM_READ, MessageQueue, SubscriptionGroupConfig
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import write_json
from reference_impl.wire.fields import RequestRefused, integer, small_integer, text
from reference_impl.wire.frame import Command
from reference_impl.wire.message import PROPERTY_KEYS, PROPERTY_TAGS, java_string_hash, properties_text
from reference_impl.wire.remoting import Handler

COMMIT: Final = 1
SUSPEND: Final = 2
SUBSCRIPTION: Final = 4
"""Bits of a pull's ``sysFlag``: commitOffset is valid, the broker may suspend, the expression is in the request."""

PARKED_BYTES: Final = 1024
"""A parked pull with short names."""

OVERLOAD: Final = "[OVERLOAD]system busy, start flow control for a while"

_CODES: Final[Mapping[GetStatus, int]] = {
    GetStatus.FOUND: ResponseCode.SUCCESS,
    GetStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    GetStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
}


class _PullHeader(msgspec.Struct, gc=False):
    group: str
    topic: str
    queue_id: int
    offset: int
    max_messages: int
    sys_flag: int
    commit_offset: int
    suspend_ms: int
    sub_version: int
    expression: str
    expression_type: str

    @property
    def size(self) -> int:
        """What a parked pull keeps, in bytes: as measured, and its texts."""
        texts = (self.group, self.topic, self.expression, self.expression_type)
        return PARKED_BYTES + sum(map(len, texts))


class _Asked(msgspec.Struct, gc=False):
    """A pull, and of its request what its answer needs."""

    header: _PullHeader
    request: Command


@lru_cache(maxsize=4096)
def tag_codes(expression: str) -> frozenset[int] | None:
    """Tag hashes of ``TagA || TagB``; ``None`` for everything (empty or ``*``). ``ValueError`` where nothing is left.

    RocketMQ: FilterAPI.buildSubscriptionData, with Java's split, which drops empty parts at the end.
    """
    if expression in ("", "*"):
        return None
    parts = expression.split("||")
    while parts and not parts[-1]:
        parts.pop()
    if not parts:
        raise ValueError("subString split error")
    return frozenset(java_string_hash(tag) for part in parts if (tag := part.strip()))


class Pulls:
    """The pull handler of one broker, and its parked pulls."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.parked: ParkedPulls[_Asked] = ParkedPulls()
        self._woken: list[Parked[_Asked]] = []

    def handlers(self) -> dict[int, Handler]:
        """By request code; not for the fast port."""
        return {int(RequestCode.PULL_MESSAGE): self.pull, int(RequestCode.LITE_PULL_MESSAGE): self.pull}

    def pull(self, env: Environment, link: Link, request: Command) -> Command | None:
        """One pull, first pass: may be parked, and may bring a commit."""
        return self._run(env, link, request, _read_header(request), first_pass=True)

    # --- waking -----------------------------------------------------------------------------------------------------

    def arrived(self, topic: str, queue_id: int, max_offset: int, tags_code: int) -> None:
        """The store has dispatched a message; what it wakes is run at the end of the step."""
        self._woken += self.parked.arrived(topic, queue_id, max_offset, tags_code)

    def sweep(self, env: Environment) -> None:
        """Every 5 s: whose time is over, whose queue has grown."""
        self._woken += self.parked.sweep(env.wall(), self._state.store.max_offset)

    def run_woken(self, env: Environment) -> None:
        """Answer the pulls that were woken in this step."""
        while self._woken:
            woken, self._woken = self._woken, []
            for pull in woken:
                self._rerun(env, pull)

    def _rerun(self, env: Environment, pull: Parked[_Asked]) -> None:
        asked = pull.request
        answer = self._run(env, pull.link, asked.request, asked.header, first_pass=False)
        if answer is not None:
            self._state.remoting.reply(env, pull.link, asked.request, answer)

    # --- one pull ---------------------------------------------------------------------------------------------------

    def _run(
        self, env: Environment, link: Link, request: Command, header: _PullHeader, *, first_pass: bool
    ) -> Command | None:
        try:
            group = self._checked_group(env, link, header)
            wanted = self._wanted(header, group)
            found = self._found(env, header, wanted)
        except RequestRefused as refusal:
            return Command(refusal.code, {}, remark=refusal.remark)
        code = _code(found.status, header.offset)
        if code == ResponseCode.PULL_NOT_FOUND and first_pass and header.sys_flag & SUSPEND:
            self._park(env, link, request, header, wanted.codes)
            answer = None
        else:
            answer = self._answer(env, link, request, header, group, found, code)
        if first_pass and header.sys_flag & COMMIT and not self._state.config.is_slave:
            self._state.offsets.commit(header.group, header.topic, header.queue_id, header.commit_offset)
        return answer

    def _found(self, env: Environment, header: _PullHeader, wanted: Wanted) -> GetResult:
        if header.max_messages < 0:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, f"maxMsgNums[{header.max_messages}] is negative")
        found = self._state.store.get(
            env,
            header.topic,
            header.queue_id,
            header.offset,
            header.max_messages,
            tag_codes=wanted.codes,
            wants=wanted.test,
        )
        if found is None:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, "store getMessage return null")
        return found

    def _park(
        self, env: Environment, link: Link, request: Command, header: _PullHeader, codes: frozenset[int] | None
    ) -> None:
        config = self._state.config
        suspend_ms = header.suspend_ms if config.long_polling else config.short_polling_ns // MS
        asked = _Asked(header, _needed_for_an_answer(request))
        pull = Parked(link, asked, header.offset, codes, env.wall(), suspend_ms, header.size)
        for given_up in self.parked.park(header.topic, header.queue_id, pull):
            busy = Command(ResponseCode.SYSTEM_BUSY, remark=OVERLOAD)
            self._state.remoting.reply(env, given_up.link, given_up.request.request, busy)

    def _answer(
        self,
        env: Environment,
        link: Link,
        request: Command,
        header: _PullHeader,
        group: SubscriptionGroupConfig,
        found: GetResult,
        code: int,
    ) -> Command | None:
        fields = {
            "suggestWhichBrokerId": str(self._suggestion(group, found.suggest_slave)),
            "nextBeginOffset": str(found.next_offset),
            "minOffset": str(found.min_offset),
            "maxOffset": str(found.max_offset),
        }
        answer = Command(code, fields, b"".join(found.records), found.status.value)
        self._state.counters.pulls_missed += not found.records
        if found.records:
            self._state.counters.pulls_found += 1
            self._state.counters.messages_pulled += len(found.records)
            self._state.rates.got(header.group, header.topic, len(found.records), len(answer.body))
        if code != ResponseCode.PULL_OFFSET_MOVED:
            return answer
        if self._state.config.is_slave and not self._state.store.config.offset_check_in_slave:
            # The master may know better, and the slave may have it soon: the consumer asks again, and there.
            fields["suggestWhichBrokerId"] = str(group.broker_id)
            return Command(ResponseCode.PULL_RETRY_IMMEDIATELY, fields, remark=found.status.value)
        self._store_moved_event(env, link, request, header, found, answer)
        return None

    def _suggestion(self, group: SubscriptionGroupConfig, suggest_slave: bool) -> int:
        """Which broker id to ask next."""
        if not self._state.config.slave_read_enable:
            return 0
        return group.which_broker_when_consume_slowly if suggest_slave else group.broker_id

    def _store_moved_event(
        self, env: Environment, link: Link, request: Command, header: _PullHeader, found: GetResult, answer: Command
    ) -> None:
        """4.9 stores an event for each moved offset and answers when that is stored."""
        queue = MessageQueue(self._state.config.broker_name, header.queue_id, header.topic)
        event = _MovedEvent(header.group, queue, found.next_offset, header.offset)
        put = PutRequest(
            topic=OFFSET_MOVED_EVENT,
            queue_id=0,
            body=write_json(event),
            properties=properties_text({PROPERTY_KEYS: header.group, PROPERTY_TAGS: header.group}),
            born_timestamp=env.wall(),
            born_host=self._state.config.address,
            is_internal=True,
        )
        self._state.store.put(env, put, lambda env, _result: self._state.remoting.reply(env, link, request, answer))

    # --- checks -----------------------------------------------------------------------------------------------------

    def _checked_group(self, env: Environment, link: Link, header: _PullHeader) -> SubscriptionGroupConfig:
        """The group, after the checks of broker, group, topic and queue."""
        config = self._state.config
        if not config.readable:
            remark = f"the broker[{config.broker_ip}] pulling message is forbidden"
            raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
        group = self._state.group(env, header.group)
        if group is None:
            remark = f"subscription group [{header.group}] does not exist, {FAQ}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
        if not group.consume_enable:
            remark = f"subscription group no permission, {header.group}"
            raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
        self._check_queue(env, link, header)
        return group

    def _check_queue(self, env: Environment, link: Link, header: _PullHeader) -> None:
        topic = self._state.topics.topics.get(header.topic)
        if topic is None:
            remark = f"topic[{header.topic}] not exist, apply first please! {FAQ}"
            raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, remark)
        if not topic.perm & PERM_READ:
            remark = f"the topic[{header.topic}] pulling message is forbidden"
            raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
        if not 0 <= header.queue_id < topic.read_queue_nums:
            remark = (
                f"queueId[{header.queue_id}] is illegal, topic:[{header.topic}] "
                f"topicConfig.readQueueNums:[{topic.read_queue_nums}] consumer:[/{env.peer(link)}]"
            )
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)

    def _wanted(self, header: _PullHeader, group: SubscriptionGroupConfig) -> Wanted:
        """What is wanted, from the request or from the group's last heartbeat."""
        if header.sys_flag & SUBSCRIPTION:
            if check_kind(self._state.config, header.expression_type):
                return checked_condition(self._state.config, header.expression)
            try:
                return Wanted(tag_codes(header.expression))
            except ValueError:
                remark = "parse the consumer's subscription failed"
                raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark) from None
        return self._wanted_by_heartbeat(header, group)

    def _wanted_by_heartbeat(self, header: _PullHeader, group: SubscriptionGroupConfig) -> Wanted:
        consumers = self._state.clients.consumers.get(header.group)
        if consumers is None:
            remark = f"the consumer's group info not exist{FAQ}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        if not group.consume_broadcast_enable and consumers.message_model == "BROADCASTING":
            remark = f"the consumer group[{header.group}] can not consume by broadcast way"
            raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
        subscription = consumers.subscriptions.get(header.topic)
        if subscription is None:
            remark = f"the consumer's subscription not exist{FAQ}"
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_EXIST, remark)
        if subscription.version < header.sub_version:
            raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")
        if check_kind(self._state.config, subscription.expression_type):
            return self._condition_of(header, subscription.expression)
        return EVERYTHING if subscription.everything else Wanted(subscription.codes)

    def _condition_of(self, header: _PullHeader, expression: str) -> Wanted:
        """RocketMQ keeps no filter for an expression that it could not read, and says so at each pull."""
        try:
            return by_condition(self._state.config, expression)
        except SqlRefused:
            remark = "The broker's consumer filter data is not exist!"
            raise RequestRefused(ResponseCode.FILTER_DATA_NOT_EXIST, f"{remark}{FAQ}") from None


class _MovedEvent(msgspec.Struct, rename="camel"):
    """RocketMQ: OffsetMovedEvent."""

    consumer_group: str
    message_queue: MessageQueue
    offset_new: int
    offset_request: int


def _read_header(request: Command) -> _PullHeader:
    fields = request.fields
    return _PullHeader(
        text(request, "consumerGroup"),
        text(request, "topic"),
        small_integer(request, "queueId"),
        integer(request, "queueOffset"),
        small_integer(request, "maxMsgNums"),
        small_integer(request, "sysFlag"),
        integer(request, "commitOffset"),
        integer(request, "suspendTimeoutMillis"),
        integer(request, "subVersion"),
        fields.get("subscription", ""),
        fields.get("expressionType", "TAG"),
    )


def _needed_for_an_answer(request: Command) -> Command:
    """Without fields and body: many pulls wait, each for long."""
    return Command(request.code, flag=request.flag, opaque=request.opaque, serialization=request.serialization)


def _code(status: GetStatus, offset: int) -> int:
    """The response code; a queue that holds nothing is *not found* at offset 0 and *moved* anywhere else."""
    code = _CODES.get(status)
    if code is not None:
        return code
    return ResponseCode.PULL_OFFSET_MOVED if offset else ResponseCode.PULL_NOT_FOUND
