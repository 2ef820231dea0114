"""What a run was: mode, flush type, nodes and the faults that really hit them.

Question: what may a checker believe about a run besides the operations of its history?

Model. :class:`RunFacts` is a value made from ``run.json`` and the history's ``events``. A fault is known by what the
injector recorded, not by what the plan wanted: its nodes as resolved, the instants of injection and heal, and whether
its probe saw it bite (1 yes, 0 no, −1 not known).

Event rows of a fault: kind ``fault``, ``fault`` = its id, ``step`` = resolve (before the act; detail: do, left, right,
with) | inject (after the act) | refused | probe | heal | heal_probe, ``node`` = a node of the left side. So the act
lies between *begin* (resolve) and *inject*. ``inject`` with effective 0 says that nothing, or not all of it, was done.

Limits. Times are those of the recorder: an act is somewhere inside its two events.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from checkers.contract import Contract, contract_of
from checkers.history.history import Events, History, seconds
from checkers.runs.forensics import NodeDump

NEVER_NS = 2**62
"""An instant that did not come: a fault that was never healed."""


MASTER_ID = 0
"""Nodes are named by broker name and broker id; roles do not move in the modes that are built."""


@dataclass(frozen=True)
class FaultFact:
    """One fault as it happened: *kind* hit the nodes of ``left``; for a cut, ``right`` is the other side.

    The act lies between ``begin_ns`` and ``inject_ns``; ``begin_event`` and ``inject_event`` are the numbers of these
    two events. An operation invoked later was never served by what the fault ended. ``effective``: 1 it bit, 0 it did
    not, −1 nobody can tell; ``is_gone`` the same of the heal. ``ports`` narrows a cut. ``position``: node → physical
    offset of the sector that went bad; ``failed`` forces, in all. ``taken_from``: master → the slave whose data took
    its place.
    """

    fault: str
    kind: str
    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    begin_ns: int = 0
    inject_ns: int = 0
    inject_event: int = 0
    heal_ns: int = NEVER_NS
    effective: int = -1
    is_gone: int = -1
    ports: str = "any"
    reason: str = ""
    position: Mapping[str, int] = field(default_factory=dict)
    failed: int = 0
    begin_event: int = 0
    taken_from: Mapping[str, str] = field(default_factory=dict)

    def hits(self, broker: str) -> bool:
        """Whether the master of *broker* is hit: ended, paused or lost, or cut off from clients. Its slaves do not
        count, since nobody writes to them, unless one is promoted."""
        if self.kind == "promote":
            return any(broker_name(node) == broker for node in self.left)
        if not self.right:
            return f"{broker}-{MASTER_ID}" in self.left
        if self.ports not in ("any", "broker"):
            return False
        return _apart(self.left, self.right, broker) or _apart(self.right, self.left, broker)

    def slave_taken(self, broker: str) -> str:
        """Whose data took the place of what the master of *broker* had; empty if nobody tells."""
        if self.kind == "promote":
            return next((node for node in self.left if broker_name(node) == broker), "")
        return self.taken_from.get(f"{broker}-{MASTER_ID}", "")

    def words(self) -> str:
        """``cut_power of broker-a-0 (f1) at 6.000 s``."""
        across = f" | {', '.join(self.right)}" if self.right else ""
        return f"{self.kind} of {', '.join(self.left) or 'nobody'}{across} ({self.fault}) at {seconds(self.inject_ns)}"


def _apart(side: tuple[str, ...], other: tuple[str, ...], broker: str) -> bool:
    """Whether *broker* is on one side and a client on the other."""
    return f"{broker}-{MASTER_ID}" in side and any(node.startswith("client-") for node in other)


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
    dumps: tuple[NodeDump, ...] = ()
    """What nodes left on their disks, where it was looked at (:mod:`checkers.runs.forensics`)."""
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

    def slaves(self, broker: str) -> tuple[str, ...]:
        """Nodes of *broker* that are no masters, in name order."""
        return tuple(
            node for node in sorted(self.nodes) if broker_name(node) == broker and node != f"{broker}-{MASTER_ID}"
        )

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
    steps: dict[str, list[int]] = {}
    detail: dict[str, Any] = {}
    told = [(row, _json(events.detail[row])) for row in rows]
    for row, its in told:
        steps.setdefault(events.step[row], []).append(row)
        detail.update(its)
    acts = steps.get("inject", steps.get("refused", []))
    if not acts:
        return None
    begin = steps.get("resolve", acts)[0]
    return FaultFact(
        fault=fault,
        kind=str(detail.get("do", fault)),
        left=tuple(detail.get("left", ())) or _nodes(events, acts),
        right=tuple(detail.get("right", ())),
        begin_ns=int(events.ns[begin]),
        inject_ns=int(events.ns[acts[-1]]),
        inject_event=int(events.event[acts[-1]]),
        heal_ns=int(events.ns[steps["heal"][0]]) if "heal" in steps else NEVER_NS,
        effective=0 if 0 in events.effective[acts] else _answer(events, steps.get("probe", [])),
        is_gone=_answer(events, steps.get("heal_probe", [])),
        ports=str(detail.get("with", {}).get("ports", "any")),
        reason=str(detail.get("reason", detail.get("error", ""))),
        position={events.node[row]: its["position"] for row, its in told if "position" in its},
        begin_event=int(events.event[begin]),
        failed=max((int(its.get("failed", 0)) for _, its in told), default=0),
        taken_from={events.node[row]: str(its["from"]) for row, its in told if "from" in its and events.node[row]},
    )


def _nodes(events: Events, rows: list[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(events.node[row] for row in rows if events.node[row]))


def _answer(events: Events, rows: list[int]) -> int:
    """Several probes: one *no* outweighs all, then one *cannot be told*; no probe at all cannot be told."""
    answers = events.effective[rows].tolist()
    return 0 if 0 in answers else 1 if answers and -1 not in answers else -1


def _json(text: str) -> dict[str, Any]:
    """A JSON object; free text counts as none."""
    if not text.startswith("{"):
        return {}
    value = json.loads(text)
    return value if isinstance(value, dict) else {}
