"""Faults that take a machine for good, or its latest past: wipe, adopt_slave, return_stale.

``wipe`` ends the process and its disk is gone; when it is healed the node starts with an empty one. ``adopt_slave`` is
the same for a master, but healing is what an operator's guide says: stop a slave (the first, or the one that the plan
names), copy its data to the new machine, start both. Whether a slave's copy was worth anything is then seen by what can
be read. Which slave it was is told with the probe.

The witness is the disk: it held files before, and holds none after. A node that had none has lost nothing: *no*.

``return_stale``: a slave comes back from an older copy of its own disk. It ends, a copy is taken, it starts again and
goes on until its log has so much more; then it ends, and its disk is that copy. The witness is where its log ended
before and where it ends now; a log that did not grow so far in half a minute is put back all the same: *no*. A master
is refused: it would have lost what it alone had acknowledged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from faults.catalogue.process import STOP_OPTIONS, runs_again, start_again, states, steps_of
from faults.effects import KILLED, Effect
from faults.errors import InjectionFailed
from faults.levers import Levers
from faults.selectors import Node
from faults.units import duration_ns, duration_text, size_bytes
from faults.verb import NO, YES, Facts, Option, Probed, Strike, Verb, option

ADOPT_OPTIONS: Final = {
    "from": Option("", "the slave whose data is taken; if none is named, the first of the broker"),
    **STOP_OPTIONS,
}


STALE_OPTIONS: Final = {
    "behind": Option(
        "", "how many bytes of log are missing from the copy, at least", read=size_bytes, required=True,
        samples=("1KiB", "4KiB", "16KiB"),
    )
}  # fmt: skip
GROWTH_NS: Final = 30_000_000_000


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
    role="master",
    needs=("process", "content"),
)


def _return_stale(levers: Levers, strike: Strike) -> Facts:
    """Refused before anything is done where somebody hit is no slave."""
    slaves = strike.topology.names(lambda node: node.is_slave)
    if masters := [node for node in strike.left if node not in slaves]:
        raise InjectionFailed(f"only slaves come back from an older copy, not {', '.join(masters)}")
    behind = size_bytes(option(strike, STALE_OPTIONS, "behind"))
    before = states(levers, strike)
    return {"before": before, "ends": {node: _put_back(levers, node, behind) for node in strike.left}}


def _put_back(levers: Levers, node: str, behind: int) -> tuple[int, int]:
    """(where the log of the copy ends, where the log ended when the copy took its place)."""
    levers.kill(node)
    levers.keep_disk(node)
    kept = levers.log_end(node)
    levers.start(node)
    grown = levers.log_end(node, kept + behind - 1, GROWTH_NS)
    levers.kill(node)
    levers.put_disk_back(node)
    return kept, grown


def _is_stale(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    behind = size_bytes(option(strike, STALE_OPTIONS, "behind"))
    answers = []
    for node in strike.left:
        now, ended, ends = levers.state(node), facts["ends"][node][1], levers.log_end(node)
        detail = {"before": facts["before"][node], "now": now, "log_before": ended, "position": ends}
        if ended - ends < behind:
            detail["reason"] = f"its log did not grow by so much within {duration_text(GROWTH_NS)}"
        answers.append(Probed(node, YES if now == "dead" and ended - ends >= behind else NO, detail))
    return answers


RETURN_STALE: Final = Verb(
    name="return_stale",
    family="loss",
    summary="ends a slave, whose disk becomes an older copy of itself",
    takes_effect_when="the process is gone and its log ends so much earlier than it did",
    undone_by="start, with the older copy",
    shape="nodes",
    condition="dead",
    effects=(*KILLED, Effect("takes", "damaged")),
    inject=_return_stale,
    probe=_is_stale,
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
    options=STALE_OPTIONS,
    role="slave",
    grows_by="behind",
    needs=("process", "content"),
)
