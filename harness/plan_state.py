"""What a plan makes of the cluster over time: can this set of faults take effect, each at its moment?

Question: kill a broker that is dead, and the kill proves nothing. Which state does each node have, as a fold of the
faults before, when the next one strikes?

Model. A fault of a plan holds one node from *at* to *end*. By its verb's effects (``faults/effects.py``):

    ends, freezes    the node does not run; what needs a running process cannot strike
    any effect       what holds a node in the same way already cannot be seen to take effect
    separates        no force comes without load; probes take up to ``PROBES_S`` at the beginning, since pairs that
                     cannot talk are asked until their time-outs, and whatever is due meanwhile comes late
    starves          it takes no new connection, or takes its time: whether it can be reached is not to be told
    touches forces   no other fault can do so there; one that is held keeps a process from ending in order
    fills the disk   nothing is stored, so nothing is forced, until the broker looks at its disk again
    fails writes     nothing else may be done to the node's process or disk, or be seen to be done
    takes damaged    the log must be long enough for the sector that goes bad; a log that grows while the fault is
                     injected needs load and a master, and whatever is due meanwhile comes late
    takes replaced   when it is healed, its slave is there to be stopped
    damages          there must be such files; tables are made again from a backup, and not written again until they
                     change, so that a second damage would leave nothing to start from

    |--- at ---|=== down ===|-- settle --|          one node; other nodes, and effects that leave it running, overlap
                     |=== separated ===|

Limits. Lengths of logs are lower bounds, from the rate of the load. A run may be slower than its plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from faults.units import size_bytes
from faults.verb import Verb

PROBES_S: Final = 14
UNPROBED_S: Final = 2
"""After the heal of a separation pairs answer at once."""
SETTLE_S: Final = 3
"""From the heal of what ends a process until it serves."""
FORCED_LATE_S: Final = 12
"""An asynchronous flush may force nothing for as long."""
FULL_SEEN_S: Final = 12
"""A broker looks every 10 s whether its disk is full, and refuses messages until it has seen that it is not."""
ROUTE_S: Final = 33
"""A producer asks for routes every 30 s: as long may nobody send to a broker that is back."""
JOIN_S: Final = 16
"""A slave looks for its master every 5 s, and waits longer and longer for an answer."""
RECORD_BYTES: Final = 250
"""No record of the load is shorter."""
GROWTH_S: Final = SETTLE_S + JOIN_S + 8
"""A slave is back, has found its master and copied what it lacks, and as much more as a plan asks for."""
PERSISTED_S: Final = 25
"""Tables are written every 5 s or 10 s, and have a backup when they are written for the second time."""


def does(verb: Verb, what: str, how: str = "", at: str = "") -> bool:
    """Whether *verb* has that effect."""
    return any(e.does == what and how in ("", e.how) and at in ("", e.at) for e in verb.effects)


FORCES: Final = ("fails-forces", "delays-forces", "holds-forces")
"""Effects that show only when the node asks for a force."""


BESIDE_A_DEAD_DISK: Final = frozenset(("separates", "slows", "resets", "steps-clock"))
"""Effects that neither a process nor a disk has to answer for."""


def touches_forces(verb: Verb) -> bool:
    """Whether it does anything to forces, and to nothing else: writes that fail are seen without any."""
    return any(does(verb, what) for what in FORCES) and not does(verb, "fails-writes")


def separates(verb: Verb) -> bool:
    """Whether it stands between nodes."""
    return verb.shape == "sides" or does(verb, "separates")


@dataclass(frozen=True)
class Struck:
    """One fault of a plan: whom it holds from when to when, in seconds. ``peer``: the one node on the other side of a
    separation. ``node`` may be several, with commas between. ``end`` counts the longest injection, too."""

    verb: Verb
    node: str
    at: int
    end: int
    peer: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.node.split(", "))

    @property
    def stops(self) -> bool:
        return does(self.verb, "ends") or does(self.verb, "freezes")

    @property
    def gone_from(self) -> int:
        """From when on its node does not run, if it ``stops``."""
        return self.at if does(self.verb, "freezes") or does(self.verb, "ends", at="act") else self.end

    @property
    def back(self) -> int:
        """How many bytes before the end of the log a sector goes bad."""
        return self._bytes(self.verb.reaches_back)

    @property
    def taken(self) -> int:
        """How many bytes of log are gone with it, or cannot be read."""
        return self.back + self._bytes(self.verb.grows_by)

    def _bytes(self, option: str) -> int:
        return size_bytes(self.verb.filled(self.options)[option]) if option else 0

    def damages(self, how: str) -> bool:
        """Whether it damages files of that kind: one verb does so, with one option or another."""
        options = self.verb.filled(self.options)
        return any(e.does == "damages" and e.how == how and e.happens_with(options) for e in self.verb.effects)

    @property
    def slow(self) -> list[tuple[int, int]]:
        """When its probes, or its injection, keep everything else waiting."""
        if self.verb.grows_by:
            return [(self.at, self.at + GROWTH_S)]
        if not separates(self.verb):
            return []
        return [(self.at, self.at + PROBES_S), (self.end, self.end + UNPROBED_S)]


@dataclass(frozen=True)
class PlanState:
    """The fold over *faults*. ``rate_per_s``: messages that one broker gets; ``forces_late``: it flushes
    asynchronously."""

    faults: Sequence[Struck]
    rate_per_s: float
    forces_late: bool = False

    def is_possible(self) -> bool:
        """Whether each fault finds what it needs."""
        return all(self._takes_effect(fault) for fault in self.faults)

    def _takes_effect(self, fault: Struck) -> bool:
        return (
            self._is_in_time(fault)
            and all(self._runs(node, fault.at) for node in fault.nodes)
            and self._can_end(fault)
            and self._is_free(fault)
            and self._is_seen(fault)
            and self._has_disk(fault)
            and self._has_files(fault)
            and (not fault.back or self._log_bytes(fault) >= 2 * fault.back)
        )

    def _others(self, fault: Struck) -> list[Struck]:
        return [other for other in self.faults if other is not fault]

    def _of(self, node: str) -> list[Struck]:
        return [fault for fault in self.faults if node in fault.nodes]

    def _on_its_nodes(self, fault: Struck) -> list[Struck]:
        return [other for other in self._others(fault) if set(fault.nodes) & set(other.nodes)]

    def _feeding(self, node: str) -> list[Struck]:
        """Those of *node*, and of the master that a slave gets everything from."""
        return [fault for fault in self.faults if fault.node in (node, node.replace("slave", "master"))]

    def _is_in_time(self, fault: Struck) -> bool:
        """Nothing slow goes on when it strikes, or when it is healed."""
        slow = [span for other in self._others(fault) for span in other.slow]
        return not any(begin <= fault.at < end for begin, end in slow)

    def _runs(self, node: str, at: int) -> bool:
        """Whether there is a process at *at* that has been there for a while."""
        stops = [fault for fault in self._of(node) if fault.stops]
        return not any(fault.gone_from < at <= self._healed(fault) + SETTLE_S for fault in stops)

    def _can_end(self, fault: Struck) -> bool:
        """A process whose force hangs does not end in order; a slave whose data is taken is stopped for that."""
        if does(fault.verb, "ends", "stopped") and self._is_held(fault, fault.at):
            return False
        slave = fault.node.replace("master", "slave") if does(fault.verb, "takes", "replaced") else ""
        ends = [(other, self._healed(other)) for other in self._of(slave)]
        return not any(
            abs(end - fault.end) <= SETTLE_S or (_does_not_end(other) and other.at <= fault.end <= end)
            for other, end in ends
        )

    def _is_held(self, fault: Struck, at: int) -> bool:
        """Whether another fault holds the forces of its node at *at*, or a moment later."""
        held = [other for other in self._of(fault.node) if other is not fault and does(other.verb, "holds-forces")]
        return any(other.at <= at + SETTLE_S and at <= self._healed(other) for other in held)

    def _healed(self, fault: Struck) -> int:
        """When it is really healed: what is due while probes go on waits for them."""
        return max(
            [fault.end, *(end for other in self._others(fault) for at, end in other.slow if at <= fault.end < end)]
        )

    def _is_free(self, fault: Struck) -> bool:
        """Nothing else holds its node in the same way, and nobody strikes in the same moment."""
        own = {effect.does for effect in fault.verb.effects} - {"starts"}
        for other in self._on_its_nodes(fault):
            if abs(other.at - fault.at) <= SETTLE_S:
                return False
            is_alike = own & {effect.does for effect in other.verb.effects}
            if is_alike and other.at <= fault.at <= self._healed(other) + SETTLE_S:
                return False
        return True

    def _has_disk(self, fault: Struck) -> bool:
        """No disk that takes nothing is in its way, nor does it take one from others."""
        others = self._on_its_nodes(fault) if _needs_disk(fault) else []
        return not any(
            does(other.verb, "fails-writes") and other.at <= fault.end and fault.at <= self._healed(other) + SETTLE_S
            for other in others
        )

    def _has_files(self, fault: Struck) -> bool:
        """Whether there is what it damages: something made from a log, or tables and their backups, undamaged so
        far."""
        if fault.damages("derived"):
            return self._log_bytes(fault) > 0
        if not fault.damages("tables"):
            return True
        before = [other for other in self._feeding(fault.node) if other.at < fault.at]
        is_first = not any(other.damages("tables") and fault.node == other.node for other in before)
        return is_first and fault.at - self._emptied(before) >= PERSISTED_S

    def _is_fed(self, fault: Struck, until: int) -> bool:
        """Whether messages come to its node, and are forced, from its moment until then."""
        return not any(
            other.at < until and fault.at < self._healed(other) + quiet_s
            for other in self._feeding(fault.node)
            if other is not fault and (quiet_s := _without_forces_s(other))
        )

    def _is_connected_to(self, fault: Struck, until: int) -> bool:
        """Whether whoever feeds its node takes new connections from its moment until then."""
        return not any(
            does(other.verb, "starves") and other.at < until and fault.at < self._healed(other) + SETTLE_S
            for other in self._feeding(fault.node)
            if other is not fault
        )

    def _is_seen(self, fault: Struck) -> bool:
        """Whether a probe can tell: of forces that fail while there is load, of a separation between two that run."""
        if fault.verb.grows_by:
            until = fault.at + GROWTH_S
            return self._is_fed(fault, until) and self._is_connected_to(fault, until)
        if touches_forces(fault.verb):
            until = fault.at + (FORCED_LATE_S if self.forces_late or "slave" in fault.node else SETTLE_S)
            return until <= fault.end and self._is_fed(fault, until)
        if not separates(fault.verb):
            return True
        ends = [node for node in (*fault.nodes, fault.peer) if node]
        return all(self._runs_through(fault, node) for node in ends)

    def _runs_through(self, fault: Struck, node: str) -> bool:
        """Whether *node* runs, and can be reached by new connections, when *fault* begins, while that is probed, and
        when it ends."""
        others = [o for o in self._others(fault) if any(_meet(node, one) for one in (*o.nodes, o.peer))]
        back_s = JOIN_S if does(fault.verb, "resets") else SETTLE_S
        away = [
            (o.gone_from if o.stops else o.at, self._healed(o) + back_s)
            for o in others
            if o.stops or separates(o.verb) or does(o.verb, "starves")
        ]
        moments = ((fault.at, fault.at + PROBES_S), (fault.end, fault.end + UNPROBED_S))
        return not any(begin < to and since < end for since, to in moments for begin, end in away)

    def _log_bytes(self, fault: Struck) -> float:
        """No log is shorter than this when *fault* strikes."""
        before = [other for other in self._feeding(fault.node) if other.at < fault.at]
        since = self._emptied(before)
        idle = sum(self._healed(o) + SETTLE_S - o.at for o in before if o.at >= since or self._healed(o) > since)
        lost = sum(other.taken + RECORD_BYTES for other in before if other.at >= since)
        return max(0, fault.at - since - idle) * self.rate_per_s * RECORD_BYTES - lost

    def _emptied(self, before: Sequence[Struck]) -> int:
        """When the last of them left an empty disk; 0, the beginning, if none did."""
        return max((self._healed(other) for other in before if does(other.verb, "takes", "all")), default=0)


def _needs_disk(fault: Struck) -> bool:
    """Whether it does anything to a process or a disk."""
    return not {effect.does for effect in fault.verb.effects} <= BESIDE_A_DEAD_DISK


def _does_not_end(fault: Struck) -> bool:
    """Whether it keeps its process from ending in order while it lasts."""
    return does(fault.verb, "freezes") or does(fault.verb, "fails-writes")


def _without_forces_s(fault: Struck) -> int:
    """For how many seconds after its heal its node may ask for no force, or for none that another fault can reach; 0:
    it asks for them all the time."""
    if does(fault.verb, "fills-disk"):
        return FULL_SEEN_S
    if does(fault.verb, "ends"):
        return ROUTE_S
    return SETTLE_S if fault.stops or separates(fault.verb) or touches_forces(fault.verb) else 0


def _meet(one: str, other: str) -> bool:
    """Whether the two name a node in common: the same, or one of all that the other names (``masters``)."""
    if not one or not other:
        return False
    return (
        one == other or one.startswith(f"{other.removesuffix('s')}(") or other.startswith(f"{one.removesuffix('s')}(")
    )
