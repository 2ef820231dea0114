"""Faults that take a machine for good: wipe, adopt_slave.

``wipe`` ends the process and its disk is gone; when it is healed the node starts with an empty one. ``adopt_slave`` is
the same for a master, but healing is what an operator's guide says: stop a slave (the first, or the one that the plan
names), copy its data to the new machine, start both. Whether a slave's copy was worth anything is then seen by what can
be read. Which slave it was is told with the probe.

The witness is the disk: it held files before, and holds none after. A node that had none has lost nothing: *no*.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from faults.catalogue.process import STOP_OPTIONS, runs_again, start_again, states, steps_of
from faults.effects import KILLED, Effect
from faults.errors import InjectionFailed
from faults.levers import Levers
from faults.selectors import Node
from faults.units import duration_ns
from faults.verb import NO, YES, Facts, Option, Probed, Strike, Verb, option

ADOPT_OPTIONS: Final = {
    "from": Option("", "the slave whose data is taken; if none is named, the first of the broker"),
    **STOP_OPTIONS,
}


def _wipe(levers: Levers, strike: Strike) -> Facts:
    before, files = states(levers, strike), {node: levers.disk_files(node) for node in strike.left}
    for node in strike.left:
        levers.kill(node)
        levers.wipe(node)
    return {"before": before, "files": files}


def _wiped(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    answers = []
    for node in strike.left:
        now, left, had = levers.state(node), levers.disk_files(node), facts["files"][node]
        detail = {"before": facts["before"][node], "now": now, "files_before": had, "files_now": left}
        answers.append(Probed(node, YES if now == "dead" and had > left == 0 else NO, detail))
    return answers


def _lose_master(levers: Levers, strike: Strike) -> Facts:
    """Refused before anything is done where there is nothing to adopt."""
    slaves = {node: _slave_of(strike, node) for node in strike.left}
    return {**_wipe(levers, strike), "slaves": slaves}


def _slave_of(strike: Strike, master: str) -> str:
    broker, wanted = Node.named(master).broker, option(strike, ADOPT_OPTIONS, "from")
    slaves = strike.topology.names(lambda node: node.broker == broker and node.is_slave)
    if not slaves or master in slaves:
        raise InjectionFailed(f"{master} has no slave whose data could be adopted")
    if wanted and wanted not in slaves:
        raise InjectionFailed(f"{wanted} is no slave of {master}, which has {', '.join(slaves)}")
    return wanted or slaves[0]


def _lost_for_a_slave(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """As for a wiped node; with the slave whose data will take the place."""
    slaves = facts["slaves"]
    return [
        replace(probed, detail={**probed.detail, "from": slaves[probed.node]})
        for probed in _wiped(levers, strike, facts)
    ]


def _adopt(levers: Levers, strike: Strike, facts: Facts) -> None:
    """The slave is stopped in order, so that both begin with whole records; a master that runs is left alone."""
    timeout_ns = duration_ns(option(strike, STOP_OPTIONS, "timeout"))
    for master, slave in facts.get("slaves", {}).items():
        if levers.state(master) != "dead":
            continue
        levers.stop(slave, timeout_ns)
        levers.copy_disk(slave, master)
        levers.start(master)
        levers.start(slave)
    if "slaves" not in facts:  # the injection did not get that far
        start_again(levers, strike, facts)


WIPE: Final = Verb(
    name="wipe",
    family="loss",
    summary="ends the process, and its disk is gone",
    takes_effect_when="the process is gone and its disk, which held files, holds none",
    undone_by="start, with an empty disk",
    shape="nodes",
    condition="dead",
    effects=(*KILLED, Effect("takes", "all")),
    inject=_wipe,
    probe=_wiped,
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
    needs=("process", "content"),
)

ADOPT_SLAVE: Final = Verb(
    name="adopt_slave",
    family="loss",
    summary="ends a master, whose disk is gone; an operator makes a new one from a slave's data",
    takes_effect_when="the process is gone and its disk, which held files, holds none",
    undone_by="stop the slave, copy its data, start both",
    shape="nodes",
    condition="dead",
    effects=(*KILLED, Effect("takes", "replaced")),
    inject=_lose_master,
    probe=_lost_for_a_slave,
    heal=_adopt,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
    options=ADOPT_OPTIONS,
    needs=("process", "content"),
)
