"""Random plans: several faults, often at the same time, each of which can take effect at its moment.

Question: nobody thinks of all combinations. Which false alarms and which violations are there where faults overlap?

Model. A plan is a function of its seed: mode, flush type, load, and two to four faults of any verb. While drawing, the
state of each node is kept as the plan would have it: a fault that needs a running process is not drawn for one that is
down or frozen just then, a partition not where one stands, a sector goes bad only in a log that is long enough. So what
did not take effect in a run of such a plan is worth a look. The conditions follow from the effects of verbs
(``faults/effects.py``), not from their names: a verb that is added is drawn, too.

    |--- at ---|=== down ===|-- settle --|          one node; other nodes, and effects that leave it running, overlap
                     |=== separated ===|

Faults hold for long enough that slow probes (a cut pair is probed until its time-outs) do not let the next one come
after the end. ``quiet`` ends the load: every plan has a stretch without faults, in which the cluster must be well.

Limits. Verbs that need an option, those of an operator, and modes whose roles move are left out. Times are estimates: a
run may be slower.
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
from harness.modes import MODES, GridRow
from harness.preflight import check_plan
from harness.scenario import SECOND, Scenario, Topology, Workload
from harness.workloads.table import OBSERVERS

OF_LOADS: Final = ("log", "batch", "producer", "group")
"""Loads of the reference's own clients that every mode can have; observers are drawn beside them."""
FIRST_S: Final = 8
"""Before that a log is too short for a sector to go bad in it."""
LAST_S: Final = 40
PROBES_S: Final = 14
"""How long the probes of a separation may take: pairs that cannot talk are asked until their time-outs."""
SETTLE_S: Final = 3
LOAD_S: Final = 90
BACK: Final = "1KiB"
"""How far behind the end of a log a sector goes bad: a record of it is always there after ``FIRST_S``."""
TRIES: Final = 40
OBSERVED: Final = 0.3

KNOWN_VIOLATIONS: Final = {
    "unforced-ok": "9. SEND_OK with SYNC_FLUSH although fsync failed",
    "unreplicated-ok": "10. A slave that is ahead of its restarted master",
    "slave-behind": "11. A slave that confirms everything and can serve nothing",
    "resurrected": "8. Records behind a recovered end come back behind newer ones",
}
"""Kinds of failures that real brokers show, too, and where ``docs/findings.md`` tells of them."""


@dataclass
class _Timeline:
    """What the plan would make of the cluster: busy spans by node and by what they need to be left alone."""

    down: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    held: dict[tuple[str, str], list[tuple[int, int]]] = field(default_factory=dict)
    strikes: dict[str, list[int]] = field(default_factory=dict)
    probing: list[tuple[int, int]] = field(default_factory=list)

    def runs(self, node: str, begin: int, end: int) -> bool:
        return not _overlaps(self.down.get(node, []), begin, end)

    def is_free(self, node: str, what: str, begin: int, end: int) -> bool:
        """Whether nothing of the same kind holds *node* then."""
        return not _overlaps(self.held.get((node, what), []), begin, end)

    def is_struck(self, node: str, begin: int, end: int) -> bool:
        """Whether another fault strikes *node* then."""
        return any(begin <= at <= end for at in self.strikes.get(node, ()))

    def is_quiet(self, at: int) -> bool:
        """Whether no slow probe delays what comes at *at*."""
        return not _overlaps(self.probing, at, at + 1)


def _overlaps(spans: list[tuple[int, int]], begin: int, end: int) -> bool:
    return any(left < end and begin < right for left, right in spans)


def random_scenario(seed: int, backend: str = "sim", target: str = "reference") -> Scenario:
    """The plan of *seed* for a backend and a target, as a scenario of one of the modes."""
    rng = Random(seed)
    mode = rng.choice([mode for mode in MODES.values() if not mode.roles_move])
    row = rng.choice(mode.grid)
    topology = Topology(nameservers=2, brokers=row.brokers, slaves=row.slaves, flush=row.flush)
    workload = Workload(
        kind=rng.choice(OF_LOADS),
        observers=tuple(name for name in _observers(row) if rng.random() < OBSERVED),
        producers=2,
        consumers=2,
        queues=2,
        rate_per_s=40,
        duration_ns=LOAD_S * SECOND,
        spread_bytes=rng.choice((0, 0, 700)),
    )
    scenario = Scenario(f"random-{seed}", mode.name, topology, workload, source=f"random plan {seed}")

    def can_be_done(fault: Fault) -> bool:
        try:
            check_plan(replace(scenario, faults=(fault,)), backend, target)
        except BackendUnavailable:
            return False
        return True

    return replace(scenario, faults=tuple(_faults(rng, row, can_be_done)))


def _observers(row: GridRow) -> list[str]:
    """What can be seen: some watch masters and their slaves."""
    return [name for name, observer in OBSERVERS.items() if row.slaves or observer.is_everywhere]


def _faults(rng: Random, row: GridRow, can_be_done: Callable[[Fault], bool]) -> Iterator[Fault]:
    timeline, number = _Timeline(), 0
    wanted = rng.randint(2, 4)
    for _ in range(TRIES):
        drawn = _draw(rng, row, timeline, number + 1, can_be_done)
        if drawn is not None:
            number += 1
            yield drawn
        if number == wanted:
            return


def _draw(
    rng: Random, row: GridRow, timeline: _Timeline, number: int, can_be_done: Callable[[Fault], bool]
) -> Fault | None:
    """One fault that fits into *timeline*, which then knows of it; ``None`` if this draw does not fit."""
    verb = rng.choice([verb for verb in VERBS.values() if _is_drawn(verb, row)])
    at = rng.randint(FIRST_S, LAST_S)
    separates = verb.shape == "cut" or _does(verb, "separates")
    hold = rng.randint(PROBES_S, PROBES_S + 8) if separates else rng.randint(2, 12)
    node = rng.choice(_nodes(row, verb))
    if not _fits(verb, node, timeline, at, at + hold):
        return None
    on = node if verb.shape == "nodes" else f"{node} | {rng.choice(_sides(row, node))}"
    options = {"back": BACK} if "back" in verb.options else {}
    fault = bind_fault(number, at=f"{at}s", do=verb.name, on=on, hold=f"{hold}s" if verb.holds else "", options=options)
    if not can_be_done(fault):
        return None
    _enter(verb, node, timeline, at, at + hold)
    return fault


def _is_drawn(verb: Verb, row: GridRow) -> bool:
    """Verbs that need nothing but a node; those that take a slave's data, where there is one."""
    if any(option.required for option in verb.options.values()) or _does(verb, "promotes"):
        return False
    if _does(verb, "fails-forces") and row.flush != "sync":
        return False  # an idle asynchronous flush may force nothing for seconds
    return bool(row.slaves) or not _does(verb, "takes", "replaced")


def _does(verb: Verb, what: str, how: str = "") -> bool:
    return any(effect.does == what and how in ("", effect.how) for effect in verb.effects)


def _nodes(row: GridRow, verb: Verb) -> list[str]:
    """Whom it may hit: what needs a log, or forces it, hits brokers; what replaces a disk, masters."""
    brokers = [chr(ord("a") + index) for index in range(row.brokers)]
    masters = [f"master(broker-{letter})" for letter in brokers]
    if _does(verb, "takes", "replaced"):
        return masters
    slaves = [f"slave(broker-{letter})" for letter in brokers] if row.slaves else []
    if _does(verb, "fails-forces"):
        return masters  # a slave may force nothing for seconds
    needs_store = any(_does(verb, what) for what in ("takes", "fails-forces", "fills-disk", "steps-clock"))
    return [*masters, *masters, *slaves, *([] if needs_store else ["nameserver(1)"])]


def _sides(row: GridRow, node: str) -> list[str]:
    if node.startswith("nameserver"):
        return ["masters"]
    of_broker = node[node.index("(") + 1 : -1]
    peer = [f"slave({of_broker})"] if row.slaves and node.startswith("master") else []
    return ["clients", "nameservers", *peer]


def _fits(verb: Verb, node: str, timeline: _Timeline, at: int, end: int) -> bool:
    """It runs when it strikes, nobody holds it in the same way, and it takes from no other fault what that needs."""
    if not timeline.is_quiet(at) or not timeline.runs(node, at - SETTLE_S, at + SETTLE_S):
        return False
    if not all(timeline.is_free(node, effect.does, at, end + SETTLE_S) for effect in verb.effects):
        return False
    stops = _does(verb, "ends") or _does(verb, "freezes")
    if (stops or _does(verb, "separates")) and timeline.is_struck(node, at - SETTLE_S, end + SETTLE_S):
        return False
    return not _does(verb, "fails-forces") or timeline.is_free(node, "separates", at - SETTLE_S, at + SETTLE_S)


def _enter(verb: Verb, node: str, timeline: _Timeline, at: int, end: int) -> None:
    timeline.strikes.setdefault(node, []).append(at)
    for effect in verb.effects:
        timeline.held.setdefault((node, effect.does), []).append((at, end + SETTLE_S))
    if _does(verb, "ends") or _does(verb, "freezes"):
        timeline.down.setdefault(node, []).append((at, (end if verb.holds else at) + SETTLE_S))
    if _does(verb, "separates"):
        timeline.probing += [(at, at + PROBES_S), (end, end + PROBES_S)]
