"""The check ``propagation``: what an operator changed on one node is seen on the others, in time, and stays.

Question: how long after an act does each node that must show it show it, does it stay so until the next act, and what
is left of it when a master is lost?

Model. For each act that was obeyed, each node that must show it and each subject: the first observation that shows it
tells the delay, to the distance of two observations. Bounds by subject (:data:`WITHIN`):

    permission of …          3 s    a broker registers a changed permission at once (AdminBrokerProcessor); a
                                    NameServer that is told obeys at once (RouteInfoManager)
    order text of the route  3 s    the NameServer's own table (KVConfigManager)
    topic is ordered        35 s    brokers register every 30 s (registerNameServerPeriod); without the entry 4.9 takes
                                    the mark away again, and 5.x leaves it to the operator
    topic, group, offset,    3 s    on the master, who was told; of delayed messages one second more
    delay                   13 s    on a slave: copied every 10 s, first after 3 s (SlaveSynchronize, 4.9)
                            67 s    on a slave of 5.x: every tick of 3 s that comes 60 s after the last copy
    delay in the file       the same, but read in the slave's delayOffset.json: 4.9 writes that file and does not read
                            it before it is started again, so that asking the slave tells nothing

    not-shown     a node was asked and did not show it within its bound
    gone-again    it was shown, and then it was not, although nothing else had been told or undone it
    table-lost    what a master had been told is gone at the end, although its slave must have copied it, or no
                  machine was lost

A permission that a NameServer was told of (205, 327) stands until the broker's next registration with a changed table
of topics, which brings the broker's own permission again (RouteInfoManager#registerBroker). A topic that the broker
made by itself (a retry or dead-letter topic, a template's) it registers at once; the mark of an ordered topic with its
next registration, 30 s later. So looks at the broker tell how many topics it has, and :data:`TOLD_WITHIN` how long
after such a change the act may be undone; then the broker's own value is lawful, and no other.

Whoever was down or partitioned before the bound was over is excused until it is back, has joined again (15 s; a slave
asks no master before its next registration, 30 s later) and as long again as the bound; what comes later excuses
nothing. A change whose machine lost data meanwhile is not waited for, nor an offset whose broker was killed (it is
saved every 5 s). A master that is replaced by its slave's data keeps what had been copied: what it forgets
(``forgotten``) may not be older than the bound.

Limits. A change that was superseded before its bound is not judged. Text values are compared, numbers only grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.observations import Acted, Observed, acts_of, observations_of, shows
from checkers.history.spans import NEVER_NS
from checkers.runs.replication_bound import JOIN_NS
from checkers.verdict import Anomaly, Outcome, Verdict

S: Final = 1_000_000_000
LOOK_NS: Final = S
"""Looks come every half second; one may just have been missed."""

WITHIN: Final[Mapping[str, int]] = {
    "permission": 3 * S,
    "order": 3 * S,
    "topic is ordered": 35 * S,
    "topic": 3 * S,
    "group": 3 * S,
    "offset": 3 * S,
    "delay": 4 * S,
}
REGISTER_NS: Final = 30 * S
TOLD_WITHIN: Final[Mapping[str, int]] = {"topics": 3 * S, "ordered topics": 35 * S}
"""How long after a change of its topics a broker has told its NameServers, by what changed."""
TABLES: Final = ("topic", "group", "offset", "delay")
DELAY_FILE: Final = "delay in the file"
COPIED: Final = (*TABLES, DELAY_FILE)


@dataclass(frozen=True)
class _Wanted:
    """One (act, node, subject) and what became of it; ``shown_ns`` −1: no observation shows it."""

    act: Acted
    node: str
    subject: str
    value: Any
    within_ns: int
    until_ns: int
    """When the next act on it was invoked, or the last observation."""
    shown_ns: int = -1

    @property
    def due_ns(self) -> int:
        return self.act.complete_ns + self.within_ns

    @property
    def delay_ms(self) -> int:
        return max(0, self.shown_ns - self.act.complete_ns) // 1_000_000


def check_propagation(history: History, facts: RunFacts) -> Verdict:
    """Judge every act; UNKNOWN where nothing was done, or what was done could not be judged."""
    acts, observations = acts_of(history), observations_of(history, "look")
    by_node = _by_node(observations)
    wanted = [w for act in acts if act.is_done for w in _wanted(facts, act, acts, by_node)]
    tables = _forgotten(facts, acts, by_node)
    anomalies = [
        *(_not_shown(facts, w) for w in wanted if _is_late(facts, w) and not _never_stood(w, by_node)),
        *(anomaly for w in wanted for anomaly in _gone_again(facts, w, by_node)),
        *(_table_lost(facts, *lost) for lost in tables if not _may_forget(facts, lost)),
    ]
    reasons = [*_reasons(acts, wanted), *_never_told(wanted, by_node)]
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("propagation", outcome, tuple(anomalies), _measures(facts, acts, wanted, tables), tuple(reasons))


def _by_node(observations: list[Observed]) -> dict[str, dict[str, list[Observed]]]:
    """node → subject → observations that tell of it."""
    found: dict[str, dict[str, list[Observed]]] = {}
    for observation in observations:
        for subject in observation.shown:
            found.setdefault(observation.node, {}).setdefault(subject, []).append(observation)
    return found


def _wanted(
    facts: RunFacts, act: Acted, acts: list[Acted], by_node: Mapping[str, Mapping[str, list[Observed]]]
) -> Iterator[_Wanted]:
    for node, shown in act.shows.items():
        for subject, told_value in shown.items():
            value = _kept(facts, node, subject, told_value)
            if subject == "delay" and facts.cluster.is_slave(node) and facts.traits(node).slave_delay_is_in_file:
                continue  # it is in the file, DELAY_FILE
            told = by_node.get(node, {}).get(subject, [])
            later = [a.invoke_ns for a in acts if a.invoke_ns > act.invoke_ns and subject in a.shows.get(node, {})]
            last_ns = told[-1].invoke_ns if told else act.complete_ns
            until_ns = last_ns if isinstance(value, int) else min(later, default=last_ns)
            shown_ns = next(
                (
                    observation.complete_ns
                    for observation in told
                    if observation.complete_ns > act.invoke_ns
                    and observation.invoke_ns <= until_ns
                    and shows(observation.shown[subject], value)
                ),
                -1,
            )
            yield _Wanted(act, node, subject, value, within_ns(facts, node, subject), until_ns, shown_ns)


def _kept(facts: RunFacts, node: str, subject: str, value: Any) -> Any:
    """What must be shown: 5.x never takes the mark of an ordered topic away (TopicConfigManager)."""
    return "yes" if subject == "topic is ordered" and facts.traits(node).keeps_order_mark else value


def within_ns(facts: RunFacts, node: str, subject: str) -> int:
    """The bound of :data:`WITHIN`, or that of a slave's copy; with the backend's slack and the distance of
    observations."""
    if _is_copied(facts, node, subject):
        return _copied_within_ns(facts, node, subject)
    bound_ns = next(ns for name, ns in WITHIN.items() if subject == name or subject.startswith(f"{name} "))
    return bound_ns + facts.slack_ns() + LOOK_NS


def _copied_within_ns(facts: RunFacts, node: str, subject: str) -> int:
    """Within which time a slave of the release of *node* has copied it."""
    later_ns = S if subject.startswith("delay") else 0
    return facts.traits(node).tables_copied_within_ns + later_ns + facts.slack_ns() + LOOK_NS


def _is_copied(facts: RunFacts, node: str, subject: str) -> bool:
    """Whether *node* has it from its master."""
    return subject in COPIED and facts.cluster.is_slave(node)


def _is_late(facts: RunFacts, w: _Wanted) -> bool:
    end_ns = w.shown_ns if w.shown_ns >= 0 else w.until_ns
    return end_ns > _due_ns(facts, w)


def _due_ns(facts: RunFacts, w: _Wanted) -> int:
    """When the node must show it: faults that begin before that move it on, or to never."""
    due_ns = w.due_ns
    for fault in sorted(_faults_of(facts, w), key=lambda fault: fault.begin_ns):
        if fault.begin_ns < due_ns and _back_ns(facts, fault, w) > w.act.complete_ns:
            due_ns = NEVER_NS if _takes_along(fault, w.subject) else max(due_ns, _back_ns(facts, fault, w))
    return due_ns


def _back_ns(facts: RunFacts, fault: FaultFact, w: _Wanted) -> int:
    """The end of the bound that begins anew when whoever was hit has joined again."""
    registration_ns = REGISTER_NS if _is_copied(facts, w.node, w.subject) else 0
    return min(NEVER_NS, fault.heal_ns + JOIN_NS + registration_ns + w.within_ns)


def _takes_along(fault: FaultFact, subject: str) -> bool:
    return fault.takes_tables() or (fault.does("ends", "killed", "dark") and subject == "offset")


def _excused(facts: RunFacts, w: _Wanted, end_ns: int) -> bool:
    """Somebody who had a part in it was away between the act and *end_ns*, or had just come back."""
    faults = _faults_of(facts, w)
    return any(fault.begin_ns < end_ns and _back_ns(facts, fault, w) > w.act.complete_ns for fault in faults)


def _faults_of(facts: RunFacts, w: _Wanted) -> list[FaultFact]:
    return [fault for fault in facts.faults if _concerns(facts, fault, w.node) or _concerns(facts, fault, w.act.node)]


def _concerns(facts: RunFacts, fault: FaultFact, node: str) -> bool:
    """It hit the node, or another of the same broker name: a slave asks its master."""
    names = {facts.cluster.broker_of(hit) for hit in (*fault.left, *fault.right)}
    return node in (*fault.left, *fault.right) or facts.cluster.broker_of(node) in names


def _not_shown(facts: RunFacts, w: _Wanted) -> Anomaly:
    seen = f"it did after {w.delay_ms} ms" if w.shown_ns >= 0 else f"it did not until {facts.clock(w.until_ns)}"
    sentence = (
        f"{w.act.node} obeyed {w.act.name} at {facts.clock(w.act.complete_ns)}; {w.node} had to show {w.subject} as "
        f"{w.value!r} within {seconds(w.within_ns)}, {seen}."
    )
    return Anomaly("not-shown", sentence, (w.act.op,), {"node": w.node, "subject": w.subject})


def _gone_again(facts: RunFacts, w: _Wanted, by_node: Mapping[str, Mapping[str, list[Observed]]]) -> Iterator[Anomaly]:
    if w.shown_ns < 0 or isinstance(w.value, int):
        return
    last_ns = w.shown_ns
    for observation in by_node[w.node][w.subject]:
        if observation.invoke_ns <= w.shown_ns or observation.complete_ns >= w.until_ns:
            continue
        if not shows(observation.shown[w.subject], w.value):
            if not _excused(facts, w, observation.complete_ns) and not _shows_undone(w, last_ns, observation, by_node):
                yield _gone(facts, w, observation)
            return
        last_ns = observation.invoke_ns


def _gone(facts: RunFacts, w: _Wanted, observation: Observed) -> Anomaly:
    sentence = (
        f"{w.node} showed {w.subject} as {w.value!r} after {w.act.name}, and as "
        f"{observation.shown[w.subject]!r} at {facts.clock(observation.complete_ns)}, "
        "although nothing had been told since."
    )
    return Anomaly("gone-again", sentence, (w.act.op, observation.op), {"node": w.node, "subject": w.subject})


def _shows_undone(
    w: _Wanted, last_ns: int, observation: Observed, by_node: Mapping[str, Mapping[str, list[Observed]]]
) -> bool:
    """It shows what it must once the act is undone, which may have been since *last_ns*."""
    is_right = bool(shows(observation.shown[w.subject], w.act.undone.to))
    return is_right and _is_undone(w, last_ns, observation.complete_ns, by_node)


def _is_undone(w: _Wanted, begin_ns: int, end_ns: int, by_node: Mapping[str, Mapping[str, list[Observed]]]) -> bool:
    """Whether what undoes the act may have been told from *begin_ns* to *end_ns*."""
    for subject in w.act.undone.by:
        looks = [look for of_node in by_node.values() for look in of_node.get(subject, ())]
        told_ns = next(ns for name, ns in TOLD_WITHIN.items() if subject.startswith(f"{name} "))
        if _changed(looks, subject, begin_ns - told_ns, end_ns):
            return True
    return False


def _never_stood(w: _Wanted, by_node: Mapping[str, Mapping[str, list[Observed]]]) -> bool:
    """It was undone before it had to be seen."""
    return w.shown_ns < 0 and _is_undone(w, w.act.invoke_ns, w.due_ns, by_node)


def _changed(looks: list[Observed], subject: str, begin_ns: int, end_ns: int) -> bool:
    """Whether the last look before *begin_ns*, those until *end_ns* and the next one differ."""
    before = [look for look in looks if look.complete_ns <= begin_ns][-1:]
    within = [look for look in looks if look.complete_ns > begin_ns and look.invoke_ns < end_ns]
    after = [look for look in looks if look.invoke_ns >= end_ns][:1]
    return len({look.shown[subject] for look in (*before, *within, *after)}) > 1


# What a lost master takes along ---------------------------------------------------------------------------------------

_Lost = tuple[str, str, Acted, int, int]
"""node, subject, the first act of it that is gone, how many are, how old the first was when its master was hit (ns)."""


def _forgotten(facts: RunFacts, acts: list[Acted], by_node: Mapping[str, Mapping[str, list[Observed]]]) -> list[_Lost]:
    """Tables whose last observation on the master does not show what the master had obeyed a bound before it."""
    found = []
    for node in sorted({act.node for act in acts}):
        for subject in TABLES:
            told = by_node.get(node, {}).get(subject, [])
            if not told:
                continue
            last = told[-1]
            bound_ns = within_ns(facts, node, subject)
            gone = [
                act
                for act in acts
                if act.is_done
                and subject in act.shows.get(node, {})
                and act.complete_ns < last.invoke_ns - bound_ns
                and not shows(last.shown[subject], act.shows[node][subject])
            ]
            if gone:
                hit_ns = max((f.begin_ns for f in facts.faults if _concerns(facts, f, node)), default=last.invoke_ns)
                found.append((node, subject, gone[0], len(gone), hit_ns - gone[0].complete_ns))
    return found


def _may_forget(facts: RunFacts, lost: _Lost) -> bool:
    """Its slave's data has taken its place, and could not have had the first one that is gone."""
    node, subject, _, _, age_ns = lost
    slaves = facts.cluster.slaves(facts.cluster.broker_of(node))
    replaced = any(f.takes() == "replaced" and _concerns(facts, f, node) and f.effective != 0 for f in facts.faults)
    return replaced and age_ns <= max(_copied_within_ns(facts, copy, subject) for copy in slaves or (node,))


def _table_lost(facts: RunFacts, node: str, subject: str, act: Acted, count: int, age_ns: int) -> Anomaly:
    sentence = (
        f"{node} obeyed {act.name} at {facts.clock(act.complete_ns)}, {seconds(age_ns)} before the last fault of its "
        f"broker; at the end that and {count - 1} later ones are gone, and no lost machine explains it."
    )
    return Anomaly("table-lost", sentence, (act.op,), {"node": node, "subject": subject, "count": count})


# -- what it came to ---------------------------------------------------------------------------------------------------


def _reasons(acts: list[Acted], wanted: list[_Wanted]) -> list[str]:
    names = dict.fromkeys(act.name for act in acts)
    refused = [name for name in names if not any(act.is_done for act in acts if act.name == name)]
    told = {act.name: act.status for act in acts if not act.is_done}
    reasons = [f"{name or 'an act'} was never obeyed: {told[name]}" for name in refused]
    if not acts:
        reasons.append("nothing was changed: there are no effects to look for")
    elif not any(w.shown_ns >= 0 for w in wanted):
        reasons.append("nobody was seen to show anything")
    return reasons


def _never_told(wanted: list[_Wanted], by_node: Mapping[str, Mapping[str, list[Observed]]]) -> list[str]:
    """Who had to show something, and gave no answer about it in the whole run."""
    silent = dict.fromkeys((w.node, w.subject) for w in wanted if w.subject not in by_node.get(w.node, {}))
    return [f"{node} never told of {subject}" for node, subject in silent]


def _measures(facts: RunFacts, acts: list[Acted], wanted: list[_Wanted], tables: list[_Lost]) -> dict[str, Any]:
    """``shown_after_ms``: the longest undisturbed delay by act and kind of node; ``forgotten``: by subject how many
    acts a lost master took along; ``forgotten_age_ms``: how long before the fault the oldest of them was obeyed."""
    after: dict[str, int] = {}
    for w in wanted:
        if w.shown_ns >= 0 and not _excused(facts, w, w.shown_ns):
            name = f"{w.act.name}/{_kind(facts, w.node)}"
            after[name] = max(after.get(name, 0), w.delay_ms)
    return {
        "acts": sum(act.is_done for act in acts),
        "refused": sum(not act.is_done for act in acts),
        "shown_after_ms": after,
        "forgotten": {subject: count for _, subject, _, count, _ in tables},
        **(
            {"forgotten_age_ms": {subject: age_ns // 1_000_000 for _, subject, _, _, age_ns in tables}}
            if tables
            else {}
        ),
    }


def _kind(facts: RunFacts, node: str) -> str:
    if facts.cluster.is_nameserver(node):
        return "nameserver"
    return "slave" if facts.cluster.is_slave(node) else "master"
