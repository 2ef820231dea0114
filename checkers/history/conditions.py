"""In which condition was a node, and when: a fold over the effects of all faults that held it.

Question: faults overlap. A broker was killed while it was isolated and started again while its disk was full. When did
it run, when could it be reached, when did its forces reach the disk?

Model. Every effect of every fault gives a span; a condition of a node is the union of the spans of all faults that
bring it about, whoever of them came first:

    down          from the act that ends it (as the history tells of nodes, else of faults) to its next start
    frozen        from the act to the heal; a process that is started anew is not frozen any more
    starved       it lacks processor time, or files: likewise; it does everything, late, or not for everybody
    unforced      every force fails: from the act to the heal, or to the next start
    unwritten     every write fails: likewise
    stalled       no force ends: likewise
    forces_late   forces end later: by how much, at most, within a span
    full          no space on its disk
    unsaved       it cannot write a table anew: no space, no write, or no file can be opened
    apart(a, b)   nothing passes between the two: from the act to the heal

``still`` is down or frozen, ``held_up`` that or starved. A fault that was seen to have done nothing to a node gives no
span for it; one of which nobody can tell gives one, since these spans mostly excuse. Who accuses by them asks
``proven()``.

Limits. A start is what the harness did, not when the node was ready to serve. A node that ended by itself counts as
down from the moment at which that was noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from checkers.history.faults import FaultFact
from checkers.history.spans import NEVER_NS, Span, union


@dataclass(frozen=True)
class Conditions:
    """*starts*: node → instants of its starts, in order; *ends*: node → when it was seen to end, whoever wanted it;
    *acts*: node → (when, how) somebody ended it: killed, stopped, dark."""

    faults: tuple[FaultFact, ...] = ()
    starts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    ends: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    acts: Mapping[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)

    def proven(self) -> Conditions:
        """The same without faults of which nobody can tell whether they took effect: a process that was asked to stop
        and did not for as long as the harness waited ends somewhere later, perhaps never."""
        return replace(self, faults=tuple(fault for fault in self.faults if fault.effective == 1))

    def down(self, node: str) -> list[Span]:
        """When there was no process, be it for a moment."""
        return union((begin, max(back, begin + 1)) for begin, _, back in self._ended(node))

    def closed(self, node: str) -> list[Span]:
        """Of :meth:`down` what began with the close of its connections: a machine that goes dark closes none."""
        first = {begin: how for begin, how, _ in reversed(self._ended(node))}
        return [span for span in self.down(node) if first.get(span[0]) != "dark"]

    def _ended(self, node: str) -> list[tuple[int, str, int]]:
        """(when it began to end, how, when it was back), in order. An act lies within its fault; that of a heal, which
        ends and starts, may be over in the same instant."""
        found = [(ns, "killed", self._back_ns(node, ns)) for ns in self.ends.get(node, ())]
        for ns, how in self.acts.get(node, ()):
            by = [f for f in self.faults if f.does("ends") and node in f.left and f.begin_ns <= ns <= f.inject_ns]
            found.append(
                (by[-1].begin_ns, how, self._back_ns(node, by[-1].begin_ns, by[-1].lasts[1]))
                if by
                else (ns, how, self._back_ns(node, ns - 1))
            )
        if node not in self.acts:
            struck, healed = self._of(node, "ends"), self._of(node, "ends", at="heal")
            found += [(f.begin_ns, _how(f, "act"), self._back_ns(node, f.begin_ns, f.lasts[1])) for f in struck]
            found += [(f.heal_ns, _how(f, "heal"), self._back_ns(node, f.heal_ns - 1)) for f in healed]
        return sorted(found)

    def frozen(self, node: str) -> list[Span]:
        """When no instruction ran, although there was a process."""
        return self._while_it_runs(node, "freezes")

    def unforced(self, node: str) -> list[Span]:
        """When every force failed."""
        return self._while_it_runs(node, "fails-forces")

    def unwritten(self, node: str) -> list[Span]:
        """When every write failed: what it had taken before, it cannot enter into its queues."""
        return self._while_it_runs(node, "fails-writes")

    def stalled(self, node: str) -> list[Span]:
        """When no force ended."""
        return self._while_it_runs(node, "holds-forces")

    def forces_late_ns(self, node: str, begin_ns: int, end_ns: int) -> int:
        """How late a force was at most that began within the span."""
        late = (f.delay_ns for f in self._of(node, "delays-forces") if f.begin_ns < end_ns and f.lasts[1] > begin_ns)
        return max(late, default=0)

    def full(self, node: str) -> list[Span]:
        """When its disk had no space."""
        return union(fault.lasts for fault in self._of(node, "fills-disk"))

    def unsaved(self, node: str) -> list[Span]:
        """When what it holds in memory (offsets, topics, groups) could not be written to its files."""
        return union(self.full(node), self.unwritten(node), self._while_it_runs(node, "starves", "files"))

    def of_another_time(self, node: str) -> list[Span]:
        """When its wall clock differed from that of all others."""
        return union(fault.lasts for fault in self._of(node, "steps-clock"))

    def still(self, node: str) -> list[Span]:
        """When it did nothing: down or frozen."""
        return union(self.down(node), self.frozen(node))

    def held_up(self, node: str) -> list[Span]:
        """When it may have done nothing, or not all of it: nothing that is due then is late by its own fault."""
        return union(self.still(node), self._while_it_runs(node, "starves"))

    def flushes_nothing(self, node: str) -> list[Span]:
        """When nothing that it had written reached its disk."""
        return union(self.still(node), self.unforced(node), self.stalled(node))

    def apart(self, one: str, other: str, ports: str = "any") -> list[Span]:
        """When nobody of the two was answered by the other."""
        found = (fault for fault in self.faults if fault.effective != 0 and fault.separates(one, other, ports))
        return union(fault.lasts for fault in found)

    def hindered(self, one: str, other: str, ports: str = "any") -> list[Span]:
        """When one of the two may not have been answered by the other: as ``apart``, and more."""
        found = (fault for fault in self.faults if fault.effective != 0 and fault.hinders(one, other, ports))
        return union(fault.lasts for fault in found)

    def unheard(self, one: str, other: str, ports: str = "any") -> list[Span]:
        """When nothing of *one* got to *other*."""
        found = (fault for fault in self.faults if fault.effective != 0 and fault.silences(one, other, ports))
        return union(fault.lasts for fault in found)

    def reset(self, one: str, other: str, ports: str = "any") -> list[Span]:
        """When connections between the two may have been closed although both ran: they were reset, or what makes a
        link slow stands in it as a proxy, and resets them when it comes and when it goes."""
        ends = (f for f in self.faults if f.effective != 0 and (f.does("slows") or f.does("resets")))
        return union(fault.lasts for fault in ends if fault.lies_between(one, other, ports))

    def _of(self, node: str, what: str, *how: str, at: str = "act") -> list[FaultFact]:
        return [fault for fault in self.faults if fault.does(what, *how, at=at) and fault.took_effect_on(node)]

    def _while_it_runs(self, node: str, what: str, *how: str) -> list[Span]:
        return union(
            (fault.begin_ns, min(fault.lasts[1], self._start_after(node, fault.inject_ns)))
            for fault in self._of(node, what, *how)
        )

    def _start_after(self, node: str, ns: int) -> int:
        return min((start for start in self.starts.get(node, ()) if start > ns), default=NEVER_NS)

    def _back_ns(self, node: str, ns: int, healed_ns: int = NEVER_NS) -> int:
        """When *node* runs again that ended at *ns*: with its next start, or, where nobody wrote starts down, with the
        heal of what ended it."""
        return self._start_after(node, ns) if node in self.starts else healed_ns


def _how(fault: FaultFact, at: str) -> str:
    return next(effect.how for effect in fault.effects if effect.does == "ends" and effect.at == at)
