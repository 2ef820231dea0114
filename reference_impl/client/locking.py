"""A consumer's side of queue locks: asking its brokers for them, asking again, giving them back.

Question: which of these queues may this client consume, say the brokers that have them?

Model (RocketMQ: RebalanceImpl#lock, #lockAll, #unlock). A lock is the broker's (``reference_impl/broker/locks.py``):
LOCK_BATCH_MQ (41) names group, client and queues and is answered with those that the client holds now, UNLOCK_BATCH_MQ
(42) gives them back. One call a broker, for all of its queues. A call that nobody answers has granted nothing and
refused nothing; a queue whose broker has no master was not asked for.

Limits. RocketMQ asks for new queues one by one, and gives them back so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from reference_impl.client.client import Client
from reference_impl.client.model import MessageQueue
from reference_impl.client.status import DAMAGED_ANSWER, OK, status_of
from reference_impl.environment import SECOND, Address, Environment
from reference_impl.wire import bodies
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer, CallFailed

LOCK_TIMEOUT_NS: Final = 1 * SECOND
ONE_WAY: Final = "ONE_WAY"

OnLocked = Callable[[Environment, tuple[MessageQueue, ...], frozenset[MessageQueue] | None], None]
"""What was asked for at one broker, and what of it was granted; ``None``: nobody said."""


class LockCalls:
    """The calls of one member of *group*."""

    def __init__(self, client: Client, group: str, *, confirm: bool) -> None:
        self._client, self._group, self._confirm = client, group, confirm
        self._calls = 0

    def ask(self, env: Environment, queues: Iterable[MessageQueue], then: OnLocked) -> None:
        """*then* is called once a broker, at once for those that have no master."""
        for address, own in self._by_broker(queues):
            if address is None:
                then(env, own, None)
            else:
                self._ask(env, address, own, then)

    def give_back(self, env: Environment, queues: Iterable[MessageQueue]) -> None:
        """Nobody waits for it: what is not heard of expires."""
        for address, own in self._by_broker(queues):
            if address is not None:
                self._give_back(env, address, own)

    def _ask(self, env: Environment, address: Address, queues: tuple[MessageQueue, ...], then: OnLocked) -> None:
        number = self._number()

        def answered(env: Environment, answer: Answer) -> None:
            status, granted = _read(answer)
            self._client.observer.on_locked(env, number, status, granted or frozenset())
            then(env, queues, granted)

        self._client.observer.on_locking(env, number, queues, address)
        request = Command(RequestCode.LOCK_BATCH_MQ, body=self._body(queues))
        self._client.remoting.call(env, address, request, LOCK_TIMEOUT_NS, answered)

    def _give_back(self, env: Environment, address: Address, queues: tuple[MessageQueue, ...]) -> None:
        number, observer = self._number(), self._client.observer
        request = Command(RequestCode.UNLOCK_BATCH_MQ, body=self._body(queues))
        observer.on_unlocking(env, number, queues, address)
        if self._confirm:
            self._client.remoting.call(
                env,
                address,
                request,
                LOCK_TIMEOUT_NS,
                lambda env, answer: observer.on_unlocked(env, number, status_of(answer)),
            )
        else:
            self._client.remoting.oneway(env, address, request)
            observer.on_unlocked(env, number, ONE_WAY)

    def _number(self) -> int:
        self._calls += 1
        return self._calls

    def _by_broker(self, queues: Iterable[MessageQueue]) -> Iterator[tuple[Address | None, tuple[MessageQueue, ...]]]:
        grouped: dict[str, list[MessageQueue]] = {}
        for queue in queues:
            grouped.setdefault(queue.broker_name, []).append(queue)
        for name, own in grouped.items():
            yield self._client.routes.master(name), tuple(own)

    def _body(self, queues: Iterable[MessageQueue]) -> bytes:
        named = [bodies.MessageQueue(queue.broker_name, queue.queue_id, queue.topic) for queue in queues]
        return write_json(bodies.LockBatchRequest(self._client.client_id, self._group, named))


def _read(answer: Answer) -> tuple[str, frozenset[MessageQueue] | None]:
    """Status, and what was granted if that was said."""
    status = status_of(answer)
    if isinstance(answer, CallFailed) or status != OK:
        return status, None
    try:
        granted = read_json(answer.body, bodies.LockBatchAnswer).queues
    except RemoteWireError:
        return DAMAGED_ANSWER, None
    return status, frozenset(MessageQueue(queue.topic, queue.broker_name, queue.queue_id) for queue in granted)
