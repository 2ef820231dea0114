"""Before a command runs anything: has its backend more for this user if the command begins anew?

Limits. Inside there may be no network but those of nodes, so what a target needs is fetched before.
"""

from __future__ import annotations

from harness.backends.table import backend_named
from harness.commands.fetch import make_ready
from harness.terminal import Terminal


def enter(backend: str, target: str, terminal: Terminal) -> None:
    """May start this command again, and not return (:mod:`harness.backends.process.own_users`)."""
    row = backend_named(backend)
    if row.gains():
        make_ready(target, terminal)
        row.enter()
