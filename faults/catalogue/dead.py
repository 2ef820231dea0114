"""Faults of a disk that takes nothing while its machine goes on: dead_disk, read_only_disk.

Question: from one moment on every write and every force of a disk fails. What does the broker make of that, and what is
left when the disk is there again?

Model. The process goes on: it has its memory and, as far as the kernel gives it, its page cache. A *dead* disk answers
EIO, as one whose cable is loose; a *read-only* one EROFS, as a file system that found an error in itself and gave its
journal up. When the fault is healed the process ends, the disk comes back with what had been forced before, and the
process starts again. So it is a loss of the moment of its heal, and until then a time in which nothing is stored.

The witness is a write of our own to that disk: it succeeded before, and fails now, with the error of the fault. It
succeeds again when the fault is gone.

Limits. Reads of a dead disk may fail too: from a real ext4 that was shut down only what is mapped can be read, the
simulator goes on reading. Bytes that a process writes into a file that it has mapped raise no error on either disk;
they are lost with the heal. The simulator has no mapped files: there such a write fails as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from faults.catalogue.process import states, steps_of
from faults.effects import STARTS_WITH_HEAL, Effect
from faults.levers import Levers
from faults.verb import NO, YES, Facts, Probed, Strike, Verb


def _kill_disk(levers: Levers, strike: Strike) -> Facts:
    return _strike(levers, strike, levers.kill_disk)


def _make_read_only(levers: Levers, strike: Strike) -> Facts:
    return _strike(levers, strike, levers.make_disk_read_only)


def _strike(levers: Levers, strike: Strike, act: Callable[[str], None]) -> Facts:
    before, errors = states(levers, strike), {node: levers.write_error(node) for node in strike.left}
    for node in strike.left:
        act(node)
    return {"before": before, "errors": errors}


def _fails_with_eio(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    return _fails(levers, strike, facts, "EIO")


def _fails_with_erofs(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    return _fails(levers, strike, facts, "EROFS")


def _fails(levers: Levers, strike: Strike, facts: Facts, expected: str) -> list[Probed]:
    """A node that did not run has nothing to write: *no*."""
    answers = []
    for node in strike.left:
        before, error, was = facts["before"][node], levers.write_error(node), facts["errors"][node]
        detail = {"before": before, "error_before": was, "error_now": error}
        took = before == "running" and error == expected and not was
        answers.append(Probed(node, YES if took else NO, detail))
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


_TAKES_NOTHING: Final = (
    Effect("fails-writes"),
    Effect("fails-forces"),
    Effect("ends", "killed", at="heal"),
    Effect("takes", "unforced", at="heal"),
    STARTS_WITH_HEAL,
)

DEAD_DISK: Final = Verb(
    name="dead_disk",
    family="disk",
    summary="every write and force of the disk fails with EIO; the process goes on",
    takes_effect_when="a write of our own to that disk succeeded before, and fails now",
    undone_by="the process ends, the disk comes back with what was forced, start",
    shape="nodes",
    condition="own",
    effects=_TAKES_NOTHING,
    inject=_kill_disk,
    probe=_fails_with_eio,
    heal=_mend_disk,
    heal_probe=_works,
    heal_steps=steps_of("dead"),
    needs=("process", "power"),
)

READ_ONLY_DISK: Final = replace(
    DEAD_DISK,
    name="read_only_disk",
    summary="every write and force of the disk fails with EROFS, reads do not; the process goes on",
    takes_effect_when="a write of our own to that disk succeeded before, and fails now with EROFS",
    inject=_make_read_only,
    probe=_fails_with_erofs,
)
