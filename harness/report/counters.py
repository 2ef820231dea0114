"""What the numbers of a check mean, in words for the page.

Question: a check measured ``lost_seen: 55``. Fifty-five of what?

A number without words here is left out of the page; it is in ``verdict.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "faults": {"faults": "faults injected", "bit": "that were seen to take effect"},
    "accounting": {
        "sent": "messages sent",
        "ok": "acknowledged (SEND_OK)",
        "weak": "stored, but not promised",
        "info": "without an answer",
        "fail": "refused",
        "drained": "found when every queue was read to its end",
        "recovered": "found although not acknowledged",
        "lost": "acknowledged and not found",
        "lost_allowed": "of these within the contract",
        "lost_seen": "of these read before they were gone",
        "hidden": "acknowledged, and their queue points past them",
        "expired": "expired",
        "oldest_lost_age_ms": "ms between the acknowledgement of the oldest lost one and the fault",
        "duplicated": "found at two places",
        "phantom": "found, but never sent",
        "unreachable": "times that a broker did not know the topic",
    },
    "log": {
        "sends": "sends",
        "polls": "polls",
        "messages_read": "messages read",
        "end_queries": "questions for the end of a queue",
        "epochs": "stretches between power cuts",
        "stale_answers": "answers that were behind, within what is allowed",
    },
    "availability": {
        "longest_ms": "ms: the longest time in which a queue was not served",
        "rto_max_ms": "ms: the longest time from a fault to the first success",
        "send_p50_us": "µs: median of sends",
        "send_p99_us": "µs: 99 % of sends are faster",
    },
    "life-cycle": {"ops": "operations", "reads": "messages read", "events": "events"},
}


def explained(check: str, measures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(number, what it counts) of what can be said in words, in the order of the words."""
    words = WORDS.get(check, {})
    return [(f"{measures[name]:,}", text) for name, text in words.items() if isinstance(measures.get(name), int)]
