"""The check ``replication-links``: does a master speak to its slaves as it should, and part from those who are silent?

Question: what shows on the connections of replication alone: frames, heartbeats, and who ended them, when, and why?

Model (RocketMQ: HAService, HAConnection). The operator ``made-up-slave`` leaves a note for all that happens on its own
connections (``ha_line``):

    frame-astray       a frame does not begin where the one before ended; or the first not where the slave had reported
                       its end, or, for an end of 0, not where a file of the log begins
    heartbeat-missing  no frame came for ``haSendHeartbeatInterval`` and :data:`LATE_NS`
    heartbeat-early    an empty frame sooner than an interval after the frame before
    silent-kept        a slave that says nothing is still connected after ``haHousekeepingInterval`` and :data:`LATE_NS`
    thrown-out         a connection was ended by the master, which had heard of its slave within that time

The reference's brokers tell of the connections between them (events ``ha_…``), where ends are judged alike: a master
that closes a connection because its slave is silent, and a slave of 5.x that leaves its master for the same reason,
are wrong where both ran and nothing stood between them (``thrown-out``, ``master-silent``).

Limits. Times in which a fault held up one of the two, or stood between them, and as long again afterwards, are not
judged. Where a broker writes no such events, nothing is said of its real slaves.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

from checkers.history.facts import RunFacts
from checkers.history.history import History, seconds
from checkers.history.spans import Span, meet
from checkers.verdict import Anomaly, Outcome, Verdict

STEP: Final = "ha_line"
LATE_NS: Final = 1_100_000_000
"""RocketMQ looks every 100 ms when it has nothing to send, and waits a second at most for something to read."""
CLOSED, GONE, SILENT, BY_MASTER = "ha_slave_closed", "ha_master_gone", "silent", "closed by the master"


class Setting(NamedTuple):
    """A property and its default."""

    name: str
    default_ms: int


HEARTBEAT, HOUSEKEEPING = Setting("haSendHeartbeatInterval", 5_000), Setting("haHousekeepingInterval", 20_000)
FILE_BYTES: Final = "mappedFileSizeCommitLog"


@dataclass
class _Line:
    """One connection of the made-up slave. ``frames``: (instant, offset, size); ``ended``: by the master."""

    node: str
    to: str
    way: str
    begin_ns: int = 0
    over_ns: int = 0
    ended: bool = False
    reports: list[tuple[int, int]] = field(default_factory=list)
    frames: list[tuple[int, int, int]] = field(default_factory=list)

    def takes(self, ns: int, said: dict[str, Any]) -> None:
        """The next note."""
        self.over_ns = ns
        if said["what"] == "connected":
            self.begin_ns = ns
        elif said["what"] == "report":
            self.reports.append((ns, said["offset"]))
        elif said["what"] == "frame":
            self.frames.append((ns, said["offset"], said["size"]))
        else:
            self.ended = said["what"] == "ended"


def has_replication_links(history: History, facts: RunFacts) -> bool:
    """Whether anybody told of such connections."""
    return bool(_notes(history, "note", STEP).any() or _notes(history, "role", CLOSED, GONE).any())


def check_replication_links(history: History, facts: RunFacts) -> Verdict:
    """FAIL for what was wrong; UNKNOWN where a made-up slave was there and got no heartbeat, or was never left alone
    for long enough to be thrown out."""
    lines = [line for line in _lines(history) if line.begin_ns]
    anomalies = [anomaly for line in lines for anomaly in _judged(facts, line)]
    anomalies += _between_brokers(history, facts)
    beats = sum(size == 0 for line in lines for _, _, size in line.frames)
    thrown_out = sum(line.ended and line.way == SILENT for line in lines)
    reasons = []
    if lines and not beats:
        reasons.append("no heartbeat came: there was always something to send, or nothing ever")
    if lines and not thrown_out:
        reasons.append("no connection of a slave that says nothing was ended")
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    measures = {"connections": len(lines), "heartbeats": beats, "thrown_out": thrown_out}
    return Verdict("replication-links", outcome, tuple(anomalies), measures, tuple(reasons))


def _notes(history: History, kind: str, *steps: str) -> Any:
    return history.events.kind.mask(kind) & history.events.step.mask(*steps)


def _lines(history: History) -> list[_Line]:
    events = history.events
    lines: dict[tuple[str, int], _Line] = {}
    for row in _notes(history, "note", STEP).nonzero()[0].tolist():
        said = json.loads(events.detail[row])
        key = events.node[row], said["line"]
        line = lines.setdefault(key, _Line(events.node[row], said["to"], said["way"]))
        line.takes(int(events.ns[row]), said)
    return list(lines.values())


# A made-up slave's ----------------------------------------------------------------------------------------------------


def _judged(facts: RunFacts, line: _Line) -> Iterator[Anomaly]:
    """The first of each kind."""
    first: dict[str, Anomaly] = {}
    for anomaly in (*_astray(facts, line), *_beats(facts, line), *_ends(facts, line)):
        first.setdefault(anomaly.kind, anomaly)
    yield from first.values()


def _astray(facts: RunFacts, line: _Line) -> Iterator[Anomaly]:
    if not line.frames or not line.reports:
        return
    reported, (ns, offset, _) = line.reports[0][1], line.frames[0]
    file_bytes = int(facts.cluster.properties(line.to, ns).get(FILE_BYTES, 1 << 30))
    if offset % file_bytes if reported == 0 else offset != reported:
        yield _anomaly(facts, line, "frame-astray", ns, f"had reported {reported}, and was sent what is at {offset}")
    for (_, before, size), (ns, offset, _) in pairwise(line.frames):
        if offset != before + size:
            words = f"was sent what is at {offset}, behind what ends at {before + size}"
            yield _anomaly(facts, line, "frame-astray", ns, words)


def _beats(facts: RunFacts, line: _Line) -> Iterator[Anomaly]:
    """Nothing is owed before the first report, and none of a slave that is about to be thrown out less than others."""
    if not line.reports:
        return
    interval_ns = _setting_ns(facts, line.to, line.begin_ns, HEARTBEAT)
    slack_ns = facts.slack_ns()
    instants = [(line.reports[0][0], -1), *((ns, size) for ns, _, size in line.frames), (line.over_ns, -1)]
    for (before_ns, size_before), (ns, size) in pairwise(instants):
        if ns - before_ns > interval_ns + LATE_NS + slack_ns and not _is_hindered(facts, line, (before_ns, ns)):
            words = f"was sent nothing for {seconds(ns - before_ns)}, not even a heartbeat"
            yield _anomaly(facts, line, "heartbeat-missing", ns, words)
        is_early = size == 0 and size_before >= 0 and ns - before_ns < interval_ns - slack_ns
        if is_early and not _is_hindered(facts, line, (before_ns, ns)):
            words = (
                f"was sent a heartbeat {seconds(ns - before_ns)} after another frame; {seconds(interval_ns)} are due"
            )
            yield _anomaly(facts, line, "heartbeat-early", ns, words)


def _ends(facts: RunFacts, line: _Line) -> Iterator[Anomaly]:
    patience_ns = _setting_ns(facts, line.to, line.begin_ns, HOUSEKEEPING)
    last_ns = line.reports[-1][0] if line.reports else line.begin_ns
    silent_ns = line.over_ns - last_ns
    span = (last_ns, line.over_ns)
    if silent_ns > patience_ns + LATE_NS + facts.slack_ns() and not _is_hindered(facts, line, span):
        yield _anomaly(
            facts, line, "silent-kept", line.over_ns, f"had said nothing for {seconds(silent_ns)}, and was connected"
        )
    if line.ended and silent_ns < patience_ns - facts.slack_ns() and not _is_hindered(facts, line, span):
        words = f"was thrown out {seconds(silent_ns)} after its last report; {seconds(patience_ns)} are its time"
        yield _anomaly(facts, line, "thrown-out", line.over_ns, words)


def _setting_ns(facts: RunFacts, node: str, ns: int, setting: Setting) -> int:
    return int(facts.cluster.properties(node, ns).get(setting.name, setting.default_ms)) * 1_000_000


def _is_hindered(facts: RunFacts, line: _Line, span: Span) -> bool:
    return _stood_between(facts, line.to, line.node, span)


def _stood_between(facts: RunFacts, master: str, slave: str, span: Span) -> bool:
    """Now, or as long before as the span lasts, or a second."""
    wide = (span[0] - max(span[1] - span[0], LATE_NS), span[1] + 1)
    conditions = facts.conditions
    held = [*conditions.held_up(master), *conditions.held_up(slave), *conditions.reset(master, slave)]
    held += [*conditions.hindered(master, slave), *conditions.unwritten(master), *conditions.full(master)]
    return bool(meet(held, [wide]))


def _anomaly(facts: RunFacts, line: _Line, kind: str, ns: int, words: str) -> Anomaly:
    sentence = f"A slave of {line.to} that {_WAYS.get(line.way, line.way)} {words}, at {facts.clock(ns)}."
    return Anomaly(kind, sentence, (), {"node": line.to, "way": line.way})


_WAYS: Final = {"follows": "reports as it should", SILENT: "reports once"}


# Between brokers ------------------------------------------------------------------------------------------------------


def _between_brokers(history: History, facts: RunFacts) -> Iterator[Anomaly]:
    """The first of each slave and kind."""
    events = history.events
    closed: dict[str, list[int]] = defaultdict(list)
    told: set[tuple[str, str]] = set()
    for row in _notes(history, "role", CLOSED, GONE).nonzero()[0].tolist():
        node, ns, said = events.node[row], int(events.ns[row]), json.loads(events.detail[row] or "{}")
        if events.step[row] == CLOSED:
            closed[node] += [ns] if said.get("why") == SILENT else []
            continue
        master = facts.cluster.master_at(facts.cluster.broker_of(node), ns)
        kind = _wrong_end(said.get("why"), [ns - at for at in closed[master]])
        patience_ns = _setting_ns(facts, master, ns, HOUSEKEEPING)
        if kind and (node, kind) not in told and not _stood_between(facts, master, node, (ns - patience_ns, ns)):
            told.add((node, kind))
            yield Anomaly(kind, _sentence(facts, kind, node, master, ns), (), {"node": master, "slave": node})


def _wrong_end(why: str | None, since_closed_ns: list[int]) -> str:
    """Of a slave's own word, and of how long ago its master gave up somebody who was silent."""
    if why == BY_MASTER and any(0 <= ns <= LATE_NS for ns in since_closed_ns):
        return "thrown-out"
    return "master-silent" if why == SILENT else ""


def _sentence(facts: RunFacts, kind: str, node: str, master: str, ns: int) -> str:
    if kind == "thrown-out":
        return f"{master} threw out its slave {node} as silent at {facts.clock(ns)}, though nothing stood between them."
    return f"{node} heard nothing of {master} until it left it at {facts.clock(ns)}, though nothing stood between them."
