"""The check ``broker-disks``: would another implementation find everything in a broker's files?

Question: a broker reads what it has written itself, and is content. Are its consume queues and its index what RocketMQ
would have made of the same log?

Model. When the queues have been read the harness looks at the disk of every broker (notes ``broker_on_disk``, made by
``harness/broker_disks.py``).

    disk-malformed    a unit, an entry of the index or a record is not where or what it must be; a queue or the index
                      passes over a message that lies before its last one

What a fault did to the disk itself (took, damaged, filled it, failed its writes) may show there, and on the disks of
all nodes of that broker name: a slave whose master lost the end of its log has what is in no log any more. Then it is
told and allowed, as is what is missing in the index after its broker was killed, for what had waited in memory is then
entered again from where the log is read anew.

Limits. Members of groups have a check of their own (``member-logs``). A disk of a broker that keeps no queues in files
has its log alone to be judged by.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.verdict import Anomaly, Outcome, Verdict

STEP: Final = "broker_on_disk"
HARMLESS: Final = frozenset({"none", "stopped", "killed", "separated", "starved", "frozen", "forces-late"})
"""Harms that change no byte of what was written."""
KILLED: Final = "killed"
UNINDEXED: Final = "unindexed"


@dataclass(frozen=True)
class _Found:
    node: str
    said: dict[str, Any]


def has_broker_disks(history: History, _: RunFacts) -> bool:
    """Whether anybody looked."""
    return bool((history.events.kind.mask("note") & history.events.step.mask(STEP)).any())


def check_broker_disks(history: History, facts: RunFacts) -> Verdict:
    """FAIL for every broker whose files contradict each other, and no fault has made them."""
    found = list(_found(history))
    anomalies = tuple(anomaly for one in found for anomaly in _judged(facts, one))
    measures = {key: sum(one.said[key] for one in found) for key in ("records", "units", "entries")}
    outcome = Outcome.FAIL if any(not anomaly.allowed for anomaly in anomalies) else Outcome.PASS
    return Verdict("broker-disks", outcome, anomalies, measures)


def _found(history: History) -> Iterator[_Found]:
    events = history.events
    for row in (events.kind.mask("note") & events.step.mask(STEP)).nonzero()[0].tolist():
        yield _Found(events.node[row], json.loads(events.detail[row]))


def _judged(facts: RunFacts, one: _Found) -> Iterator[Anomaly]:
    """One anomaly for each kind of fault."""
    harms = _harms(facts, one.node)
    by_what: dict[str, list[str]] = {}
    for what, words in one.said["wrong"]:
        by_what.setdefault(what, []).append(words)
    for what, words in by_what.items():
        harm = sorted(harms - HARMLESS)
        is_allowed = bool(harm) or (what == UNINDEXED and KILLED in harms)
        more = f", and {len(words) - 1} more like that" if len(words) > 1 else ""
        because = f" A disk of its broker was hit: {', '.join(harm)}." if harm else ""
        sentence = f"On the disk of {one.node}: {words[0]}{more}.{because}"
        yield Anomaly("disk-malformed", sentence, (), {"nodes": [one.node], "what": what}, is_allowed)


def _harms(facts: RunFacts, node: str) -> set[str]:
    """Of all faults that hit a node of its broker name."""
    broker = facts.cluster.broker_of(node)
    hits = [(fault, {*fault.left, *fault.right}) for fault in facts.faults if fault.effective != 0]
    return {fault.harm for fault, nodes in hits if broker in map(facts.cluster.broker_of, nodes)}
