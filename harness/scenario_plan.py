"""The plan of a scenario file: faults, that repeat if they say so, checked against the cluster that they are to hit.

Question: which faults does ``faults:`` of a file mean, and would each find somebody while there is load?

    - {at: 6s, do: cut_power, on: master(broker-a), for: 3s}
    - {at: 2s, do: pause, on: masters, for: 300ms, every: 1s, times: 10}       ten faults: f2 to f11

Model. A line that repeats stands for as many faults, each *every* after the one before, each with an id, probes and a
heal of its own: a stutter is pauses, a link that flaps partitions, a clock that strobes steps, a storm restarts.

Limits. Selectors are tried with the nodes of the file; who is hit is known when a fault strikes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final, TypeVar

from faults.errors import PlanError, SelectorError, suggestion
from faults.plan import Fault, Span, bind_fault, properties_of
from faults.selectors import SidesSelector, resolve, resolve_sides
from faults.units import duration_ns, duration_text
from harness.binder import Binder, Node, offset_in
from harness.scenario import Scenario, topology_of
from harness.targets.properties import UNCHECKED_HINT, unknown_anywhere

T = TypeVar("T")

_FAULT: Final = ("at", "do", "on", "for", "every", "times", "with")
TIMES_MAX: Final = 1_000
"""Faults of one line that repeats."""


def with_faults(binder: Binder, node: Node, scenario: Scenario) -> Scenario:
    faults: list[Fault] = []
    for item in binder.items(node, "faults"):
        keys = binder.mapping(item, "a fault", _FAULT, required=("at", "do"))
        fault = _fault(binder, item, keys, len(faults) + 1)
        again = _again(binder, keys, fault) if fault is not None else ()
        if fault is not None and scenario.mode:
            _check_fault(binder, keys.get("on", item), keys["at"], fault, scenario)
            _check_slave(binder, keys.get("with", item), fault, scenario)
            _check_set(binder, keys.get("with", item), fault)
            for repeated in again[-1:]:
                _check_fault(binder, keys.get("on", item), keys["times"], repeated, scenario)
        if fault is not None:
            faults += [fault, *again]
    return replace(scenario, faults=tuple(faults))


def _again(binder: Binder, keys: Mapping[str, Node], fault: Fault) -> tuple[Fault, ...]:
    """The same fault ``every`` so long after the one before, ``times`` times in all: each has an id of its own."""
    if "every" not in keys and "times" not in keys:
        return ()
    if missing := {"every", "times"} - keys.keys():
        binder.problem(
            keys["every" if "every" in keys else "times"], f"a fault that repeats needs {missing.pop()!r}, too"
        )
        return ()
    every_ns = _read_or(binder, keys["every"], "every", duration_ns, 0)
    times = _read_or(binder, keys["times"], "times", _whole, 1)
    if fault.hold is not None and every_ns <= fault.hold.high_ns:
        binder.problem(keys["every"], f"it comes again before it is over: it lasts {fault.hold}")
        return ()
    first = int(fault.id[1:])
    shifts = [number * every_ns for number in range(1, times)]
    spans = [Span(fault.at.low_ns + shift, fault.at.high_ns + shift) for shift in shifts]
    return tuple(replace(fault, id=f"f{first + number}", at=at) for number, at in enumerate(spans, 1))


def _read_or(binder: Binder, node: Node, key: str, read: Callable[[str], T], default: T) -> T:
    try:
        return read(binder.text(node, key))
    except ValueError as error:
        binder.problem(node, str(error))
        return default


def _whole(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= TIMES_MAX:
        raise ValueError(f"{text!r} is not a number of times: 1 to {TIMES_MAX}")
    return int(text)


def _fault(binder: Binder, item: Node, keys: Mapping[str, Node], number: int) -> Fault | None:
    texts = {key: binder.text(keys[key], key) for key in ("at", "do", "on", "for") if key in keys}
    options = binder.free_mapping(keys["with"], "with") if "with" in keys else {}
    values = {name: binder.text(value, name) for name, (_, value) in options.items()}
    if not texts.get("at") or not texts.get("do"):
        return None
    places = {**keys, **{name: key_node for name, (key_node, _) in options.items()}}
    try:
        return bind_fault(
            number, at=texts["at"], do=texts["do"], on=texts.get("on", ""), hold=texts.get("for", ""), options=values
        )
    except PlanError as error:
        place = places.get(error.key, item)
        binder.problem(place, error.what, error.hint, offset_in(place, error.offset) if error.offset else 0)
        return None


def _check_fault(binder: Binder, on: Node, at: Node, fault: Fault, scenario: Scenario) -> None:
    """Would it find somebody, while there is load? Draws are tried with any generator: only emptiness matters."""
    try:
        if isinstance(fault.on, SidesSelector):
            resolve_sides(fault.on, topology_of(scenario), Random(0))
        else:
            resolve(fault.on, topology_of(scenario), Random(0))
    except SelectorError as error:
        there = ", ".join(node.name for node in topology_of(scenario).nodes)
        binder.problem(on, error.what, error.hint or f"there are {there}")
    if fault.latest_ns >= scenario.workload.duration_ns:
        load = duration_text(scenario.workload.duration_ns)
        binder.problem(
            at, f"strikes at {fault.at}, but the load lasts {load}", "lengthen workload for, or strike earlier"
        )
    ports = fault.options.get("ports") or (fault.on.ports if isinstance(fault.on, SidesSelector) else "")
    if ports == "ha" and not scenario.topology.slaves:
        binder.problem(
            on, f"ports ha separates nothing: mode {scenario.mode} has no replication", "use ports any or broker"
        )


def _check_set(binder: Binder, options: Node, fault: Fault) -> None:
    for name in properties_of(fault):
        if what := unknown_anywhere(name, ("broker", "namesrv")):
            binder.problem(options, what, UNCHECKED_HINT)


def _check_slave(binder: Binder, options: Node, fault: Fault, scenario: Scenario) -> None:
    """Is the slave whose data an operator is to take there at all?"""
    wanted = fault.options.get("from", "")
    slaves = [node.name for node in topology_of(scenario).nodes if node.is_slave]
    if wanted and wanted not in slaves:
        binder.problem(options, f"there is no slave {wanted!r}", suggestion(wanted, slaves))


def written_fault(fault: Fault) -> dict[str, Any]:
    written: dict[str, Any] = {"at": str(fault.at), "do": fault.do, "on": str(fault.on)}
    if fault.hold:
        written["for"] = str(fault.hold)
    if fault.options:
        written["with"] = dict(fault.options)
    return written
