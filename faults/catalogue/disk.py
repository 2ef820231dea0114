"""Faults of a disk: cut_power, fail_sync, slow_disk, hang_disk, flip_bits.

A power cut ends the process *and* loses everything that was not forced to the platter. It is told from a kill by a
witness: what the page cache had and the platter lacked (bytes in the simulator, changed files on ext4). A power cut
that lost nothing looks exactly like a kill; the probe then answers *cannot be told*, with that reason. A node that had
been killed before can still lose its page cache: that counts.

``fail_sync``: the process runs, and every force that it asks for (fsync, fdatasync, msync) fails with EIO and writes
nothing, as on a disk that cannot be written any more while the page cache goes on. The witness is the count of forces
that failed; a process that asked for none in two seconds cannot be told to have been hit. It ends with the process.

``slow_disk``, ``hang_disk``: the process runs, and every force that it asks for reaches the disk (and returns) so much
later, or not before the fault is healed; what is written meanwhile can be read and is not on the disk. The witness is
the count of forces that were held. It ends with the process, and then what was on its way is lost.

``flip_bits``: the process ends and every bit of one sector of its commit log changes, some way before the end: bit rot
in the part that the next recovery reads. The witness is the position of the sector; a log that does not reach so far
back is not hit: *no*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from faults.catalogue.process import runs_again, start_again, states, steps_of
from faults.effects import KILLED, STARTS_WITH_HEAL, Effect
from faults.levers import Levers
from faults.mechanisms.decay import SECTOR
from faults.units import duration_ns, duration_text, size_bytes
from faults.verb import NO, UNTOLD, YES, Facts, Option, Probed, Strike, Verb, option

MS: Final = 1_000_000
FIRST_FORCE_NS: Final = 2_000_000_000
"""RocketMQ flushes its log every 500 ms, its queues every second."""


def _back_bytes(text: str) -> int:
    """A sector has to fit in before the end."""
    if (value := size_bytes(text)) < SECTOR:
        raise ValueError(f"{text!r} is less than a sector of {SECTOR}B")
    return value


def _delay_ms(text: str) -> int:
    if (ms := duration_ns(text) // MS) < 1:
        raise ValueError(f"{text!r} is less than a millisecond")
    return ms


SLOW_OPTIONS: Final = {"delay": Option("200ms", "how much later each force ends", read=_delay_ms)}
FLIP_OPTIONS: Final = {
    "back": Option(
        "16KiB", "how far before the end of the log", read=_back_bytes, samples=("1KiB", "4KiB", "16KiB", "40KiB")
    )
}


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
    return _on_running(levers, strike, levers.fail_forces)


def _slow_disk(levers: Levers, strike: Strike) -> Facts:
    delay_ms = _delay_ms(option(strike, SLOW_OPTIONS, "delay"))
    return _on_running(levers, strike, lambda node: levers.delay_forces(node, delay_ms)) | {"delay_ms": delay_ms}


def _hang_disk(levers: Levers, strike: Strike) -> Facts:
    return _on_running(levers, strike, lambda node: levers.delay_forces(node, 0))


def _on_running(levers: Levers, strike: Strike, act: Callable[[str], None]) -> dict[str, Any]:
    """What does not run asks for nothing; it is left alone, and the probe says so."""
    before = states(levers, strike)
    for node in strike.left:
        if before[node] == "running":
            act(node)
    return {"before": before}


def _forces_hit(word: str) -> Callable[[Levers, Strike, Facts], list[Probed]]:
    """The probe of each node hit; *word* is what happened to the forces that it counts."""
    return lambda levers, strike, facts: [_hit_on(levers, node, facts, word) for node in strike.left]


def _hit_on(levers: Levers, node: str, facts: Facts, word: str) -> Probed:
    before, count = facts["before"][node], levers.count_forces_hit(node, FIRST_FORCE_NS)
    detail: dict[str, str | int] = {"before": before, word: count}
    detail |= {"delay_ms": facts["delay_ms"]} if "delay_ms" in facts else {}
    if count:
        return Probed(node, YES, detail)
    if before != "running" or not levers.forces_hit(node):
        return Probed(node, NO, detail)
    detail["reason"] = f"the node asked for no force within {duration_text(FIRST_FORCE_NS)}"
    return Probed(node, UNTOLD, detail)


def _mend_sync(levers: Levers, strike: Strike, facts: Facts) -> None:
    for node in strike.left:
        levers.mend_forces(node)


def _forces_mended(word: str) -> Callable[[Levers, Strike, Facts], list[Probed]]:
    """How many were hit in all is told here: the probe was asked at the beginning."""

    def mended(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
        hit = [(node, levers.forces_hit(node)) for node in strike.left]
        return [Probed(node, NO if is_hit else YES, {word: levers.count_forces_hit(node)}) for node, is_hit in hit]

    return mended


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


def _of_forces(
    name: str, summary: str, undone_by: str, effect: Effect, inject: Callable[[Levers, Strike], Facts], hit: str
) -> Verb:
    """What all faults of forces share; *hit*: what happened to the forces that the probes count."""
    return Verb(
        name=name,
        family="disk",
        summary=summary,
        takes_effect_when=f"a force was asked for and {hit}",
        undone_by=undone_by,
        shape="nodes",
        condition="failing",
        effects=(effect,),
        inject=inject,
        probe=_forces_hit(hit),
        heal=_mend_sync,
        heal_probe=_forces_mended(hit),
        heal_steps=steps_of("failing"),
        needs=("forces",),
    )


FAIL_SYNC: Final = _of_forces(
    "fail_sync",
    "every force (fsync, fdatasync, msync) fails with EIO and writes nothing; the process goes on",
    "forces succeed again",
    Effect("fails-forces"),
    _fail_sync,
    "failed",
)
SLOW_DISK: Final = replace(
    _of_forces(
        "slow_disk",
        "every force (fsync, fdatasync, msync) reaches the disk, and ends, so much later; writes do not",
        "forces are as fast as before; what was held goes on at once",
        Effect("delays-forces"),
        _slow_disk,
        "held",
    ),
    options=SLOW_OPTIONS,
)
HANG_DISK: Final = _of_forces(
    "hang_disk",
    "no force (fsync, fdatasync, msync) ends before the fault is healed; writes do",
    "what was held goes on at once, in order",
    Effect("holds-forces"),
    _hang_disk,
    "held",
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
    reaches_back="back",
    needs=("process", "content"),
)
