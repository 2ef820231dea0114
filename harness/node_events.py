"""Levers that remember what they did, so that the history can tell when a node started, died, paused.

Question: a fault says what it wanted; which acts were really carried out on which node?

Model. :class:`LeverEvents` keeps a list beside the world's levers; which of them are acts, and what each is called, is
marked in their protocols (``faults/levers/families.py``). Acts may run in another thread than the recorder's
(``Backend.perform``), so they are kept here, with the instant, and written by the run when all acts of a fault are
over: an operator's heal that stops, copies and starts takes seconds, and what it started first serves meanwhile.

Limits. An act that raises is not an event: it may or may not have happened, and the fault's own events say so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from faults.levers import FAMILIES, Levers, Nodes
from faults.levers.acts import Act, Watched

STARTED: Final = "started"
"""What the history calls the start of a node."""


SIGTERM_EXIT: Final = 143
"""Exit code of a process that had no handler yet when it was asked to stop. Only the harness asks."""


def ended_by_itself(event: str, fields: Mapping[str, Any]) -> str:
    """What a backend's note says of a node that ended although nobody had asked it to; empty for any other note."""
    if event == "crashed":
        lines = fields.get("last_lines") or str(fields.get("error", "")).splitlines()
        said = str(lines[-1]) if lines else f"exit code {fields.get('exit')}"
        return f"crashed: {said}"
    if event == "exited" and fields.get("code") not in (None, 0, SIGTERM_EXIT):
        return f"ended with exit code {fields['code']}"
    return ""


STATE_AFTER: Final = {
    "started": "up",
    "resumed": "up",
    "paused": "paused",
    "killed": "down",
    "stopped": "down",
    "power_cut": "down",
    "crashed": "down",
    "exited": "down",
}
"""What a node is after one of its events; events that are not here change nothing about that."""


class LeverEvents:
    """A world's levers that take notes of what was done to a node."""

    def __init__(self, levers: Nodes, now: Callable[[], int]) -> None:
        """*now*: the run's clock."""
        self._now = now
        self._events: deque[tuple[str, str, int]] = deque()
        self._started: deque[str] = deque()
        self.levers = cast(Levers, Watched(levers, self._pull, FAMILIES))
        """To pull by; a family that the world lacks is refused."""

    def take_events(self) -> list[tuple[str, str, int]]:
        """(node, act, ns) since the last call, in order. A start is told with the instant at which it began: the node
        may serve from then on."""
        return [self._events.popleft() for _ in range(len(self._events))]

    def take_started(self) -> list[str]:
        """Nodes that were started since the last call, in order."""
        return [self._started.popleft() for _ in range(len(self._started))]

    def _pull(self, act: Act, arguments: tuple[Any, ...], pull: Callable[[], Any]) -> Any:
        begun_ns = self._now()
        result = pull()
        if act.event and act.happened(result):
            ns = begun_ns if act.event == STARTED else self._now()
            self._events.append((act.node(arguments), act.event, ns))
            if act.event == STARTED:
                self._started.append(act.node(arguments))
        return result
