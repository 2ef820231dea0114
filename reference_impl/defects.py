"""Planted bugs: how the reference can be made to break its promises, so that checkers can prove that they see it.

Question: which wrong behaviours exist, and which check must find each? A defect is a name; roles get the names of
theirs and ask ``if "ack-before-fsync" in self.defects``. Without names the reference is honest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal


@dataclass(frozen=True)
class Defect:
    """*what* goes wrong, in which kind of node, and *shows*: what a run must show for it to be found."""

    node: Literal["namesrv", "broker"]
    what: str
    shows: str


DEFECTS: Final = {
    "ack-before-fsync": Defect(
        "broker",
        "SYNC_FLUSH acknowledges a message before it is forced to the disk",
        "acknowledged messages lost after a power cut in a mode that promises none",
    ),
    "skip-last-record": Defect(
        "broker",
        "recovery drops the last good record of the commit log",
        "an acknowledged message lost after a restart that may lose none",
    ),
    "reuse-offset": Defect(
        "broker",
        "after a restart a queue goes on one offset too low",
        "one queue offset that holds two messages",
    ),
    "ack-before-replication": Defect(
        "broker",
        "a SYNC_MASTER acknowledges a message before any slave has it",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
    ),
    "slave-acks-in-memory": Defect(
        "broker",
        "a slave reports what it has received, and writes it into its log up to half a second later",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
    ),
    "ha-start-from-acked": Defect(
        "broker",
        "a master sends a slave that comes back what follows the greatest report ever, not what follows its own",
        "a slave that never follows again after it has lost something",
    ),
    "ha-skips-file-tail": Defect(
        "broker",
        "a master leaves out the last bytes of each full log file",
        "a slave that stops following at the end of a log file",
    ),
    "namesrv-never-expires": Defect(
        "namesrv",
        "a broker leaves the routes only by unregistering, never for silence or a closed connection",
        "a dead broker in the routes longer than its expiry allows",
    ),
}


def checked_defects(names: Iterable[str], node: Literal["namesrv", "broker"] | None = None) -> frozenset[str]:
    """*names* as a set; ``ValueError`` for one that does not exist, or (given *node*) belongs to the other kind."""
    chosen = list(names)
    for name in chosen:
        if name not in DEFECTS:
            near = get_close_matches(name, DEFECTS, 1)
            raise ValueError(f"unknown defect {name!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        if node is not None and DEFECTS[name].node != node:
            raise ValueError(f"defect {name!r} is one of a {DEFECTS[name].node}, not of a {node}")
    return frozenset(chosen)
