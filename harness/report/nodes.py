"""Nodes over time: when each was up, what it noted, and how far each copy of a log was.

Question: who was there when it happened, in which role, and how far behind was the slave?

Model. States come from the events of kind ``node`` and ``role`` (:data:`harness.node_events.STATE_AFTER`). Marks are
all events of a node, as it noted them. The position of a log is that of the last acknowledged send of its broker;
that of a slave, the ``log_end`` that it noted when it found or lost its master.

Limits. At most :data:`POINTS_MAX` points a line; a log's position only grows between two of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from checkers.history.history import History
from harness.node_events import STATE_AFTER

POINTS_MAX: Final = 400
MARKS_MAX: Final = 5_000


def states(history: History, end_ns: int) -> list[dict[str, Any]]:
    """Stretches of time: node, state, begin and end in nanoseconds."""
    events = history.events
    found: list[dict[str, Any]] = []
    now: dict[str, tuple[str, int]] = {}
    for row in events.kind.mask("node", "role").nonzero()[0].tolist():
        node, step, ns = events.node[row], events.step[row], int(events.ns[row])
        state = STATE_AFTER.get(step)
        if not node or state is None or now.get(node, ("", 0))[0] == state:
            continue
        _close(found, now, node, ns)
        now[node] = state, ns
    for node in list(now):
        _close(found, now, node, end_ns)
    return found


def _close(found: list[dict[str, Any]], now: dict[str, tuple[str, int]], node: str, ns: int) -> None:
    state, begin = now.pop(node, ("", ns))
    if state and ns > begin:
        found.append({"node": node, "state": state, "begin": begin, "end": ns})


def marks(history: History) -> list[list[Any]]:
    """[ns, node, step, detail] of what nodes noted and of what was done to them, in order."""
    events = history.events
    rows = events.kind.mask("node", "role").nonzero()[0].tolist()[:MARKS_MAX]
    return [[int(events.ns[row]), events.node[row], events.step[row], events.detail[row]] for row in rows]


def positions(history: History, nodes: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    """Lines: name, kind (log or slave), points [[ns, position], …]."""
    return [*_logs(history), *_slaves(history, nodes)]


def _logs(history: History) -> list[dict[str, Any]]:
    ops = history.ops
    sends = ops.f.mask("send") & ops.outcome.mask("ok") & (ops.position >= 0)
    found = []
    for broker in ops.node.values:
        rows = np.flatnonzero(sends & ops.node.mask(broker))
        if not len(rows):
            continue
        rows = rows[np.argsort(ops.complete_ns[rows], kind="stable")]
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, POINTS_MAX).astype(np.int64))]
        points = np.stack([ops.complete_ns[rows], ops.position[rows]], axis=1).tolist()
        found.append({"name": f"{broker}: last acknowledged", "kind": "log", "points": points})
    return found


def _slaves(history: History, nodes: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
    events = history.events
    points: dict[str, list[list[int]]] = {}
    for row in events.kind.mask("role").nonzero()[0].tolist():
        node, detail = events.node[row], events.detail[row]
        if nodes.get(node, {}).get("brokerRole") == "SLAVE" and '"log_end"' in detail:
            points.setdefault(node, []).append([int(events.ns[row]), int(json.loads(detail)["log_end"])])
    return [{"name": f"{node}: end of its log", "kind": "slave", "points": line} for node, line in points.items()]
