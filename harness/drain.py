"""The drain: what is in every queue of every broker, read to the end by a client that knows nothing.

Question: after everything was healed, what can a consumer still read?

Model. A fresh client node, one process a queue. Each asks the queue's bounds, then pulls from the minimum without
waiting until it has reached the maximum it was told *and* an answer says that there is nothing more. Only then is the
queue drained. Each request goes to whoever serves the queue at that moment. Failures are asked again until the
deadline; every pull is an op ``drain`` of the history.

Slaves are drained after the masters, by another client under other names (:data:`REPLICA`): what they hold is for the
check of replicas, and proves nothing about the masters.

A queue that the topic has not got is not read; whether anything acknowledged was in it, the check ``accounting`` asks.

Limits. A queue of a broker that answers TOPIC_NOT_EXIST is unreachable, not empty: it is never drained, and the life
cycle names it. Messages sent while the drain goes on are read, too, but the recorded end stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Final, NamedTuple

from checkers.history.history import NO_SUCH_QUEUE
from harness.workloads.measuring import BATCH_MAX, MALFORMED, PAUSE_NS, MeasuringClient, Process, Pulled
from harness.workloads.workload import QueueAddress, Stage
from reference_impl.environment import Environment


class Words(NamedTuple):
    """What the operations of a drain are called in the history: queries of the bounds, and pulls."""

    query_min: str
    query_max: str
    pull: str


MASTER: Final = Words("query_min", "query_max", "drain")
REPLICA: Final = Words("replica_min", "replica_max", "replica")

Where = Callable[[QueueAddress], QueueAddress]
"""A queue → the same where it is to be read now."""


class _Draining:
    """One queue. ``end`` is its recorded maximum, −1 while unknown."""

    __slots__ = ("end", "is_drained", "one_by_one_to", "position", "process", "queue", "status")

    def __init__(self, queue: QueueAddress, process: Process) -> None:
        self.queue, self.process = queue, process
        self.position = self.end = -1
        self.one_by_one_to = -1
        """Up to this offset an answer was damaged: each message is asked for alone, so that only those are missed."""
        self.is_drained = False
        self.status = "not asked"


class Drainer(MeasuringClient):
    """The client node; it reads *queues*, each asking *where* it is now, before every request."""

    def __init__(
        self, stage: Stage, name: str, queues: Sequence[QueueAddress], where: Where, words: Words = MASTER
    ) -> None:
        super().__init__(stage, name)
        self._words, self._where = words, where
        self._queues = [_Draining(queue, Process(stage.recorder.process())) for queue in queues]
        self._open = len(self._queues)

    @property
    def is_done(self) -> bool:
        """Every queue is drained."""
        return self._open == 0

    def left(self) -> tuple[str, ...]:
        """Queues that are not drained, in words."""
        return tuple(
            f"{self.stage.topic}/{self._where(d.queue).node}/{d.queue.queue_id} (last: {d.status})"
            for d in self._queues
            if not d.is_drained
        )

    def on_start(self, env: Environment) -> None:
        for draining in self._queues:
            self._go_on(env, draining)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if isinstance(key, int):
            self._go_on(env, self._queues[key])
        else:
            super().on_timer(env, key)

    def _go_on(self, env: Environment, d: _Draining) -> None:
        if self.stopped:
            return
        words, queue = self._words, self._where(d.queue)
        if d.position < 0:
            self.query(env, d.process, queue, words.query_min, lambda env, offset: self._told_begin(env, d, offset))
        elif d.end < 0:
            self.query(env, d.process, queue, words.query_max, lambda env, offset: self._told_end(env, d, offset))
        else:
            at_most = 1 if d.position < d.one_by_one_to else BATCH_MAX
            then = partial(self._got, d=d)
            self.pull(env, d.process, queue, d.position, then, f=words.pull, at_most=at_most)

    def _told_begin(self, env: Environment, d: _Draining, offset: int) -> None:
        d.position = offset
        self._asked(env, d, offset)

    def _told_end(self, env: Environment, d: _Draining, offset: int) -> None:
        d.end = offset
        self._asked(env, d, offset)

    def _asked(self, env: Environment, d: _Draining, offset: int) -> None:
        if offset < 0:
            d.status = "no answer to a query"
            self._later(env, d)
        else:
            self._go_on(env, d)

    def _got(self, env: Environment, pulled: Pulled, d: _Draining) -> None:
        d.status = pulled.status
        if pulled.status == MALFORMED and d.position >= d.one_by_one_to:
            d.one_by_one_to = d.position + BATCH_MAX
            self._go_on(env, d)
        elif pulled.status == MALFORMED:
            d.position += 1
            self._go_on(env, d)
        elif pulled.next_offset >= 0 and pulled.next_offset != d.position:
            d.position = pulled.next_offset
            self._go_on(env, d)
        elif (pulled.status == "PULL_NOT_FOUND" and d.position >= d.end) or NO_SUCH_QUEUE.search(pulled.remark):
            d.is_drained = True
            self._open -= 1
        else:
            self._later(env, d)

    def _later(self, env: Environment, d: _Draining) -> None:
        env.set_timer(self._queues.index(d), PAUSE_NS)
