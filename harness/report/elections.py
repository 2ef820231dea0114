"""Groups over time: each member's role and term, and who led from when to when.

Question: who led when it happened, in which term, and how long did nobody?

Model. A member that tells of itself says its role and term with every change (events ``role_changed``); it has that
role X
Limits. A frozen member keeps its role here; its line of states says that it was frozen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from checkers.history.history import History, seconds
from harness.node_events import STATE_AFTER

CHECK: Final = "elections"
UNTOLD: Final = -1
"""The term of who tells none."""


def leaders_in(checks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What the check found, by broker and time; empty where nobody is elected."""
    found = [one for check in checks if check["check"] == CHECK for one in check["measures"].get("leaders", ())]
    return sorted(found, key=lambda one: (one["broker"], one["begin_ns"]))


def roles(history: History, leaders: Sequence[Mapping[str, Any]], end_ns: int) -> list[dict[str, Any]]:
    """Stretches of time: node, role, term, begin and end in nanoseconds."""
    told = _told(history, end_ns)
    known = {stretch["node"] for stretch in told}
    served = [
        _stretch(one["node"], "LEADER", one["term"], one["begin_ns"], one["end_ns"])
        for one in leaders
        if one["node"] not in known
    ]
    return [*told, *served]


def _told(history: History, end_ns: int) -> list[dict[str, Any]]:
    events = history.events
    found: list[dict[str, Any]] = []
    now: dict[str, tuple[str, int, int]] = {}
    for row in events.kind.mask("node", "role").nonzero()[0].tolist():
        node, step, ns = events.node[row], events.step[row], int(events.ns[row])
        is_change = step == "role_changed"
        if not is_change and STATE_AFTER.get(step) != "down":
            continue
        _close(found, now, node, ns)
        if is_change:
            said = json.loads(events.detail[row])
            now[node] = said["role"], int(said["term"]), ns
    for node in list(now):
        _close(found, now, node, end_ns)
    return found


def _close(found: list[dict[str, Any]], now: dict[str, tuple[str, int, int]], node: str, end_ns: int) -> None:
    if node in now:
        role, term, begin_ns = now.pop(node)
        if end_ns > begin_ns:
            found.append(_stretch(node, role, term, begin_ns, end_ns))


def _stretch(node: str, role: str, term: int, begin_ns: int, end_ns: int) -> dict[str, Any]:
    return {"node": node, "role": role, "term": term, "begin": begin_ns, "end": end_ns}


def rows(history: History, leaders: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The table: group, leader, term, from, to, how long it led, and how long nobody had led before."""
    found = []
    for number, one in enumerate(leaders):
        before = leaders[number - 1] if number and leaders[number - 1]["broker"] == one["broker"] else None
        nobody_ns = max(0, one["begin_ns"] - before["end_ns"]) if before else 0
        found.append(
            [
                one["broker"],
                one["node"],
                "not told" if one["term"] == UNTOLD else str(one["term"]),
                history.clock(one["begin_ns"]),
                history.clock(one["end_ns"]),
                seconds(one["end_ns"] - one["begin_ns"]),
                seconds(nobody_ns) if before else "–",
            ]
        )
    return found
