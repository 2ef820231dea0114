"""The load ``transactions``: halves, local transactions, commits and rollbacks, and brokers that ask.

Question: what of a producer's transactions does a group get to see while brokers and producers die in the middle of
them?

Model. Each producer sends halves to one topic, and every fourth message as a plain one to another. When a half is
stored as promised the local transaction runs: it commits or rolls back, durably, in a store that all producers share
(:class:`Ledger`, an application's database), and the broker is told, or is not (*unknown*) and has to ask. In turn:

    commit, commit, rollback, commit later, rollback later, commit

A producer that dies takes with it what it had under way; its brokers ask another one of the group, who looks into the
same store: what is not in it never ran, and is rolled back; unless its half is still under way. ``decide`` is an op
when the store was written, ``end_transaction`` what the broker was told, ``check`` what it asked and was answered.

Limits. Scenarios set ``transactionCheckInterval`` to a few seconds: RocketMQ asks once a minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from harness.payload import Body, decode
from harness.workloads.measuring import GROUP
from harness.workloads.producers import PLAIN, About, Application, AttemptRecorder, OnResult
from harness.workloads.push import PushWorkload
from harness.workloads.table import Companion
from harness.workloads.workload import Stage
from reference_impl.client import (
    Client,
    Message,
    Producer,
    ProducerSettings,
    PulledMessage,
    SendResult,
    TransactionProducer,
    TransactionState,
)
from reference_impl.environment import Environment

COMMIT, ROLLBACK, UNKNOWN = TransactionState.COMMIT, TransactionState.ROLLBACK, TransactionState.UNKNOWN
FATES: Final = (
    (COMMIT, COMMIT),
    (COMMIT, COMMIT),
    (ROLLBACK, ROLLBACK),
    (COMMIT, UNKNOWN),
    (ROLLBACK, UNKNOWN),
    (COMMIT, COMMIT),
)
"""(what the local transaction did, what the broker is told at once)."""
PLAIN_EVERY: Final = 4


def transaction_topic(stage: Stage) -> str:
    """Halves stand elsewhere until they are committed, so the topic's queues are not judged as logs of these sends."""
    return f"{stage.topic}-transactions"


class Ledger:
    """What the applications' database knows: decided transactions, and halves that are under way."""

    def __init__(self) -> None:
        self.decided: dict[int, TransactionState] = {}
        self.under_way: set[int] = set()

    def word_on(self, message: int) -> TransactionState:
        """What a producer answers to a broker's question."""
        if message in self.decided:
            return self.decided[message]
        return UNKNOWN if message in self.under_way else ROLLBACK

    def committed(self) -> set[int]:
        """Messages that the group has to get."""
        return {message for message, state in self.decided.items() if state is COMMIT}


class TransactionApplication(Application):
    """Sends halves and runs their local transactions."""

    ledger: Ledger

    def __init__(self, stage: Stage, producer: Producer, record: AttemptRecorder, number: int, counts: Counter[str]):
        super().__init__(stage, producer, record, number, counts)
        self._halves = self._count = 0
        self.own: set[int] = set()
        """Its halves that are under way."""

    def about(self) -> About:
        self._count += 1
        if self._count % PLAIN_EVERY == 0:
            return PLAIN
        return About("transactional", topic=transaction_topic(self._stage), f="send_half")

    def hand_over(self, env: Environment, message: Message, number: int, ended: OnResult) -> int:
        if message.topic == self._stage.topic:
            return super().hand_over(env, message, number, ended)
        assert isinstance(self._producer, TransactionProducer), "made by TransactionWorkload"
        done, told = FATES[self._halves % len(FATES)]
        self._halves += 1
        self.own.add(number)
        self.ledger.under_way.add(number)

        def on_half(env: Environment, result: SendResult) -> TransactionState:
            self.ledger.decided[number] = done
            tell(self._stage, "decide", number, done.name)
            tell(self._stage, "end_transaction", number, "ONE_WAY", told.name)
            return told

        def on_ended(env: Environment, result: SendResult, state: TransactionState | None) -> None:
            self.own.discard(number)
            self.ledger.under_way.discard(number)
            ended(env, result)

        return self._producer.send_in_transaction(env, message, on_half, on_ended)


def tell(stage: Stage, f: str, number: int, status: str, detail: str = "") -> None:
    """One step of a transaction, as an op that takes no time."""
    recorder = stage.recorder
    op = recorder.invoke(recorder.process(), f, message=number)
    recorder.complete(op, stage.classify(f, status), status, detail=detail)


class TransactionWorkload(PushWorkload):
    """``Workload`` of the load ``transactions``: producers of one group with one database, and push consumers."""

    def __init__(self, stage: Stage, companions: Sequence[Companion] = ()) -> None:
        self._ledger = Ledger()
        super().__init__(stage, companions)

    def topics(self) -> tuple[str, ...]:
        return (self.stage.topic, transaction_topic(self.stage))

    def is_complete(self) -> bool:
        plain = self.acknowledged() - self._ledger.decided.keys()
        owed = self._ledger.committed().union(plain, *(member.refused for member in self._members))
        return owed <= set().union(*(member.delivered for member in self._members))

    def _make_producer(self, client: Client) -> Producer:
        return TransactionProducer(client, ProducerSettings(group=GROUP), self._asked)

    def _asked(self, env: Environment, half: PulledMessage) -> TransactionState:
        """A broker's question."""
        body = decode(half.body, self.stage.recorder.run)
        number = body.message if isinstance(body, Body) else -1
        word = self._ledger.word_on(number)
        tell(self.stage, "check", number, word.name)
        return word

    def _make_application(self, producer: Producer, record: AttemptRecorder, number: int) -> Application:
        application = TransactionApplication(self.stage, producer, record, number, self.counts)
        application.ledger = self._ledger
        return application

    def _begin_again(self, number: int) -> Client:
        """What the past life had under way is known to nobody now: it never ran."""
        past = self._lives[number].application
        assert isinstance(past, TransactionApplication), "made above"
        self._ledger.under_way -= past.own
        return super()._begin_again(number)
