"""The check ``filters``: is a group given the tags that it wants, and each message as it was sent?

Question: a group subscribed to some tags. Was a listener given another one, or a message whose property had changed?

Model. An op ``subscribe`` names the tags of a group, the messages of a history their own; ``number`` in the detail of a
delivery is the message's number as a property of the application's.

    unwanted           a listener was given a message of a tag that its group does not want
    property-differs   the property had another value than at the send, or was gone

That everything wanted is given is the check ``listeners``'.

Limits. The broker compares hashes only, the client texts: whether a broker sends too much cannot be seen here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.listeners import Given, given_by_group, wanted_tags
from checkers.verdict import Anomaly, Outcome, Verdict

_NAMED: Final = 10


def has_filters(history: History, facts: RunFacts) -> bool:
    """Whether a group told what it wants."""
    groups = {history.ops.group[row] for row in np.flatnonzero(history.ops.f.mask("subscribe")).tolist()}
    return any(wanted_tags(history, group) is not None for group in groups)


def check_filters(history: History, facts: RunFacts) -> Verdict:
    """FAIL for what nobody wanted, and for what came changed."""
    tags = np.array([history.messages.tags[row] for row in range(len(history.messages))], dtype=object)
    tag_of = dict(zip(history.messages.message.tolist(), tags.tolist(), strict=True))
    anomalies: list[Anomaly] = []
    given_count = 0
    for given in given_by_group(history):
        wanted = wanted_tags(history, given.group)
        if wanted is None:
            continue
        pairs = [(int(m), int(row)) for m, row in zip(given.message, given.row, strict=True) if m >= 0]
        given_count += len(pairs)
        unwanted = [row for message, row in pairs if tag_of.get(message, "") not in wanted]
        changed = [row for message, row in pairs if _number(history, row) != str(message)]
        anomalies += _told(history, given, "unwanted", "of a tag that it does not want", unwanted)
        anomalies += _told(history, given, "property-differs", "without the property that was sent with it", changed)
    reasons = () if given_count else ("no listener was given anything",)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("filters", outcome, tuple(anomalies), {"given": given_count}, reasons)


def _number(history: History, row: int) -> str:
    said = json.loads(history.ops.detail[row] or "{}")
    return str(said.get("number", ""))


def _told(history: History, given: Given, kind: str, what: str, rows: list[int]) -> Iterator[Anomaly]:
    if rows:
        ops = history.ops.op
        first = history.op_text(int(ops[rows[0]]))
        sentence = f"Group {given.group} was given {len(rows)} messages {what}; the first: {first}."
        proof = tuple(int(ops[row]) for row in rows[:_NAMED])
        yield Anomaly(kind, sentence, proof, {"group": given.group, "count": len(rows)})
