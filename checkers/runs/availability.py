"""Availability: when did nobody who asked get served, and how long after each fault did service return?

Question: for each queue and kind of operation, in which stretches of time was no operation *invoked* that succeeded?

Model. Successful operations are put on the axis by their invocation, so that a client's time-out (how long it waits for
a dead broker) changes nothing. A *window* is a stretch between two neighbouring successes, or from the last one to the
end of the load, in which at least one operation was invoked and did not succeed; it begins with the first such
invocation and ends with the next success. What nobody asked is not unavailability.

After a fault, for each queue: *detect* is the time from the fault to the first failing operation, *return* the time to
the first success invoked after it (RTO); between them lie *restart*, *elect* and *route*, where somebody told of
them. A guarantee is broken if

    not-recovered     operations were invoked after heal + deadline, and none of them succeeded; also what applications
                      asked their producers for, who ask nobody where they find no queue to write to
    others-down       while the fault lasted (at least 1 s, 10 operations) a broker that it did not hit served nobody

Limits. The resolution is the distance of invocations: it is reported (``resolution_ms``), windows shorter than that are
invisible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.history.columns import Ints
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.spans import NEVER_NS, Span, outside, prolonged, union
from checkers.runs.mechanisms import STALE_UNITS
from checkers.runs.routes import views_of
from checkers.runs.stale_units import DAMAGED_ANSWER, Way, in_words, way_to
from checkers.verdict import Anomaly, Outcome, Verdict

KINDS = {"send": ("send",), "read": ("pull",)}
_PERCENTILES = {"send_p50_us": 50, "send_p99_us": 99}
OTHERS_FLOOR_NS = 1_000_000_000
OTHERS_FLOOR_OPS = 10
NO_QUEUE = -1


@dataclass(frozen=True)
class Window:
    """No success of *kind* on *queue* was invoked in [begin_ns, end_ns); ``is_open``: none came after it either."""

    kind: str
    queue: int
    begin_ns: int
    end_ns: int
    attempts: int
    is_open: bool


@dataclass(frozen=True, slots=True)
class Lane:
    """Invocations of one kind on one queue, in order of time, and which of them succeeded."""

    kind: str
    queue: int
    ns: Ints
    success: np.ndarray[tuple[int], np.dtype[np.bool_]]
    op: Ints


def lanes_of(history: History) -> list[Lane]:
    """Sends and pulls of the load by queue (operations of the drain do not count). Who asks for a queue that the topic
    has not got, as a producer does that knows no route yet and takes that of the default topic, asks for no service."""
    ops = history.ops
    lanes: list[Lane] = []
    success = ops.outcome.mask("ok", "weak")
    is_queue = ~ops.of_no_queue() & (ops.queue >= 0)
    for kind, names in KINDS.items():
        rows = np.flatnonzero(ops.f.mask(*names) & is_queue)
        rows = rows[np.lexsort((ops.invoke_ns[rows], ops.queue[rows]))]
        if not len(rows):
            continue
        queues, first = np.unique(ops.queue[rows], return_index=True)
        for queue, in_queue in zip(queues.tolist(), np.split(rows, first[1:]), strict=True):
            lanes.append(Lane(kind, queue, ops.invoke_ns[in_queue], success[in_queue], ops.op[in_queue]))
    return lanes


def _of_applications(history: History) -> list[Lane]:
    """What applications wanted sent, in one lane: it goes to any queue of the topic."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("produce"))
    rows = rows[np.argsort(ops.invoke_ns[rows], kind="stable")]
    success = ops.outcome.mask("ok", "weak")[rows]
    return [Lane("produce", NO_QUEUE, ops.invoke_ns[rows], success, ops.op[rows])] if len(rows) else []


def windows_of(lane: Lane, end_ns: int) -> list[Window]:
    """All windows of a lane; *end_ns*: when the load ended."""
    failed = np.flatnonzero(~lane.success)
    if not len(failed):
        return []
    good = np.flatnonzero(lane.success)
    next_good = np.searchsorted(good, failed)
    windows = []
    _, first, counts = np.unique(next_good, return_index=True, return_counts=True)
    for index, count in zip(first.tolist(), counts.tolist(), strict=True):
        begin = int(lane.ns[failed[index]])
        place = int(next_good[index])
        is_open = place == len(good)
        end = max(end_ns, int(lane.ns[-1])) if is_open else int(lane.ns[good[place]])
        windows.append(Window(lane.kind, lane.queue, begin, end, count, is_open))
    return windows


def check_availability(history: History, facts: RunFacts) -> Verdict:
    """Windows, times to return, and the guarantees about both."""
    lanes = lanes_of(history)
    end_ns = _end_of_load(history, facts)
    windows = [window for lane in lanes for window in windows_of(lane, end_ns)]
    returns = [
        _return(history, facts, lane, fault) | _milestones(history, facts, fault, history.queues.broker_of(lane.queue))
        for fault in facts.faults
        for lane in lanes
    ]
    asked = [*lanes, *_of_applications(history)]
    anomalies = [*_not_recovered(history, facts, asked), *_others_down(history, facts, lanes)]
    reasons = [] if any(lane.success.any() for lane in lanes) else ["no operation succeeded: nothing was available"]
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict(
        "availability", outcome, tuple(anomalies), _measures(history, lanes, windows, returns), tuple(reasons)
    )


def _end_of_load(history: History, facts: RunFacts) -> int:
    """The last invocation of the load."""
    mask = history.ops.f.mask("send", "pull")
    return int(history.ops.invoke_ns[mask].max(initial=0))


def _return(history: History, facts: RunFacts, lane: Lane, fault: FaultFact) -> dict[str, Any]:
    """What one fault did to one lane; times in ns from the fault, −1: did not happen."""
    after = int(np.searchsorted(lane.ns, fault.begin_ns))
    failed = after + np.flatnonzero(~lane.success[after:])
    healed = int(np.searchsorted(lane.ns, fault.heal_ns))
    failed = failed[failed < max(healed, after + 1)] if len(failed) else failed
    start = int(failed[0]) if len(failed) else after
    if len(failed):  # what fails before the act is over may be a refusal, and the hit node may still serve the next
        start = max(start, int(np.searchsorted(lane.ns, fault.inject_ns)))
    good = start + np.flatnonzero(lane.success[start:])
    return {
        "fault": fault.fault,
        "kind": lane.kind,
        "queue": history.queues.name(lane.queue),
        "hit": facts.hits(fault, history.queues.broker_of(lane.queue)),
        "detect_ns": int(lane.ns[failed[0]]) - fault.begin_ns if len(failed) else -1,
        "return_ns": int(lane.ns[good[0]]) - fault.begin_ns if len(good) else -1,
    }


def _milestones(history: History, facts: RunFacts, fault: FaultFact, broker: str) -> dict[str, int]:
    """What had to happen before service could return, in ns from the fault, −1 where it did not (or nobody told).

    *restart*: a node of the broker was started; *elect*: one became master or leader; *route*: a NameServer took up
    the broker (its own note), or named it again to a client that it had not named it to.
    """
    if not facts.hits(fault, broker):
        return {"restart_ns": -1, "elect_ns": -1, "route_ns": -1}
    starts = [ns for node, times in facts.starts.items() if facts.cluster.broker_of(node) == broker for ns in times]
    events = history.events
    roles = events.kind.mask("role")
    elected = roles & events.step.mask("became_master", "became_leader")
    elections = [row for row in np.flatnonzero(elected).tolist() if facts.cluster.broker_of(events.node[row]) == broker]
    registered = [
        int(events.ns[row])
        for row in np.flatnonzero(roles & events.step.mask("broker_registered")).tolist()
        if f'"{broker}"' in events.detail[row]
    ]
    return {
        "restart_ns": _first_after(fault.begin_ns, starts),
        "elect_ns": _first_after(fault.begin_ns, events.ns[elections].tolist()),
        "route_ns": _first_after(fault.begin_ns, registered or _listed_again(history, broker, fault.begin_ns)),
    }


def _first_after(begin_ns: int, instants: list[int]) -> int:
    """From *begin_ns* to the first of *instants* after it, −1 without any."""
    return min((ns for ns in instants if ns > begin_ns), default=begin_ns - 1) - begin_ns


def _listed_again(history: History, broker: str, begin_ns: int) -> list[int]:
    """When a NameServer first named *broker* to a client after an answer without it."""
    found, missing = [], set()
    for view in views_of(history):
        if view.complete_ns > begin_ns and broker not in view.brokers:
            missing.add(view.server)
        elif view.server in missing and broker in view.brokers:
            found.append(view.complete_ns)
    return found


def _not_recovered(history: History, facts: RunFacts, lanes: list[Lane]) -> list[Anomaly]:
    """After heal and deadline somebody asked, and nobody was served."""
    last = _last_to_recover(facts)
    if last is None:
        return []
    fault, deadline_ns = last
    anomalies = []
    for lane in lanes:
        late = int(np.searchsorted(lane.ns, deadline_ns))
        if late < len(lane.ns) and not lane.success[late:].any():
            way = _stale_unit(history, facts, lane, late)
            anomalies.append(_stuck(history, lane, late, fault, deadline_ns - fault.heal_ns, way))
    return anomalies


def _last_to_recover(facts: RunFacts) -> tuple[FaultFact, int] | None:
    """The fault after which service was to be back last, and when: what several faults hold comes back with the last of
    them. ``None`` where a fault was never healed, or the contract says nothing."""
    found = [(fault, facts.guarantee(fault)) for fault in facts.faults if fault.effective != 0]
    due = [(fault, fault.heal_ns + guarantee.recover_within_ns) for fault, guarantee in found if guarantee is not None]
    return max(due, key=lambda one: one[1], default=None) if all(f.heal_ns < NEVER_NS for f, _ in due) else None


def _stale_unit(history: History, facts: RunFacts, lane: Lane, late: int) -> Way:
    """How it comes that every answer to the reads of *lane* from *late* on is bytes that are no record; else empty. One
    such place spoils the answers to all who ask for it together with places before it."""
    ops, rows = history.ops, history.ops.rows(lane.op[late:])
    if lane.queue == NO_QUEUE or not ops.status.mask(DAMAGED_ANSWER)[rows].all():
        return ()
    return way_to(history, facts, lane.queue, int(ops.offset[rows].max()), int(lane.op[late]))


def _stuck(history: History, lane: Lane, late: int, fault: FaultFact, within_ns: int, way: Way) -> Anomaly:
    queue = history.queues.name(lane.queue) if lane.queue != NO_QUEUE else ""
    where = f" on {queue}" if queue else ""
    op = int(lane.op[late])
    sentence = (
        f"No {lane.kind}{where} succeeded from {history.clock(int(lane.ns[late]))} on, {len(lane.ns) - late} were "
        f"tried, although {fault.words()} was healed at {history.clock(fault.heal_ns)} and service was to be back "
        f"within {seconds(within_ns)}. First: {history.op_text(op)}.{in_words(way)}"
    )
    details = {"queue": queue, "kind": lane.kind, "fault": fault.fault, "mechanism": STALE_UNITS if way else ""}
    return Anomaly("not-recovered", sentence, (op, int(lane.op[-1])), details)


def _others_down(history: History, facts: RunFacts, lanes: list[Lane]) -> list[Anomaly]:
    contract = facts.contract()
    if contract is None:
        return []
    anomalies = []
    for fault in facts.faults:
        guarantee = facts.guarantee(fault)
        if guarantee is not None and guarantee.others_up:
            anomalies += [_other_down(history, facts, fault, lane) for lane in lanes]
    return [anomaly for anomaly in anomalies if anomaly is not None]


def _other_down(history: History, facts: RunFacts, fault: FaultFact, lane: Lane) -> Anomaly | None:
    """The longest time within *fault* in which nothing else was the matter with the broker of *lane*, and nobody was
    served."""
    broker = history.queues.broker_of(lane.queue)
    if facts.hits(fault, broker) or facts.cluster.broker_of(broker) in map(facts.cluster.broker_of, fault.left):
        return None
    for begin_ns, end_ns in outside(_excused(facts, broker), fault.inject_ns, fault.heal_ns):
        first, last = (int(place) for place in np.searchsorted(lane.ns, (begin_ns, end_ns)))
        if last - first < OTHERS_FLOOR_OPS or lane.success[first:last].any():
            continue
        if int(lane.ns[last - 1] - lane.ns[first]) >= OTHERS_FLOOR_NS:
            return _down(history, fault, lane, first, last)
    return None


def _excused(facts: RunFacts, broker: str) -> list[Span]:
    """When *broker* need not serve whatever else happens: a fault has hold of it, of clients or of all NameServers, or
    it has not had the time to come back."""
    spans: list[Span] = []
    longest_ns = 0
    for fault in facts.faults:
        guarantee = facts.guarantee(fault)
        back_ns = guarantee.recover_within_ns if guarantee is not None else 0
        longest_ns = max(longest_ns, back_ns)
        if fault.effective != 0 and _concerns(facts, fault, broker):
            spans.append((fault.begin_ns, min(NEVER_NS, fault.lasts[1] + back_ns)))
    return union(spans, prolonged(facts.of_master(broker, facts.conditions.held_up), longest_ns))


def _concerns(facts: RunFacts, fault: FaultFact, broker: str) -> bool:
    cluster, hit = facts.cluster, {*fault.left, *fault.right}
    servers = cluster.nameservers()
    return (
        any(cluster.broker_of(node) == broker for node in hit)
        or any(cluster.is_client(node) for node in fault.left)
        or (bool(servers) and hit.issuperset(servers))
    )


def _down(history: History, fault: FaultFact, lane: Lane, first: int, last: int) -> Anomaly:
    queue = history.queues.name(lane.queue)
    sentence = (
        f"While {fault.words()} lasted, {queue}, which it did not hit, served none of {last - first} operations of "
        f"kind {lane.kind}. First: {history.op_text(int(lane.op[first]))}."
    )
    ops = (int(lane.op[first]), int(lane.op[last - 1]))
    return Anomaly("others-down", sentence, ops, {"queue": queue, "kind": lane.kind, "fault": fault.fault})


def _measures(
    history: History, lanes: list[Lane], windows: list[Window], returns: list[dict[str, Any]]
) -> dict[str, Any]:
    gaps = [int(np.diff(lane.ns).max()) for lane in lanes if lane.kind == "send" and len(lane.ns) > 1]
    hit = [r["return_ns"] for r in returns if r["hit"] and r["kind"] == "send" and r["detect_ns"] >= 0]
    return {
        "windows": [
            {
                "kind": window.kind,
                "queue": history.queues.name(window.queue),
                "begin_ns": window.begin_ns,
                "end_ns": window.end_ns,
                "attempts": window.attempts,
                "open": window.is_open,
            }
            for window in windows
        ],
        "returns": returns,
        "longest_ms": max((w.end_ns - w.begin_ns for w in windows), default=0) // 1_000_000,
        "rto_max_ms": max(hit, default=0) // 1_000_000,
        "resolution_ms": max(gaps, default=0) // 1_000_000,
        **_latencies(history),
    }


def _latencies(history: History) -> dict[str, int]:
    """Median and 99th percentile of sends that succeeded, in microseconds; nothing if none did."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("ok", "weak"))
    took_ns = np.sort(ops.complete_ns[rows] - ops.invoke_ns[rows])
    if not len(took_ns):
        return {}
    last = len(took_ns) - 1
    return {name: int(took_ns[last * percent // 100]) // 1000 for name, percent in _PERCENTILES.items()}
