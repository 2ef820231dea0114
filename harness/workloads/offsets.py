"""What members of a consumer group tell and are told of its offsets, and which queues they have, as operations.

Question: which member had which queue and when, where did it begin there, and what did it say was done?

Model. An observer of a member's client (``reference_impl.client``):

    own             a member has a queue, from invocation to completion; one that dies never completes it
    broadcast       the same of a member that reads it for itself
    fetch_offset    the committed offset, as told to a new owner; −1: none known
    commit_offset   an offset that travelled with a pull of the master, or in a call of its own
    lock, unlock    of an orderly consumer: one operation a queue of a call; OK, REFUSED, or nobody said

Limits. Commits that go one-way are not seen: groups of a run confirm theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from harness.recorder import Recorder
from harness.workloads.measuring import Process
from harness.workloads.workload import Stage
from reference_impl.client import MessageQueue, Observer, PullOutcome
from reference_impl.environment import Address, Environment

TAKEN: Final = ("FOUND", "PULL_NOT_FOUND", "PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED")
"""Answers of a broker that has looked at the pull, and so at the offset that came with it."""


@dataclass(frozen=True)
class Call:
    """An operation under way, and the commit that travels with it (−1: none)."""

    op: int
    process: Process
    commit: int = -1
    committer: Process | None = None


class OffsetRecorder(Observer):
    """Writes offsets of *group* into the history."""

    def __init__(self, stage: Stage, group: str) -> None:
        self._stage, self._recorder = stage, stage.recorder
        self._group = group
        self._nodes = {address: node for node, address in stage.brokers.items()}
        self._processes: dict[tuple[str, MessageQueue], Process] = {}
        self.calls: dict[int, Call] = {}
        """By the consumer's own number: what is under way."""

    def on_asking_offset(self, env: Environment, number: int, queue: MessageQueue, address: Address) -> None:
        self.calls[number] = self.begin("fetch_offset", queue, address)

    def on_offset(self, env: Environment, number: int, status: str, offset: int) -> None:
        call = self.calls.pop(number, None)
        if call is not None:  # without a route nobody was asked
            self._end(call.op, call.process, "fetch_offset", status, offset)

    def on_committing(self, env: Environment, number: int, queue: MessageQueue, address: Address, offset: int) -> None:
        self.calls[number] = self.begin("commit_offset", queue, address, offset)

    def on_committed(self, env: Environment, number: int, status: str) -> None:
        call = self.calls.pop(number)
        self._end(call.op, call.process, "commit_offset", status)

    def begin(self, f: str, queue: MessageQueue, address: Address, offset: int = -1) -> Call:
        """An operation on *queue* at *address*."""
        # A commit may be sent while the one before it is under way: each is of a process of its own.
        process = self._processes.setdefault((f, queue), Process(self._recorder.process()))
        if f != "pull":
            process = Process(self._recorder.process())
        number = self._recorder.queue(queue.topic, queue.broker_name, queue.queue_id)
        node = self._nodes.get(address, address)
        op = self._recorder.invoke(process.number, f, queue=number, offset=offset, node=node, group=self._group)
        return Call(op, process)

    def committed_with(self, op: int, process: Process, status: str) -> None:
        """A pull that is refused in the end may have been parked before, and a parked pull's offset is taken at once
        (RocketMQ: PullMessageProcessor stores it in the first pass): then nobody can tell."""
        if status in TAKEN:
            self._end(op, process, "commit_offset", "OK")
        else:
            self._recorder.complete(op, "info", status)
            renew_number(self._recorder, process, "info")

    def _end(self, op: int, process: Process, f: str, status: str, offset: int = -1) -> None:
        outcome = self._stage.classify(f, status)
        self._recorder.complete(op, outcome, status, offset=offset)
        renew_number(self._recorder, process, outcome)


class OwnerRecorder(OffsetRecorder):
    """The same for a push consumer, whose pulls are not told: which queues it has, and what it commits."""

    def __init__(self, stage: Stage, group: str, node: str, *, broadcasts: bool = False) -> None:
        super().__init__(stage, group)
        self._node, self._f = node, "broadcast" if broadcasts else "own"
        self._owned: dict[MessageQueue, int] = {}
        self.had: set[MessageQueue] = set()
        """All queues that this member ever had in this life."""
        self._locking: dict[int, dict[MessageQueue, int]] = {}
        """By the number of the call: the operation of each of its queues."""

    def on_assigned(self, env: Environment, group: str, queues: tuple[MessageQueue, ...]) -> None:
        self.had.update(queues)
        for queue in [queue for queue in self._owned if queue not in queues]:
            self._recorder.complete(self._owned.pop(queue), "ok", "OK")
        for queue in [queue for queue in queues if queue not in self._owned]:
            process = Process(self._recorder.process())
            number = self._recorder.queue(queue.topic, queue.broker_name, queue.queue_id)
            self._owned[queue] = self._recorder.invoke(
                process.number, self._f, queue=number, node=self._node, group=self._group
            )

    def on_pulling(
        self, env: Environment, number: int, queue: MessageQueue, address: Address, offset: int, committed: int
    ) -> None:
        if committed >= 0:
            self.calls[number] = self.begin("commit_offset", queue, address, committed)

    def on_pull(self, env: Environment, outcome: PullOutcome) -> None:
        self._pulled(outcome)

    def on_late_pull(self, env: Environment, outcome: PullOutcome) -> None:
        self._pulled(outcome)

    def on_locking(self, env: Environment, number: int, queues: tuple[MessageQueue, ...], address: Address) -> None:
        self._locking[number] = {queue: self._of_lock("lock", queue) for queue in queues}

    def on_locked(self, env: Environment, number: int, status: str, granted: frozenset[MessageQueue]) -> None:
        for queue, op in self._locking.pop(number).items():
            said = "REFUSED" if status == "OK" and queue not in granted else status
            self._recorder.complete(op, self._stage.classify("lock", said), said)

    def on_unlocking(self, env: Environment, number: int, queues: tuple[MessageQueue, ...], address: Address) -> None:
        self._locking[number] = {queue: self._of_lock("unlock", queue) for queue in queues}

    def on_unlocked(self, env: Environment, number: int, status: str) -> None:
        for op in self._locking.pop(number).values():
            self._recorder.complete(op, self._stage.classify("unlock", status), status)

    def _of_lock(self, f: str, queue: MessageQueue) -> int:
        number = self._recorder.queue(queue.topic, queue.broker_name, queue.queue_id)
        return self._recorder.invoke(
            Process(self._recorder.process()).number, f, queue=number, node=self._node, group=self._group
        )

    def _pulled(self, outcome: PullOutcome) -> None:
        call = self.calls.pop(outcome.number, None)
        if call is not None:
            self.committed_with(call.op, call.process, {"OK": "FOUND"}.get(outcome.status, outcome.status))


def renew_number(recorder: Recorder, process: Process, outcome: str) -> None:
    """A process whose operation may still take effect goes on under a fresh number."""
    if outcome == "info":
        process.number = recorder.process()
