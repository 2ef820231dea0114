"""The pull consumer: assigned queues, one outstanding pull a queue, offsets committed to the broker.

Question: which messages does a consumer see, in which order, and from where does it go on after a failure?

Model (RocketMQ: PullAPIWrapper, DefaultMQPushConsumerImpl#pullMessage, RemoteBrokerOffsetStore). Each assigned queue
has a position. A pull goes to the broker id that the last answer suggested, and to any other of that name if that
one is gone. What follows:

    OK, PULL_NOT_FOUND, PULL_RETRY_IMMEDIATELY   the next pull at once, from ``next_offset``
    PULL_OFFSET_MOVED                            after ``moved_pause_ns``, from ``next_offset``
    FLOW_CONTROL                                 after 20 ms, from the same offset
    anything else                                after 1 s, from the same offset, with a fresh route

Offsets are sent to the master every 5 s, one-way (or as calls, if they are to be confirmed), to a slave if there is no
master, and with each pull from the master.
A queue assigned without an offset starts at the group's committed one, else where ``from_last`` says; a retry topic
always starts at its beginning.

Limits. Queues are assigned by the caller; rebalancing is the push consumer's. One callback at a time, and the next pull
leaves when it has returned.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from reference_impl.client.client import Client, Part
from reference_impl.client.model import MessageQueue, PulledMessage, PullOutcome
from reference_impl.client.status import DAMAGED_ANSWER, OK, remark_of, status_of
from reference_impl.environment import MS, SECOND, Address, Environment
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.fields import ext_fields, integer_or_none
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.message import COMPRESSED, PROPERTY_TAGS, Message, decode_records
from reference_impl.wire.remoting import Answer, CallFailed

OnPull = Callable[[Environment, PullOutcome], None]
"""Called for every finished pull."""

COMMIT, SUSPEND, SUBSCRIPTION = 1, 2, 4
TAG, SQL92 = "TAG", "SQL92"
"""Kinds of expressions (RocketMQ: ExpressionType)."""
MASTER_ID: Final = 0
RETRY_PREFIX: Final = "%RETRY%"
UNKNOWN: Final = -1
FLOW_CONTROL_PAUSE_NS: Final = 20 * MS
_GOES_ON: Final = frozenset({OK, "PULL_NOT_FOUND", "PULL_RETRY_IMMEDIATELY"})


@dataclass(frozen=True)
class PullSettings:
    """RocketMQ: DefaultMQPullConsumer / DefaultMQPushConsumer defaults. ``auto_commit``: what the callback has seen is
    committed when it returns. ``in_request``: the expression travels with each pull, no heartbeat is needed.
    ``confirm``: offsets are sent as calls (RocketMQ: updateConsumeOffsetToBroker with isOneway false)."""

    group: str
    expression: str = "*"
    batch_size: int = 32
    suspend_ns: int = 15_000 * MS
    pull_timeout_ns: int = 30_000 * MS
    failure_pause_ns: int = 1_000 * MS
    moved_pause_ns: int = 0
    persist_ns: int = 5 * SECOND
    auto_commit: bool = True
    from_last: bool = True
    in_request: bool = True
    confirm: bool = False
    local_offsets: bool = False
    """Offsets are this consumer's own: no broker is told or asked (RocketMQ: LocalFileOffsetStore)."""


class _Position:
    """One assigned queue. ``epoch`` tells answers to an earlier assignment from ours."""

    __slots__ = ("broker_id", "committed", "epoch", "offset")

    def __init__(self, offset: int, epoch: int) -> None:
        self.offset = offset
        self.epoch = epoch
        self.committed = UNKNOWN
        self.broker_id = MASTER_ID


class PullConsumer(Part):
    """Pulls assigned queues for ever and hands every outcome to ``on_pull``."""

    def __init__(self, client: Client, settings: PullSettings, on_pull: OnPull) -> None:
        self.client = client
        self.settings = settings
        self.on_pull = on_pull
        self.sub_version = 0
        """Version of the subscription that the last heartbeat told; a broker refuses pulls with a newer one."""
        self.expressions: dict[str, str] = {}
        """Tag expressions of topics that differ from ``settings.expression``."""
        self.conditions: frozenset[str] = frozenset()
        """Topics whose expression is a condition in SQL92: the broker alone decides."""
        self.pause_ns: Callable[[MessageQueue], int] = lambda _queue: 0
        """How long the next pull of a queue has to wait: it is asked again then."""
        self._positions: dict[MessageQueue, _Position] = {}
        self._left: dict[MessageQueue, int] = {}
        """Where queues were left whose offsets are our own."""
        self._epoch = self._calls = 0
        self._persist_key = ("consumer", settings.group, "persist")
        client.parts.append(self)

    # --- what the application does ----------------------------------------------------------------------------------

    def assign(self, env: Environment, offsets: Mapping[MessageQueue, int]) -> None:
        """Pull exactly these queues, from these offsets (−1: the group's committed offset, else RocketMQ's rule).

        A queue that was assigned before goes on where it is; one that is taken away has its offset sent first.
        """
        for queue in [queue for queue in self._positions if queue not in offsets]:
            position = self._positions.pop(queue)
            self._left |= {queue: position.committed} if self.settings.local_offsets else {}
            self._send_offset(env, queue, position.committed)
        for queue, offset in offsets.items():
            if queue not in self._positions:
                self._epoch += 1
                self._positions[queue] = _Position(offset, self._epoch)
                self._pull_or_find(env, queue, self._epoch)

    def commit(self, env: Environment, queue: MessageQueue, offset: int) -> None:
        """Everything below *offset* is processed; sent with the next pull and every ``persist_ns``."""
        position = self._positions.get(queue)
        if position is not None:
            position.committed = offset

    def position(self, queue: MessageQueue) -> int:
        """The offset that the next pull asks for; −1 if the queue is not assigned or its start is not yet known."""
        position = self._positions.get(queue)
        return position.offset if position is not None else UNKNOWN

    def assigned(self) -> tuple[MessageQueue, ...]:
        """The queues that are pulled now."""
        return tuple(self._positions)

    def tell(self, env: Environment, queue: MessageQueue, offset: int) -> None:
        """Send an offset of the group for a queue that need not be assigned."""
        self._send_offset(env, queue, offset)

    def progress(self, group: str, topic: str) -> dict[MessageQueue, int]:
        """What would be committed now."""
        if group != self.settings.group:
            return {}
        positions = self._positions.items()
        return {
            queue: position.committed
            for queue, position in positions
            if queue.topic == topic and position.committed != UNKNOWN
        }

    # --- Part -------------------------------------------------------------------------------------------------------

    def start(self, env: Environment) -> None:
        """Begin to persist offsets."""
        env.set_timer(self._persist_key, 10 * SECOND)

    def stop(self, env: Environment) -> None:
        """Send the offsets a last time and forget the queues."""
        self.assign(env, {})
        env.cancel_timer(self._persist_key)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Ours are tuples that begin with this consumer's group."""
        if key == self._persist_key:
            env.set_timer(key, self.settings.persist_ns)
            for queue, position in self._positions.items():
                self._send_offset(env, queue, position.committed)
            return True
        if not isinstance(key, tuple) or key[:2] != ("pull", self.settings.group):
            return False
        self._pull_or_find(env, *key[2:])
        return True

    # --- where to start ---------------------------------------------------------------------------------------------

    def _pull_or_find(self, env: Environment, queue: MessageQueue, epoch: int) -> None:
        position = self._current(queue, epoch)
        if position is None:
            return
        if position.offset == UNKNOWN:
            self._find_start(env, queue, epoch)
        else:
            self._pull(env, queue, position)

    def _current(self, queue: MessageQueue, epoch: int) -> _Position | None:
        position = self._positions.get(queue)
        return position if position is not None and position.epoch == epoch else None

    def _find_start(self, env: Environment, queue: MessageQueue, epoch: int) -> None:
        """The committed offset; where there is none, the queue's end (or start)."""
        if self.settings.local_offsets:
            self._find_own_start(env, queue, epoch)
            return
        number = self._number()

        def asking(env: Environment, address: Address) -> None:
            self.client.observer.on_asking_offset(env, number, queue, address)

        def answered(env: Environment, answer: Answer) -> None:
            status = status_of(answer)
            offset = _offset(answer)
            self.client.observer.on_offset(env, number, status, UNKNOWN if offset is None else offset)
            position = self._current(queue, epoch)
            if position is None:
                return
            if status == OK and offset is not None:
                position.offset = offset
                self._pull(env, queue, position)
            elif status == "QUERY_NOT_FOUND":
                self._ask_extent(env, queue, epoch)
            else:
                self._later(env, queue, epoch, self.settings.failure_pause_ns)

        fields = ext_fields(
            consumerGroup=self.settings.group, topic=queue.topic, queueId=queue.queue_id, bname=queue.broker_name
        )
        self._ask(env, queue, Command(RequestCode.QUERY_CONSUMER_OFFSET, fields), answered, asking)

    def _find_own_start(self, env: Environment, queue: MessageQueue, epoch: int) -> None:
        position = self._current(queue, epoch)
        if position is not None and self._left.get(queue, UNKNOWN) != UNKNOWN:
            position.offset = self._left[queue]
            self._pull(env, queue, position)
        else:
            self._ask_extent(env, queue, epoch)

    def _ask_extent(self, env: Environment, queue: MessageQueue, epoch: int) -> None:
        def answered(env: Environment, answer: Answer) -> None:
            position = self._current(queue, epoch)
            offset = _offset(answer)
            if position is None:
                return
            if offset is None:
                self._later(env, queue, epoch, self.settings.failure_pause_ns)
                return
            position.offset = offset
            self._pull(env, queue, position)

        from_last = self.settings.from_last and not queue.topic.startswith(RETRY_PREFIX)
        code = RequestCode.GET_MAX_OFFSET if from_last else RequestCode.GET_MIN_OFFSET
        fields = ext_fields(topic=queue.topic, queueId=queue.queue_id, bname=queue.broker_name)
        self._ask(env, queue, Command(code, fields), answered)

    def _ask(
        self,
        env: Environment,
        queue: MessageQueue,
        request: Command,
        answered: Callable[[Environment, Answer], None],
        asking: Callable[[Environment, Address], None] = lambda _env, _address: None,
    ) -> None:
        """The master, or after a fresh route any broker of that name; a route without one counts as no connection."""
        target = self.client.routes.reader(queue.broker_name, MASTER_ID, only_this=True)
        if target is not None:
            asking(env, target[1])
            self._call(env, target[1], request, answered)
            return

        def refreshed(env: Environment, _status: str) -> None:
            found = self.client.routes.reader(queue.broker_name, MASTER_ID)
            if found is None:
                answered(env, CallFailed("connect", ""))
            else:
                asking(env, found[1])
                self._call(env, found[1], request, answered)

        self.client.routes.refresh(env, queue.topic, refreshed)

    def _call(
        self, env: Environment, address: Address, request: Command, answered: Callable[[Environment, Answer], None]
    ) -> None:
        self.client.remoting.call(env, address, request, self.client.settings.call_timeout_ns, answered)

    # --- one pull ---------------------------------------------------------------------------------------------------

    def _pull(self, env: Environment, queue: MessageQueue, position: _Position) -> None:
        epoch, offset, started_ns = position.epoch, position.offset, env.now()
        if (pause_ns := self.pause_ns(queue)) > 0:
            self._later(env, queue, epoch, pause_ns)
            return
        target = self.client.routes.reader(queue.broker_name, position.broker_id)
        if target is None:
            self.client.routes.refresh(env, queue.topic)
            self._later(env, queue, epoch, self.settings.failure_pause_ns)
            return
        broker_id, address = target
        number = self._number()

        def answered(env: Environment, answer: Answer) -> None:
            current = self._current(queue, epoch)
            outcome = self._outcome(env, queue, address, broker_id, offset, started_ns, answer, number)
            if current is not None:
                self._take(env, current, outcome)
            else:
                self.client.observer.on_late_pull(env, outcome)

        commits = self._commits(position, broker_id)
        self.client.observer.on_pulling(env, number, queue, address, offset, position.committed if commits else UNKNOWN)
        request = self._request(queue, position, commits)
        self.client.remoting.call(env, address, request, self.settings.pull_timeout_ns, answered)

    def _number(self) -> int:
        """Of a call, for who watches."""
        self._calls += 1
        return self._calls

    def _commits(self, position: _Position, broker_id: int) -> bool:
        """Slaves take no commits with pulls (RocketMQ: PullSysFlag.clearCommitOffsetFlag)."""
        return broker_id == MASTER_ID and position.committed > 0 and not self.settings.local_offsets

    def _request(self, queue: MessageQueue, position: _Position, commits: bool) -> Command:
        in_request = self.settings.in_request
        flags = SUSPEND | (COMMIT if commits else 0) | (SUBSCRIPTION if in_request else 0)
        fields = {
            "consumerGroup": self.settings.group,
            "topic": queue.topic,
            "queueId": str(queue.queue_id),
            "queueOffset": str(position.offset),
            "maxMsgNums": str(self.settings.batch_size),
            "sysFlag": str(flags),
            "commitOffset": str(position.committed if commits else 0),
            "suspendTimeoutMillis": str(self.settings.suspend_ns // MS),
            "subVersion": str(self.sub_version),
            "expressionType": SQL92 if queue.topic in self.conditions else TAG,
            "bname": queue.broker_name,
        }
        if in_request:
            fields["subscription"] = self._expression(queue.topic)
        return Command(RequestCode.PULL_MESSAGE, fields)

    def _outcome(
        self,
        env: Environment,
        queue: MessageQueue,
        address: Address,
        broker_id: int,
        offset: int,
        started_ns: int,
        answer: Answer,
        number: int,
    ) -> PullOutcome:
        status, messages, remark = self._read(queue, answer)
        told = {
            name: -1 if status == DAMAGED_ANSWER else _number(answer, name)
            for name in ("nextBeginOffset", "minOffset", "maxOffset")
        }
        return PullOutcome(
            queue=queue,
            address=address,
            broker_id=broker_id,
            offset=offset,
            status=status,
            next_offset=told["nextBeginOffset"],
            min_offset=told["minOffset"],
            max_offset=told["maxOffset"],
            suggested_broker_id=_number(answer, "suggestWhichBrokerId"),
            messages=messages,
            started_ns=started_ns,
            ended_ns=env.now(),
            remark=remark,
            number=number,
        )

    def _read(self, queue: MessageQueue, answer: Answer) -> tuple[str, tuple[PulledMessage, ...], str]:
        """Status, messages and remark of an answer; records that cannot be read are a failure of the pull, not ours."""
        status = status_of(answer)
        if not isinstance(answer, Command) or status != OK:
            return status, (), remark_of(answer)
        try:
            records = [record for record in decode_records(answer.body) if self._wants(queue.topic, record)]
            return status, tuple(pulled(queue, record) for record in records), remark_of(answer)
        except RemoteWireError as error:
            return DAMAGED_ANSWER, (), str(error)

    def _wants(self, topic: str, message: Message) -> bool:
        """Of tags the broker compares hashes only; the text decides here."""
        tags = None if topic in self.conditions else _tags(self._expression(topic))
        return tags is None or message.property_map().get(PROPERTY_TAGS, "") in tags

    def _expression(self, topic: str) -> str:
        return self.expressions.get(topic, self.settings.expression)

    def _take(self, env: Environment, position: _Position, outcome: PullOutcome) -> None:
        queue, epoch = outcome.queue, position.epoch
        if outcome.next_offset >= 0:
            position.offset = outcome.next_offset
            position.broker_id = max(MASTER_ID, outcome.suggested_broker_id)
        self.client.observer.on_pull(env, outcome)
        self.on_pull(env, outcome)
        if self._current(queue, epoch) is None:
            return
        if self.settings.auto_commit and outcome.next_offset >= 0:
            position.committed = outcome.next_offset
        if outcome.status in _GOES_ON:
            self._pull(env, queue, position)
        else:
            self._after_trouble(env, queue, epoch, outcome.status)

    def _after_trouble(self, env: Environment, queue: MessageQueue, epoch: int, status: str) -> None:
        if status == "PULL_OFFSET_MOVED":
            self._later(env, queue, epoch, self.settings.moved_pause_ns)
        elif status == "FLOW_CONTROL":
            self._later(env, queue, epoch, FLOW_CONTROL_PAUSE_NS)
        else:
            self._later(env, queue, epoch, self.settings.failure_pause_ns)

    def _later(self, env: Environment, queue: MessageQueue, epoch: int, pause_ns: int) -> None:
        env.set_timer(("pull", self.settings.group, queue, epoch), pause_ns)

    # --- offsets ----------------------------------------------------------------------------------------------------

    def _send_offset(self, env: Environment, queue: MessageQueue, offset: int) -> None:
        """To the master, else to any broker of that name (which persists it as its own)."""
        target = self.client.routes.reader(queue.broker_name, MASTER_ID)
        if offset < 0 or target is None or self.settings.local_offsets:
            return
        fields = ext_fields(
            consumerGroup=self.settings.group,
            topic=queue.topic,
            queueId=queue.queue_id,
            commitOffset=offset,
            bname=queue.broker_name,
        )
        request = Command(RequestCode.UPDATE_CONSUMER_OFFSET, fields)
        if self.settings.confirm:
            self._confirm_offset(env, queue, target[1], offset, request)
            return
        self.client.remoting.oneway(env, target[1], request)
        self.client.observer.on_commit(env, self.settings.group, queue, offset)

    def _confirm_offset(
        self, env: Environment, queue: MessageQueue, address: Address, offset: int, request: Command
    ) -> None:
        number = self._number()
        self.client.observer.on_committing(env, number, queue, address, offset)
        self._call(
            env,
            address,
            request,
            lambda env, answer: self.client.observer.on_committed(env, number, status_of(answer)),
        )


def pulled(queue: MessageQueue, message: Message) -> PulledMessage:
    """A stored record as the application gets it: the body inflated; ``RemoteWireError`` if that cannot be done."""
    return PulledMessage(
        queue=queue,
        queue_offset=message.queue_offset,
        physical_offset=message.physical_offset,
        body=_inflated(message.body) if message.sys_flag & COMPRESSED else message.body,
        properties=message.property_map(),
        born_ms=message.born_timestamp,
        stored_ms=message.store_timestamp,
        reconsume_times=message.reconsume_times,
        message_id=message.message_id(),
        stored_in=MessageQueue(message.topic, queue.broker_name, message.queue_id),
    )


def _inflated(body: bytes) -> bytes:
    try:
        return zlib.decompress(body)
    except zlib.error as error:
        raise RemoteWireError(f"a compressed body cannot be inflated: {error}") from error


@lru_cache(maxsize=1024)
def _tags(expression: str) -> frozenset[str] | None:
    """The tags of ``TagA || TagB``; ``None``: everything."""
    tags = frozenset(tag for part in expression.split("||") if (tag := part.strip()))
    return None if not tags or tags == {"*"} else tags


def _offset(answer: Answer) -> int | None:
    if isinstance(answer, CallFailed) or answer.code != 0:
        return None
    return integer_or_none(answer, "offset")


def _number(answer: Answer, name: str) -> int:
    value = integer_or_none(answer, name) if isinstance(answer, Command) else None
    return UNKNOWN if value is None else value
