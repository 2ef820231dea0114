"""By which of RocketMQ's own ways a guarantee was broken: their names, and where each was shown on released brokers.

Question: a run FAILs. Is that a way that Apache's brokers are known to have, or is it something new?

Model. A check that knows such a way looks at the conditions under which it can happen (which fault took what before,
what was answered when, which place in the log), and only where all of them hold it says so in the anomaly's details
(``mechanism``). The same kind of anomaly without them has no known reason, and says nothing.

    failed-force   SYNC_FLUSH, every force failed when SEND_OK was said, and a power cut took it
    slave-ahead    a synchronous master whose log ended before that of its slave
    stale-bytes    records behind a recovered end, read on into by a later recovery
    slave-kept     a slave had kept what its master lost, and took its place
    stale-units    units behind the recovered end of a consume queue, taken for its own by a later start

Limits. A bug that needs exactly the same conditions and has the same outcome would be taken for the known way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from checkers.verdict import Anomaly

FAILED_FORCE: Final = "failed-force"
SLAVE_AHEAD: Final = "slave-ahead"
STALE_BYTES: Final = "stale-bytes"
SLAVE_KEPT: Final = "slave-kept"
STALE_UNITS: Final = "stale-units"

SHOWN_BY: Final[Mapping[str, str]] = {
    FAILED_FORCE: "finding-send-ok-although-fsync-failed",
    SLAVE_AHEAD: "finding-slave-ahead-of-its-master",
    STALE_BYTES: "finding-old-records-come-back",
    SLAVE_KEPT: "finding-send-ok-lost-with-the-master",
    STALE_UNITS: "finding-stale-units-hide-messages",
}
"""The scenario that shows it on Apache's brokers, too; its page is in ``docs/findings.md``."""

_SEEN_IN_QUEUES: Final[Mapping[str, frozenset[str]]] = {
    STALE_BYTES: frozenset({"resurrected"}),
    SLAVE_KEPT: frozenset({"resurrected", "skipped-in-read", "hole-without-writer", "inversion", "repeat"}),
    STALE_UNITS: frozenset({"resurrected", "skipped-in-read", "hole-without-writer", "phantom"}),
}
"""What the checks ``log`` and ``deliveries``, which know nothing of such ways, call the same thing in queues of that
broker. A record that a slave had kept stands where the broker counts on from there, and names a place of before."""


def mechanism_of(anomaly: Anomaly) -> str:
    """The known way in which it came about; empty if there is none."""
    return str(anomaly.details.get("mechanism", ""))


def unexplained(anomalies: Iterable[Anomaly]) -> list[Anomaly]:
    """Those of a run's failures that no known way explains."""
    failures = [anomaly for anomaly in anomalies if not anomaly.allowed]
    beside = {
        (kind, str(anomaly.details.get("broker", "")))
        for anomaly in failures
        for kind in _SEEN_IN_QUEUES.get(mechanism_of(anomaly), ())
    }
    return [a for a in failures if not mechanism_of(a) and (a.kind, _broker_of(a)) not in beside]


def _broker_of(anomaly: Anomaly) -> str:
    """Of a queue that is named as topic/broker/number."""
    parts = str(anomaly.details.get("queue", "")).split("/")
    return parts[-2] if len(parts) > 2 else ""
