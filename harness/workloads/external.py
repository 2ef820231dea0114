"""The load ``external``: producers and a consumer group of another implementation, each client a process of its own.

Question: what do other people's clients do while brokers die: do they avoid a failed broker, say success only for
SEND_OK, lose or double messages when queues change hands, keep the order of a key?

Model. ``client`` names the adapter (``harness.external.adapters``). Clients 1…P are its producers, P+1…P+C its
consumers, one group, which begin at the first message. What they are told and do becomes ops and notes of the one
history (``harness.external.producer``, ``.consumer``): the log, what was lost, and whether service came back are judged
as with our own clients. After the last heal the group reads on until every message that a producer was told to be
stored was given to it, or nothing has come for :data:`QUIET_NS`, which is longer than two rebalances.

    external           any queue, listeners that work at once
    external-ordered   keys, each to one queue by its hash, and orderly listeners

Limits. Real processes only. Clients have no clock of their own: stamps are bounds on ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from harness.external.adapters import client_command
from harness.external.client import ExternalClient
from harness.external.consumer import ExternalConsumer
from harness.external.producer import ExternalProducer
from harness.workloads.parts import lone_host
from harness.workloads.table import Companion
from harness.workloads.workload import Stage
from reference_impl.environment import MS, SECOND

QUIET_NS: Final = 45 * SECOND
"""RocketMQ's clients rebalance every 20 s and learn routes every 30 s."""

KEYS_PER_PRODUCER: Final = 8
ORDERED_HOLD_NS: Final = 2 * MS


class ExternalWorkload:
    """``Workload`` of the load ``external``; observers and operators have a node of ours."""

    def __init__(self, stage: Stage, companions: Sequence[Companion] = (), *, in_order: bool = False) -> None:
        self.stage, self._hosts = stage, lone_host(stage, companions)
        self.counts: Counter[str] = Counter(finished=0)
        self._command = client_command(stage.load.client)
        load, keys = stage.load, KEYS_PER_PRODUCER if in_order else 0
        self._producers = [
            ExternalProducer(stage, f"client-{number + 1}", number, self.counts, keys)
            for number in range(load.producers)
        ]
        hold_ns = ORDERED_HOLD_NS if in_order else 0
        self._consumers = [
            ExternalConsumer(
                stage, f"client-{load.producers + number + 1}", self.counts, in_order=in_order, hold_ns=hold_ns
            )
            for number in range(load.consumers)
        ]
        self._finishing_ns = -1

    def start(self) -> None:
        for client in self._clients():
            client.start(self._command)
        for host in self._hosts:
            self.stage.backend.add_client(host.name, host)

    def stop(self) -> None:
        for producer in self._producers:
            producer.stopped = True
        for host in self._hosts:
            host.stopped = True

    def finish(self) -> None:
        self._finishing_ns = self.stage.backend.now()

    def finished(self) -> bool:
        if not self._consumers or self._promised() <= self._delivered():
            return True
        since_ns = max([self._finishing_ns, *(consumer.last_ns for consumer in self._consumers)])
        return self.stage.backend.now() - since_ns >= QUIET_NS

    def done(self) -> bool:
        return self.counts["finished"] == len(self._producers)

    def idle(self) -> bool:
        asked = [*(producer.in_flight for producer in self._producers), *(host.in_flight for host in self._hosts)]
        return not any(asked)

    def measures(self) -> Mapping[str, int]:
        return {name: self.counts[name] for name in ("sent", "ok", "weak", "fail", "info", "withheld", "read")}

    def _promised(self) -> set[int]:
        return set().union(*(producer.acknowledged for producer in self._producers))

    def _delivered(self) -> set[int]:
        return set().union(*(consumer.delivered for consumer in self._consumers))

    def _clients(self) -> list[ExternalClient]:
        return [*self._producers, *self._consumers]


class OrderedExternalWorkload(ExternalWorkload):
    """``Workload`` of the load ``external-ordered``."""

    def __init__(self, stage: Stage, companions: Sequence[Companion] = ()) -> None:
        super().__init__(stage, companions, in_order=True)
