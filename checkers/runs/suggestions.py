"""The check ``suggestions``: does every answer say where to read next, and is it the right place?

Question: a broker has answered a pull. Which broker id did it suggest for the next one, and was that what its settings
and its log say?

Model (RocketMQ: PullMessageProcessor, DefaultMessageStore#getMessage). Every answer that looked into the queue carries
a suggestion. Without ``slaveReadEnable`` it is 0, the master. With it, 1 if the last message of the answer lies further
behind the end of the broker's log than ``accessMessageInMemoryMaxRatio`` percent of its memory, else 0; an answer
without messages is 0. Nobody looks at how far the slave is. How far behind an answer was is bounded from below by the
positions that had been acknowledged before it was asked, and from above by all that the broker was ever told:

    not-suggested      an answer without a suggestion
    wrong-suggestion   the slave although it must not be, the master although the reader was surely too far behind
    slave-unasked      a slave was asked although neither an answer had suggested it nor its master was missing

Limits. The memory of a machine is not in a history: only a ratio of 0, the reference's own ``totalPhysicalMemorySize``,
or a log that is smaller than that share of a small machine's memory is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from checkers.history.cluster import MASTER_ID
from checkers.history.columns import Bools, Ints
from checkers.history.facts import RunFacts
from checkers.history.groups import LOOKED_AT, groups_of, of_slaves
from checkers.history.history import History
from checkers.history.spans import NEVER_NS
from checkers.verdict import Anomaly, Outcome, Verdict

SLAVE_ID = 1
"""RocketMQ: SubscriptionGroupConfig#whichBrokerWhenConsumeSlowly."""

DEFAULT_RATIO = 40
SMALL_MACHINE_BYTES = 1 << 30
"""No machine that runs a broker has less memory."""

RETURN_KNOWN_NS = 50_000_000_000
"""How long it may take until a member of a group knows that the master is back: a broker that was not ended registers
again within 30 s, a member asks every 5 s, and a pull may hang."""


def has_suggestions(history: History, facts: RunFacts) -> bool:
    """Whether this history tells of suggestions at all: others than groups' came into histories with the column."""
    return bool((history.ops.suggested >= 0).any()) or bool(groups_of(history))


def check_suggestions(history: History, facts: RunFacts) -> Verdict:
    """Judge the suggestion of every answered pull of the load."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("pull") & ops.status.mask(*LOOKED_AT) & (ops.queue >= 0))
    anomalies = [
        *_missing(history, rows),
        *(anomaly for node in _by_node(history, rows) for anomaly in _wrong(history, facts, node, rows)),
        *_unasked(history, facts),
    ]
    reasons = () if len(rows) else ("no broker answered a pull",)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("suggestions", outcome, tuple(anomalies), _measures(history, rows), reasons)


def _measures(history: History, rows: Ints) -> dict[str, object]:
    ops = history.ops
    found = rows[ops.status.mask("FOUND")[rows]]
    return {
        "answers": len(rows),
        "to_master": int((ops.suggested[rows] == MASTER_ID).sum()),
        "to_slave": int((ops.suggested[rows] > MASTER_ID).sum()),
        "answers_by_node": _by_node(history, rows),
        "found_by_node": _by_node(history, found),
    }


def _by_node(history: History, rows: Ints) -> dict[str, int]:
    """Node → how many of *rows* asked it, in the order of names; those that nobody asked are left out."""
    node = history.ops.node
    counts = np.bincount(node.codes[rows], minlength=len(node.values)).tolist()
    return {name: count for name, count in sorted(zip(node.values, counts, strict=True)) if count}


def _missing(history: History, rows: Ints) -> Iterator[Anomaly]:
    without = rows[history.ops.suggested[rows] < 0]
    if len(without):
        op = int(history.ops.op[without[0]])
        sentence = f"{len(without)} answers do not say which broker to ask next, the first: {history.op_text(op)}."
        yield Anomaly("not-suggested", sentence, (op,), {"count": len(without)})


def _wrong(history: History, facts: RunFacts, node: str, rows: Ints) -> Iterator[Anomaly]:
    ops = history.ops
    answers = rows[ops.node.mask(node)[rows]]
    properties = facts.nodes.get(node, {})
    to_slave = answers[ops.suggested[answers] > MASTER_ID]
    found = ops.status.mask("FOUND")
    if properties.get("slaveReadEnable", "false") != "true":
        yield from _one(history, node, to_slave, "it may not be read from")
        return
    yield from _one(history, node, to_slave[~found[to_slave]], "there was nothing more to read")
    limit, is_exact = _limit_bytes(properties)
    if not is_exact and _log_bytes(history, facts, node) < limit:
        yield from _one(history, node, to_slave, "the whole log is in its memory")
    if is_exact:
        to_master = answers[found[answers] & (ops.suggested[answers] == MASTER_ID)]
        far = to_master[_behind_at_least(history, facts, node, to_master) > limit]
        yield from _one(history, node, far, f"the reader was more than {limit} bytes behind", "the master")


def _limit_bytes(properties: Mapping[str, str]) -> tuple[int, bool]:
    """How far behind is far, and whether that is exactly known (else at least so much)."""
    ratio = int(properties.get("accessMessageInMemoryMaxRatio", DEFAULT_RATIO))
    memory = properties.get("totalPhysicalMemorySize")
    return int(memory or SMALL_MACHINE_BYTES) * ratio // 100, ratio == 0 or memory is not None


def _log_bytes(history: History, facts: RunFacts, node: str) -> int:
    """A bound on the log of *node*'s broker: twice the last position that was told, and what is not of the topic."""
    ops = history.ops
    sends = ops.f.mask("send") & ops.node.mask(facts.cluster.broker_of(node))
    return 2 * int(ops.position[sends].max(initial=0)) + (16 << 20)


def _log_is_broken_ns(facts: RunFacts, node: str) -> int:
    """From when on positions that the master of *node* had told say nothing about the end of its log."""
    master = facts.cluster.first_master(facts.cluster.broker_of(node))
    return min((f.begin_ns for f in facts.faults if f.takes() and master in f.left), default=NEVER_NS)


def _behind_at_least(history: History, facts: RunFacts, node: str, rows: Ints) -> Ints:
    """By how many bytes the last message of each answer certainly lay behind the end of the log: from its beginning to
    the beginning of the last message that had been acknowledged before, at least one byte (its own size)."""
    ops, reads = history.ops, history.reads
    sends = np.flatnonzero(ops.f.mask("send") & ops.node.mask(facts.cluster.broker_of(node)) & (ops.position >= 0))
    if facts.cluster.is_slave(node):
        sends = sends[:0]  # a slave may not have them yet
    sends = sends[np.argsort(ops.complete_event[sends], kind="stable")]
    ends = np.maximum.accumulate(ops.position[sends]) if len(sends) else ops.position[sends]
    broken_ns = _log_is_broken_ns(facts, node)
    where = dict(zip(ops.message[sends].tolist(), ops.position[sends].tolist(), strict=True))
    last = np.searchsorted(reads.op, ops.op[rows], side="right") - 1
    result = np.ones(len(rows), dtype=np.int64)
    for index, row in enumerate(rows.tolist()):
        position = where.get(int(reads.message[last[index]]))
        before = int(np.searchsorted(ops.complete_event[sends], ops.invoke_event[row]))
        if position is not None and before and ops.invoke_ns[row] < broken_ns:
            result[index] = max(1, int(ends[before - 1]) - position)
    return result


def _one(history: History, node: str, rows: Ints, why: str, what: str = "a slave") -> Iterator[Anomaly]:
    if not len(rows):
        return
    op = int(history.ops.op[rows[0]])
    sentence = f"{node} suggested {what} {len(rows)} times, although {why}. First: {history.op_text(op)}."
    yield Anomaly("wrong-suggestion", sentence, (op,), {"node": node, "count": len(rows)})


def _unasked(history: History, facts: RunFacts) -> Iterator[Anomaly]:
    """Groups ask a slave when an answer sent them there, or when the master was not in the routes: it was hit by
    something not long before."""
    ops = history.ops
    for group in groups_of(history):
        pulls = np.flatnonzero(ops.group.mask(group) & ops.f.mask("pull"))
        to_slaves = pulls[of_slaves(history, facts)[pulls]]
        to_slaves = to_slaves[~_gone(history, facts, to_slaves)]
        bad = [row for row in to_slaves.tolist() if not _sent_there(history, pulls, row)]
        if bad:
            op = int(ops.op[bad[0]])
            sentence = (
                f"Group {group} asked {ops.node[bad[0]]} {len(bad)} times, although no answer had suggested it and its "
                f"master was there. First: {history.op_text(op)}."
            )
            yield Anomaly("slave-unasked", sentence, (op,), {"group": group, "count": len(bad)})


def _sent_there(history: History, pulls: Ints, row: int) -> bool:
    """Whether the last answer in the queue, to anybody of the group, or one under way, suggested a slave."""
    ops = history.ops
    earlier = pulls[(ops.queue[pulls] == ops.queue[row]) & (ops.invoke_event[pulls] < ops.invoke_event[row])]
    answered = earlier[(ops.suggested[earlier] >= 0) & (ops.complete_event[earlier] < ops.invoke_event[row])]
    return bool(len(answered)) and bool((ops.suggested[answered[-2:]] > MASTER_ID).any())


def _gone(history: History, facts: RunFacts, rows: Ints) -> Bools:
    """Which of *rows* were asked while the master was hit by something, or before its return had got around."""
    ops = history.ops
    gone = np.zeros(len(rows), dtype=np.bool_)
    for fault in (fault for fault in facts.faults if fault.may_have_acted):
        hit = {*fault.left, *fault.right}
        brokers = [b for b in facts.cluster.brokers if facts.cluster.masters(b, *fault.lasts) & hit]
        nodes = [node for node in ops.node.values if facts.cluster.broker_of(node) in brokers]
        until_ns = min(fault.heal_ns, 2**61) + RETURN_KNOWN_NS + facts.slack_ns()
        at = ops.invoke_ns[rows]
        gone |= ops.node.mask(*nodes)[rows] & (at >= fault.begin_ns) & (at <= until_ns)
    return gone
