"""Faults of a disk's space: fill_disk.

Something else occupies the disk but for a share of it, as files of others would. The witness is the free space, as the
file system tells it: above the share before, not above it after. RocketMQ refuses messages above 90 %, looks every ten
seconds, and goes on by itself when there is space again.
"""

from __future__ import annotations

from typing import Final

from faults.effects import Effect
from faults.levers import Levers
from faults.verb import NO, YES, Facts, Option, Probed, Strike, Verb, option


def percent(text: str) -> int:
    """``5%``, from 0 to 99; ``ValueError`` with a sentence."""
    number, sign, rest = text.strip().partition("%")
    if not sign or rest or not number.isdecimal() or int(number) > 99:
        raise ValueError(f"{text!r} is no share of a disk: write it as 5%")
    return int(number)


FILL_OPTIONS: Final = {"free": Option("5%", "what stays free of the disk", read=percent)}


def _fill(levers: Levers, strike: Strike) -> Facts:
    share = percent(option(strike, FILL_OPTIONS, "free"))
    spaces = {node: levers.disk_space(node) for node in strike.left}
    for node, (_, size) in spaces.items():
        levers.fill_disk(node, size * share // 100)
    return {"free_before": {node: free for node, (free, _) in spaces.items()}, "share": share}


def _full(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """It had more free than the share, and has not now. A file system keeps some blocks for itself: one per cent more
    is as good as the share."""
    answers = []
    for node in strike.left:
        free, size = levers.disk_space(node)
        limit = size * (facts["share"] + 1) // 100
        before = facts["free_before"][node]
        detail = {"free_before": before, "free_now": free, "size": size}
        answers.append(Probed(node, YES if free <= limit < before else NO, detail))
    return answers


def _empty(levers: Levers, strike: Strike, facts: Facts) -> None:
    for node in strike.left:
        levers.empty_disk(node)


def _roomy(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    answers = []
    for node in strike.left:
        free, size = levers.disk_space(node)
        is_roomy = free > size * (facts.get("share", 0) + 1) // 100
        answers.append(Probed(node, YES if is_roomy else NO, {"free_now": free, "size": size}))
    return answers


FILL_DISK: Final = Verb(
    name="fill_disk",
    family="disk",
    summary="something else occupies the disk but for a share of it",
    takes_effect_when="the disk had more free than that share, and has not now",
    undone_by="what occupied it is removed",
    shape="nodes",
    condition="full",
    effects=(Effect("fills-disk", value="free"),),
    inject=_fill,
    probe=_full,
    heal=_empty,
    heal_probe=_roomy,
    options=FILL_OPTIONS,
    needs=("space",),
)
