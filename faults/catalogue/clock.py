"""Faults of clocks: step_clock.

The wall clock of a node jumps, its monotonic clock does not. Healing is the same jump backwards, whatever other jumps
there were in between. The witness is the clock itself: how far it was stepped in all, before and after.
"""

from __future__ import annotations

from typing import Final

from faults.effects import Effect
from faults.levers import Levers
from faults.units import duration_ns
from faults.verb import NO, YES, Facts, Option, Probed, Strike, Verb, option

MS: Final = 1_000_000


def jump_ms(text: str) -> int:
    """``150s`` or ``-150s``, in milliseconds; ``ValueError`` with a sentence."""
    back = text.strip().startswith("-")
    by_ms = duration_ns(text.strip().removeprefix("-")) // MS
    if not by_ms:
        raise ValueError(f"{text!r} is no jump")
    return -by_ms if back else by_ms


OPTIONS: Final = {"by": Option("150s", "how far the clock jumps; -150s jumps back", read=jump_ms)}


def _step(levers: Levers, strike: Strike) -> Facts:
    ahead = {node: levers.clock_ahead(node) for node in strike.left}
    by_ms = jump_ms(option(strike, OPTIONS, "by"))
    for node in strike.left:
        levers.step_clock(node, by_ms)
    return {"ahead": ahead, "by_ms": by_ms}


def _stepped(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    return [_seen(levers, node, facts["ahead"][node], facts["ahead"][node] + facts["by_ms"]) for node in strike.left]


def _seen(levers: Levers, node: str, before_ms: int, wanted_ms: int) -> Probed:
    now_ms = levers.clock_ahead(node)
    return Probed(node, YES if now_ms == wanted_ms else NO, {"ahead_before_ms": before_ms, "ahead_now_ms": now_ms})


def _step_back(levers: Levers, strike: Strike, facts: Facts) -> None:
    for node in strike.left if "by_ms" in facts else ():
        levers.step_clock(node, -facts["by_ms"])


def _stepped_back(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """Other jumps may last: it is the clock without ours if it differs from what it was while ours lasted."""
    with_ours = {node: facts["ahead"][node] + facts["by_ms"] for node in strike.left}
    answers = []
    for node in strike.left:
        now_ms = levers.clock_ahead(node)
        answers.append(Probed(node, YES if now_ms != with_ours[node] else NO, {"ahead_now_ms": now_ms}))
    return answers


STEP_CLOCK: Final = Verb(
    name="step_clock",
    family="clock",
    summary="the wall clock jumps, the monotonic clock does not",
    takes_effect_when="the node's wall clock is that far ahead (or behind) of where it was",
    undone_by="the same jump the other way",
    shape="nodes",
    condition="own",
    effects=(Effect("steps-clock", value="by"),),
    inject=_step,
    probe=_stepped,
    heal=_step_back,
    heal_probe=_stepped_back,
    options=OPTIONS,
    needs=("clock",),
)
