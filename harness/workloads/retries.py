"""The load ``push-retries``: messages that a listener refuses again and again, until they are dead letters.

Question: does what a listener cannot handle come again after 10 s and 30 s, counted, and is it then put away?

Model. The load ``push``, with one difference: the listener refuses every :data:`POISON_EVERY`-th message always. The
group is given a message again :data:`TIMES_MAX` times; then its broker moves it to %DLQ%readers, which nobody may read
(RocketMQ makes that topic write-only). In the end somebody with an operator's rights makes it readable and reads it on
every broker: an op ``bury`` is what one answer showed.

Limits. A dead letter is found by its broker's first queue of that topic, the only one there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from harness.payload import Body, decode
from harness.workloads.group import GROUP
from harness.workloads.measuring import MeasuringClient, Process, inflated, status_of
from harness.workloads.push import Member, PushWorkload
from harness.workloads.table import Companion
from harness.workloads.workload import QueueAddress, Stage
from reference_impl.client import PushSettings
from reference_impl.environment import SECOND, Environment
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.message import decode_records
from reference_impl.wire.remoting import Answer

POISON_EVERY: Final = 40
TIMES_MAX: Final = 2
DEAD_TOPIC: Final = f"%DLQ%{GROUP}"
ASK_AGAIN_NS: Final = SECOND
ASK_TIMEOUT_NS: Final = 3 * SECOND
TRIES: Final = 30
NOTHING_MORE_NS: Final = 40 * SECOND
"""Longer than the longest wait between two tries, 30 s."""
PUT_AWAY_NS: Final = 10 * SECOND
"""A member whose broker cannot take a message back tries again every 5 s."""


class RefusingMember(Member):
    """Refuses poison always, and as any member does every so-many-th message at its first time."""

    def __init__(self, stage: Stage, name: str, counts: Counter[str], settings: PushSettings) -> None:
        self.given_up: set[int] = set()
        """What it refused as often as the group is given it."""
        super().__init__(stage, name, counts, settings)

    def is_done(self, number: int, times: int) -> bool:
        is_poison = number % POISON_EVERY == 0
        if is_poison and times >= TIMES_MAX:
            self.given_up.add(number)
        return not is_poison and super().is_done(number, times)


class DeadLetterReader(MeasuringClient):
    """Reads the dead letters of every broker to their end; one that does not answer is asked again for a while."""

    def __init__(self, stage: Stage, name: str, brokers: Sequence[QueueAddress]) -> None:
        super().__init__(stage, name)
        self._brokers = brokers
        self._tries = Counter[str]()
        self.found: set[int] = set()
        self.open: dict[str, None] = dict.fromkeys(broker.broker for broker in brokers)
        """Brokers that were not read to the end."""

    def on_start(self, env: Environment) -> None:
        for broker in self._brokers:
            self._open(env, broker)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        broker = next((one for one in self._brokers if one.broker == key), None)
        if broker is not None:
            self._open(env, broker)
        else:
            super().on_timer(env, key)

    def _open(self, env: Environment, broker: QueueAddress) -> None:
        """An operator makes the topic readable."""
        fields = {
            "topic": DEAD_TOPIC,
            "defaultTopic": DEAD_TOPIC,
            "readQueueNums": "1",
            "writeQueueNums": "1",
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
        }
        request = Command(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)

        def answered(env: Environment, answer: Answer) -> None:
            if status_of(answer, "OK") == "OK":
                self._read_on(env, broker, 0)
            else:
                self._later(env, broker)

        where = self.stage.at(broker)
        self.remoting.call(env, where.address, request, ASK_TIMEOUT_NS, answered, close_on_timeout=True)

    def _read_on(self, env: Environment, broker: QueueAddress, offset: int) -> None:
        where = self.stage.at(broker)
        process = Process(self.recorder.process())
        queue = self.recorder.queue(DEAD_TOPIC, broker.broker, 0)
        op = self.recorder.invoke(process.number, "bury", queue=queue, offset=offset, node=where.node, group=GROUP)
        fields = self._pull_fields(where, offset, False, 32) | {"topic": DEAD_TOPIC, "queueId": "0"}
        request = Command(RequestCode.PULL_MESSAGE, fields)
        then = partial(self._answered, op, broker, offset)
        self.remoting.call(env, where.address, request, ASK_TIMEOUT_NS, then, close_on_timeout=True)

    def _answered(self, op: int, broker: QueueAddress, offset: int, env: Environment, answer: Answer) -> None:
        status = status_of(answer, "FOUND")
        offsets, messages = _read(answer, self.recorder.run) if isinstance(answer, Command) else ([], [])
        outcome = self.stage.classify("bury", status)
        detail = {"times_max": TIMES_MAX}
        self.recorder.complete(
            op, outcome, status, count=len(messages), detail=detail, offsets=offsets, messages=messages
        )
        self.found |= {message for message in messages if message >= 0}
        if status == "FOUND" and offsets:
            self._read_on(env, broker, offsets[-1] + 1)
        elif outcome == "ok":
            self.open.pop(broker.broker, None)
        else:
            self._later(env, broker)

    def _later(self, env: Environment, broker: QueueAddress) -> None:
        self._tries[broker.broker] += 1
        if self._tries[broker.broker] < TRIES:
            env.set_timer(broker.broker, ASK_AGAIN_NS)
        else:
            self.open.pop(broker.broker, None)


def _read(answer: Command, run: int) -> tuple[list[int], list[int]]:
    """Offsets and message numbers of an answer."""
    try:
        records = decode_records(answer.body)
    except RemoteWireError:
        return [], []
    bodies = [decode(inflated(record), run) for record in records]
    return [r.queue_offset for r in records], [b.message if isinstance(b, Body) else -1 for b in bodies]


class RetryWorkload(PushWorkload):
    """``Workload`` of the load ``push-retries``."""

    patience_ns = NOTHING_MORE_NS
    """After so much silence nothing more is waited for."""
    put_away_ns = PUT_AWAY_NS
    """After so much silence what was given up is among the dead letters."""

    member: Callable[[Stage, str, Counter[str], PushSettings], Member] = RefusingMember

    def __init__(self, stage: Stage, companions: Sequence[Companion] = ()) -> None:
        super().__init__(stage, companions)
        first = {queue.broker: queue for queue in reversed(stage.queues)}
        self._reader = DeadLetterReader(stage, stage.load.spare_client("dead letters"), list(first.values()))
        self._reads = False

    def settings(self) -> PushSettings:
        return replace(super().settings(), reconsume_times_max=TIMES_MAX)

    def is_complete(self) -> bool:
        """All is given that is owed, and poison so often that its broker has put it away a while ago."""
        poison = {number for number in self.acknowledged() if number % POISON_EVERY == 0}
        given_up = set().union(*(member.given_up for member in self._members if isinstance(member, RefusingMember)))
        delivered = set().union(*(member.delivered for member in self._members))
        is_owed = self.acknowledged().union(*(member.refused for member in self._members)) - delivered - given_up
        return not is_owed and poison <= given_up and self.quiet_ns() >= self.put_away_ns

    def finished(self) -> bool:
        """When the group has gone quiet, the dead letters are read."""
        if self._reads:
            return not self._reader.open
        if not self._members or (self.is_complete() and self.is_settled()) or self.quiet_ns() >= self.patience_ns:
            self._reads = True
            self.stage.backend.add_client(self._reader.name, self._reader)
        return False
