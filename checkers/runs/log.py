"""The check ``log`` of a run: every queue an append-only log, epoch by epoch, with bounded staleness.

Question: does any answer contradict all others, and how late may a reader have been?

Model. Queues are objects by themselves, and each has an answer of its own (:mod:`checkers.logs.contradictions`). Each
epoch is decided without the claims "the end is at most …" (see :mod:`checkers.runs.log_operations`); any violation is
FAIL. Then each such claim is measured: it is *stale* if it began after the latest instant at which its offset can have
come into being, T̄(o) = min{hi(j) : j ≥ o}, and by as much as it began later. That is the least bound for which "every
answer is at most so old" holds. Time in which the broker was paused or dead does not count.

Operations in flight over a power cut may belong to either side of it (:mod:`checkers.runs.log_sides`): there a look at
all epochs at once says of each choice whether it is legal. How stale an answer of theirs was is not measured: the log
may just have lost its end.

Where a master shows only what every replica in sync has (``hides_unconfirmed``), an answer that promised nothing
(FLUSH_SLAVE_TIMEOUT) does not say that its message can be seen: there it counts from the first read that shows it, or
from the first acknowledgement behind it.

Limits. Staleness beyond the contract's bound is FAIL; without a contract it is only measured.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from checkers.history.columns import NEVER, Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History, seconds
from checkers.history.spans import length_ns, union
from checkers.logs.columns import ACKED, Claims, LogInput, LogViolation, no_ints
from checkers.logs.content import EMPTY, Content
from checkers.logs.contradictions import look_at_each
from checkers.logs.linear import check_log
from checkers.runs.group_copies import has_foreign_log
from checkers.runs.log_operations import BEFORE_ALL, Rows, inherit, input_of, rows_of
from checkers.runs.log_plan import TOO_MANY_CHOICES, Plan, plan_of
from checkers.runs.log_sides import TOO_MANY_SIDES, choose_sides
from checkers.runs.mechanisms import STALE_UNITS
from checkers.runs.stale_units import Way, in_words, way_to
from checkers.show.explain import log_sentence, near
from checkers.verdict import Anomaly, Outcome, Verdict

NEITHER_SIDE = (
    "Whichever side of the power cut each operation in flight over it belongs to, some answer is contradicted."
)

ONE_OF_SEVERAL = "That is so in one explanation of the power cuts; there may be others."


def check_logs(history: History, facts: RunFacts) -> Verdict:
    """Judge all queues of *history*."""
    rows = rows_of(history, facts)
    judged = _judge(history, facts, rows)
    if not judged.is_all_legal() and len(rows.in_flight()):
        judged = _judge_both_sides(history, facts, rows, judged)
    return _verdict(history, facts, rows, judged)


def _judge(history: History, facts: RunFacts, rows: Rows) -> _Judged:
    """The epochs one by one decide of a queue that is legal and shows all its messages, all at once of the others."""
    judged = _judge_epochs(history, facts, rows)
    if rows.epochs > 1 and (unsettled := judged.unsettled()):
        judged.give_over(unsettled, _judge_together(history, facts, rows, judged))
    return judged


def _judge_both_sides(history: History, facts: RunFacts, rows: Rows, judged: _Judged) -> _Judged:
    """With the operations in flight on the sides of the power cuts that explain most; *judged*: all before them."""

    def look(tried: Rows, queues: list[int]) -> Callable[[int], bool | None]:
        return _look(history, facts, tried, queues).is_legal

    sides = choose_sides(history.ops.queue, rows, look, judged.illegal.keys() | judged.open.keys())
    if sides.moved:
        moved = sides.rows.only(np.isin(history.ops.queue, sides.moved))
        judged.give_over(sides.moved, _judge(history, facts, moved))
    judged.on_neither_side = sides.contradicted
    judged.open.update(dict.fromkeys(sides.open, TOO_MANY_SIDES))
    return judged


@dataclass
class _Judged:
    """What all epochs came to, by queue; who is in neither ``illegal`` nor ``open`` is legal."""

    illegal: dict[int, list[LogViolation]] = field(default_factory=dict)
    open: dict[int, str] = field(default_factory=dict)
    """Why it is not known."""
    holes: set[int] = field(default_factory=set)
    """Somewhere an unknown send had to be where nobody saw one."""
    stale: dict[int, Staleness] = field(default_factory=dict)
    on_neither_side: tuple[int, ...] = ()

    def is_legal(self, queue: int) -> bool | None:
        """Whether everything but staleness is as it must be; ``None``: not known."""
        return False if queue in self.illegal else None if queue in self.open else True

    def is_all_legal(self) -> bool:
        return not self.illegal and not self.open

    def unsettled(self) -> list[int]:
        """Queues of which the epochs one by one cannot have the last word."""
        return sorted(self.illegal.keys() | self.holes)

    def give_over(self, queues: Collection[int], other: _Judged) -> None:
        """Replace the results of *queues* by those of *other*."""
        said: tuple[dict[int, Any], ...] = (self.illegal, self.open, self.stale)
        new_answers: tuple[dict[int, Any], ...] = (other.illegal, other.open, other.stale)
        for old, new in zip(said, new_answers, strict=True):
            for queue in queues:
                old.pop(queue, None)
            old.update(new)
        self.holes = (self.holes - set(queues)) | other.holes


def _judge_epochs(
    history: History,
    facts: RunFacts,
    rows: Rows,
    planned: tuple[LogInput, ...] | None = None,
    measured: bool = True,
) -> _Judged:
    """Epoch by epoch: as *planned*, or each with what the one before left. A queue is judged up to its first epoch that
    is illegal. How late answers were is only asked if it is to be *measured*."""
    judged = _Judged()
    content: Content | None = None
    for epoch in range(rows.epochs):
        log = input_of(history, rows, epoch) if planned is None else planned[epoch]
        log = log if content is None or planned is not None else inherit(log, rows, epoch, content)
        looked = look_at_each(log.without(judged.illegal), lambda rest: check_log(rest, fresh=False))
        for queue, violations in looked.contradicted.items():
            judged.illegal[queue] = [_named(history, content, violation) for violation in violations]
        log, result, content = looked.rest, looked.said, looked.said.content
        judged.open.update(dict.fromkeys(log.queues(), result.unknown[0]) if result.unknown else {})
        holes = np.flatnonzero(content.value == EMPTY)
        judged.holes.update(np.unique(np.searchsorted(content.slots.base, holes, side="right") - 1).tolist())
        if measured:
            _measure(history, facts, rows, log, content, judged.stale)
    return judged


def _judge_together(history: History, facts: RunFacts, rows: Rows, apart: _Judged) -> _Judged:
    """The queues that *apart* leaves unsettled: all epochs at once decide, what they came to apart explains."""
    queues = apart.unsettled()
    plan, judged = _planned(history, facts, rows, queues, measured=True)
    _settle(history, facts, plan, judged, apart)
    illegal = {queue: apart.stale[queue] for queue in queues if queue in apart.stale and not judged.is_legal(queue)}
    judged.stale = {queue: late for queue, late in judged.stale.items() if judged.is_legal(queue)} | illegal
    return judged


def _look(history: History, facts: RunFacts, rows: Rows, queues: list[int]) -> _Judged:
    """Whether *queues* are legal, and no more: the epochs one by one are only asked where all at once do not say so."""
    plan, judged = _planned(history, facts, rows, queues, measured=False)
    left = [*judged.illegal, *plan.open]
    apart = _Judged()
    if left:
        apart = _judge_epochs(history, facts, rows.only(np.isin(history.ops.queue, left)), measured=False)
    _settle(history, facts, plan, judged, apart)
    return judged


def _planned(history: History, facts: RunFacts, rows: Rows, queues: list[int], measured: bool) -> tuple[Plan, _Judged]:
    """An explanation of all epochs of *queues*, and what the theorem says of it."""
    rows = rows.only(np.isin(history.ops.queue, queues))
    plan = plan_of(history, rows, queues)
    return plan, _judge_epochs(history, facts, rows, plan.logs, measured)


def _settle(history: History, facts: RunFacts, plan: Plan, judged: _Judged, apart: _Judged) -> None:
    """Make *judged*, which knows of the explanations of *plan* only, the last word."""
    for queue in [*(queue for queue in judged.illegal if queue not in apart.illegal), *plan.open]:
        refuted = judged.illegal.pop(queue, [])
        if queue in apart.illegal or queue in apart.holes:
            found = [_anomaly(history, facts, violation).sentence for violation in refuted[:1]]
            judged.open[queue] = f"{found[0]} {ONE_OF_SEVERAL}" if found else TOO_MANY_CHOICES
    judged.illegal.update(
        {violation.queue: apart.illegal.get(violation.queue, [violation]) for violation in plan.violations}
    )


def _verdict(history: History, facts: RunFacts, rows: Rows, judged: _Judged) -> Verdict:
    anomalies = [
        _anomaly(history, facts, violation, queue in judged.on_neither_side)
        for queue, violations in judged.illegal.items()
        for violation in violations
    ]
    reasons = list(dict.fromkeys(judged.open.values()))
    stale = reduce(Staleness.worse, judged.stale.values(), Staleness())
    contract = facts.contract()
    bound_ns = contract.visible_within_ns if contract else NEVER
    if stale.count:
        anomalies.append(stale.anomaly(history, facts, int(bound_ns)))
    if not len(rows.polls):
        reasons.append("no message was read: nothing to compare the acknowledgements with")
    failed = any(not anomaly.allowed for anomaly in anomalies)
    measures = {
        "sends": len(rows.sends),
        "polls": len(rows.polls),
        "messages_read": len(history.reads),
        "empty_polls": len(rows.empties),
        "end_queries": len(rows.ends),
        "epochs": rows.epochs,
        "stale_answers": stale.count,
        "stale_max_ms": stale.worst_ns // 1_000_000,
    }
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("log", outcome, tuple(anomalies), measures, tuple(reasons))


OF_ANOTHER_LOG = ("wrong-queue", "resurrected")
"""What a queue shows whose group took over another group's log: what was sent there, and from then on the group's own
at places that its former log had used."""


def _anomaly(history: History, facts: RunFacts, violation: LogViolation, on_neither_side: bool = False) -> Anomaly:
    sentence = log_sentence(history, facts, violation)
    way = _stale_unit(history, facts, violation)
    return Anomaly(
        violation.kind,
        (f"{sentence} {NEITHER_SIDE}" if on_neither_side else sentence) + in_words(way),
        tuple(op for op in violation.ops if op >= 0),
        {
            "queue": history.queues.name(violation.queue),
            "low": violation.low,
            "high": violation.high,
            "values": list(violation.values),
            "low_by": violation.low_by,
            "high_by": violation.high_by,
            "count": violation.count,
            "mechanism": STALE_UNITS if way else "",
        },
        violation.kind in OF_ANOTHER_LOG and has_foreign_log(facts, history.queues.broker_of(violation.queue)),
    )


def _stale_unit(history: History, facts: RunFacts, violation: LogViolation) -> Way:
    """How it comes that a place is there which nobody wrote; empty for other violations, and without known reason."""
    if violation.kind != "hole-without-writer" or not violation.ops:
        return ()
    return way_to(history, facts, violation.queue, violation.low, violation.ops[-1])


def _named(history: History, before: Content | None, violation: LogViolation) -> LogViolation:
    """By what the whole run knows: a queue by itself does not know what was sent to others, nor what a cut took."""
    if violation.kind not in ("phantom", "failed-append-visible") or violation.values[0] < 0:
        return violation
    value, ops = violation.values[0], history.ops
    sends = np.flatnonzero(ops.f.mask("send") & (ops.message == value))
    possible = sends[~ops.outcome.mask("fail")[sends]]
    if violation.kind == "phantom" and len(sends):
        if len(possible) and not ((ops.queue[possible] >= 0) & (ops.queue[possible] != violation.queue)).all():
            return violation
        kind, sent = ("wrong-queue", possible[0]) if len(possible) else ("failed-append-visible", sends[0])
        return replace(violation, kind=kind, ops=(int(ops.op[sent]), *violation.ops))
    was_there = before is not None and bool((before.value == value).any())
    was_there = was_there or (before is not None and bool(ops.outcome.mask("ok", "weak")[sends].any()))
    return replace(violation, kind="resurrected") if was_there else violation


@dataclass(frozen=True)
class Staleness:
    """How many answers said less than had been acknowledged or seen, and the worst of them."""

    count: int = 0
    worst_ns: int = 0
    queue: int = -1
    offset: int = -1
    op: int = -1
    witness: int = -1

    def worse(self, other: Staleness) -> Staleness:
        worst = other if other.worst_ns >= self.worst_ns and other.count else self
        return replace(worst, count=self.count + other.count)

    def anomaly(self, history: History, facts: RunFacts, bound_ns: int) -> Anomaly:
        """The worst answer in words; a failure if it is later than *bound_ns*."""
        queue = history.queues.name(self.queue)
        allowed = self.worst_ns <= bound_ns
        proof = "; ".join(history.op_text(op) for op in (self.witness, self.op) if op >= 0)
        verdict = "within what the contract allows" if allowed else f"the contract allows {seconds(bound_ns)}"
        sentence = (
            f"{queue} was said to end at @{self.offset} {seconds(self.worst_ns)} after more was known to be there "
            f"({self.count} such answers, this is the worst), {verdict}. Proof: {proof}. "
            f"{near(history, facts, (self.op,))}"
        )
        way = () if allowed else way_to(history, facts, self.queue, self.offset, -1)
        details = {"queue": queue, "offset": self.offset, "stale_ns": self.worst_ns, "count": self.count}
        details |= {"mechanism": STALE_UNITS} if way else {}
        ops = tuple(op for op in (self.witness, self.op) if op >= 0)
        return Anomaly("stale", sentence + in_words(way), ops, details, allowed)


def _measure(
    history: History, facts: RunFacts, rows: Rows, log: LogInput, content: Content, found: dict[int, Staleness]
) -> None:
    """Enter how stale the answers of one epoch were, by queue."""
    if not len(log.empties) and not len(log.ends):
        return
    latest = _latest_birth(log, content, _unconfirmed(history, facts, log, content))
    for claims in (log.empties, log.ends):
        slots = content.slots.at_or_above(claims.queue, claims.at)
        inside = np.flatnonzero(slots >= 0)
        late = inside[claims.invoke[inside] > latest[slots[inside]]]
        claimed = history.ops.rows(claims.op[late])
        late = late[rows.last[claimed] == rows.began[claimed]]
        for row in late.tolist():
            one = _stale(history, facts, claims, row, int(latest[slots[row]]))
            found[one.queue] = found.get(one.queue, Staleness()).worse(one)


def _unconfirmed(history: History, facts: RunFacts, log: LogInput, content: Content) -> Ints:
    """Slots of messages that are stored, and that nobody need be shown until replicas have them."""
    contract = facts.contract()
    if contract is None or contract.reading is None or not contract.reading.hides_unconfirmed:
        return no_ints()
    stored = np.flatnonzero((log.appends.outcome == ACKED) & (log.appends.invoke > BEFORE_ALL))
    weak = stored[history.ops.outcome.mask("weak")[history.ops.rows(log.appends.op[stored])]]
    return content.slots.of(log.appends.queue[weak], log.appends.offset[weak])


def _latest_birth(log: LogInput, content: Content, unconfirmed: Ints) -> Ints:
    """T̄ by slot: the latest event at which the offset can have come into being, for who reads.

    Of what an epoch inherited only that counts which something of its own shows to be there: the rest may be lost. What
    is *unconfirmed* is due when it, or what is behind it, was read.
    """
    latest = content.due_shared().copy()
    if len(unconfirmed):
        latest[unconfirmed] = NEVER
        np.minimum.at(latest, content.slots.of(log.polls.queue, log.polls.tops()), log.polls.ret)
    base = content.slots.base
    shown = base[:-1].copy()
    answered = (log.appends.outcome == ACKED) & (log.appends.ret < NEVER)
    own = np.flatnonzero(answered & (log.appends.invoke > BEFORE_ALL))
    np.maximum.at(shown, log.appends.queue[own], content.slots.of(log.appends.queue[own], log.appends.offset[own]) + 1)
    np.maximum.at(shown, log.polls.queue, content.slots.of(log.polls.queue, log.polls.tops()) + 1)
    for queue in range(len(base) - 1):
        latest[shown[queue] : base[queue + 1]] = NEVER
        part = latest[base[queue] : base[queue + 1]]
        part[:] = np.minimum.accumulate(part[::-1])[::-1]
    return latest


def _stale(history: History, facts: RunFacts, claims: Claims, row: int, event: int) -> Staleness:
    ops = history.ops
    op, queue = int(claims.op[row]), int(claims.queue[row])
    begun_ns = int(ops.invoke_ns[ops.rows(claims.op[row : row + 1])[0]])
    witness_row, known_ns = _instant(history, event)
    late_ns = begun_ns - known_ns - _standstill_ns(facts, history.queues.broker_of(queue), known_ns, begun_ns)
    witness = int(ops.op[witness_row]) if witness_row >= 0 else -1
    return Staleness(1, max(late_ns, 0), queue, int(claims.at[row]), op, witness)


def _instant(history: History, event: int) -> tuple[int, int]:
    """(row of the operation that completed with *event* or −1, when that was)."""
    rows = np.flatnonzero(history.ops.complete_event == event)
    if len(rows):
        return int(rows[0]), int(history.ops.complete_ns[rows[0]])
    place = int(np.searchsorted(history.events.event, event))
    return -1, int(history.events.ns[min(place, len(history.events) - 1)])


def _standstill_ns(facts: RunFacts, broker: str, begin: int, end: int) -> int:
    """How much of [begin, end] the master of *broker* did nothing, or not all of it, or could write nothing."""
    idle = facts.of_master(broker, facts.conditions.held_up)
    return length_ns(union(idle, facts.of_master(broker, facts.conditions.unwritten)), begin, end)
