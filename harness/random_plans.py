"""Random plans: several faults, often at the same time, each of which can take effect at its moment.

Question: nobody thinks of all combinations. Which false alarms and which violations are there where faults overlap?

Model. A plan is a function of its seed: mode, flush type, load, and two to four faults of any verb that needs nothing
but a node. A fault that is drawn is kept if every fault of the plan can take effect at its moment
(``harness/plan_state.py``): so what did not take effect in a run of such a plan is worth a look. What a verb may hit
follows from its effects (``faults/effects.py``), not from its name: a verb that is added is drawn, too. Where roles
move, members are named, and whoever leads at that moment is hit or not.

``LOAD_S`` is behind the end of the last fault: every plan has a stretch without faults, in which the cluster must be
well.

Limits. Verbs that need an option and offer no samples of it are left out, those of an operator, and modes whose roles
move, unless one is asked for. Times are estimates: a run may be slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from faults.catalogue import VERBS
from faults.plan import Fault, bind_fault
from faults.verb import Verb
from harness.errors import BackendUnavailable
from harness.modes import MODES, GridRow, Mode
from harness.plan_state import (
    FORCED_LATE_S,
    FORCES,
    GROWTH_S,
    PROBES_S,
    PlanState,
    Struck,
    does,
    separates,
    touches_forces,
)
from harness.preflight import check_plan
from harness.scenario import SECOND, Scenario, Topology, Workload
from harness.workloads.table import OBSERVERS

OF_LOADS: Final = ("log", "batch", "producer", "group")
"""Loads of the reference's own clients that every mode can have; observers are drawn beside them."""
FIRST_S: Final = 8
"""Before that a log is too short for a sector to go bad in it."""
LAST_S: Final = 40
HOLDS_S: Final = (2, 12)
LOAD_S: Final = 90
RATE_PER_S: Final = 20
COUNTS: Final = (2, 4)
"""Faults of a plan, at least and at most."""
TRIES: Final = 60
OBSERVED: Final = 0.3
NEED_A_BROKER: Final = ("takes", "damages", *FORCES, "fills-disk", "steps-clock", "slows", "resets", "starves")
"""Effects that need a log, a disk, or steady traffic: NameServers are asked every half a minute."""


def random_scenario(seed: int, backend: str = "sim", target: str = "reference", mode: str = "") -> Scenario:
    """The plan of *seed* for a backend and a target, as a scenario of *mode*; else of one whose roles stay."""
    return drawn_plan(Random(seed), f"random-{seed}", f"random plan {seed}", mode, backend=backend, target=target)


def drawn_plan(
    rng: Random,
    name: str,
    source: str,
    mode: str = "",
    *,
    backend: str = "sim",
    target: str = "reference",
    counts: tuple[int, int] = COUNTS,
) -> Scenario:
    """What *rng* comes to: a plan of so many faults, from the first to the last of *counts*."""
    modes = [MODES[mode]] if mode else [mode for mode in MODES.values() if not mode.roles_move]
    drawn = rng.choice(modes)
    return _plan(rng, name, source, drawn, rng.choice(drawn.grid), backend, target, counts)


def random_plan_of(row: GridRow, mode: Mode, seed: int, backend: str = "sim", target: str = "reference") -> Scenario:
    """The plan of *seed* for one configuration."""
    return _plan(Random(f"{mode.name}/{row.flush}/{seed}"), f"random-{seed}", "matrix", mode, row, backend, target)


def _plan(
    rng: Random,
    name: str,
    source: str,
    mode: Mode,
    row: GridRow,
    backend: str,
    target: str,
    counts: tuple[int, int] = COUNTS,
) -> Scenario:
    topology = Topology(nameservers=2, brokers=row.brokers, slaves=row.slaves, flush=row.flush)
    workload = Workload(
        kind=rng.choice(OF_LOADS),
        observers=tuple(name for name in _observers(mode) if rng.random() < OBSERVED),
        producers=2,
        consumers=2,
        queues=2,
        rate_per_s=RATE_PER_S,
        duration_ns=LOAD_S * SECOND,
        spread_bytes=rng.choice((0, 0, 700)),
    )
    scenario = Scenario(name, mode.name, topology, workload, source=source)

    def can_be_done(fault: Fault) -> bool:
        try:
            check_plan(replace(scenario, faults=(fault,)), backend, target)
        except BackendUnavailable:
            return False
        return True

    return replace(scenario, faults=tuple(_Drawer(rng, mode, row, can_be_done, counts).faults()))


def _observers(mode: Mode) -> list[str]:
    """What can be seen: some watch masters and their slaves."""
    return [name for name, one in OBSERVERS.items() if one.is_everywhere or (mode.has_slaves and not mode.roles_move)]


@dataclass
class _Drawer:
    """Draws the faults of one plan."""

    rng: Random
    mode: Mode
    row: GridRow
    can_be_done: Callable[[Fault], bool]
    counts: tuple[int, int]
    drawn: list[Struck] = field(default_factory=list)

    def faults(self) -> Iterator[Fault]:
        wanted = self.rng.randint(*self.counts)
        for _ in range(TRIES):
            one = self._draw()
            fault = self._bound(one)
            if self._state([*self.drawn, one]).is_possible() and self.can_be_done(fault):
                self.drawn.append(one)
                yield fault
            if len(self.drawn) == wanted:
                return

    def _state(self, faults: list[Struck]) -> PlanState:
        return PlanState(faults, RATE_PER_S / self.row.brokers, self.row.flush == "async" or self.mode.roles_move)

    def _draw(self) -> Struck:
        rng = self.rng
        verb = rng.choice([verb for verb in VERBS.values() if self._is_drawn(verb)])
        node, at = rng.choice(self._nodes(verb)), rng.randint(FIRST_S, LAST_S)
        options = self._options(verb)
        shortest, longest = HOLDS_S
        least = PROBES_S if separates(verb) else FORCED_LATE_S if touches_forces(verb) else shortest
        end = at + rng.randint(least, max(longest, least + 8)) if verb.holds else at
        end += GROWTH_S if verb.grows_by else 0
        sides = [side for side in self._sides(node) if side != "nameservers" or not self._needs_traffic(verb)]
        peer = rng.choice(sides) if verb.shape == "sides" else ""
        return Struck(verb, node, at, end, peer, options)

    def _options(self, verb: Verb) -> dict[str, str]:
        """One of the samples of each option that has any, such that they go together."""
        sampled = [(name, option.samples) for name, option in verb.options.items() if option.samples]
        while True:
            options = {name: self.rng.choice(samples) for name, samples in sampled}
            if not verb.refuses(verb.filled(options)):
                return options

    @staticmethod
    def _needs_traffic(verb: Verb) -> bool:
        return does(verb, "slows") or does(verb, "resets")

    def _bound(self, one: Struck) -> Fault:
        on = f"{one.node} | {one.peer}" if one.peer else one.node
        held = one.end - one.at - (GROWTH_S if one.verb.grows_by else 0)
        hold = f"{held}s" if one.verb.holds else ""
        return bind_fault(len(self.drawn) + 1, at=f"{one.at}s", do=one.verb.name, on=on, hold=hold, options=one.options)

    def _is_drawn(self, verb: Verb) -> bool:
        """Verbs that need nothing but a node; those of slaves and their data, where there are any. A sector goes bad in
        a commit log: groups that elect keep their log elsewhere. Shapes of several are those of such a group. Who has
        connections, and so one that can be reset, is known of a master only."""
        if any(option.required and not option.samples for option in verb.options.values()) or does(verb, "promotes"):
            return False
        if verb.least_nodes > 1 and not (self.mode.roles_move and self.row.slaves + 1 >= verb.least_nodes):
            return False
        if (does(verb, "takes", "damaged") or does(verb, "resets")) and self.mode.roles_move:
            return False
        if self._needs_prompt_forces(verb) and (self.row.flush == "async" or self.mode.roles_move):
            return False
        return not verb.role or (bool(self.row.slaves) and not self.mode.roles_move)

    @staticmethod
    def _needs_prompt_forces(verb: Verb) -> bool:
        """Whether its probe must see a force at once; of forces that failed it is told afterwards, too."""
        return touches_forces(verb) and not does(verb, "fails-forces")

    def _members(self) -> tuple[list[str], list[str]]:
        """Who serves a broker name at the start, and all others that have it."""
        names = [f"broker-{chr(ord('a') + index)}" for index in range(self.row.brokers)]
        if self.mode.roles_move:
            return [], [f"{name}-{number}" for name in names for number in range(self.row.slaves + 1)]
        return [f"master({name})" for name in names], [f"slave({name})" for name in names if self.row.slaves]

    def _nodes(self, verb: Verb) -> list[str]:
        """Whom it may hit: what needs a log, or forces it, hits brokers; what acts on what clients say, masters."""
        masters, others = self._members()
        if verb.least_nodes > 1:
            size = self.row.slaves + 1
            return [", ".join(others[begin : begin + size]) for begin in range(0, len(others), size)]
        if verb.role == "slave":
            return others
        if verb.role == "master" or self._needs_prompt_forces(verb) or self._needs_traffic(verb):
            return masters or others
        needs_broker = any(does(verb, what) for what in NEED_A_BROKER)
        return [*masters, *masters, *others, *([] if needs_broker else ["nameserver(1)"])]

    def _sides(self, node: str) -> list[str]:
        if node.startswith("nameserver"):
            return ["clients", *(["masters"] if not self.mode.roles_move else [])]
        masters, others = self._members()
        peers = (
            others if self.mode.roles_move else [f"slave{node[len('master') :]}"] if node in masters and others else []
        )
        return ["clients", "nameservers", *(peer for peer in peers if peer != node)]
