"""Faults as they happened: who was hit by what, from when until when, and whether it took effect.

Question: what may a checker believe about a fault?

Model. A fault is known by what the injector recorded, not by what the plan wanted: its nodes as resolved, its effects,
the instants of injection and heal, and what its probes saw.

Event rows of a fault: kind ``fault``, ``fault`` = its id, ``step`` = resolve (before the act; detail: do, left, right,
with, effects) | inject (after the act) | refused | probe | heal | heal_probe, ``node`` = a node of the left side. So
the act lies between *begin* (resolve) and *inject*. ``inject`` with effective 0 says that nothing, or not all of it,
was done; ``leaked_bytes`` of a probe, that a separation let something through.

Limits. Times are those of the recorder: an act is somewhere inside its two events.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from checkers.history.effects import Effect, effects_of, harm_of, of_verb
from checkers.history.history import Events, seconds
from checkers.history.spans import NEVER_NS, Span

Sides = tuple[tuple[str, ...], tuple[str, ...]]
"""Left and right of a partition."""


@dataclass(frozen=True)
class FaultFact:
    """One fault as it happened: *kind* (the verb, for sentences only) hit the nodes of ``left``; for a separation,
    ``right`` is the other side.

    The act lies between ``begin_ns`` and ``inject_ns``; ``begin_event`` and ``inject_event`` are the numbers of these
    two events. An operation invoked later was never served by what the fault ended. ``effective``: 1 it took effect, 0
    it did not, −1 nobody can tell; ``is_gone`` the same of the heal. ``ports`` narrows a separation. ``position``: node
    → physical offset of the sector that went bad; ``failed`` forces, in all. ``taken_from``: master → the slave whose
    data took its place. ``answers``: ``effective`` by node, where its probe told of single nodes.
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
    delay_ns: int = 0
    """By how much it made things late."""
    load_ns: int = 0
    """When the load began: what ``at:`` counts from."""
    begin_event: int = 0
    taken_from: Mapping[str, str] = field(default_factory=dict)
    recorded: tuple[Effect, ...] | None = None
    """The effects that its history tells; ``None``: those of its verb."""
    cuts: tuple[Sides, ...] = ()
    """What it is made of, where one pair of sides does not say it."""
    answers: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """What it does to each node of ``left``."""
        return of_verb(self.kind) if self.recorded is None else self.recorded

    @cached_property
    def harm(self) -> str:
        """The name under which contracts speak of it."""
        return harm_of(self.effects)

    @property
    def lasts(self) -> Span:
        """From the beginning of the act to the heal."""
        return self.begin_ns, max(self.heal_ns, self.inject_ns)

    @property
    def held_until_ns(self) -> int:
        """Until when what it held back may still arrive: the time between two attempts of TCP doubles, so at most as
        long again after its end as it lasted."""
        begin_ns, end_ns = self.lasts
        return end_ns if not self.does("separates") or end_ns >= NEVER_NS else 2 * end_ns - begin_ns

    def does(self, what: str, *how: str, at: str = "act") -> bool:
        """Whether one of its effects is *what* (in one of the ways of *how*)."""
        return any(e.does == what and e.at == at and (not how or e.how in how) for e in self.effects)

    def takes(self) -> str:
        """Which data it takes when it strikes: unforced, damaged, all, replaced or foreign; empty if none."""
        return next((effect.how for effect in self.effects if effect.does == "takes" and effect.at == "act"), "")

    def takes_tables(self) -> bool:
        """Whether the tables of what it hits (topics, groups, offsets) may be those of some time before, or none."""
        return bool(self.takes()) or self.does("damages", "tables")

    def value_of(self, what: str) -> str:
        """How much of the effect *what*, as the plan wrote it; empty without any."""
        return next((effect.value for effect in self.effects if effect.does == what), "")

    @property
    def may_have_acted(self) -> bool:
        """Whether anything of it may have been done, although a probe says no to the whole: it may have ended a process
        and found no file to harm, or hit one node and not the other."""
        return self.effective != 0 or self.does("ends") or any(self.answers.values())

    def took_effect_on(self, node: str) -> bool:
        """Whether *node* was hit and was not seen to be as it had been."""
        return node in self.left and self.answers.get(node, self.effective) != 0

    def separates(self, one: str, other: str, ports: str = "any") -> bool:
        """Whether nobody of the two is answered by the other on *ports* (``any``: on any): lost one way is enough."""
        return self.does("separates", "", "out", "in") and self.lies_between(one, other, ports)

    def hinders(self, one: str, other: str, ports: str = "any") -> bool:
        """Whether one of the two may not be answered: connections that are there may go on, new ones do not come."""
        return self.does("separates") and self.lies_between(one, other, ports)

    def silences(self, one: str, other: str, ports: str = "any") -> bool:
        """Whether nothing of *one* gets to *other*. What is sent against a one-way partition still arrives, for a
        while."""
        if not self.lies_between(one, other, ports):
            return False
        lost = "out" if one in self.left else "in"
        return any(e.does == "separates" and e.at == "act" and e.how in ("", lost) for e in self.effects)

    def lies_between(self, one: str, other: str, ports: str = "any") -> bool:
        """Whether the two are on its two sides, and *ports* concern it."""
        if not (ports == "any" or self.ports in ("any", ports)):
            return False
        sides = self.cuts or ((self.left, self.right),)
        return any((one in a and other in b) or (one in b and other in a) for a, b in sides)

    def words(self) -> str:
        """``cut_power of broker-a-0 (f1) at 6.000 s``."""
        across = f" | {', '.join(self.right)}" if self.right else ""
        when = seconds(self.inject_ns - self.load_ns)
        return f"{self.kind} of {', '.join(self.left) or 'nobody'}{across} ({self.fault}) at {when}"


def faults_of(events: Events) -> tuple[FaultFact, ...]:
    """Every fault that was injected, in the order of injection; what one takes with its heal is a loss of its own."""
    rows: dict[str, list[int]] = {}
    for row in events.kind.mask("fault").nonzero()[0].tolist():
        rows.setdefault(events.fault[row], []).append(row)
    found = (_fault(events, fault, own) for fault, own in rows.items())
    facts = [fact for fact in found if fact is not None]
    taken = [_taken_by_heal(events, fact) for fact in facts if fact.does("takes", at="heal")]
    return tuple(sorted([*facts, *(fact for fact in taken if fact is not None)], key=lambda fact: fact.inject_ns))


def _taken_by_heal(events: Events, fact: FaultFact) -> FaultFact | None:
    """What *fact* takes when it is healed, as a fault of that moment; ``None``: it was not, or had done nothing."""
    if fact.heal_ns == NEVER_NS or fact.effective == 0:
        return None
    is_heal = events.kind.mask("fault") & events.step.mask("heal") & (events.ns == fact.heal_ns)
    heal = next(row for row in is_heal.nonzero()[0].tolist() if events.fault[row] == fact.fault)
    effects = tuple(replace(e, at="act") for e in fact.effects if e.does == "takes" and e.at == "heal")
    ns, event = fact.heal_ns, int(events.event[heal])
    return replace(fact, begin_ns=ns, inject_ns=ns, begin_event=event, inject_event=event, recorded=effects)


def _fault(events: Events, fault: str, rows: list[int]) -> FaultFact | None:
    steps: dict[str, list[int]] = {}
    detail: dict[str, Any] = {}
    told = [(row, _json(events.detail[row])) for row in rows]
    for row, said in told:
        steps.setdefault(events.step[row], []).append(row)
        detail.update(said)
    acts = steps.get("inject", steps.get("refused", []))
    if not acts:
        return None
    begin = steps.get("resolve", acts)[0]
    probes = steps.get("probe", [])
    was_done = 0 not in events.effective[acts]
    leaked = max((int(said.get("leaked_bytes", 0)) for _, said in told), default=0)
    was_done = was_done and not leaked
    answers = _by_node(events, probes, _failed_later(events, steps.get("heal_probe", [])))
    return FaultFact(
        fault=fault,
        kind=str(detail.get("do", fault)),
        left=tuple(detail.get("left", ())) or _nodes(events, acts),
        right=tuple(detail.get("right", ())),
        begin_ns=int(events.ns[begin]),
        inject_ns=int(events.ns[acts[-1]]),
        inject_event=int(events.event[acts[-1]]),
        heal_ns=int(events.ns[steps["heal"][0]]) if "heal" in steps else NEVER_NS,
        effective=_answer(events, probes, answers) if was_done else 0,
        is_gone=_answer(events, steps.get("heal_probe", []), {}),
        ports=str(detail.get("with", {}).get("ports", "any")),
        reason=f"{leaked} bytes got through it" if leaked else str(detail.get("reason", detail.get("error", ""))),
        position={events.node[row]: said["position"] for row, said in told if "position" in said},
        begin_event=int(events.event[begin]),
        failed=max((int(said.get("failed", 0)) for _, said in told), default=0),
        delay_ns=max((int(said.get("delay_ms", 0)) for _, said in told), default=0) * 1_000_000,
        taken_from={events.node[row]: str(said["from"]) for row, said in told if "from" in said and events.node[row]},
        recorded=effects_of(detail),
        cuts=tuple((tuple(left), tuple(right)) for left, right in detail.get("cuts", ())),
        answers=answers if was_done else {},
        load_ns=events.load_ns,
    )


def _nodes(events: Events, rows: list[int]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(events.node[row] for row in rows if events.node[row]))


def _by_node(events: Events, probes: list[int], failed_later: frozenset[str]) -> dict[str, int]:
    """A probe that could not tell is answered by forces that failed afterwards."""
    answers = {events.node[row]: int(events.effective[row]) for row in probes if events.node[row]}
    return {node: 1 if answer < 0 and node in failed_later else answer for node, answer in answers.items()}


def _failed_later(events: Events, heal_probes: list[int]) -> frozenset[str]:
    """Nodes of which forces had failed when the fault was over."""
    return frozenset(events.node[row] for row in heal_probes if _json(events.detail[row]).get("failed"))


def _answer(events: Events, rows: list[int], of_nodes: Mapping[str, int]) -> int:
    """Several probes: one *no* outweighs all, then one *cannot be told*; no probe at all cannot be told."""
    answers = [of_nodes.get(events.node[row], int(events.effective[row])) for row in rows]
    return 0 if 0 in answers else 1 if answers and -1 not in answers else -1


def _json(text: str) -> dict[str, Any]:
    """A JSON object; free text counts as none."""
    if not text.startswith("{"):
        return {}
    value = json.loads(text)
    return value if isinstance(value, dict) else {}
