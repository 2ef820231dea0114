"""Can this backend, with this target, do everything that a plan asks? Told before anything is started or written.

Question: ``cut_power`` in a scenario, on a machine without root: why wait until it strikes?

Model. Every verb says what it needs (``faults.verb.Need``), every backend what it has. Nodes that live in the harness's
own process (clients, the operator) can only be paused and cut off, and on processes only cut off. A selector that may
mean such a node is judged by one draw of it: kinds of nodes do not depend on the draw.

Limits. What the machine has is looked up, not tried: a security module may still refuse, and then the fault says so
when it strikes.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from faults.levers import LeverRefused
from faults.plan import Fault
from faults.selectors import CutSelector, Node, resolve
from harness.backends.backend import Target
from harness.errors import BackendUnavailable, UsageError
from harness.scenario import Scenario, topology_of
from harness.worlds import check_backend

PAUSES_CLIENTS: Final = ("pause", "isolate", "partition", "step_clock")


def check_fit(backend: str, target: str) -> None:
    """``UsageError`` for a backend that does not exist, ``BackendUnavailable`` for one that cannot run the target."""
    check_backend(backend)
    if backend == "sim" and "rocketmq:" in target:
        raise BackendUnavailable(f"{target} is a Java program: the simulator cannot run it", hint="--backend process")


def check_plan(scenario: Scenario, backend: str, target: str) -> None:
    """``BackendUnavailable`` with the first fault that cannot be done, and why."""
    check_fit(backend, target)
    for fault in scenario.faults:
        refused = _client_refused(scenario, backend, fault) or (_refused(fault) if backend == "process" else None)
        if refused is not None:
            raise BackendUnavailable(f"{fault}: {refused.reason}", place=f"backend {backend}", hint=refused.hint)


def check_plantable(defects: Sequence[str], target: Target, servers: Sequence[str]) -> None:
    """``UsageError`` for a planted bug that does not exist, ``BackendUnavailable`` for one that no node can have."""
    if not defects:
        return
    from reference_impl.defects import DEFECTS, checked_defects

    try:
        checked_defects(defects)
    except ValueError as error:
        raise UsageError(str(error), hint="mqchaos list defects") from None
    ours = {Node.named(name).kind for name in servers if target.at(name).name == "reference"}
    for name in defects:
        if DEFECTS[name].node not in ours:
            raise BackendUnavailable(
                f"{target.name} has no planted bugs: {name} is one of the reference's {DEFECTS[name].node}",
                hint="--target reference",
            )


def _client_refused(scenario: Scenario, backend: str, fault: Fault) -> LeverRefused | None:
    """Who lives in the harness's own process cannot be ended."""
    if isinstance(fault.on, CutSelector) or fault.verb.condition == "cut":
        return None
    kinds = {name: Node.named(name).kind for name in resolve(fault.on, topology_of(scenario), Random(0))}
    ours = [name for name, kind in kinds.items() if kind in ("client", "operator")]
    if not ours or (backend == "sim" and fault.do in PAUSES_CLIENTS):
        return None
    hint = "pause it or isolate it" if backend == "sim" else "only its network can be cut"
    return LeverRefused(f"{ours[0]} lives in the harness's own process", hint)


def _refused(fault: Fault) -> LeverRefused | None:
    from harness.backends.process.capabilities import scan

    has = scan()
    lacks = {
        "network": ("a cut needs a network of its own for every node", has.namespaces),
        "power": ("a power cut needs a disk of its own for every node", has.power_cut),
        "own disk": ("to fill a disk takes a disk of its own for every node", has.power_cut),
        "tracer": ("forces cannot be made to fail here", has.forces),
        "clock": ("a jump needs a wall clock of its own for every node", has.clocks),
        "process": ("", ""),
    }
    reason, why = lacks[fault.verb.needs]
    return LeverRefused(reason, why) if why else None
