"""The check ``member-logs``: do the members of a group have one log on their disks, and is it as it must be?

Question: when everything is over, is what each member has written down what its group agreed on?

Model. When the queues have been read the harness looks at the disk of every member (notes ``log_on_disk``, made by
``harness/member_logs.py``; ``expected``: the last entry that was there some seconds before). Nobody writes then, every
force and every note of what is committed is due. By the invariants of Raft and of DLedger's files:

    logs-differ        two members hold different entries under one index (log matching), or one lacks the end
    log-malformed      a record, a blank, an index unit or a unit of a queue is not where or what it must be; or what
                       the log holds is missing in its queue
    term-behind        a member's own term is smaller than that of its last entry
    not-noted          the checkpoint does not tell, after more than its three seconds, that everything is committed
    not-forced         what was written to the log more than ``forced_within`` ago is in memory only

A member of which a fault damaged a byte may differ, a damaged queue may lead elsewhere; whose forces failed or were
late has not forced. Writes from before its last start are those of a process that is gone.

Limits. Members that did not run at the end, and those that had not run for as long as it takes to catch up, are not
compared. Log files that have expired are compared as far as both have them. What is not forced is known in the
simulator only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.spans import meet
from checkers.verdict import Anomaly, Outcome, Verdict

STEP: Final = "log_on_disk"
BLOCK: Final = 64
"""So many entries have one check sum."""


@dataclass(frozen=True)
class Found:
    """What was found on the disk of *node* at *ns*; ``said`` as ``harness/member_logs.py`` tells it."""

    node: str
    ns: int
    said: dict[str, Any]

    @property
    def begin(self) -> int:
        return int(self.said["begin"])

    @property
    def end(self) -> int:
        return int(self.said["end"])

    @property
    def count(self) -> int:
        return self.end - self.begin + 1 if self.end >= 0 else 0


def has_member_logs(history: History, _: RunFacts) -> bool:
    """Whether anybody looked."""
    return bool((history.events.kind.mask("note") & history.events.step.mask(STEP)).any())


def check_member_logs(history: History, facts: RunFacts) -> Verdict:
    """All groups of *history*; UNKNOWN where no member could be judged."""
    found = [one for one in _found(history) if _can_be_judged(facts, one)]
    anomalies: list[Anomaly] = []
    for broker in facts.cluster.brokers:
        of_group = [one for one in found if facts.cluster.broker_of(one.node) == broker]
        for one in of_group:
            anomalies += [*_malformed(facts, one), *_behind(one), *_not_noted(one), *_not_forced(facts, one)]
        anomalies += [a for pair in combinations(of_group, 2) for a in _differences(facts, *pair)]
    measures = {"members": len(found), "entries": max((one.count for one in found), default=0)}
    if not measures["entries"] and not anomalies:
        reason = "no member that was looked at had an entry" if found else "no member ran for long enough at the end"
        return Verdict("member-logs", Outcome.UNKNOWN, measures=measures, reasons=(reason,))
    outcome = Outcome.FAIL if any(not anomaly.allowed for anomaly in anomalies) else Outcome.PASS
    return Verdict("member-logs", outcome, tuple(anomalies), measures)


def _found(history: History) -> Iterator[Found]:
    events = history.events
    for row in (events.kind.mask("note") & events.step.mask(STEP)).nonzero()[0].tolist():
        yield Found(events.node[row], int(events.ns[row]), json.loads(events.detail[row]))


def _can_be_judged(facts: RunFacts, one: Found) -> bool:
    """It ran all the time that it takes to catch up, and its disk took what it wrote."""
    contract, conditions = facts.contract(), facts.conditions
    caught_up_ns = contract.caught_up_within_ns if contract else 0
    lately = [(one.ns - caught_up_ns, one.ns + 1)]
    broken = [*conditions.still(one.node), *conditions.unwritten(one.node), *conditions.full(one.node)]
    return not meet(broken, lately)


def _malformed(facts: RunFacts, one: Found) -> Iterator[Anomaly]:
    wrong = one.said["wrong"]
    if wrong:
        is_damaged = _is_damaged(facts, one.node)
        yield _anomaly(
            "log-malformed",
            f"The log of {one.node}: {wrong[0][1]}"
            + (f", and {len(wrong) - 1} more like that" if len(wrong) > 1 else "")
            + (". A fault had damaged its files." if is_damaged else "."),
            [one.node],
            allowed=is_damaged,
            what=wrong[0][0],
        )


def _behind(one: Found) -> Iterator[Anomaly]:
    last = one.said["terms"][-1][0] if one.said["terms"] else -1
    if one.said["term"] < last:
        yield _anomaly(
            "term-behind",
            f"{one.node} has written down term {one.said['term']}, and its last entry is of term {last}: it may vote "
            f"in a term in which it has voted.",
            [one.node],
        )


def _not_noted(one: Found) -> Iterator[Anomaly]:
    known = one.said["checkpoint"][1] if one.said["checkpoint"] else -1
    if known < one.said["expected"]:
        yield _anomaly(
            "not-noted",
            f"{one.node} had entry {one.said['expected']} for some seconds, nobody wrote any more, and its checkpoint "
            f"says that {known} is the last committed one.",
            [one.node],
        )


def _not_forced(facts: RunFacts, one: Found) -> Iterator[Anomaly]:
    contract, conditions = facts.contract(), facts.conditions
    due_ns = one.ns - (contract.forced_within_ns if contract else 0) - facts.slack_ns()
    since_ns = max((ns for ns in facts.starts.get(one.node, ()) if ns <= one.ns), default=0)
    late = [(ns, size) for ns, size in one.said["unforced"] or () if since_ns <= ns <= due_ns]
    if late and not meet(conditions.flushes_nothing(one.node), [(late[0][0], one.ns)]):
        yield _anomaly(
            "not-forced",
            f"{one.node} wrote {sum(size for _, size in late)} bytes of its log from {facts.clock(late[0][0])} on that "
            f"no force had reached at {facts.clock(one.ns)}: a power cut would have taken them.",
            [one.node],
        )


def _differences(facts: RunFacts, one: Found, other: Found) -> Iterator[Anomaly]:
    """The first place at which both differ."""
    is_damaged = _is_damaged(facts, one.node) or _is_damaged(facts, other.node)
    where = _first_difference(one.said, other.said)
    if where:
        nodes = [one.node, other.node]
        damaged = " A fault had damaged one of them." if is_damaged else ""
        yield _anomaly("logs-differ", f"{where.format(*nodes)}{damaged}", nodes, allowed=is_damaged)


def _first_difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """In words, with ``{0}`` and ``{1}`` for the two; empty where what both have is the same."""
    sums = [{said["block"] + at: check for at, check in enumerate(said["blocks"])} for said in (one, other)]
    for block in sorted(sums[0].keys() & sums[1].keys()):
        if sums[0][block] != sums[1][block]:
            first = block * BLOCK
            return f"{{0}} and {{1}} hold different entries from {first} to {first + BLOCK - 1}."
    if one["end"] != other["end"]:
        return f"The log of {{0}} ends with entry {one['end']}, that of {{1}} with {other['end']}."
    both = min(len(one["rest"]), len(other["rest"]))
    if both and one["rest"][-both:] != other["rest"][-both:]:
        return f"{{0}} and {{1}} hold different entries among the last {both}, up to {one['end']}."
    return ""


def _is_damaged(facts: RunFacts, node: str) -> bool:
    return any(
        (fault.takes() == "damaged" or fault.does("damages")) and fault.took_effect_on(node) for fault in facts.faults
    )


def _anomaly(kind: str, sentence: str, nodes: list[str], *, allowed: bool = False, **details: Any) -> Anomaly:
    return Anomaly(kind, sentence, (), {"nodes": nodes, **details}, allowed)
