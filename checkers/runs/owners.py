"""The check ``owners``: does every queue of a group have one owner, and is a new one found when that dies?

Question: members of a group share the queues of their topics. Who had which queue, for how long had two of them the
same one or nobody had it, and did it come right again?

Model. An op ``own`` is a member that has a queue, until it completes or the member dies. RocketMQ shares queues without
any agreement: each member does the same sum over what its broker says of the group, so two may have one queue, or
nobody, until all have heard of a change (:mod:`checkers.objects.ownership` finds both). Allowed therefore, and
measured; but within :data:`HANDOVER_NS` of calm (:mod:`checkers.runs.calm`) it has to end:

    two-owners    two members had a queue together for longer
    no-owner      nobody had it for longer, after somebody had had it

At the end of the run every queue has to have exactly one owner; where it has not, and there was too little calm to say
that this is wrong, the answer is UNKNOWN. Groups that broadcast have none.

Limits. A queue that no member ever had is none of the group's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.spans import NEVER_NS
from checkers.objects.ownership import Owned, nobody, together
from checkers.runs.calm import calm_ns
from checkers.verdict import Anomaly, Outcome, Verdict

HANDOVER_NS: Final = 30_000_000_000
"""Every member looks every 20 s (RocketMQ: RebalanceService), and learns of routes within 5 s here."""


def has_owners(history: History, facts: RunFacts) -> bool:
    """Whether members of a group told which queues they had."""
    return "own" in history.ops.f.values


def check_owners(history: History, facts: RunFacts) -> Verdict:
    """FAIL for two owners, or none, for too long without a reason."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("own"))
    groups = sorted({ops.group[row] for row in rows.tolist()})
    anomalies: list[Anomaly] = []
    reasons: list[str] = []
    longest = {"two_owners_max_ms": 0, "no_owner_max_ms": 0}
    for group in groups:
        own = rows[ops.group.mask(group)[rows]]
        owned = _owned(history, facts, own)
        anomalies += _two(history, facts, group, own, owned, longest)
        anomalies += _none(history, facts, group, own, owned, longest)
        reasons += _at_the_end(history, group, owned)
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    measures = {"groups": len(groups), "ownerships": len(rows), **longest}
    return Verdict("owners", outcome, tuple(anomalies), measures, tuple(reasons))


def end_of_run(history: History) -> int:
    """The last instant that is told."""
    return max(int(history.ops.complete_ns.max(initial=0)), int(history.events.ns.max(initial=0)))


def _owned(history: History, facts: RunFacts, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Owned:
    """A dead member owns nothing; what lasts ends just after the run."""
    ops = history.ops
    begin, end = ops.invoke_ns[rows], ops.complete_ns[rows].copy()
    end[end < 0] = end_of_run(history) + 1
    for place, row in enumerate(rows.tolist()):
        deaths = [down for down, _ in facts.conditions.down(ops.node[row]) if down >= begin[place]]
        end[place] = min([int(end[place]), *deaths])
    return Owned(ops.queue[rows], ops.node.codes[rows].astype(np.int64), begin, end)


def _two(
    history: History,
    facts: RunFacts,
    group: str,
    rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    owned: Owned,
    longest: dict[str, int],
) -> Iterator[Anomaly]:
    ops = history.ops
    for pair in together(owned):
        longest["two_owners_max_ms"] = max(longest["two_owners_max_ms"], (pair.end - pair.begin) // 1_000_000)
        if calm_ns(facts, pair.begin, pair.end) <= HANDOVER_NS + facts.slack_ns():
            continue
        first, second = int(rows[pair.first]), int(rows[pair.second])
        sentence = (
            f"Group {group}: {ops.node[first]} and {ops.node[second]} both had "
            f"{history.queues.name(int(ops.queue[first]))} from {history.clock(pair.begin)} to "
            f"{history.clock(pair.end)}."
        )
        proof = (int(ops.op[first]), int(ops.op[second]))
        yield Anomaly("two-owners", sentence, proof, {"group": group, "queue": int(ops.queue[first])})


def _none(
    history: History,
    facts: RunFacts,
    group: str,
    rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    owned: Owned,
    longest: dict[str, int],
) -> Iterator[Anomaly]:
    end = end_of_run(history)
    for lane in np.unique(owned.lane).tolist():
        began = int(owned.begin[owned.lane == lane].min(initial=NEVER_NS))
        for gap in nobody(owned, lane, began, end):
            longest["no_owner_max_ms"] = max(longest["no_owner_max_ms"], (gap[1] - gap[0]) // 1_000_000)
            if calm_ns(facts, *gap) <= HANDOVER_NS + facts.slack_ns():
                continue
            sentence = (
                f"Group {group}: nobody had {history.queues.name(lane)} from {history.clock(gap[0])} to "
                f"{history.clock(gap[1])}."
            )
            before = rows[(owned.lane == lane) & (owned.end <= gap[0])]
            proof = tuple(int(op) for op in history.ops.op[before][-1:])
            yield Anomaly("no-owner", sentence, proof, {"group": group, "queue": lane})


def _at_the_end(history: History, group: str, owned: Owned) -> Iterator[str]:
    end = end_of_run(history)
    for lane in np.unique(owned.lane).tolist():
        owners = owned.owner[(owned.lane == lane) & (owned.end > end)]
        if len(np.unique(owners)) != 1:
            yield f"{len(np.unique(owners))} members of {group} had {history.queues.name(lane)} when the run ended"
