"""The load ``batch``: the producers of kind ``log``, but each sends four messages in one request.

Question: do the messages of a batch get places of their own, one behind the other, and are they all there or none?

Model. A batch goes to one queue, and each of its messages is an operation of a process of its own, since a process does
one thing at a time: they begin one after the other, and end with the one answer that there is. It tells the offset of
the first message and the place in the log of each (RocketMQ: SendMessageProcessor#sendBatchMessage).

Limits. What would not fill a batch at the end of the load is not sent. Whether a batch is stored whole is seen only as
far as the checks of single messages see it.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final

from harness.workloads.log import LogWorkload, Producer
from harness.workloads.workload import Stage
from reference_impl.environment import Environment

BATCH: Final = 4


class BatchProducer(Producer):
    """Gathers what its timetable gives until a batch is full."""

    def __init__(self, stage: Stage, name: str, number: int, counts: Counter[str]) -> None:
        super().__init__(stage, name, number, counts)
        self._gathered = 0

    def _send_next(self, env: Environment) -> None:
        self._gathered += 1
        if self._gathered < BATCH:
            return
        self._gathered = 0
        queue = self._turn()
        processes = [process for _ in range(BATCH) if (process := self._process(queue.broker)) is not None]
        if len(processes) < BATCH:
            self._free[queue.broker] += processes
            self._counts["withheld"] += BATCH
            return
        self._counts["sent"] += BATCH
        self.send_batch(env, processes, queue, partial(self._answered, queue.broker))


class BatchWorkload(LogWorkload):
    """``Workload`` of the load ``batch``."""

    producer = BatchProducer
