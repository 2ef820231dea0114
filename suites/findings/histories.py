"""What happened in a run, looked at for one finding: functions by name, for ``shows: {history: NAME}``.

Question: the verdict of a run is PASS either way (the mode allows both); which of the two was it?

Model. Each function gets the history and the run's folder and says :class:`Seen`. A history in which the act that
matters is missing is *undecided*, never *gone*.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from checkers.history.cluster import Cluster
from checkers.history.faults import FaultFact, faults_of
from checkers.history.history import History
from checkers.history.observations import observations_of
from harness.workloads.log import NO_CONNECTION
from reference_impl.environment import SECOND
from suites.findings.seen import Seen, there_if

Decider = Callable[[History, Path], Seen]
ATTEMPTS: Final = 3
"""Of a producer with two retries."""
LONG_STOP_NS: Final = 5 * SECOND
"""Twice what an orderly stop takes where nothing holds it up."""


def notes(history: History, step: str) -> Iterator[tuple[int, str, Any]]:
    """(ns, node, detail) of each note or act of that name."""
    events = history.events
    for row in np.flatnonzero(events.step.mask(step)).tolist():
        text = events.detail[row]
        yield int(events.ns[row]), events.node[row], json.loads(text) if text.startswith(("{", "[")) else text


def dropped_by_idle_connection(history: History, folder: Path) -> Seen:
    """Its log tells why a NameServer let the paused broker go."""
    texts = {name: _log_of(folder, name) for name in sorted(set(history.events.node.values)) if "namesrv" in name}
    idle = [name for name, text in texts.items() if "IDLE exception" in text]
    expired = [name for name, text in texts.items() if "expired" in text]
    if not idle and not expired:
        return Seen("undecided", f"no log of {', '.join(texts) or 'a NameServer'} says why the broker was dropped")
    return there_if(bool(idle), f"as idle at {', '.join(idle) or 'none'}, as expired at {', '.join(expired) or 'none'}")


def _log_of(folder: Path, node: str) -> str:
    files = [path for path in (folder / "nodes" / node / "log").rglob("*") if path.is_file()]
    return "".join(path.read_text("utf-8", "replace") for path in files if path.suffix != ".gz")


def clients_forget_brokers(history: History, folder: Path) -> Seen:
    """A running client that knew all brokers is told of fewer after the NameServers are back, and believes it."""
    back_ns = max((ns for ns, _, _ in notes(history, "heal")), default=0)
    if not back_ns:
        return Seen("undecided", "the NameServers were not started again")
    most: dict[str, int] = {}
    shrunk: set[str] = set()
    for ns, node, detail in notes(history, "routes"):
        known = len(detail["brokers"])
        if ns > back_ns and known < most.get(node, 0):
            shrunk.add(node)
        most[node] = max(known, most.get(node, 0))
    return there_if(bool(shrunk), f"{len(shrunk)} of {len(most)} clients knew fewer brokers than before")


def order_mark_is_kept(history: History, folder: Path) -> Seen:
    """Until the end of the run: what the last observation of each broker showed of the topic."""
    last: dict[str, str] = {}
    marked: set[str] = set()
    for node, shown in _shown(history):
        if (value := shown.get("topic is ordered")) is not None:
            last[node] = str(value)
            marked |= {node} if value == "yes" else set()
    if not marked:
        return Seen("undecided", "no broker was seen to mark the topic as ordered")
    kept = sorted(node for node in marked if last[node] == "yes")
    return there_if(bool(kept), f"{len(kept)} of {len(marked)} brokers still had the mark at the end")


def _shown(history: History) -> Iterator[tuple[str, dict[str, Any]]]:
    for observation in observations_of(history, "look"):
        yield observation.node, dict(observation.shown)


def retries_stay_at_one_broker(history: History, folder: Path) -> Seen:
    """Of the sends that the application was told to have failed: how many had every attempt at one broker. What came
    of an attempt before the last is not told, so that most of them may be stored (*info*)."""
    ops = history.ops
    failed = ops.message[ops.f.mask("produce") & ops.outcome.mask("fail", "info") & (ops.complete_ns >= 0)]
    tried = ops.f.mask("send")
    stayed = 0
    for message in failed.tolist():
        nodes = [ops.node[row] for row in np.flatnonzero(tried & (ops.message == message)).tolist()]
        stayed += len(nodes) == ATTEMPTS and len(set(nodes)) == 1
    in_vain = int((tried & ~ops.outcome.mask("ok", "weak")).sum())
    if not in_vain:
        return Seen("undecided", "no attempt of the producer met the dead broker")
    said = (
        f"{in_vain} attempts in vain, {len(failed)} sends failed, {stayed} of them after three attempts at one broker"
    )
    return there_if(bool(stayed), said)


def refuses_long_before_its_end(history: History, folder: Path) -> Seen:
    """For how long a broker that is asked to stop is still there, and answers no send. Of several stops the shortest
    counts: other work on the machine makes a stop longer, and never shorter."""
    stops = [fault for fault in faults_of(history.events) if _only_stops(fault)]
    refused_ns = [_refused_ns(history, stop, node) for stop in stops for node in stop.left]
    refused = [found for found in refused_ns if found is not None]
    if not stops or len(refused) < len(refused_ns):
        return Seen("undecided", "no orderly stop, or nobody sent anything while the broker stopped")
    took = _seconds(stop.inject_ns - stop.begin_ns for stop in stops)
    sentence = f"ended after {took}, and answered no send for the last {_seconds(refused)} of it"
    return there_if(min(refused) >= LONG_STOP_NS, f"{len(refused)} orderly stops: {sentence}")


def _only_stops(fault: FaultFact) -> bool:
    """Its act is over when the process has ended; that of a restart when the next one has begun."""
    return fault.does("ends", "stopped") and not fault.does("starts") and fault.effective == 1


def _refused_ns(history: History, stop: FaultFact, node: str) -> int | None:
    """From the last answer to a send until the process had ended; ``None`` where that was long and nobody sent."""
    ops = history.ops
    sends = ops.f.mask("send") & ops.node.mask(Cluster().broker_of(node))
    answered = sends & ops.outcome.mask("ok", "weak") & (ops.complete_ns < stop.inject_ns)
    last_ns = max(stop.begin_ns, int(ops.complete_ns[answered].max(initial=0)))
    refused_ns = stop.inject_ns - last_ns
    is_tried = (sends & (ops.invoke_ns >= last_ns) & (ops.invoke_ns < stop.inject_ns)).any()
    return refused_ns if is_tried or refused_ns < LONG_STOP_NS else None


def _seconds(spans_ns: Iterable[int]) -> str:
    """``1.6 to 2.5 s``."""
    ordered = sorted(spans_ns)
    return f"{ordered[0] / SECOND:.1f} to {ordered[-1] / SECOND:.1f} s"


def answered_while_forces_failed(history: History, folder: Path) -> Seen:
    """Whether a broker said anything to a send that began while its forces failed, before it was ended: one that stands
    still has acknowledged nothing, too."""
    faults = faults_of(history.events)
    failing = next((fault for fault in faults if fault.does("fails-forces")), None)
    ends_ns = [f.begin_ns for f in faults if failing and f.does("ends") and f.begin_ns > failing.inject_ns]
    if failing is None or not ends_ns:
        return Seen("undecided", "no force failed before the broker ended")
    ops = history.ops
    between = ops.f.mask("send") & (ops.invoke_ns > failing.inject_ns) & (ops.complete_ns < min(ends_ns))
    answered = int((between & (ops.complete_ns >= 0) & ~ops.status.mask(*NO_CONNECTION)).sum())
    return Seen("gone" if answered else "undecided", f"{answered} sends were answered while every force failed")


def stored_before_the_old_end(history: History, folder: Path) -> Seen:
    """Whether the log of a broker that had lost a part of it ended before its old end when that broker was ended once
    more: only then do old records lie right behind new ones. Who was not back by then has stored nothing new."""
    faults = faults_of(history.events)
    damage = next((fault for fault in faults if fault.takes() == "damaged"), None)
    ends_ns = [f.begin_ns for f in faults if damage and f.does("ends") and f.begin_ns > damage.heal_ns]
    if damage is None or not ends_ns:
        return Seen("undecided", "the broker was not ended once more after the damage")
    ops = history.ops
    stored = ops.f.mask("send") & (ops.position >= 0) & (ops.complete_ns >= 0)
    old = ops.position[stored & (ops.complete_ns < damage.begin_ns)]
    new = ops.position[stored & (ops.invoke_ns > damage.inject_ns) & (ops.complete_ns < min(ends_ns))]
    if not len(old) or not len(new):
        return Seen(
            "undecided", f"{len(old)} messages were stored before the damage, {len(new)} between it and the end"
        )
    said = f"{len(new)} messages were stored behind the damage, up to {new.max()} where {old.max()} had been the last"
    return Seen("gone" if new.max() < old.max() else "undecided", said)


CHANCES: Final[dict[str, Decider]] = {
    decider.__name__: decider for decider in (answered_while_forces_failed, stored_before_the_old_end)
}
"""*gone*: a run without the finding could have shown it; *undecided*: it could not."""

DECIDERS: Final[dict[str, Decider]] = {
    decider.__name__: decider
    for decider in (
        dropped_by_idle_connection,
        clients_forget_brokers,
        order_mark_is_kept,
        retries_stay_at_one_broker,
        refuses_long_before_its_end,
    )
}
