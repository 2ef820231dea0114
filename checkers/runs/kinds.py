"""The kinds of failures that the checks of a run can name, by check.

Question: which words may a scenario give as the failure that it is there to show (``expect: {because: …}``)?

Limits. Kinds that are always allowed (``expired``, ``skipped``) are no failures and not here; neither are those of
checks of other people's histories.
"""

from __future__ import annotations

from typing import Final

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "accounting": (
        "lost",
        "lost-in-middle",
        "hidden",
        "unforced-ok",
        "unreplicated-ok",
        "resurrected",
        "duplicated",
        "phantom",
        "failed-append-visible",
        "unreachable",
    ),
    "log": (
        "two-values-one-offset",
        "value-at-two-offsets",
        "phantom",
        "failed-append-visible",
        "resurrected",
        "wrong-queue",
        "skipped-in-read",
        "hole-without-writer",
        "real-time-order",
        "read-from-future",
        "stale-or-lost",
        "went-backwards",
        "torn-batch",
        "read-of-trimmed",
        "stale",
    ),
    "replicas": ("replica-differs", "replica-missing", "replica-ahead", "unreplicated-ok"),
    "availability": ("not-recovered", "others-down"),
    "routes": ("stale-route", "dropped-early"),
    "avoidance": ("used-while-resting", "worse-than-others", "not-used-again"),
    "elections": (
        "two-leaders",
        "term-went-back",
        "no-leader",
        "left-out",
        "election-storm",
        "leader-thrown-out",
        "committed-given-up",
        "gave-up-early",
        "kept-leading",
        "not-preferred",
        "vote-stalled",
    ),
    "member-logs": ("logs-differ", "log-malformed", "term-behind", "not-noted", "not-forced"),
    "broker-disks": ("disk-malformed",),
    "quorum-waits": ("gave-up-waiting",),
    "store-waits": ("kept-waiting",),
    "disk-space": ("taken-when-full", "refused-with-space", "kept-when-full"),
    "masters": ("self-promoted",),
    "slave-lag": ("slave-behind", "reconnected-unexpectedly"),
    "replication-links": (
        "frame-astray",
        "heartbeat-missing",
        "heartbeat-early",
        "silent-kept",
        "thrown-out",
        "master-silent",
    ),
    "propagation": ("not-shown", "gone-again", "table-lost"),
    "answers": ("wrong-answer", "kept-waiting"),
    "promised": ("not-promised",),
    "offsets": ("offset-went-back", "offset-invented", "offset-undone", "commit-ahead"),
    "deliveries": ("undelivered", "delivered-again", "inversion", "repeat"),
    "listeners": ("undelivered", "rolled-back-delivered", "phantom", "refused-lost", "not-counted"),
    "order": ("disorder", "overlap", "passed-over"),
    "delays": ("early", "never-given", "moved-twice"),
    "filters": ("unwanted", "property-differs"),
    "owners": ("two-owners", "no-owner"),
    "redelivery": ("redelivered-late",),
    "retries": ("retried-early", "over-max", "buried-early", "not-buried"),
    "transactions": ("rolled-back-shown", "committed-lost", "shown-twice", "asked-too-often"),
    "replies": ("wrong-reply", "wrong-caller", "reply-lost"),
    "broadcasts": ("not-broadcast",),
    "locks": ("two-holders", "never-free", "given-unlocked"),
    "freshness": ("slave-lacks", "slave-shows-another", "slave-showed-more"),
    "suggestions": ("not-suggested", "wrong-suggestion", "slave-unasked"),
    "minimum": ("stuck-at-minimum",),
    "slaves": ("slave-stored", "stray-visible"),
}

FAILURES: Final = tuple(dict.fromkeys(kind for kinds in KINDS.values() for kind in kinds))
"""Each once, in the order of the checks."""
