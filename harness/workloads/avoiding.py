"""The loads ``producer-avoiding`` and ``producer-avoiding-5x``: producers with ``sendLatencyFaultEnable=true``.

Question: to which brokers do attempts go after one was slow or failed, and for how long?

Model. The load ``producer``, whose clients have the latency strategy of their release. Each attempt leaves two
notes of its client: ``try`` with broker, number and op when it leaves, ``tried`` with the milliseconds that it took
when it has ended. What must have come of them, :mod:`checkers.runs.avoidance` says.
"""

from __future__ import annotations

from typing import ClassVar

from harness.workloads.measuring import GROUP
from harness.workloads.producers import STORED, AttemptRecorder, ProducerWorkload
from harness.workloads.workload import Stage
from reference_impl.client import Attempt, Client, MessageQueue, Producer, ProducerSettings
from reference_impl.environment import MS, Address, Environment


class TellingRecorder(AttemptRecorder):
    """An attempt is told as a note of its client, too."""

    def __init__(self, stage: Stage, name: str, release: str) -> None:
        super().__init__(stage, name)
        self._release = release

    def on_try(self, env: Environment, send: int, number: int, queue: MessageQueue, address: Address) -> None:
        super().on_try(env, send, number, queue, address)
        op = self._sends[send].attempt_op
        detail = {"broker": queue.broker_name, "number": number, "release": self._release, "op": op}
        self._recorder.event("note", node=self._name, step="try", detail=detail)

    def on_attempt(self, env: Environment, attempt: Attempt) -> None:
        detail = {
            "broker": attempt.queue.broker_name,
            "number": attempt.number,
            "release": self._release,
            "ms": (attempt.ended_ns - attempt.started_ns) // MS,
            "stored": self._stage.classify("send", attempt.status) in STORED,
        }
        self._recorder.event("note", node=self._name, step="tried", detail=detail)
        super().on_attempt(env, attempt)


class AvoidingWorkload(ProducerWorkload):
    """``Workload`` of the load ``producer-avoiding``."""

    release: ClassVar[str] = "4.9.7"

    def _make_record(self, name: str) -> AttemptRecorder:
        return TellingRecorder(self.stage, name, self.release)

    def _make_producer(self, client: Client) -> Producer:
        return Producer(client, ProducerSettings(group=GROUP, latency_fault=True, release=self.release))


class Avoiding5xWorkload(AvoidingWorkload):
    """``Workload`` of the load ``producer-avoiding-5x``."""

    release: ClassVar[str] = "5.3.3"
