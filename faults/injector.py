"""The life cycle of faults: resolve → journal → inject → probe → hold → heal → heal probe.

Question: how does a plan become acts on a living cluster, so that every act is written down, is known to have bitten,
and is undone whatever happens?

Model. The injector never waits and owns no clock. The run asks when it is needed next and calls it then:

    injector.begin()
    while (due := injector.next_ns()) is not None:
        backend.run_until(stopped, due)
        injector.act()
    injector.heal_all()

Each step is an event, told by ``emit(fault, step, node, effective, detail)``; times are those of the recorder:

    step        node           effective   detail
    resolve     each node hit  1           do, on, at_ns and for_ns as drawn, left and right, with, effects; comes
                                           *before* the act
                (none)         0           reason: the selector fits nobody now; inject and probe then say 0 too
    journal     (none)         1           how to undo it
    inject      each node hit  −1          comes after the act, so the act lies between resolve and inject
                (none)         0           reason or error: nothing, or not all of it, was done
    refused     (none)         0           instead of inject: the backend cannot do it; reason, hint
    probe       node or none   1, 0, −1    did it bite? with what was seen
    heal        each node hit  −1          after the undo
                (none)         0           error: the undo failed
    heal_probe  node or none   1, 0, −1    is it gone?

For a partition ``node`` is each node of the left side; the right side is in ``detail`` of ``resolve``.

Faults may overlap. A node that two faults keep dead (or paused) comes back with the last of them. A fault without
``for`` lasts until ``heal_all``; ``for`` counts from the end of the act. Draws come from one generator a fault, so that
a change of one moves no other.

Limits. One thread. Levers run inside ``perform``, while the world goes on; a slow lever makes later faults late, and
their ``resolve`` says so (``late_ns``). A node that is killed and started again while another fault has it paused runs:
the pause died with the process.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Literal, Protocol, TypeVar

from faults.errors import InjectionFailed, SelectorError, UndoFailed
from faults.journal import HEAL_COMMAND, HealJournal
from faults.levers import LeverRefused, Nodes
from faults.plan import Fault
from faults.selectors import SidesSelector, Topology, resolve, resolve_sides
from faults.verb import NO, UNTOLD, YES, Condition, Division, Facts, Probed, Strike

T = TypeVar("T")

Emit = Callable[[str, str, str, int, dict[str, Any]], None]
"""(fault, step, node, effective, detail): one event of a fault, for the history."""

_LASTS_IF_NOT_GONE: Final[tuple[Condition, ...]] = (
    "paused",
    "starved",
    "exhausted",
    "separated",
    "failing",
    "full",
)
"""Conditions whose heal probe must not say *no*. A node that does not start again is the cluster's trouble, not a
leftover of ours: its heal probe is on record, and converging will fail on it."""


KEPT: Final = {"reason": "another fault keeps it so"}


class Perform(Protocol):
    """Carry out a blocking act while the world goes on (``Backend.perform``)."""

    def __call__(self, work: Callable[[], T], /) -> T: ...


@dataclass(frozen=True)
class _Times:
    """What was drawn for a fault, from the beginning of the load; ``hold_ns`` −1: until everything is healed."""

    at_ns: int
    hold_ns: int


@dataclass(frozen=True)
class _Active:
    """A fault that has been injected and not been healed."""

    fault: Fault
    strike: Strike
    facts: Facts = field(default_factory=dict)
    entry: int | None = None

    def __str__(self) -> str:
        across = f" | {', '.join(self.strike.right)}" if self.strike.right else ""
        return f"{self.fault.do} {', '.join(self.strike.left)}{across}"


@dataclass(frozen=True, order=True)
class _Due:
    """An entry of the agenda: by time, heals before strikes, then in the order of the plan."""

    due_ns: int
    what: Literal["heal", "strike"]
    index: int


class Injector:
    """Carries out one plan. ``journal`` may be ``None`` where nothing outlives the harness (the simulator)."""

    def __init__(
        self,
        plan: Sequence[Fault],
        levers: Nodes,
        *,
        rng: Random,
        emit: Emit,
        now: Callable[[], int],
        perform: Perform,
        journal: HealJournal | None = None,
        topology: Callable[[], Topology] | None = None,
    ) -> None:
        """*levers*: of the families that the plan's verbs need; *now*: the run's clock (``Backend.now``); *topology*:
        who is what at this moment (default: by names)."""
        self._plan, self._levers, self._journal = tuple(plan), levers, journal
        self._emit, self._now, self._perform = emit, now, perform
        self._topology = topology or (lambda: Topology.of(levers.nodes()))
        self._rngs = [Random(rng.getrandbits(64)) for _ in self._plan]
        self._times = [
            _Times(fault.at.draw(own), fault.hold.draw(own) if fault.hold else UNTOLD)
            for fault, own in zip(self._plan, self._rngs, strict=True)
        ]
        self._began_ns = -1
        self._agenda: list[_Due] = []
        self._active: dict[int, _Active] = {}

    def begin(self) -> None:
        """The load begins now; times of the plan count from here."""
        self._began_ns = self._now()
        self._agenda = [_Due(self._began_ns + times.at_ns, "strike", index) for index, times in enumerate(self._times)]
        heapq.heapify(self._agenda)

    def next_ns(self) -> int | None:
        """When (on the run's clock) there is something to do; ``None``: nothing is left but ``heal_all``."""
        return self._agenda[0].due_ns if self._agenda else None

    def act(self) -> None:
        """Do everything that is due now, heals before strikes of the same time.

        :class:`LeverRefused` if the backend cannot do it, :class:`InjectionFailed` if the lever raised (what was
        begun is healed first), :class:`UndoFailed` if a heal failed. Each is an event before it is raised.
        """
        while self._agenda and self._agenda[0].due_ns <= self._now():
            due = heapq.heappop(self._agenda)
            if due.what == "strike":
                self._strike(due)
            elif due.index in self._active:
                self._heal(due.index)

    def heal_all(self) -> None:
        """Heal everything active, newest first, and drop what has not struck yet.

        Everything is tried; :class:`UndoFailed` at the end names what is left. Idempotent.
        """
        self._agenda.clear()
        left = []
        for index in reversed(tuple(self._active)):
            try:
                self._heal(index)
            except UndoFailed as error:
                left.append(error.what)
            except LeverRefused as refused:
                left.append(f"{self._active[index]}: {refused.reason}")
        if left:
            raise UndoFailed("; ".join(left), f"what is left is written down; type: {HEAL_COMMAND}")

    @property
    def active(self) -> tuple[str, ...]:
        """Faults in force, as sentences for a display."""
        return tuple(map(str, self._active.values()))

    def _strike(self, due: _Due) -> None:
        fault = self._plan[due.index]
        try:
            strike = self._resolve(fault, self._rngs[due.index])
        except SelectorError as error:
            for step in ("resolve", "inject", "probe"):
                self._emit(fault.id, step, "", NO, {"do": fault.do, "on": str(fault.on), "reason": error.what})
            return
        self._tell(fault, strike, "resolve", YES, self._resolved(due, strike))
        active = self._inject(fault, strike)
        if fault.verb.holds:
            self._active[due.index] = active
            self._schedule_heal(due.index)
        self._tell_probes(fault, "probe", self._perform(lambda: fault.verb.probe(self._levers, strike, active.facts)))
        if not fault.verb.holds:
            self._settle(active)

    def _resolve(self, fault: Fault, rng: Random) -> Strike:
        topology = self._topology()
        if isinstance(fault.on, SidesSelector):
            left, right = resolve_sides(fault.on, topology, rng)
            ports = {"ports": str(fault.on.ports)} if fault.on.ports else {}
            return Strike(fault.id, left, right, {**ports, **fault.options}, topology)
        nodes = resolve(fault.on, topology, rng)
        if len(nodes) < fault.verb.least_nodes:
            raise SelectorError(f"{fault.do} takes {fault.verb.least_nodes} nodes, and {fault.on} are {len(nodes)}")
        divide = fault.verb.divide or (lambda nodes, topology, rng: Division(nodes))
        apart = divide(nodes, topology, rng)
        return Strike(fault.id, apart.left, apart.right, fault.options, topology, apart.cuts, apart.kept)

    def _resolved(self, due: _Due, strike: Strike) -> dict[str, Any]:
        fault, times = self._plan[due.index], self._times[due.index]
        return {
            "do": fault.do,
            "on": str(fault.on),
            "at_ns": times.at_ns,
            "for_ns": times.hold_ns,
            "late_ns": self._now() - due.due_ns,
            "left": list(strike.left),
            "right": list(strike.right),
            "with": dict(strike.options),
            "effects": fault.verb.effects_of(strike.options),
            **({"cuts": strike.cuts} if strike.cuts else {}),
        }

    def _inject(self, fault: Fault, strike: Strike) -> _Active:
        active = _Active(fault, strike)
        try:
            active = _Active(fault, strike, entry=self._write_undo(fault, strike))
            facts = self._perform(lambda: fault.verb.inject(self._levers, strike))
        except LeverRefused as refused:
            self._emit(fault.id, "refused", "", NO, {"reason": refused.reason, "hint": refused.hint})
            self._clean_up(active)
            raise
        except Exception as error:
            self._emit(fault.id, "inject", "", NO, {"error": _sentence(error)})
            self._clean_up(active)
            raise InjectionFailed(f"could not {active}: {_sentence(error)}") from error
        self._tell(fault, strike, "inject", UNTOLD, {})
        return _Active(fault, strike, facts, active.entry)

    def _write_undo(self, fault: Fault, strike: Strike) -> int | None:
        """Write down how to undo it, before it is done. A world that dies with the harness has nothing to write."""
        steps = self._perform(lambda: fault.verb.heal_steps(self._levers, strike))
        if self._journal is None or not steps:
            return None
        entry = self._journal.record(f"{fault.do} {', '.join(strike.left)}", steps)
        self._emit(fault.id, "journal", "", YES, {"steps": [step.action for step in steps]})
        return entry

    def _clean_up(self, active: _Active) -> None:
        """After a strike that failed midway. What a backend refuses to do it may refuse to undo: nothing is there."""
        with suppress(LeverRefused):
            self._undo(active, active.strike)
        self._kept(active)

    def _settle(self, active: _Active) -> None:
        """A fault that is over as soon as it is done: nothing to undo, but is everybody back?"""
        verb, strike = active.fault.verb, active.strike
        self._kept(active)
        self._tell(active.fault, strike, "heal", UNTOLD, {})
        answers = self._perform(lambda: verb.heal_probe(self._levers, strike, active.facts))
        self._tell_probes(active.fault, "heal_probe", answers)

    def _schedule_heal(self, index: int) -> None:
        hold_ns = self._times[index].hold_ns
        if hold_ns != UNTOLD:
            heapq.heappush(self._agenda, _Due(self._now() + hold_ns, "heal", index))

    def _heal(self, index: int) -> None:
        """Undo, tell, ask. The fault stays active, and its entry in the journal, until it is seen to be gone."""
        active = self._active[index]
        fault, released = active.fault, active.strike.only(self._released(index))
        self._undo(active, released)
        self._tell(fault, active.strike, "heal", UNTOLD, {})
        try:
            answers = self._heal_probe(index, released)
        except Exception as error:
            self._emit(fault.id, "heal_probe", "", UNTOLD, {"error": _sentence(error)})
            what = f"cannot tell whether {active} is gone: {_sentence(error)}"
            raise UndoFailed(what, f"type: {HEAL_COMMAND}") from error
        self._tell_probes(fault, "heal_probe", answers)
        if fault.verb.condition in _LASTS_IF_NOT_GONE and any(answer.answer == NO for answer in answers):
            raise UndoFailed(f"{active} is still in force after it was undone", f"type: {HEAL_COMMAND}")
        del self._active[index]
        self._kept(active)

    def _heal_probe(self, index: int, released: Strike) -> list[Probed]:
        """What another fault still keeps dead, paused or separated cannot tell whether this one is gone."""
        active = self._active[index]
        answers = self._perform(lambda: active.fault.verb.heal_probe(self._levers, released, active.facts))
        kept = [node for node in active.strike.left if node not in released.left]
        if active.fault.verb.condition == "separated" and self._others(index):
            answers = [Probed(a.node, UNTOLD, {**a.detail, **KEPT}) if a.answer == NO else a for a in answers]
        return [*answers, *(Probed(node, UNTOLD, KEPT) for node in kept)]

    def _others(self, index: int) -> list[_Active]:
        """Other active faults that keep somebody in the same condition."""
        condition = self._active[index].fault.verb.condition
        return [
            other for key, other in self._active.items() if key != index and other.fault.verb.condition == condition
        ]

    def _released(self, index: int) -> tuple[str, ...]:
        """Nodes of a fault that no other active fault keeps in the same condition; partitions are undone by their name,
        and what a fault changed by what it remembers of it."""
        active = self._active[index]
        if active.fault.verb.condition in ("separated", "own"):
            return active.strike.left
        kept = [node for other in self._others(index) for node in other.strike.left]
        return tuple(node for node in active.strike.left if node not in kept)

    def _undo(self, active: _Active, strike: Strike) -> None:
        fault = active.fault
        try:
            self._perform(lambda: fault.verb.heal(self._levers, strike, active.facts))
        except LeverRefused:
            raise
        except Exception as error:
            self._emit(fault.id, "heal", "", NO, {"error": _sentence(error)})
            raise UndoFailed(f"could not undo {active}: {_sentence(error)}", f"type: {HEAL_COMMAND}") from error

    def _kept(self, active: _Active) -> None:
        if self._journal is not None and active.entry is not None:
            self._journal.undone(active.entry)

    def _tell(self, fault: Fault, strike: Strike, step: str, effective: int, detail: dict[str, Any]) -> None:
        for node in strike.left:
            self._emit(fault.id, step, node, effective, detail)

    def _tell_probes(self, fault: Fault, step: str, answers: Sequence[Probed]) -> None:
        for answer in answers:
            self._emit(fault.id, step, answer.node, answer.answer, dict(answer.detail))


def _sentence(error: BaseException) -> str:
    return str(error) or type(error).__name__
