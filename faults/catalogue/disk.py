"""Faults of a disk: cut_power, fail_sync, flip_bits.

A power cut ends the process *and* loses everything that was not forced to the platter. It is told from a kill by a
witness: what the page cache had and the platter lacked (bytes in the simulator, changed files on ext4). A cut that
lost nothing looks exactly like a kill; the probe then answers *cannot be told*, with that reason. A node that had been
killed before can still lose its page cache: that counts.

``fail_sync``: the process runs, and every force that it asks for (fsync, fdatasync, msync) fails with EIO and writes
nothing, as on a disk that cannot be written any more while the page cache goes on. The witness is the count of forces
that failed; a process that asked for none in two seconds cannot be told to have been hit. It ends with the process.

``flip_bits``: the process ends and every bit of one sector of its commit log changes, some way before the end: bit rot
in the part that the next recovery reads. The witness is the position of the sector; a log that does not reach so far
back is not hit: *no*.
"""

from __future__ import annotations

from typing import Final

from faults.catalogue.process import runs_again, start_again, states, steps_of
from faults.effects import KILLED, STARTS_WITH_HEAL, Effect
from faults.levers import Levers
from faults.mechanisms.decay import SECTOR
from faults.units import duration_text, size_bytes
from faults.verb import NO, UNTOLD, YES, Facts, Option, Probed, Strike, Verb, option

FIRST_FORCE_NS: Final = 2_000_000_000
"""RocketMQ flushes its log every 500 ms, its queues every second."""


def _back_bytes(text: str) -> int:
    """A sector has to fit in before the end."""
    if (value := size_bytes(text)) < SECTOR:
        raise ValueError(f"{text!r} is less than a sector of {SECTOR}B")
    return value


FLIP_OPTIONS: Final = {"back": Option("16KiB", "how far before the end of the log", read=_back_bytes)}


def _cut_power(levers: Levers, strike: Strike) -> Facts:
    before = states(levers, strike)
    for node in strike.left:
        levers.cut_power(node)
    return {"before": before}


def _lost(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    return [_lost_by(levers, node, facts["before"][node]) for node in strike.left]


def _lost_by(levers: Levers, node: str, before: str) -> Probed:
    now, lost = levers.state(node), levers.power_cut_lost(node)
    detail: dict[str, str | int] = {"before": before, "now": now, "lost": lost}
    if now != "dead":
        return Probed(node, NO, detail)
    if lost == 0:
        detail["reason"] = "nothing was unwritten when the power went: as good as a kill"
        return Probed(node, UNTOLD, detail)
    return Probed(node, YES, detail)


CUT_POWER: Final = Verb(
    name="cut_power",
    family="disk",
    summary="ends the process and loses what was not forced to the disk",
    takes_effect_when="the process is gone and the platter lacked something that the page cache had",
    undone_by="start, with what the disk kept",
    shape="nodes",
    condition="dead",
    effects=(Effect("ends", "dark"), Effect("takes", "unforced"), STARTS_WITH_HEAL),
    inject=_cut_power,
    probe=_lost,
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
    needs=("process", "power"),
)


def _fail_sync(levers: Levers, strike: Strike) -> Facts:
    """What does not run asks for nothing; it is left alone, and the probe says so."""
    before = states(levers, strike)
    for node in strike.left:
        if before[node] == "running":
            levers.fail_forces(node)
    return {"before": before}


def _forces_failed(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    return [_failed_on(levers, node, facts["before"][node]) for node in strike.left]


def _failed_on(levers: Levers, node: str, before: str) -> Probed:
    failed = levers.failed_forces(node, FIRST_FORCE_NS)
    detail: dict[str, str | int] = {"before": before, "failed": failed}
    if failed:
        return Probed(node, YES, detail)
    if before != "running" or not levers.forces_fail(node):
        return Probed(node, NO, detail)
    detail["reason"] = f"the node asked for no force within {duration_text(FIRST_FORCE_NS)}"
    return Probed(node, UNTOLD, detail)


def _mend_sync(levers: Levers, strike: Strike, facts: Facts) -> None:
    for node in strike.left:
        levers.mend_forces(node)


def _forces_mended(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """How many failed in all is told here: the probe was asked at the beginning."""
    return [
        Probed(node, NO if levers.forces_fail(node) else YES, {"failed": levers.failed_forces(node)})
        for node in strike.left
    ]


def _flip_bits(levers: Levers, strike: Strike) -> Facts:
    before, back = states(levers, strike), _back_bytes(option(strike, FLIP_OPTIONS, "back"))
    for node in strike.left:
        levers.kill(node)
    return {"before": before, "position": {node: levers.flip_log(node, back) for node in strike.left}}


def _flipped(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    answers = []
    for node in strike.left:
        now, position = levers.state(node), facts["position"][node]
        detail = {"before": facts["before"][node], "now": now, "position": position}
        if position < 0:
            detail["reason"] = "its log does not reach so far back"
        answers.append(Probed(node, YES if now == "dead" and position >= 0 else NO, detail))
    return answers


FAIL_SYNC: Final = Verb(
    name="fail_sync",
    family="disk",
    summary="every force (fsync, fdatasync, msync) fails with EIO and writes nothing; the process goes on",
    takes_effect_when="a force was asked for and failed",
    undone_by="forces succeed again",
    shape="nodes",
    condition="failing",
    effects=(Effect("fails-forces"),),
    inject=_fail_sync,
    probe=_forces_failed,
    heal=_mend_sync,
    heal_probe=_forces_mended,
    heal_steps=steps_of("failing"),
    needs=("forces",),
)

FLIP_BITS: Final = Verb(
    name="flip_bits",
    family="disk",
    summary="ends the process and changes every bit of one sector of its commit log",
    takes_effect_when="the process is gone and the sector was within its log",
    undone_by="start, with the log as it is",
    shape="nodes",
    condition="dead",
    effects=(*KILLED, Effect("takes", "damaged")),
    inject=_flip_bits,
    probe=_flipped,
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
    options=FLIP_OPTIONS,
    needs=("process", "content"),
)
