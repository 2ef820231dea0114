"""The check ``retries``: does what a listener refuses come again in time, counted, and end among the dead letters?

Question: a refused message comes again after 10 s, 30 s, 1 min …, each time with a count one greater, until the group
has had enough: then it is a dead letter. Was it ever early, counted too far, buried too soon or not at all?

Model (RocketMQ: SendMessageProcessor#consumerSendMsgBack). ``times`` of a delivery is how often the message had been
given back before; the one that follows a refusal at *times* waits for delay level 3 + *times*. An op ``bury`` is a
message that was read from %DLQ%group; ``times_max`` of its detail is how often the group is given a message again.

    retried-early    it came again before its delay was over (a clock that was set forward excuses it)
    over-max         it came with a count beyond ``times_max``: from the retry topic, or in calm
    buried-early     it is a dead letter, though nobody has refused it so often
    not-buried       it was refused at ``times_max``, and the dead letters that were read a while later have it not

A broker that could not take it back makes the member send it itself, or keep it (5 s): that is no retry from the retry
topic and counts for nothing here. The last one is allowed after a fault that takes data.

An orderly listener is given what it refused at once again, counted by its member; one that was refused at ``times_max``
is sent to the retry topic with that count and the delay that goes with it, which a dead letter of 4.9 waits for, too.

Limits. Counts that stay the same are the check ``listeners``' (not-counted), and refusals without any sequel, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.facts import RunFacts
from checkers.history.history import History, seconds
from checkers.history.listeners import LATER, Given, given_by_group, is_retry, orderly_limit
from checkers.history.spans import meet
from checkers.runs.calm import calm_ns
from checkers.runs.excuses import excuses
from checkers.verdict import Anomaly, Outcome, Verdict

S: Final = 1_000_000_000
DELAYS_S: Final = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""Levels 1 to 18 (RocketMQ: messageDelayLevel)."""
FIRST_LEVEL: Final = 3
ROUNDING_NS: Final = 2_000_000
BURIED_WITHIN_NS: Final = 9 * S
"""Of calm: a dead letter is put away at once, and a member whose broker does not take it tries again after 5 s."""
BURIED_AT_LAST_NS: Final = 60 * S
"""Whatever was the matter."""
_NAMED: Final = 10


def has_dead_letters(history: History, facts: RunFacts) -> bool:
    """Whether somebody read dead letters."""
    return "bury" in history.ops.f.values


def check_retries(history: History, facts: RunFacts) -> Verdict:
    """FAIL for retries that are early or too many, and for dead letters that are early or missing."""
    anomalies: list[Anomaly] = []
    counts = {"refused": 0, "retried": 0, "dead": 0, "times_max": 0}
    reasons: list[str] = []
    for given in given_by_group(history):
        buried, most = _buried(history, given.group)
        if most < 0:
            continue
        early = list(_early(history, facts, given))
        anomalies += early
        anomalies += _of_counts(history, facts, given, buried, most)
        times = given.times(history)
        counts["refused"] += int(history.ops.status.mask(LATER)[given.row].sum())
        counts["retried"] += int((times > 0).sum())
        counts["dead"] += len(buried)
        counts["times_max"] = max(counts["times_max"], int(times.max(initial=0)))
    if not counts["retried"]:
        reasons.append("nothing came again: no refused message shows anything")
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("retries", outcome, tuple(anomalies), counts, tuple(reasons))


def _buried(history: History, group: str) -> tuple[dict[int, int], int]:
    """Message → row of the read that showed it dead; and how often the group is given one again (−1: not told)."""
    ops, reads = history.ops, history.reads
    rows = np.flatnonzero(ops.f.mask("bury") & ops.group.mask(group))
    most = max((int(json.loads(ops.detail[row])["times_max"]) for row in rows.tolist() if ops.detail[row]), default=-1)
    found: dict[int, int] = {}
    for row in rows.tolist():
        first, last = np.searchsorted(reads.op, ops.op[row]), np.searchsorted(reads.op, ops.op[row], side="right")
        for message in reads.message[first:last].tolist():
            found.setdefault(message, row)
    found.pop(-1, None)
    return found, most


def _chains(given: Given) -> Iterator[list[int]]:
    """Places of the deliveries of each message, in order."""
    order = np.lexsort((np.arange(len(given.row)), given.message))
    chain: list[int] = []
    for place in order.tolist():
        if chain and given.message[chain[-1]] != given.message[place]:
            yield chain
            chain = []
        if given.message[place] >= 0:
            chain.append(place)
    if chain:
        yield chain


def _early(history: History, facts: RunFacts, given: Given) -> Iterator[Anomaly]:
    """What came from the retry topic sooner than any refusal at one less allows."""
    ops, times = history.ops, given.times(history)
    refused = ops.status.mask(LATER)[given.row]
    early: list[tuple[int, int, int]] = []
    for chain in _chains(given):
        first: dict[int, int] = {}
        for place in chain:
            row, count = int(given.row[place]), int(times[place])
            before = first.get(count - 1, -1)
            if before >= 0 and is_retry(history, int(ops.queue[row])):
                waited = int(ops.invoke_ns[row] - ops.invoke_ns[before])
                if waited < _delay_ns(count - 1) - ROUNDING_NS and not _clock_jumped(history, facts, before, row):
                    early.append((before, row, waited))
            if refused[place]:
                first.setdefault(count, row)
    if early:
        before, row, waited = early[0]
        sentence = (
            f"Group {given.group} was given {len(early)} refused messages again too early; the first after "
            f"{seconds(waited)}. Proof: {history.op_text(int(ops.op[before]))}; {history.op_text(int(ops.op[row]))}."
        )
        proof = tuple(int(ops.op[row]) for one in early[:_NAMED] for row in one[:2])
        yield Anomaly("retried-early", sentence, proof, {"group": given.group, "count": len(early)})


def _clock_jumped(history: History, facts: RunFacts, before: int, row: int) -> bool:
    """Whether some broker's clock was another's in between: its delays are then longer or shorter."""
    span = (int(history.ops.invoke_ns[before]), int(history.ops.invoke_ns[row]))
    return any(meet(facts.conditions.of_another_time(node), [span]) for node in facts.nodes)


def _of_counts(history: History, facts: RunFacts, given: Given, buried: dict[int, int], most: int) -> Iterator[Anomaly]:
    ops, times = history.ops, given.times(history)
    refused = ops.status.mask(LATER)[given.row]
    over = [row for row in given.row[times > most].tolist() if _is_too_many(history, facts, row)]
    yield from _told(history, given.group, "over-max", f"with a count beyond {most}", over)
    early = [row for message, row in buried.items() if not (refused & (given.message == message)).any()]
    tired = {int(given.message[p]): int(given.row[p]) for p in np.flatnonzero(refused & (times >= most)).tolist()}
    last = {m: int(times[(given.message == m) & refused].max(initial=-1)) for m in (*buried, *tired)}
    early += [row for message, row in buried.items() if 0 <= last[message] < most]
    yield from _told(
        history, given.group, "buried-early", "as dead letters, though it had not refused it so often", early
    )
    read_ns = max((int(ns) for ns in ops.invoke_ns[ops.f.mask("bury") & ops.group.mask(given.group)]), default=0)
    is_orderly = orderly_limit(history, given.group) is not None
    late_ns = {m: _delay_ns(last[m]) if is_orderly else 0 for m in tired}
    missing = [
        row
        for message, row in tired.items()
        if message not in buried and _must_be_buried(facts, int(ops.complete_ns[row]) + late_ns[message], read_ns)
    ]
    taken = bool(excuses(facts, "not-buried"))
    what = f"refused {most + 1} times and not among the dead letters"
    yield from _told(history, given.group, "not-buried", what, missing, allowed=taken)


def _delay_ns(times: int) -> int:
    """How long what was given back so often before waits when it is given back again."""
    return DELAYS_S[min(FIRST_LEVEL + times, len(DELAYS_S)) - 1] * S


def _is_too_many(history: History, facts: RunFacts, row: int) -> bool:
    """A member counts on while nobody takes what it gives back."""
    ns = int(history.ops.invoke_ns[row])
    return is_retry(history, int(history.ops.queue[row])) or calm_ns(facts, ns, ns + 1) > 0


def _must_be_buried(facts: RunFacts, refused_ns: int, read_ns: int) -> bool:
    """Whether there was time enough."""
    is_long = read_ns - refused_ns > BURIED_AT_LAST_NS
    return is_long or calm_ns(facts, refused_ns, read_ns) > BURIED_WITHIN_NS + facts.slack_ns()


def _told(
    history: History, group: str, kind: str, what: str, rows: list[int], *, allowed: bool = False
) -> Iterator[Anomaly]:
    if rows:
        ops = history.ops.op
        sentence = f"Group {group}: {len(rows)} messages {what}; the first: {history.op_text(int(ops[rows[0]]))}."
        proof = tuple(int(ops[row]) for row in rows[:_NAMED])
        yield Anomaly(kind, sentence, proof, {"group": group, "count": len(rows)}, allowed)
