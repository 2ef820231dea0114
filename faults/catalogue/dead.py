"""Faults of a disk that is gone while its machine goes on: dead_disk.

Question: from one moment on a disk fails every write and every force with EIO. What does the broker make of that, and
what is left when the disk is there again?

Model. The process goes on: it has its memory and, as far as the kernel gives it, its page cache. When the fault is
healed it ends, the disk comes back with what had been forced before it died, and the process starts again. So it is a
loss of the moment of its heal, and until then a time in which nothing is stored.

The witness is a write of our own to that disk: it succeeded before, and fails now. It succeeds again when the fault is
gone.

Limits. Reads may fail too: from a real ext4 that was shut down only what is mapped can be read, the simulator goes on
reading.
"""

from __future__ import annotations

from typing import Final

from faults.catalogue.process import states, steps_of
from faults.effects import STARTS_WITH_HEAL, Effect
from faults.levers import Levers
from faults.verb import NO, YES, Facts, Probed, Strike, Verb


def _kill_disk(levers: Levers, strike: Strike) -> Facts:
    before, errors = states(levers, strike), {node: levers.write_error(node) for node in strike.left}
    for node in strike.left:
        levers.kill_disk(node)
    return {"before": before, "errors": errors}


def _fails(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """A node that did not run has nothing to write: *no*."""
    answers = []
    for node in strike.left:
        before, error, was = facts["before"][node], levers.write_error(node), facts["errors"][node]
        detail = {"before": before, "error_before": was, "error_now": error}
        answers.append(Probed(node, YES if before == "running" and error and not was else NO, detail))
    return answers


def _mend_disk(levers: Levers, strike: Strike, facts: Facts) -> None:
    for node in strike.left:
        levers.kill(node)
        levers.mend_disk(node)
        levers.start(node)


def _works(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    answers = []
    for node in strike.left:
        now, error = levers.state(node), levers.write_error(node)
        answers.append(Probed(node, YES if now == "running" and not error else NO, {"now": now, "error_now": error}))
    return answers


DEAD_DISK: Final = Verb(
    name="dead_disk",
    family="disk",
    summary="every write and force of the disk fails with EIO; the process goes on",
    takes_effect_when="a write of our own to that disk succeeded before, and fails now",
    undone_by="the process ends, the disk comes back with what was forced, start",
    shape="nodes",
    condition="own",
    effects=(
        Effect("fails-writes"),
        Effect("fails-forces"),
        Effect("ends", "killed", at="heal"),
        Effect("takes", "unforced", at="heal"),
        STARTS_WITH_HEAL,
    ),
    inject=_kill_disk,
    probe=_fails,
    heal=_mend_disk,
    heal_probe=_works,
    heal_steps=steps_of("dead"),
    needs=("process", "power"),
)
