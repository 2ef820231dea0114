"""The load ``locks``: clients of one group that lock queues at their brokers, hold them for a while, and go.

Question: does a broker give a queue's lock to one client at a time, and give it again when it is free?

Model. Producers are those of the load ``producer``; clients P+1…P+C want every queue of the topic. Each asks for one
queue after the other (LOCK_BATCH_MQ, one queue a call): what it is given it holds for a drawn while, asking again every
now and then as orderly consumers do, and gives back (UNLOCK_BATCH_MQ); what it is refused it asks for again after a
drawn while. One in :data:`FORGETS` holds is never given back: it ends by expiry, 60 s after the last call. Nothing is
read. A client that dies forgets what it holds.

Limits. Locks alone: what orderly listeners make of them are the loads ``push-ordered`` and ``external-ordered``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Final

from harness.workloads.measuring import MeasuringClient, Process, status_of
from harness.workloads.parts import PartHost, lone_host
from harness.workloads.producers import ProducerWorkload
from harness.workloads.table import Companion
from harness.workloads.workload import Stage
from reference_impl.environment import MS, SECOND, Environment
from reference_impl.wire.bodies import LockBatchAnswer, LockBatchRequest, MessageQueue
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer

LOCKERS: Final = "lockers"
CALL_TIMEOUT_NS: Final = 3 * SECOND
FORGETS: Final = 8
RENEWALS: Final = 3


class _Wish:
    """One client's way with one queue."""

    __slots__ = ("left", "process")

    def __init__(self, process: Process) -> None:
        self.process = process
        self.left = -1
        """How often it renews before it gives the lock back; −1: it does not hold it."""


class Locker(MeasuringClient):
    """One client; timers are queue numbers."""

    def __init__(self, stage: Stage, name: str) -> None:
        super().__init__(stage, name)
        self._queues = {queue.queue: queue for queue in stage.queues}
        self._wishes = {number: _Wish(Process(stage.recorder.process())) for number in self._queues}

    def on_start(self, env: Environment) -> None:
        for number in self._queues:
            env.set_timer(number, env.rng.randrange(SECOND))

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if not isinstance(key, int):
            super().on_timer(env, key)
            return
        if self.stopped:
            return
        wish = self._wishes[key]
        if wish.left == 0:
            self._give_back(env, key)
        else:
            self._ask(env, key)

    def _ask(self, env: Environment, number: int) -> None:
        def answered(env: Environment, answer: Answer) -> None:
            self.in_flight -= 1
            wish = self._wishes[number]
            status = _granted(answer)
            self.complete(op, "lock", status, wish.process)
            if status == "OK":
                wish.left = env.rng.randrange(RENEWALS + 1) if wish.left < 0 else wish.left - 1
                env.set_timer(number, 500 * MS + env.rng.randrange(2 * SECOND))
            else:
                wish.left = -1
                env.set_timer(number, 200 * MS + env.rng.randrange(SECOND))

        op, address, body = self._call(number, "lock")
        request = Command(RequestCode.LOCK_BATCH_MQ, body=body)
        self.remoting.call(env, address, request, CALL_TIMEOUT_NS, answered, close_on_timeout=True)

    def _give_back(self, env: Environment, number: int) -> None:
        wish = self._wishes[number]
        wish.left = -1
        if env.rng.randrange(FORGETS) == 0:
            env.set_timer(number, 70 * SECOND)
            return

        def answered(env: Environment, answer: Answer) -> None:
            self.in_flight -= 1
            self.complete(op, "unlock", status_of(answer, "OK"), wish.process)
            env.set_timer(number, 300 * MS + env.rng.randrange(2 * SECOND))

        op, address, body = self._call(number, "unlock")
        request = Command(RequestCode.UNLOCK_BATCH_MQ, body=body)
        self.remoting.call(env, address, request, CALL_TIMEOUT_NS, answered, close_on_timeout=True)

    def _call(self, number: int, f: str) -> tuple[int, str, bytes]:
        """The op of a call about that queue, whom to ask, and the body."""
        queue = self.stage.at(self._queues[number])
        process = self._wishes[number].process
        op = self.recorder.invoke(process.number, f, queue=number, node=self.name, group=LOCKERS)
        named = MessageQueue(queue.broker, queue.queue_id, self.stage.topic)
        client_id = f"{self.stage.backend.host(self.name)}@{self.name}"
        self.in_flight += 1
        return op, queue.address, write_json(LockBatchRequest(client_id, LOCKERS, [named]))


def _granted(answer: Answer) -> str:
    status = status_of(answer, "OK")
    if not isinstance(answer, Command) or status != "OK":
        return status
    try:
        return "OK" if read_json(answer.body, LockBatchAnswer).queues else "REFUSED"
    except RemoteWireError:
        return "MALFORMED_BODY"


class LockWorkload(ProducerWorkload):
    """``Workload`` of the load ``locks``."""

    def __init__(self, stage: Stage, companions: Sequence[Companion] = ()) -> None:
        super().__init__(stage, companions)
        load = stage.load
        self._names_of_lockers = [f"client-{load.producers + number + 1}" for number in range(load.consumers)]
        self._lockers: dict[str, Locker] = {}

    def _make_readers(self, companions: Sequence[Companion]) -> Sequence[PartHost]:
        return lone_host(self.stage, companions)

    def start(self) -> None:
        super().start()
        for name in self._names_of_lockers:
            self.stage.backend.add_client(name, self._make(name), partial(self._make, name))

    def stop(self) -> None:
        super().stop()
        for locker in self._lockers.values():
            locker.stopped = True

    def idle(self) -> bool:
        return super().idle() and not any(locker.in_flight for locker in self._lockers.values())

    def _make(self, name: str) -> Locker:
        stopped = name in self._lockers and self._lockers[name].stopped
        locker = self._lockers[name] = Locker(self.stage, name)
        locker.stopped = stopped
        return locker
