"""A scenario: what is run, on what, with which load, broken how, and what is expected of it; from a file to values.

Question: what does a person write at three in the morning, and what does he read when he has mistyped it?

    name: sync-flush-survives-power-cut
    claim: CL-37                    # or a list; the promises of docs/promises.md that it shows
    description: one line for lists and reports
    mode: single-master             # single-master | multi-master
    topology: {nameservers: 1, brokers: 1, slaves: 0, flush: sync}
    workload: {kind: log, producers: 4, consumers: 2, queues: 4, rate: 200/s, for: 20s, size: 128B}
    faults:
      - {at: 6s, do: cut_power, on: master(broker-a), for: 3s}
    properties: {broker: {flushIntervalCommitLog: 500}, namesrv: {}}
    deadlines: {ready: 60s, converge: 60s, drain: 60s}
    seed: 7
    expect: {lost: none}

Model. ``yaml.compose`` gives nodes with positions; our own binder reads the *text* of each scalar by the type that is
wanted there. So ``on: partition`` is no boolean, ``12:30`` no number, and every complaint has file:line:column. All
problems of a file are told at once. Unknown and repeated keys are problems.

Limits. Values are checked against each other as far as the file alone can tell; what a backend cannot do is known
when it runs. Anchors and merge keys (``<<``) are refused: a scenario reads from top to bottom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from faults.plan import Fault
from faults.units import UNITS

SECOND = UNITS["s"]

Mode = Literal["single-master", "multi-master"]
Flush = Literal["async", "sync"]
Lost = Literal["none", ""]


@dataclass(frozen=True)
class Topology:
    """How many of what. ``brokers`` counts broker names (``broker-a``, ``broker-b`` …), each one master here."""

    nameservers: int = 1
    brokers: int = 1
    slaves: int = 0
    """Slaves of each master."""
    flush: Flush = "async"


@dataclass(frozen=True)
class Workload:
    """The load. ``rate_per_s`` is of all producers together; ``duration_ns`` how long it lasts."""

    kind: str = "log"
    producers: int = 4
    consumers: int = 2
    queues: int = 4
    rate_per_s: int = 200
    duration_ns: int = 20 * SECOND
    size_bytes: int = 128
    topic: str = "chaos"


@dataclass(frozen=True)
class Deadlines:
    """Bounds of the phases that wait for something."""

    ready_ns: int = 120 * SECOND
    converge_ns: int = 120 * SECOND
    drain_ns: int = 120 * SECOND


@dataclass(frozen=True)
class Expect:
    """Narrows the contract of the mode, never widens it. ``lost``: ``none`` = nothing may be lost, empty = contract."""

    lost: Lost = ""


@dataclass(frozen=True)
class Scenario:
    """One scenario. ``source`` is where it came from (a path, or what made it), for messages."""

    name: str
    mode: Mode
    topology: Topology = field(default_factory=Topology)
    workload: Workload = field(default_factory=Workload)
    faults: tuple[Fault, ...] = ()
    properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """``broker`` and ``namesrv`` → RocketMQ property → text; these win over what the harness sets."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    expect: Expect = field(default_factory=Expect)
    claims: tuple[str, ...] = ()
    description: str = ""
    seed: int | None = None
    source: str = ""


def load(path: Path) -> Scenario:
    """Read a file; :class:`harness.errors.ScenarioError` lists every problem with its place."""
    raise NotImplementedError


def parse(text: str, source: str) -> Scenario:
    """Read a text; *source* names it in messages."""
    raise NotImplementedError


def dump(scenario: Scenario) -> str:
    """The scenario as a file: ``parse(dump(s), s.source) == s``."""
    raise NotImplementedError


def find(name: str) -> Path:
    """A file by path, or a scenario of ``suites/chaos/scenarios`` by name; ``UsageError`` with a suggestion."""
    raise NotImplementedError


def shipped() -> list[Path]:
    """Scenario files that come with the project, by name."""
    raise NotImplementedError


def to_json(scenario: Scenario) -> dict[str, Any]:
    """Plain values for ``run.json``."""
    raise NotImplementedError
