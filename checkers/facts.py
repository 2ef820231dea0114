"""What a run was: mode, flush type, nodes and the faults that really hit them.

Question: what may a checker believe about a run besides the operations of its history?

Model. :class:`RunFacts` is a value made from ``run.json`` and the history's ``events``. A fault is known by what the
injector recorded, not by what the plan wanted: its nodes as resolved, the instants of injection and heal, and whether
its probe saw it bite (1 yes, 0 no, −1 not known).

Event rows of a fault: kind ``fault``, ``fault`` = its id, ``step`` = resolve | journal | inject | probe | heal |
heal_probe | refused, ``node`` = one node (or empty), ``detail`` = JSON that may hold ``do``, ``nodes``, ``left``,
``right``, ``lost``. A restart shows as an event of kind ``node``, step ``started``.

Limits. A fault that was never injected (refused, or the run ended before) is no fault of the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from checkers.contract import Contract, contract_of
from checkers.history import Events, History, seconds

NEVER_NS = 2**62
"""An instant that did not come: a fault that was never healed."""


@dataclass(frozen=True)
class FaultFact:
    """One fault as it happened. ``nodes`` are hit nodes; for a partition both sides are in ``left`` and ``right``."""

    fault: str
    kind: str
    nodes: tuple[str, ...]
    inject_ns: int
    heal_ns: int = NEVER_NS
    effective: int = -1
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)

    def hits(self, broker: str) -> bool:
        """Whether a node of broker name *broker* is among the hit nodes."""
        return any(broker_name(node) == broker for node in self.nodes)

    def words(self) -> str:
        """``cut_power of broker-a-0 at 6.000 s``."""
        return f"{self.kind} of {', '.join(self.nodes) or 'nobody'} at {seconds(self.inject_ns)}"


@dataclass(frozen=True)
class RunFacts:
    """Everything about a run that is not an operation.

    ``nodes``: node → RocketMQ properties (text → text). ``expect``: what the scenario narrows (``{"lost": "none"}``).
    ``phases``: (name, start in ns), in order.
    """

    mode: str
    flush: str = "async"
    backend: str = "sim"
    target: str = "reference"
    faults: tuple[FaultFact, ...] = ()
    nodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    expect: Mapping[str, Any] = field(default_factory=dict)
    phases: tuple[tuple[str, int], ...] = ()
    starts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """node → instants at which it was started, the first start included."""

    @staticmethod
    def from_run(run: Mapping[str, Any], history: History) -> RunFacts:
        """From ``run.json`` as a mapping and the history whose events tell what really happened."""
        return RunFacts(
            mode=str(run["mode"]),
            flush=str(run.get("flush", "async")),
            backend=str(run.get("backend", "sim")),
            target=str(run.get("target", "reference")),
            faults=faults_of(history.events),
            nodes=run.get("nodes", {}),
            expect=run.get("expect", {}) or {},
            phases=phases_of(history.events),
            starts=starts_of(history.events),
        )

    def contract(self) -> Contract | None:
        """The contract of the mode; ``None`` if there is none."""
        return contract_of(self.mode)

    def properties(self, broker: str) -> Mapping[str, str]:
        """Properties of the master of *broker* (its first node in name order); empty if unknown."""
        for node in sorted(self.nodes):
            if broker_name(node) == broker:
                return self.nodes[node]
        return {}

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


def broker_name(node: str) -> str:
    """``broker-a`` of node ``broker-a-0``."""
    stem, _, tail = node.rpartition("-")
    return stem if tail.isdecimal() else node


def phases_of(events: Events) -> tuple[tuple[str, int], ...]:
    """(name, ns) of every phase, in order."""
    rows = events.kind.mask("phase").nonzero()[0].tolist()
    return tuple((events.step[row], int(events.ns[row])) for row in rows)


def starts_of(events: Events) -> dict[str, tuple[int, ...]]:
    """node → instants of its starts."""
    rows = (events.kind.mask("node") & events.step.mask("started")).nonzero()[0].tolist()
    starts: dict[str, tuple[int, ...]] = {}
    for row in rows:
        node = events.node[row]
        starts[node] = (*starts.get(node, ()), int(events.ns[row]))
    return starts


def faults_of(events: Events) -> tuple[FaultFact, ...]:
    """Every fault that was injected, in the order of injection."""
    rows: dict[str, list[int]] = {}
    for row in events.kind.mask("fault").nonzero()[0].tolist():
        rows.setdefault(events.fault[row], []).append(row)
    facts = [_fault(events, fault, its) for fault, its in rows.items()]
    return tuple(sorted((fact for fact in facts if fact is not None), key=lambda fact: fact.inject_ns))


def _fault(events: Events, fault: str, rows: list[int]) -> FaultFact | None:
    detail: dict[str, Any] = {}
    nodes: list[str] = []
    steps: dict[str, int] = {}
    effective = -1
    for row in rows:
        step = events.step[row]
        detail.update(_json(events.detail[row]))
        steps.setdefault(step, int(events.ns[row]))
        if events.node[row] and events.node[row] not in nodes:
            nodes.append(events.node[row])
        if step == "probe":
            effective = _worst(effective, int(events.effective[row]))
    if "inject" not in steps:
        return None
    named = [str(node) for node in detail.get("nodes", ())]
    return FaultFact(
        fault=fault,
        kind=str(detail.get("do", detail.get("verb", fault))),
        nodes=tuple(named or nodes),
        inject_ns=steps["inject"],
        heal_ns=steps.get("heal", NEVER_NS),
        effective=effective,
        left=tuple(detail.get("left", ())),
        right=tuple(detail.get("right", ())),
        detail=detail,
    )


def _worst(seen: int, now: int) -> int:
    """Several probes: one that saw no effect outweighs all, one that saw some outweighs none."""
    return now if seen == -1 else min(seen, now) if now >= 0 else seen


def _json(text: str) -> dict[str, Any]:
    """A JSON object; free text counts as none."""
    if not text.startswith("{"):
        return {}
    value = json.loads(text)
    return value if isinstance(value, dict) else {}
