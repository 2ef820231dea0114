"""Scenario files: from YAML to a :class:`Scenario` and back.

Question: what does a person write at three in the morning, and what does he read when he has mistyped it?

    name: sync-flush-survives-power-cut
    claim: CL-37                    # or a list; the guarantees of docs/promises.md that it shows
    description: one line for lists and reports
    mode: single-master             # single-master | multi-master | multi-master-multi-slave-async | …-sync
    topology: {nameservers: 1, brokers: 1, slaves: 0, flush: sync}
    workload: {kind: log, producers: 4, consumers: 2, queues: 4, rate: 200/s, for: 20s, size: 128B}
    faults:
      - {at: 6s, do: cut_power, on: master(broker-a), for: 3s}
    properties: {broker: {flushIntervalCommitLog: 500}, namesrv: {}, slave: {haMasterAddress: "{master}:10912"}}
    deadlines: {ready: 60s, converge: 60s, drain: 60s}
    seed: 7                         # without one every run draws its own
    expect: {lost: none, replicas: agree, verdict: FAIL, because: lost, beside: [two-values-one-offset], most: 60}

Model. ``yaml.compose`` gives nodes with positions; our own binder reads the *text* of each scalar by the type that is
wanted there. So ``on: partition`` is no boolean, ``12:30`` no number, and every complaint has file:line:column. All
problems of a file are told at once. Unknown and repeated keys are problems.

Limits. Values are checked against each other as far as the file alone can tell; what a backend cannot do is known
when it runs. Anchors and merge keys (``<<``) are refused: a scenario reads from top to bottom.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import yaml

from checkers.runs.kinds import FAILURES
from faults.errors import suggestion
from faults.units import SIZES, duration_ns, duration_text, size_bytes, size_text
from harness.binder import Binder, Node
from harness.errors import ScenarioError, UsageError
from harness.modes import MODES, Flush
from harness.scenario import (
    SECOND,
    Deadlines,
    Expect,
    Scenario,
    Topology,
    Workload,
    default_topology,
)
from harness.scenario_plan import with_faults, written_fault
from harness.targets.properties import UNCHECKED_HINT, listed_as, unknown_anywhere
from harness.workloads.table import LOADS, OBSERVERS, OPERATORS, SHORTHANDS

T = TypeVar("T")

MESSAGES_MAX: Final = 20_000_000
"""Dense message numbers are cheap, but a history has to fit into memory to be checked."""

# -- what may stand in a file: key → (attribute, reader, writer) ---------------------------------------------------


def whole(low: int, high: int) -> Callable[[str], int]:
    """A reader of whole numbers within bounds; ``0x…`` is understood."""

    def read(text: str) -> int:
        try:
            value = int(text, 0)
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number") from None
        if not low <= value <= high:
            raise ValueError(f"{value} is not within {low} and {high}")
        return value

    return read


def rate_per_s(text: str) -> int:
    """``200/s``."""
    number, slash, unit = text.partition("/")
    if not slash or unit.strip() != "s":
        raise ValueError(f"{text!r} is not a rate: write a number of messages a second, as 200/s")
    return whole(1, 100_000)(number.strip())


def _client(text: str) -> str:
    """An adapter's name or a command line; whether it can be had is seen when the run is prepared."""
    if not text.strip():
        raise ValueError("a client is java:VERSION, go:VERSION, python, or the command line of an adapter")
    return text


def _span_ns(text: str) -> int:
    value = duration_ns(text)
    if not value:
        raise ValueError("must be more than nothing")
    return value


def one_of(*choices: str) -> Callable[[str], str]:
    """A reader of fixed words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"cannot be {text!r}; {suggestion(text, choices)}")
        return text

    return read


BODY_MAX: Final = 4 * SIZES["MiB"]


def _body_size(text: str) -> int:
    """RocketMQ refuses bodies above 4 MiB; below 32 bytes the harness has no room for its own head."""
    return whole(32, BODY_MAX)(str(size_bytes(text)))


def _topic(text: str) -> str:
    """RocketMQ: TopicValidator, 127 characters of a fixed alphabet."""
    if not re.fullmatch(r"[A-Za-z0-9_%|-]{1,127}", text):
        raise ValueError(f"{text!r} is no topic: letters, digits, - and _, at most 127")
    return text


@dataclass(frozen=True)
class _Key:
    attribute: str
    read: Callable[[str], Any]
    write: Callable[[Any], Any] = str
    is_list: bool = False
    """Several words, or one."""


_TOPOLOGY: Final = {
    "nameservers": _Key("nameservers", whole(1, 9)),
    "controllers": _Key("controllers", whole(0, 9)),
    "brokers": _Key("brokers", whole(1, 26)),
    "slaves": _Key("slaves", whole(0, 9)),
    "flush": _Key("flush", one_of(*get_args(Flush))),
}
_WORKLOAD: Final = {
    "kind": _Key("kind", one_of(*LOADS, *SHORTHANDS)),
    "operators": _Key("operators", one_of(*OPERATORS), write=list, is_list=True),
    "observers": _Key("observers", one_of(*OBSERVERS), write=list, is_list=True),
    "producers": _Key("producers", whole(1, 200)),
    "consumers": _Key("consumers", whole(0, 200)),
    "queues": _Key("queues", whole(1, 1024)),
    "rate": _Key("rate_per_s", rate_per_s, lambda value: f"{value}/s"),
    "for": _Key("duration_ns", _span_ns, duration_text),
    "size": _Key("size_bytes", _body_size, size_text),
    "spread": _Key("spread_bytes", size_bytes, size_text),
    "topic": _Key("topic", _topic),
    "client": _Key("client", _client),
}
_DEADLINES: Final = {
    "ready": _Key("ready_ns", _span_ns, duration_text),
    "converge": _Key("converge_ns", _span_ns, duration_text),
    "drain": _Key("drain_ns", _span_ns, duration_text),
}
_EXPECT: Final = {
    "lost": _Key("lost", one_of("none")),
    "replicas": _Key("replicas", one_of("agree")),
    "sends": _Key("sends", one_of("ok")),
    "verdict": _Key("verdict", one_of("FAIL")),
    "because": _Key("because", one_of(*FAILURES)),
    "beside": _Key("beside", one_of(*FAILURES), write=list, is_list=True),
    "most": _Key("most", whole(1, 1_000_000)),
}
_TOP: Final = (
    "name",
    "claim",
    "description",
    "mode",
    "topology",
    "workload",
    "faults",
    "properties",
    "deadlines",
    "seed",
    "expect",
)
OWN_PROPERTIES: Final = {
    "flushDiskType": "say topology: {flush: sync}",
    "brokerRole": "the mode decides it",
    "brokerName": "the harness names the brokers",
    "brokerId": "the harness numbers the brokers",
    "brokerClusterName": "the harness names the cluster",
    "brokerIP1": "addresses are the backend's",
    "brokerIP2": "addresses are the backend's",
    "listenPort": "ports are RocketMQ's",
    "haListenPort": "ports are RocketMQ's",
    "namesrvAddr": "addresses are the backend's",
    "storePathRootDir": "folders are the backend's",
    "storePathCommitLog": "folders are the backend's",
}
"""Properties that a scenario may not set, and what to do instead."""


def load(path: Path) -> Scenario:
    """Read a file; :class:`harness.errors.ScenarioError` lists every problem with its place."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from None
    return parse(text, str(path))


def parse(text: str, source: str) -> Scenario:
    """Read a text; *source* names it in messages."""
    binder = Binder(source)
    root = binder.compose(text)
    scenario = _bind(binder, root) if root is not None else None
    binder.finish()
    assert scenario is not None, "a file without problems has a scenario"
    return scenario


def _bind(binder: Binder, root: Node) -> Scenario:
    keys = binder.mapping(root, "the scenario", _TOP, required=("name", "mode"))

    def part(name: str, read: Callable[[Node], T], fallback: T) -> T:
        return read(keys[name]) if name in keys else fallback

    mode = part("mode", lambda node: _mode(binder, node), "")
    brokers = default_topology(mode) if mode else Topology()
    scenario = Scenario(
        name=part("name", lambda node: binder.read(node, "name", _name, ""), ""),
        mode=mode,
        topology=part("topology", lambda node: _record(binder, node, "topology", brokers, _TOPOLOGY), brokers),
        workload=part("workload", lambda node: _workload(binder, node), Workload()),
        properties=part("properties", lambda node: _properties(binder, node), {}),
        deadlines=part(
            "deadlines", lambda node: _record(binder, node, "deadlines", Deadlines(), _DEADLINES), Deadlines()
        ),
        expect=part("expect", lambda node: _record(binder, node, "expect", Expect(), _EXPECT), Expect()),
        claims=part("claim", lambda node: _claims(binder, node), ()),
        description=part("description", lambda node: binder.text(node, "description"), ""),
        seed=part("seed", lambda node: binder.read(node, "seed", whole(0, 2**64 - 1), None), None),
        source=binder.source,
    )
    if mode:
        _check_topology(binder, keys.get("topology", root), scenario)
        _check_properties(binder, keys.get("properties", root), scenario)
        _check_load(binder, keys.get("workload", root), scenario)
    if "expect" in keys:
        _check_expect(binder, keys["expect"])
    return part("faults", lambda node: with_faults(binder, node, scenario), scenario)


def _record(binder: Binder, node: Node, what: str, default: T, table: Mapping[str, _Key]) -> T:
    """*default* with the keys that are there."""
    values = {spec.name: getattr(default, spec.name) for spec in fields(default)}  # type: ignore[arg-type]
    for key, value in binder.mapping(node, what, tuple(table)).items():
        attribute = table[key].attribute
        if table[key].is_list:
            values[attribute] = _words(binder, value, f"{what} {key}", table[key].read)
        else:
            values[attribute] = binder.read(value, f"{what} {key}", table[key].read, values[attribute])
    return type(default)(**values)


def _words(binder: Binder, node: Node, what: str, read: Callable[[str], str]) -> tuple[str, ...]:
    """A list of words, or one word; those that are wrong are left out, with a complaint."""
    items = binder.items(node, what) if isinstance(node, yaml.SequenceNode) else [node]
    words = (binder.read(item, what, read, "") for item in items)
    return tuple(dict.fromkeys(word for word in words if word))


def _workload(binder: Binder, node: Node) -> Workload:
    """A kind that stands for a load with somebody beside it is written out."""
    found = _record(binder, node, "workload", Workload(), _WORKLOAD)
    load, operators, observers = SHORTHANDS.get(found.kind, (found.kind, (), ()))
    whole_load = replace(
        found,
        kind=load,
        operators=tuple(dict.fromkeys((*operators, *found.operators))),
        observers=tuple(dict.fromkeys((*observers, *found.observers))),
    )
    alone = [name for name in whole_load.operators if OPERATORS[name].is_alone]
    if alone and len(whole_load.operators) > 1:
        others = ", ".join(name for name in whole_load.operators if name != alone[0])
        binder.problem(node, f"the operator {alone[0]} asks for all that there is: not together with {others}",
                       "a scenario for each")  # fmt: skip
    return whole_load


def _name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,99}", text):
        raise ValueError(f"{text!r} is no name: small letters, digits and -, as sync-flush-survives-power-cut")
    return text


def _mode(binder: Binder, node: Node) -> str:
    return binder.choice(node, "mode", tuple(MODES))


def _claim(text: str) -> str:
    if not re.fullmatch(r"CL-\d\d", text):
        raise ValueError(f"{text!r} is no claim: they are named CL-01, CL-37 …")
    return text


def _claims(binder: Binder, node: Node) -> tuple[str, ...]:
    nodes = [node] if not hasattr(node, "value") or isinstance(node.value, str) else binder.items(node, "claim")
    return tuple(binder.read(item, "claim", _claim, "") for item in nodes)


def _properties(binder: Binder, node: Node) -> Mapping[str, Mapping[str, str]]:
    found = {}
    for kind, mapping in binder.mapping(node, "properties", ("broker", "namesrv", "controller", "slave")).items():
        found[kind] = _properties_of(binder, mapping, kind)
    return found


def _properties_of(binder: Binder, node: Node, kind: str) -> Mapping[str, str]:
    found = {}
    for name, (key_node, value) in binder.free_mapping(node, f"properties of {kind}").items():
        if name in OWN_PROPERTIES:
            binder.problem(key_node, f"{name} is not set here", OWN_PROPERTIES[name])
        elif what := unknown_anywhere(name, (listed_as(kind),)):
            binder.problem(key_node, what, UNCHECKED_HINT)
        found[name] = binder.text(value, name)
        for blank in re.findall(r"\{[^}]*\}", found[name]):
            if kind != "slave" or blank != "{master}":
                hint = "{master} in a property of slaves stands for the master's host"
                binder.problem(value, f"{blank} in {name} stands for nothing", hint)
    return found


# -- what must fit together -----------------------------------------------------------------------------------------


def _check_topology(binder: Binder, node: Node, scenario: Scenario) -> None:
    topology, mode = scenario.topology, scenario.mode
    for count, allowed, what in (
        (topology.slaves, MODES[mode].slaves, "slave"),
        (topology.brokers, MODES[mode].brokers, "broker"),
        (topology.controllers, MODES[mode].controllers, "controller"),
    ):
        if problem := allowed.problem(count, what):
            hint = f"leave out {what}s" if not allowed.most else MODES[mode].hint
            binder.problem(node, f"mode {mode} {problem}", hint)


def _check_properties(binder: Binder, node: Node, scenario: Scenario) -> None:
    there = {"slave": MODES[scenario.mode].has_slaves, "controller": scenario.topology.controllers > 0}
    for kind in (kind for kind, is_there in there.items() if not is_there and kind in scenario.properties):
        binder.problem(node, f"there are no {kind}s here to have properties", f"leave out {kind}")


def _check_load(binder: Binder, node: Node, scenario: Scenario) -> None:
    load = scenario.workload
    if load.rate_per_s * load.duration_ns // SECOND > MESSAGES_MAX:
        binder.problem(node, f"rate × for is more than {MESSAGES_MAX:,} messages", "a run is checked in memory")
    if load.size_bytes + load.spread_bytes > BODY_MAX:
        binder.problem(node, f"size and spread make more than {size_text(BODY_MAX)}", "RocketMQ refuses such bodies")


def _check_expect(binder: Binder, node: Node) -> None:
    """Which failure, and that it is one, are said together; a value that is wrong is a complaint of its own."""
    keys = [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    if ("verdict" in keys) != ("because" in keys):
        missing = "because" if "verdict" in keys else "verdict"
        binder.problem(node, f"expect lacks {missing}", "say both: expect: {verdict: FAIL, because: a kind of anomaly}")


# -- back to a file ----------------------------------------------------------------------------------------------------


def dump(scenario: Scenario) -> str:
    """The scenario as a file: ``parse(dump(s), s.source) == s``."""
    lines = [f"name: {scenario.name}"]
    lines += [f"claim: [{', '.join(scenario.claims)}]"] if scenario.claims else []
    lines += [f"description: {_scalar(scenario.description)}"] if scenario.description else []
    lines += [
        f"mode: {scenario.mode}",
        f"topology: {_flow(_written(scenario.topology, _TOPOLOGY))}",
        f"workload: {_flow(_written(scenario.workload, _WORKLOAD))}",
    ]
    lines += (
        ["faults:", *(f"  - {_flow(written_fault(fault))}" for fault in scenario.faults)] if scenario.faults else []
    )
    if scenario.properties:
        kinds = (f"  {kind}: {_flow(properties)}" for kind, properties in scenario.properties.items())
        lines += ["properties:", *kinds]
    lines += [f"deadlines: {_flow(_written(scenario.deadlines, _DEADLINES))}"]
    lines += [f"seed: {scenario.seed:#x}"] if scenario.seed is not None else []
    lines += [f"expect: {_flow(scenario.expect.narrowed())}"] if scenario.expect.narrowed() else []
    return "\n".join(lines) + "\n"


def _written(record: object, table: Mapping[str, _Key]) -> dict[str, Any]:
    """What the record says; an empty text or list says nothing."""
    texts = {key: spec.write(getattr(record, spec.attribute)) for key, spec in table.items()}
    return {key: text for key, text in texts.items() if text}


def _flow(values: Mapping[str, Any]) -> str:
    return f"{{{', '.join(f'{key}: {_inline(value)}' for key, value in values.items())}}}"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return _flow(value)
    if isinstance(value, int):
        return str(value)
    return f"[{', '.join(map(_scalar, value))}]" if isinstance(value, list) else _scalar(value)


YAML_ESCAPES: Final = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF)}
"""What JSON lets stand and YAML takes for a line break or refuses."""


def _scalar(text: str) -> str:
    """Plain where nothing in it can be mistaken, else double-quoted (JSON strings are nearly YAML)."""
    is_plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_./|()-]*( [A-Za-z0-9_./|()-]+)*", text)
    return text if is_plain else json.dumps(text, ensure_ascii=False).translate(YAML_ESCAPES)


def to_json(scenario: Scenario) -> dict[str, Any]:
    """Plain values for ``run.json``: the same words and units as in a file."""
    return {
        "name": scenario.name,
        "claims": list(scenario.claims),
        "description": scenario.description,
        "mode": scenario.mode,
        "topology": _written(scenario.topology, _TOPOLOGY),
        "workload": _written(scenario.workload, _WORKLOAD),
        "faults": [{"id": fault.id, **written_fault(fault)} for fault in scenario.faults],
        "properties": {kind: dict(properties) for kind, properties in scenario.properties.items()},
        "deadlines": _written(scenario.deadlines, _DEADLINES),
        "expect": scenario.expect.narrowed(),
    }
