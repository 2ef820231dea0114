"""Faults of a disk: cut_power.

A power cut ends the process *and* loses everything that was not forced to the platter. It is told from a kill by a
witness: what the page cache had and the platter lacked (bytes in the simulator, changed files on ext4). A cut that
lost nothing looks exactly like a kill; the probe then answers *cannot be told*, with that reason. A node that had been
killed before can still lose its page cache: that counts.
"""

from __future__ import annotations

from typing import Final

from faults.catalogue.process import runs_again, start_again, states, steps_for
from faults.levers import Levers
from faults.verb import NO, UNTOLD, YES, Facts, Probed, Strike, Verb


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
    bites="the process is gone and the platter lacked something that the page cache had",
    undone_by="start, with what the disk kept",
    shape="nodes",
    condition="dead",
    inject=_cut_power,
    probe=_lost,
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=lambda levers, strike: steps_for("cut_power", levers, strike),
)
