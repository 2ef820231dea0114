"""What an operator does to a broker by its configuration: reconfigure, promote.

``reconfigure`` is an orderly stop, other properties, a start; healing is the same with the old ones.

``promote`` makes a master of a slave, as RocketMQ's classic mode wants it done by hand (RocketMQ documentation,
deployment: a slave cannot become a master by itself). The runbook, step by step:

    1  stop the slave                        in order, so that it begins with whole records
    2  brokerId=0, brokerRole of the master  in its configuration
    3  start it                              it registers, and the name has a master again

    heal, the way back:
    4  stop the promoted broker, and the old master if it runs
    5  copy the promoted broker's data to the old master: what that had alone is thrown away
    6  the old configuration, start both

Whatever the old master had and the slave had not is lost with step 5; so is everything the old master took if it came
back *before* step 5, beside the promoted one: two masters of one name, each with its own log from the same position on.

Limits. Whether NameServers list the promoted broker is seen by those who ask them, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from faults.catalogue.process import STOP_OPTIONS, runs_again, states, steps_of
from faults.effects import RESTARTED_BY_HEAL, RESTARTED_IN_ORDER, Effect
from faults.errors import InjectionFailed
from faults.levers import Levers
from faults.selectors import Node
from faults.units import duration_ns
from faults.verb import NO, YES, Facts, Option, Probed, Strike, Verb, option

MASTERS: Final = ("brokerRole", "inSyncReplicas")
"""What a promoted slave takes over from its master's configuration, beside the brokerId."""


def assignments(text: str) -> dict[str, str]:
    """``name=value, name=value``; ``ValueError`` with a sentence."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise ValueError(f"{part.strip()!r} is no property: write name=value, several with commas")
        found[name.strip()] = value.strip()
    return found


SET_OPTIONS: Final = {
    "set": Option("", "properties to change: name=value, several with commas", read=assignments, required=True),
    **STOP_OPTIONS,
}


def _change(levers: Levers, strike: Strike, node: str, properties: Mapping[str, str]) -> str:
    """Stop, change, start; what was seen of the process in between."""
    levers.stop(node, duration_ns(option(strike, STOP_OPTIONS, "timeout")))
    between = levers.state(node)
    levers.reconfigure(node, properties)
    levers.start(node)
    return between


def _change_all(
    levers: Levers, strike: Strike, before: Mapping[str, Mapping[str, str]], wanted: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """Change one node after the other; where one cannot be changed, those that were are changed back."""
    between: dict[str, str] = {}
    try:
        for node in strike.left:
            between[node] = _change(levers, strike, node, {**before[node], **wanted[node]})
    except BaseException:
        for node in strike.left:
            _change_back(levers, strike, node, before[node])
        raise
    return between


def _change_back(levers: Levers, strike: Strike, node: str, before: Mapping[str, str]) -> None:
    """Nothing to do for a node that runs as it did."""
    if dict(levers.properties(node)) != dict(before):
        _change(levers, strike, node, before)
    elif levers.state(node) == "dead":
        levers.start(node)


def _reconfigure(levers: Levers, strike: Strike) -> Facts:
    wanted = assignments(option(strike, SET_OPTIONS, "set"))
    before = {node: dict(levers.properties(node)) for node in strike.left}
    seen = states(levers, strike)
    between = _change_all(levers, strike, before, dict.fromkeys(strike.left, wanted))
    return {"before": seen, "properties": before, "wanted": wanted, "between": between}


def _is_changed(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    return [_changed(levers, node, facts, facts["wanted"]) for node in strike.left]


def _changed(levers: Levers, node: str, facts: Facts, wanted: Mapping[str, str]) -> Probed:
    """It ran, was seen dead, and runs with the new properties, at least one of which is new."""
    now, has = levers.state(node), levers.properties(node)
    before, between = facts["before"][node], facts["between"][node]
    went = (before, between, now) == ("running", "dead", "running")
    is_new = any(facts["properties"][node].get(name) != value for name, value in wanted.items())
    detail: dict[str, Any] = {"before": before, "between": between, "now": now, "set": dict(wanted)}
    is_set = all(has.get(name) == value for name, value in wanted.items())
    return Probed(node, YES if went and is_set and is_new else NO, detail)


def _restore(levers: Levers, strike: Strike, facts: Facts) -> None:
    """Only what was changed here goes back: another fault may have changed other properties meanwhile."""
    for node in strike.left if "properties" in facts else ():
        old, now = facts["properties"][node], dict(levers.properties(node))
        kept = {name: value for name, value in now.items() if name not in facts["wanted"] or name in old}
        restored = kept | {name: old[name] for name in facts["wanted"] if name in old}
        _change(levers, strike, node, restored)


def _promote(levers: Levers, strike: Strike) -> Facts:
    """Refused before anything is done where there is no master to take the place of, or two would take it."""
    masters = {node: _master_of(strike, node) for node in strike.left}
    if len(set(masters.values())) < len(masters):
        raise InjectionFailed(f"{', '.join(strike.left)}: two slaves of one master cannot both take its place")
    before = {node: dict(levers.properties(node)) for node in strike.left}
    seen = states(levers, strike)
    wanted = {node: _masters_properties(levers, master) for node, master in masters.items()}
    of_masters = {master: levers.state(master) for master in masters.values()}
    between = _change_all(levers, strike, before, wanted)
    return {
        "before": seen,
        "properties": before,
        "wanted": wanted,
        "between": between,
        "masters": masters,
        "of_masters": of_masters,
    }


def _masters_properties(levers: Levers, master: str) -> dict[str, str]:
    has = levers.properties(master)
    return {"brokerId": "0", **{name: has[name] for name in MASTERS if name in has}}


def _master_of(strike: Strike, slave: str) -> str:
    broker = Node.named(slave).broker
    masters = strike.topology.names(lambda node: node.broker == broker and node.is_master)
    if not masters or slave in masters:
        raise InjectionFailed(f"{slave} is no slave of anybody: there is nothing to promote it to")
    return masters[0]


def _is_master(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    answers = []
    for node in strike.left:
        probed = _changed(levers, node, facts, facts["wanted"][node])
        master = facts["masters"][node]
        detail = {**probed.detail, "instead_of": master, "which_was": facts["of_masters"][master]}
        answers.append(Probed(node, probed.answer, detail))
    return answers


def _fail_back(levers: Levers, strike: Strike, facts: Facts) -> None:
    timeout_ns = duration_ns(option(strike, STOP_OPTIONS, "timeout"))
    for promoted, master in facts.get("masters", {}).items():
        levers.stop(promoted, timeout_ns)
        levers.stop(master, timeout_ns)
        levers.copy_disk(promoted, master)
        levers.reconfigure(promoted, facts["properties"][promoted])
        levers.start(master)
        levers.start(promoted)


def _is_back(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """Masters and slaves run, with the configuration that they had."""
    answers = []
    masters = facts.get("masters", {})
    for probed in runs_again(levers, strike, facts):
        node = probed.node
        is_restored = dict(levers.properties(node)) == facts["properties"][node]
        master = masters.get(node, node)
        is_well = probed.answer == YES and is_restored and levers.state(master) == "running"
        answers.append(Probed(node, YES if is_well else NO, {**probed.detail, "restored": is_restored}))
    return answers


RECONFIGURE: Final = Verb(
    name="reconfigure",
    family="operator",
    summary="an orderly stop, other properties, a start",
    takes_effect_when="the process ran, was seen dead, and runs with properties of which at least one is new",
    undone_by="the same with the old properties",
    shape="nodes",
    condition="own",
    effects=(*RESTARTED_IN_ORDER, Effect("changes-properties", value="set"), *RESTARTED_BY_HEAL),
    inject=_reconfigure,
    probe=_is_changed,
    heal=_restore,
    heal_probe=_is_back,
    heal_steps=steps_of("dead"),
    options=SET_OPTIONS,
    needs=("process", "configuration"),
)

PROMOTE: Final = Verb(
    name="promote",
    family="operator",
    summary="an operator makes a master of a slave: stop, brokerId=0 and the master's role, start",
    takes_effect_when="the slave ran, was seen dead, and runs with brokerId 0",
    undone_by="stop it and the old master, copy its data to the old master, the old configuration, start both",
    shape="nodes",
    condition="own",
    effects=(*RESTARTED_IN_ORDER, Effect("promotes"), Effect("takes", "replaced"), *RESTARTED_BY_HEAL),
    inject=_promote,
    probe=_is_master,
    heal=_fail_back,
    heal_probe=_is_back,
    heal_steps=steps_of("dead"),
    options=STOP_OPTIONS,
    role="slave",
    needs=("process", "configuration", "content"),
)
