"""What a run was: its mode and flush type, its cluster over time, the faults that really hit it and what they did.

Question: what may a checker believe about a run besides the operations of its history?

Model. :class:`RunFacts` is a value made from ``run.json`` and the history's ``events``. Who is who and when is asked of
``cluster`` (:mod:`checkers.history.cluster`), in which condition a node was of ``conditions``
(:mod:`checkers.history.conditions`), what was promised of ``contract()``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from checkers.contract import Contract, Guarantee, contract_of
from checkers.history.cluster import Cluster
from checkers.history.conditions import Conditions
from checkers.history.dumps import NodeDump
from checkers.history.faults import FaultFact, faults_of
from checkers.history.history import Events, History, seconds
from checkers.history.releases import Traits, traits_of
from checkers.history.spans import Span, meet, union

__all__ = ["FaultFact", "RunFacts", "faults_of", "phases_of"]


@dataclass(frozen=True)
class RunFacts:
    """Everything about a run that is not an operation.

    ``nodes``: node → RocketMQ properties (text → text); ``targets``: node → what it is (``rocketmq:4.9.7``).
    ``expect``: what the scenario narrows (``{"lost": "none"}``). ``phases``: (name, start in ns), in order.
    """

    mode: str
    flush: str = "async"
    backend: str = "sim"
    target: str = "reference"
    faults: tuple[FaultFact, ...] = ()
    nodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    expect: Mapping[str, Any] = field(default_factory=dict)
    phases: tuple[tuple[str, int], ...] = ()
    dumps: tuple[NodeDump, ...] = ()
    """What nodes left on their disks, where it was looked at (:mod:`checkers.runs.forensics`)."""
    starts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """node → instants at which it was started, the first start included."""
    ends: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """node → instants at which it was seen to have ended by itself."""
    acts: Mapping[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    """node → (when, how) the harness ended it: killed, stopped, dark."""
    targets: Mapping[str, str] = field(default_factory=dict)
    events: Events | None = None

    @staticmethod
    def from_run(run: Mapping[str, Any], history: History) -> RunFacts:
        """From ``run.json`` as a mapping and the history whose events tell what really happened."""
        nodes, target = run.get("nodes", {}), str(run.get("target", "reference"))
        return RunFacts(
            mode=str(run["mode"]),
            flush=str(run.get("flush", "async")),
            backend=str(run.get("backend", "sim")),
            target=target,
            faults=faults_of(history.events),
            nodes=nodes,
            expect=run.get("expect", {}) or {},
            phases=phases_of(history.events),
            starts=_instants(history.events, "node", "started"),
            ends=_ended(history.events),
            acts=_ended_by_us(history.events),
            targets=run.get("targets") or {},
            events=history.events,
        )

    def clock(self, ns: int) -> str:
        """An instant for people, on the clock of the scenario: 0 when the load begins, negative before."""
        return seconds(ns - next((began for name, began in self.phases if name == "steady"), 0))

    @cached_property
    def cluster(self) -> Cluster:
        """Who is who, when."""
        targets = self.targets or dict.fromkeys(self.nodes, self.target)
        return Cluster.of(self.nodes, targets, self.faults, self.events, self.target)

    @cached_property
    def conditions(self) -> Conditions:
        """Who was down, frozen or separated, when."""
        return Conditions(self.faults, self.starts, self.ends, self.acts)

    def contract(self) -> Contract | None:
        """The contract of the mode; ``None`` if there is none."""
        return contract_of(self.mode)

    def waits_for_slave(self) -> bool:
        """Whether SEND_OK says that a slave has the message."""
        contract = self.contract()
        return contract is not None and contract.acknowledged_by == "master-and-slave"

    def waits_for_majority(self) -> bool:
        """Whether SEND_OK says that a majority of the nodes of a broker name has the message."""
        contract = self.contract()
        return contract is not None and contract.acknowledged_by == "majority"

    def guarantee(self, fault: FaultFact) -> Guarantee | None:
        """What the contract guarantees for *fault* on whom it hit, with their properties; ``None`` where it says
        nothing."""
        contract = self.contract()
        guarantee = contract.guarantee(fault.harm, self.flush, self.role_hit(fault)) if contract else None
        return guarantee.narrowed(self._common_properties(fault)) if guarantee else None

    def _common_properties(self, fault: FaultFact) -> Mapping[str, str]:
        """Those that all masters have that *fault* hit; where members of a group are alike, whoever was hit."""
        brokers = sorted({self.cluster.broker_of(node) for node in fault.left + fault.right} - {""})
        hit = [self.properties(broker).items() for broker in brokers if self.hits(fault, broker)]
        if not hit and brokers and self.waits_for_majority():
            hit = [self.cluster.properties(node, fault.begin_ns).items() for node in fault.left]
        return dict(set(hit[0]).intersection(*hit[1:])) if hit else {}

    def role_hit(self, fault: FaultFact) -> str:
        """``master``, ``slave``, ``nameserver``, ``controller`` or ``client``: the gravest that *fault* hit."""
        cluster = self.cluster
        brokers = {cluster.broker_of(node) for node in fault.left + fault.right} - {""}
        if any(cluster.hits(fault, broker) for broker in brokers):
            return "master"
        masters = {node for broker in brokers for node in cluster.masters(broker, *fault.lasts)}
        if masters & {*fault.left, *fault.right}:
            return "master"
        if brokers:
            return "slave"
        kinds = {cluster.member(node).kind for node in fault.left}
        return next((kind for kind in ("nameserver", "controller") if kind in kinds), "client")

    def traits(self, node: str) -> Traits:
        """What nodes of its release do."""
        return traits_of(self.cluster.release_of(node))

    def properties(self, broker: str) -> Mapping[str, str]:
        """Properties of the first master of *broker*; empty if unknown."""
        return self.cluster.member(self.cluster.first_master(broker)).properties

    def hits(self, fault: FaultFact, broker: str) -> bool:
        """Whether *fault* concerns the master of *broker*."""
        return self.cluster.hits(fault, broker)

    def of_master(self, broker: str, condition: Callable[[str], Iterable[Span]]) -> list[Span]:
        """When *condition* (of :class:`Conditions`) held whoever acted as the master of *broker* just then."""
        tenures = self.cluster.tenures(broker)
        return union(*(meet(condition(node), spans) for node, spans in tenures.items()))

    def slack_ns(self) -> int:
        """How late timers may be on this backend, by the contract; the widest known bound where it does not say."""
        contract = self.contract()
        if contract is None:
            return 3_000_000_000
        return contract.slack_ns.get(self.backend, max(contract.slack_ns.values()))

    def nearest_fault(self, ns: int) -> FaultFact | None:
        """The last fault injected at or before *ns*, else the first after it."""
        before = [fault for fault in self.faults if fault.inject_ns <= ns]
        if before:
            return max(before, key=lambda fault: fault.inject_ns)
        return min(self.faults, key=lambda fault: fault.inject_ns, default=None)


def phases_of(events: Events) -> tuple[tuple[str, int], ...]:
    """(name, ns) of every phase, in order."""
    rows = events.kind.mask("phase").nonzero()[0].tolist()
    return tuple((events.step[row], int(events.ns[row])) for row in rows)


def _instants(events: Events, kind: str, step: str) -> dict[str, tuple[int, ...]]:
    """node → when that happened: as the event says (``at_ns``) if it was written much later, else when it was
    written."""
    found: dict[str, tuple[int, ...]] = {}
    for row in (events.kind.mask(kind) & events.step.mask(step)).nonzero()[0].tolist():
        node, text = events.node[row], events.detail[row]
        ns = json.loads(text).get("at_ns", events.ns[row]) if text else events.ns[row]
        found[node] = (*found.get(node, ()), int(ns))
    return found


_HOW = {"killed": "killed", "stopped": "stopped", "power_cut": "dark"}
"""Steps of node events that end a process."""


def _ended_by_us(events: Events) -> dict[str, tuple[tuple[int, str], ...]]:
    """What the harness did to end nodes, in order."""
    found: dict[str, tuple[tuple[int, str], ...]] = {}
    for row in (events.kind.mask("node") & events.step.mask(*_HOW)).nonzero()[0].tolist():
        node = events.node[row]
        found[node] = (*found.get(node, ()), (int(events.ns[row]), _HOW[events.step[row]]))
    return found


def _ended(events: Events) -> dict[str, tuple[int, ...]]:
    """When nodes crashed, or ended in order after nobody waited for it any more: an end that the harness saw to is told
    by its act (:func:`_ended_by_us`), which comes right behind it, before any start."""
    found = _instants(events, "role", "crashed")
    exits = events.kind.mask("role") & events.step.mask("exited")
    turns = events.kind.mask("node") & events.step.mask("started", *_HOW)
    left: dict[str, int] = {}
    for row in (exits | turns).nonzero()[0].tolist():
        node = events.node[row]
        if exits[row]:
            left[node] = int(events.ns[row])
        elif (ns := left.pop(node, -1)) >= 0 and events.step[row] == "started":
            found[node] = (*found.get(node, ()), ns)
    for node, ns in left.items():
        found[node] = (*found.get(node, ()), ns)
    return found
