"""The check ``delays``: is a delayed message never given early, and how late is it?

Question: a message was sent to be delivered at a time (``due_ns``). When did each group's listeners get it?

Model. ``due_ns`` is the time of the send's begin plus its delay: the broker counts from when it stores the message, so
that is the earliest lawful time. A delivery begins at the latest when it was recorded: what was recorded before it was
due, by more than :data:`ROUNDING_NS`, was early whatever the clocks say. That is allowed where the broker's wall clock,
which counts its time, was another one between the send and the delivery. Lateness is told by quantiles, and not judged:
RocketMQ guarantees none. A message that was acknowledged and never given is a FAIL (*never-given*), but for runs in
which a fault took data, and for what a broker took while its clock was set: that may be due long after the run.

What is due is put where it belongs once (*moved-twice*): a message that stands at more places than it was sent times
was moved again. A broker writes down every 10 s how far it has moved, and another member of its group hears of it 10 s
later; so a harm of that broker (``client_guarantees.yaml``) excuses what had been moved up to :data:`TOLD_NS` before
it, until :data:`SETTLE_NS` after it; one that took tables excuses everything.

Limits. Only the first delivery of a message counts. RocketMQ keeps whole milliseconds, and 4.9 looks for due messages
every 100 ms at best.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History, seconds
from checkers.history.listeners import Given, given_by_group, is_retry
from checkers.history.spans import meet
from checkers.logs.listening import first_deliveries
from checkers.runs.excuses import excuses
from checkers.verdict import Anomaly, Outcome, Verdict

ROUNDING_NS = 2_000_000
QUANTILES = (50, 90, 99, 100)
TOLD_NS = 25_000_000_000
SETTLE_NS = 30_000_000_000
_NAMED = 10


def has_delays(history: History, facts: RunFacts) -> bool:
    """Whether listeners were given anything in a run with delayed messages."""
    return "deliver" in history.ops.f.values and bool((history.messages.due_ns >= 0).any())


def check_delays(history: History, facts: RunFacts) -> Verdict:
    """FAIL for what was given early."""
    ops, messages = history.ops, history.messages
    delayed = messages.message[messages.due_ns >= 0]
    due = messages.due_ns[messages.due_ns >= 0]
    anomalies: list[Anomaly] = []
    late = []
    for given in given_by_group(history):
        listened = given.listened(history)
        size = 1 + max(int(delayed.max(initial=-1)), int(listened.value.max(initial=-1)))
        first = first_deliveries(listened, size)[delayed]
        there = first >= 0
        row = given.row[first[there]]
        anomalies += _never_given(history, facts, given.group, delayed[~there])
        anomalies += _moved_twice(history, facts, given, delayed)
        after_ns = ops.invoke_ns[row] - due[there]
        late.append(after_ns)
        anomalies += _early(history, facts, given.group, delayed[there], row, after_ns)
    after = np.concatenate(late) if late else np.zeros(0, dtype=np.int64)
    measures = {"delayed": len(delayed), "delays": _delays(history, delayed, due), "delivered": len(after)}
    if len(after):
        measures |= {f"late_p{q}_ms": int(np.percentile(after, q, method="higher")) // 1_000_000 for q in QUANTILES}
    reasons = () if len(after) else ("no delayed message was given to anybody",)
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("delays", outcome, tuple(anomalies), measures, reasons)


def _early(
    history: History, facts: RunFacts, group: str, messages: Ints, rows: Ints, after_ns: Ints
) -> Iterator[Anomaly]:
    """*messages* were first given by *rows*, so long after they were due."""
    ops = history.ops
    early = np.flatnonzero(after_ns < -ROUNDING_NS).tolist()
    sent_ns = _sent_ns(history) if early else {}
    jumped = [
        index
        for index in early
        if _clock_was_set(
            history, facts, sent_ns.get(int(messages[index]), 0), int(ops.invoke_ns[rows[index]]), int(rows[index])
        )
    ]
    for chosen, why, allowed in (
        ([index for index in early if index not in jumped], "", False),
        (jumped, " The clock of their broker had been set.", True),
    ):
        if chosen:
            named = "; ".join(f"m{int(messages[i])} {seconds(-int(after_ns[i]))} early" for i in chosen[:_NAMED])
            sentence = f"Group {group} was given {len(chosen)} delayed messages too early: {named}.{why}"
            proof = tuple(int(ops.op[rows[index]]) for index in chosen[:_NAMED])
            yield Anomaly("early", sentence, proof, {"group": group, "count": len(chosen)}, allowed)


def _sent_ns(history: History) -> dict[int, int]:
    """Message → when its application began to send it."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("produce")).tolist()
    return {int(ops.message[row]): int(ops.invoke_ns[row]) for row in rows}


def _clock_was_set(history: History, facts: RunFacts, begin_ns: int, end_ns: int, row: int) -> bool:
    """Whether a node of the broker of that op had another's clock in this span."""
    broker = history.queues.broker_of(int(history.ops.queue[row]))
    nodes = [node for node in facts.nodes if facts.cluster.broker_of(node) == broker]
    return any(meet(facts.conditions.of_another_time(node), [(begin_ns, end_ns)]) for node in nodes)


def _delays(history: History, delayed: Ints, due: Ints) -> int:
    """How many different delays were asked for: evidence that every level had messages."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("produce") & np.isin(ops.message, delayed))
    due_of = dict(zip(delayed.tolist(), due.tolist(), strict=True))
    return len({due_of[int(ops.message[row])] - int(ops.invoke_ns[row]) for row in rows.tolist()})


def _never_given(history: History, facts: RunFacts, group: str, messages: Ints) -> Iterator[Anomaly]:
    """Those of *messages* whose sends were acknowledged."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("produce") & ops.outcome.mask("ok") & np.isin(ops.message, messages))
    unknown = np.isin(ops.message[rows], _in_unknown_topics(history, facts))
    elsewhen = ~unknown & np.isin(ops.message[rows], _stored_at_another_time(history, facts))
    plain = ~unknown & ~elsewhen
    taken = [fault for fault in facts.faults if fault.takes() and fault.effective != 0]
    whose = f"; {taken[0].words()} took data." if taken else "."
    forgotten = "; their broker no longer knew its topics."
    later = "; their broker's clock was another one when it took them, so that they may be due after the run."
    for chosen, why, allowed in (
        (rows[plain], whose, bool(taken)),
        (rows[unknown], forgotten, True),
        (rows[elsewhen], later, True),
    ):
        if len(chosen):
            named = ", ".join(f"m{int(ops.message[row])}" for row in chosen[:_NAMED].tolist())
            yield Anomaly(
                "never-given",
                f"Group {group} was never given {len(chosen)} delayed messages that were acknowledged: {named}{why}",
                tuple(int(ops.op[row]) for row in chosen[:_NAMED].tolist()),
                {"group": group, "count": len(chosen)},
                allowed=allowed,
            )


def _stored_at_another_time(history: History, facts: RunFacts) -> Ints:
    """Delayed messages that a broker took while its clock was set otherwise."""
    ops = history.ops
    sends = np.flatnonzero(ops.f.mask("send_delayed") & ops.outcome.mask("ok")).tolist()
    return np.array(
        [int(ops.message[row]) for row in sends if _clock_was_set(history, facts, *_span(history, row), row)],
        dtype=np.int64,
    )


def _span(history: History, row: int) -> tuple[int, int]:
    return int(history.ops.invoke_ns[row]), int(history.ops.complete_ns[row])


def _in_unknown_topics(history: History, facts: RunFacts) -> Ints:
    """Delayed messages that a broker took which said, at the end, that it does not know the topic of the load. It then
    has lost that of delayed messages with it: both were made at one time. Whether it may, ``accounting`` judges."""
    ops, events = history.ops, history.events
    notes = np.flatnonzero(events.kind.mask("note") & events.step.mask("unreachable")).tolist()
    brokers = {facts.cluster.broker_of(events.node[row]) for row in notes}
    sends = np.flatnonzero(ops.f.mask("send_delayed") & ops.outcome.mask("ok")).tolist()
    lost = [int(ops.message[row]) for row in sends if history.queues.broker_of(int(ops.queue[row])) in brokers]
    return np.array(lost, dtype=np.int64)


def _moved_twice(history: History, facts: RunFacts, given: Given, delayed: Ints) -> Iterator[Anomaly]:
    """Deliveries from places that no send accounts for; ``allowed`` where a fault of the broker does."""
    ops = history.ops
    extra = [pair for places in _places(history, given, delayed) for pair in _beyond_sends(history, *places)]
    excused = [pair for pair in extra if _is_excused(history, facts, *pair)]
    for pairs, allowed in (([pair for pair in extra if pair not in excused], False), (excused, True)):
        if pairs:
            first, again = pairs[0]
            sentence = (
                f"Group {given.group} was given {len(pairs)} delayed messages from more places than they were sent to; "
                f"the first: {history.op_text(int(ops.op[first]))}, and again: {history.op_text(int(ops.op[again]))}."
            )
            proof = tuple(int(ops.op[row]) for row in pairs[0])
            yield Anomaly("moved-twice", sentence, proof, {"group": given.group, "count": len(pairs)}, allowed)


def _places(history: History, given: Given, delayed: Ints) -> Iterator[tuple[int, list[int]]]:
    """(message, the first delivery from each place of its own queues); of delayed messages."""
    ops, wanted = history.ops, set(delayed.tolist())
    found: dict[int, dict[tuple[int, int], int]] = {}
    for row, message in zip(given.row.tolist(), given.message.tolist(), strict=True):
        if message in wanted and not is_retry(history, int(ops.queue[row])):
            found.setdefault(message, {}).setdefault((int(ops.queue[row]), int(ops.offset[row])), row)
    yield from ((message, list(places.values())) for message, places in found.items() if len(places) > 1)


def _beyond_sends(history: History, message: int, rows: list[int]) -> list[tuple[int, int]]:
    """(the first delivery, one from a place that no attempt to send the message accounts for)."""
    ops = history.ops
    sends = ops.f.mask("send", "send_delayed") & (ops.message == message) & ~ops.outcome.mask("fail")
    return [(rows[0], row) for row in rows[max(1, int(sends.sum())) :]]


def _is_excused(history: History, facts: RunFacts, first: int, again: int) -> bool:
    """Whether the broker of the second place may have forgotten that it had moved the message."""
    ops = history.ops
    broker = history.queues.broker_of(int(ops.queue[again]))
    for fault in excuses(facts, "moved-twice"):
        begin, end = fault.lasts
        is_near = begin - TOLD_NS <= ops.invoke_ns[first] <= end + SETTLE_NS
        if facts.cluster.hits(fault, broker) and (is_near or fault.takes_tables()):
            return True
    return False
