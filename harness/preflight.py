"""Can this backend, with this target, do everything that a plan asks? Told before anything is started or written.

Question: ``cut_power`` in a scenario, on a machine without root: why wait until it strikes?

Model. Every verb says which families of levers it needs (``faults.verb.Verb.needs``), every backend which it has, for
servers and for clients (``harness/backends/capabilities.py``). A selector is judged by one draw of it: kinds of nodes
do not depend on the draw.

Clients of another implementation (``workload.client``) are processes like servers; all others live in the harness's own
process, where only some loads know how a client begins again (``LoadRow.begins_again``).

Limits. What the machine has is looked up, not tried: a security module may still refuse, and then the fault says so
when it strikes.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from checkers.history.releases import numbers_of
from faults.plan import Fault, properties_of
from faults.selectors import Node, SidesSelector, resolve, resolve_sides
from harness.backends.backend import Target
from harness.backends.table import BACKENDS, backend_named
from harness.errors import BackendUnavailable, UsageError
from harness.modes import MODES
from harness.scenario import Scenario, topology_of
from harness.targets.properties import UNCHECKED, listed_as
from harness.targets.releases import known
from harness.workloads.table import LOADS
from harness.worlds import parts_of, versions_in

_MORTAL: Final = ", ".join(row.name for row in LOADS.values() if row.begins_again != "nobody")
UNCHECKED_HINT: Final = f"properties are checked by release; for Apache's brokers {UNCHECKED}NAME is passed on as NAME"


def check_fit(backend: str, target: str) -> None:
    """``UsageError`` for a backend that does not exist, ``BackendUnavailable`` for one that cannot run the target."""
    if not backend_named(backend).runs_roles:
        return
    for part in parts_of(target):
        if not part.has_roles:
            raise BackendUnavailable(
                f"{part.name} is a Java program: the backend {backend} runs Python roles only", hint=_other_backends()
            )


def _other_backends() -> str:
    """Flags that help, where nodes have to be programs."""
    return " or ".join(f"--backend {row.name}" for row in BACKENDS.values() if not row.runs_roles)


def check_plan(scenario: Scenario, backend: str, target: str) -> None:
    """``BackendUnavailable`` with the first fault that cannot be done, and why."""
    check_fit(backend, target)
    can = backend_named(backend).capabilities()
    for fault in scenario.faults:
        nodes = [Node.named(name) for name in _hit(scenario, fault)]
        hosted = ("operator",) if scenario.workload.client else ("client", "operator")
        ours = [node.name for node in nodes if node.kind in hosted]
        servers = [node.name for node in nodes if node.name not in ours]
        if (refused := can.refusal(fault.verb.needs, servers, ours)) is not None:
            raise BackendUnavailable(f"{fault}: {refused.reason}", place=f"backend {backend}", hint=refused.hint)
        if ours and "process" in fault.verb.needs and not _begins_again(scenario, fault):
            raise BackendUnavailable(
                f"{fault}: clients of the load {scenario.workload.kind} have one life only",
                hint=f"pause them, or isolate them; {_MORTAL} begin again",
            )


def _begins_again(scenario: Scenario, fault: Fault) -> bool:
    """Whether whoever the fault ends is a client that can be started anew; nobody restarts the operator."""
    nodes = [Node.named(name) for name in _hit(scenario, fault)]
    load, producers = LOADS[scenario.workload.kind], scenario.workload.producers
    return all(node.kind != "operator" and load.can_end(node.number, producers) for node in nodes)


def _hit(scenario: Scenario, fault: Fault) -> tuple[str, ...]:
    """Whom it may hit, by one draw."""
    topology = topology_of(scenario)
    if isinstance(fault.on, SidesSelector):
        left, right = resolve_sides(fault.on, topology, Random(0))
        return (*left, *right)
    return resolve(fault.on, topology, Random(0))


def check_mode(scenario: Scenario, target: Target, servers: Sequence[str]) -> None:
    """``BackendUnavailable`` for a mode that came with a release, on a node of an older one or of the reference."""
    if not (since := MODES[scenario.mode].since):
        return
    for make in dict.fromkeys(target.at(name).name for name in servers):
        if not any(numbers_of(version) >= numbers_of(since) for version in versions_in(make)):
            what = f"{make} has no mode {scenario.mode}: it came with RocketMQ {since}"
            hint = f"--backend process --target rocketmq:{known()[-1]}"
            raise BackendUnavailable(what, place=scenario.source, hint=hint)


def check_properties(scenario: Scenario, target: Target, servers: Sequence[str]) -> None:
    """``UsageError`` for a property that a node which would get it does not know: it would be ignored."""
    for node in map(Node.named, servers):
        kind = listed_as(node.kind)
        for name in (*_configured(scenario, node), *_reconfigured(scenario, node.name)):
            if what := target.at(node.name).unknown_property(kind, name):
                implementation = target.at(node.name).name
                raise UsageError(f"{node.name} ({implementation}): {what}", place=scenario.source, hint=UNCHECKED_HINT)


def check_load(scenario: Scenario) -> None:
    """``UsageError`` for a load whose messages a broker with these properties would not understand."""
    load, given = LOADS[scenario.workload.kind], scenario.properties.get("broker", {})
    for name, value in load.broker.items() if load.needs_properties else ():
        if given.get(name, "") != value:
            hint = f"set it below properties, broker: {', '.join(f'{key}={text}' for key, text in load.broker.items())}"
            what = f"the load {load.name} needs brokers with {name}={value}"
            raise UsageError(what, place=scenario.source, hint=hint)


def _configured(scenario: Scenario, node: Node) -> list[str]:
    kinds = [node.kind, *(["slave"] if node.is_slave else [])]
    return [name for kind in kinds for name in scenario.properties.get(kind, {})]


def _reconfigured(scenario: Scenario, node: str) -> list[str]:
    """Properties that faults may give to *node*."""
    return [name for fault in scenario.faults for name in properties_of(fault) if node in _hit(scenario, fault)]


def check_plantable(defects: Sequence[str], target: Target, servers: Sequence[str]) -> None:
    """``UsageError`` for a planted bug that does not exist, ``BackendUnavailable`` for one that no node can have."""
    if not defects:
        return
    from reference_impl.defects import DEFECTS, checked_defects

    try:
        checked_defects(defects)
    except ValueError as error:
        raise UsageError(str(error), hint="mqchaos list defects") from None
    ours = {Node.named(name).kind for name in servers if target.at(name).has_defects}
    ours |= {"client"} if ours else set()
    for name in defects:
        if DEFECTS[name].node not in ours:
            raise BackendUnavailable(
                f"{target.name} has no planted bugs: {name} is one of the reference's {DEFECTS[name].node}",
                hint="--target reference",
            )
