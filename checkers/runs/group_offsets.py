"""The check ``offsets``: is a group told how far it is, also after its broker was away?

Question: a new owner of a queue asks its master for the group's committed offset. Is the answer one that the master may
give, and if it is less than was committed, which fault explains it?

Model (RocketMQ: ConsumerOffsetManager). A master keeps the last commit, in memory; the file is written every few
seconds, without a force. A commit is *certain* if it was answered. The *floor* of a fetch is the certain commit to that
master, answered before the fetch began, that was invoked last and that every end of the master in between must have
left alone. What ends no process keeps all; an end in order, too, if the file can be written then; a kill keeps what
was followed by ``commits_kept_after`` in which it could be written; what takes data or tables keeps nothing. What is
told must be the value of a commit that does not lie entirely before the floor:

    offset-went-back    told less than the floor, or nothing at all
    offset-invented     told what nobody ever committed there
    offset-undone       told a greater value that a later certain commit had replaced
    commit-ahead        the group itself committed an offset below which something had not been delivered to it
    (allowed)           told less than the last certain commit, and a fault explains it: the deliveries that follow are
                        told as coming again for that reason

The grades of :mod:`checkers.objects.committed_offsets` are measured: how many (group, queue) are monotonic, and
linearizable as "the greatest wins", whoever was asked.

Limits. What a slave tells is counted, not judged: its copy is as old as its last look at the master, and it takes
commits of its own. 0 counts as nothing known, since a broker answers it for groups that it never heard of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.history.columns import NEVER, Bools
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.groups import Lane, delivering, faults_of_node, lanes_of, of_slaves, reusing_fault
from checkers.history.history import History
from checkers.history.listeners import wanted_tags
from checkers.history.spans import NEVER_NS, holds, outside
from checkers.objects.committed_offsets import OffsetInput, check_greatest_wins, check_monotonic, check_not_ahead
from checkers.verdict import Anomaly, Outcome, Verdict

NONE = -1
"""No offset is known."""


@dataclass(frozen=True)
class Told:
    """One answer to a question for a committed offset, and what it is measured by (rows of ``ops``, −1: none).

    ``last``: the last certain commit before it; ``floor``: the last of those that had to be there still; ``fault``:
    what lies between the two.
    """

    row: int
    value: int
    last: int
    floor: int
    fault: FaultFact | None


def check_offsets(history: History, facts: RunFacts) -> Verdict:
    """Judge every committed offset that a master told."""
    lanes = lanes_of(history)
    anomalies: list[Anomaly] = []
    counts: Counter[str] = Counter()
    for lane in lanes:
        counts["commits"] += len(lane.commits)
        counts["fetches"] += len(lane.fetches)
        told = told_by_masters(history, facts, lane)
        counts["told_by_slaves"] += len(lane.fetches) - len(told)
        for one in told:
            anomaly = _judge(history, facts, lane, one)
            anomalies += [anomaly] if anomaly else []
        anomalies += _ahead(history, facts, lane)
        counts.update(_grades(history, lane))
    by_masters = counts["fetches"] - counts["told_by_slaves"]
    reasons = () if by_masters else ("no master was ever asked for a committed offset",)
    measures = {
        **{
            name: counts[name]
            for name in ("commits", "fetches", "told_by_slaves", "lanes", "monotonic", "greatest_wins")
        },
        "went_back": sum(anomaly.kind == "offset-went-back" for anomaly in anomalies),
        "went_back_max": max((a.details["by"] for a in anomalies if a.kind == "offset-went-back"), default=0),
    }
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("offsets", outcome, tuple(anomalies), measures, reasons)


def _input(history: History, lane: Lane) -> OffsetInput:
    """*lane* as the grades of :mod:`checkers.objects.committed_offsets` take it; what was refused never happened."""
    ops = history.ops
    commits = lane.commits[~ops.outcome.mask("fail")[lane.commits]]
    ret = np.where(ops.outcome.mask("ok")[commits], ops.complete_event[commits], NEVER)
    known = ops.status.mask("OK")[lane.fetches] & ((ops.offset[lane.fetches] > 0) | (ops.offset[commits] == 0).any())
    return OffsetInput(
        w_value=ops.offset[commits],
        w_invoke=ops.invoke_event[commits],
        w_ret=ret,
        w_op=ops.op[commits],
        r_value=np.where(known, ops.offset[lane.fetches], NONE),
        r_invoke=ops.invoke_event[lane.fetches],
        r_ret=ops.complete_event[lane.fetches],
        r_op=ops.op[lane.fetches],
    )


def _grades(history: History, lane: Lane) -> dict[str, int]:
    """Which grades hold, whoever was asked."""
    offsets = _input(history, lane)
    return {
        "lanes": 1,
        "monotonic": check_monotonic(offsets).holds is True,
        "greatest_wins": check_greatest_wins(offsets).holds is True,
    }


def _ahead(history: History, facts: RunFacts, lane: Lane) -> Iterator[Anomaly]:
    """Commits of what had not been delivered: what stands below one in the end must have come before it."""
    ops, reads = history.ops, history.reads
    of_read = ops.rows(reads.op)
    listened = ops.f.mask("deliver") & ops.group.mask(lane.group) & (ops.queue == lane.queue)
    given = np.isin(of_read, delivering(history, lane.pulls)) | listened[of_read]
    drained = (ops.f.mask("drain") & (ops.queue == lane.queue))[of_read]
    there = np.unique(reads.offset[drained & _is_wanted(history, lane.group)])
    found = check_not_ahead(_input(history, lane), reads.offset[given], ops.complete_event[of_read[given]], there)
    for violation in found.violations:
        missing, value = violation.values
        cause = reusing_fault(facts, history.queues.broker_of(lane.queue))
        why = f", after {cause.words()}, which lets offsets be used again" if cause else ""
        sentence = (
            f"Group {lane.group} committed @{value} in {history.queues.name(lane.queue)} before @{missing} was "
            f"delivered to it ({violation.count} such commits){why}. Proof: {history.op_text(violation.ops[0])}."
        )
        details = {"group": lane.group, "queue": lane.queue, "offset": missing, "by": 0}
        yield Anomaly("commit-ahead", sentence, violation.ops, details, allowed=cause is not None)


def _is_wanted(history: History, group: str) -> Bools:
    """By row of reads: whether *group* wants that message."""
    wanted = wanted_tags(history, group)
    messages = history.messages
    if wanted is None:
        return np.ones(len(history.reads), dtype=np.bool_)
    return np.isin(history.reads.message, messages.message[messages.tags.mask(*wanted)])


def told_by_masters(history: History, facts: RunFacts, lane: Lane) -> list[Told]:
    """Every answer of a master to a fetch of *lane*."""
    rows = lane.fetches[~of_slaves(history, facts)[lane.fetches]].tolist()
    return [_told(history, facts, lane, row) for row in rows]


def _told(history: History, facts: RunFacts, lane: Lane, row: int) -> Told:
    ops = history.ops
    value = int(ops.offset[row]) if ops.status[row] == "OK" and ops.offset[row] > 0 else NONE
    to_node = lane.commits[ops.node.mask(ops.node[row])[lane.commits] & ops.outcome.mask("ok")[lane.commits]]
    certain = to_node[ops.complete_event[to_node] < ops.invoke_event[row]]
    last = int(certain[-1]) if len(certain) else -1
    for commit in certain[::-1].tolist():
        fault = _forgetting(history, facts, commit, row)
        if fault is None:
            return Told(row, value, last, commit, _forgetting(history, facts, last, row))
    return Told(row, value, last, -1, _forgetting(history, facts, last, row) if last >= 0 else None)


def _forgetting(history: History, facts: RunFacts, commit: int, fetch: int) -> FaultFact | None:
    """The fault between the two after which the master need not know the commit any more; ``None``: it must."""
    committed_ns, fetched_ns = int(history.ops.complete_ns[commit]), int(history.ops.complete_ns[fetch])
    node = history.ops.node[fetch]
    for fault in faults_of_node(facts, node):
        if fault.heal_ns < committed_ns or fault.begin_ns > fetched_ns:
            continue
        if fault.takes_tables() or (fault.does("ends") and not _is_saved(facts, node, committed_ns, fault)):
            return fault
    return None


def _is_saved(facts: RunFacts, node: str, committed_ns: int, end: FaultFact) -> bool:
    """Whether the file had the commit for certain when *end* ended the process."""
    contract, unsaved = facts.contract(), facts.conditions.unsaved(node)
    if end.does("ends", "stopped") and not holds(unsaved, end.begin_ns):
        return True
    reading = contract.reading if contract else None
    period_ns = (reading.commits_kept_after_ns if reading else NEVER_NS) + facts.slack_ns()
    return any(until - since > period_ns for since, until in outside(unsaved, committed_ns, end.begin_ns))


def _judge(history: History, facts: RunFacts, lane: Lane, told: Told) -> Anomaly | None:
    ops = history.ops
    floor = int(ops.offset[told.floor]) if told.floor >= 0 else NONE
    if floor > 0 and told.value < floor and not _may_be(history, lane, told):
        return _anomaly(history, facts, lane, told, "offset-went-back", told.floor)
    if told.value > 0 and not _was_committed(history, lane, told):
        return _anomaly(history, facts, lane, told, "offset-invented", told.last)
    if told.value > 0 and told.floor >= 0 and not _may_be(history, lane, told):
        return _anomaly(history, facts, lane, told, "offset-undone", told.floor)
    if told.last >= 0 and told.value < int(ops.offset[told.last]) and told.fault is not None:
        return _anomaly(history, facts, lane, told, "offset-went-back", told.last, allowed=True)
    return None


def _may_be(history: History, lane: Lane, told: Told) -> bool:
    """Whether a commit of that value does not lie entirely before the floor, nor after the fetch."""
    ops = history.ops
    to_node = lane.commits[ops.node.mask(ops.node[told.row])[lane.commits]]
    same = to_node[ops.offset[to_node] == max(told.value, 0)]
    ret = np.where(ops.outcome.mask("ok")[same], ops.complete_event[same], NEVER)
    is_concurrent = (ret >= ops.invoke_event[told.floor]) & (ops.invoke_event[same] < ops.complete_event[told.row])
    return bool((is_concurrent & ~ops.outcome.mask("fail")[same]).any())


def _was_committed(history: History, lane: Lane, told: Told) -> bool:
    ops = history.ops
    before = ops.invoke_event[lane.commits] < ops.complete_event[told.row]
    return bool((before & (ops.offset[lane.commits] == told.value)).any())


_WORDS = {
    "offset-went-back": "went back",
    "offset-invented": "was told an offset that nobody had committed",
    "offset-undone": "was told an offset that a later commit had replaced",
}


def _anomaly(
    history: History, facts: RunFacts, lane: Lane, told: Told, kind: str, against: int, *, allowed: bool = False
) -> Anomaly:
    ops = history.ops
    fetch = int(ops.op[told.row])
    commit = int(ops.op[against]) if against >= 0 else -1
    committed = int(ops.offset[against]) if against >= 0 else NONE
    value = f"@{told.value}" if told.value > 0 else "nothing"
    fault = told.fault or facts.nearest_fault(int(ops.complete_ns[told.row]))
    because = f" Nearest: {fault.words()}." if fault else ""
    if allowed and fault:
        is_unsaved = holds(facts.conditions.unsaved(ops.node[told.row]), fault.begin_ns)
        because = f" {fault.words()} explains it{' (its file could not be written then)' if is_unsaved else ''}."
    proof = f"{history.op_text(commit)}; {history.op_text(fetch)}" if commit >= 0 else history.op_text(fetch)
    sentence = (
        f"Group {lane.group} {_WORDS[kind]} in {history.queues.name(lane.queue)}: {ops.node[told.row]} told {value} at "
        f"{history.clock(int(ops.complete_ns[told.row]))}"
        f"{f', @{committed} had been committed' if commit >= 0 else ''}.{because} Proof: {proof}."
    )
    details = {
        "group": lane.group,
        "queue": lane.queue,
        "told": told.value,
        "committed": committed,
        "by": max(committed - max(told.value, 0), 0),
    }
    return Anomaly(kind, sentence, tuple(op for op in (commit, fetch) if op >= 0), details, allowed)
