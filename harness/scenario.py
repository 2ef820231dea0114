"""A scenario as a value: what is run, with which load, broken how, and what is expected of it.

Question: what does a run need to know, all of it, besides backend, target and seed?

Model. A :class:`Scenario` can be printed, compared, stored and replayed. It comes from a file
(``harness.scenario_file``), or is made in code (the grid of ``mqchaos matrix``). Names of nodes follow from it: a
scenario and its selectors are about the same cluster before anything runs.

Limits. Nothing is checked here; a file is checked where it is read. Modes are those of :mod:`harness.modes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from faults.errors import suggestion
from faults.plan import Fault
from faults.selectors import Topology as Nodes
from faults.units import UNITS
from harness.errors import UsageError
from harness.modes import MODES, Flush

SECOND: Final = UNITS["s"]

Lost = Literal["none", ""]
Replicas = Literal["agree", ""]
Expected = Literal["FAIL", ""]
Sends = Literal["ok", ""]


def default_topology(mode: str) -> Topology:
    """What a scenario of *mode* has if it does not say."""
    return Topology(brokers=MODES[mode].brokers.default, slaves=MODES[mode].slaves.default)


@dataclass(frozen=True)
class Topology:
    """How many of what. ``brokers`` counts broker names (``broker-a``, ``broker-b`` …), each with one master."""

    nameservers: int = 1
    brokers: int = 1
    slaves: int = 0
    """Slaves of each master."""
    flush: Flush = "async"
    controllers: int = 0
    """That stand apart; in modes that have controllers and with none apart, NameServers are them."""


@dataclass(frozen=True)
class Workload:
    """The load, and who observes and operates beside it (names of ``harness/workloads/table.py``). ``rate_per_s`` is of
    all producers together; ``duration_ns`` how long it lasts."""

    kind: str = "log"
    producers: int = 4
    consumers: int = 2
    queues: int = 4
    rate_per_s: int = 200
    duration_ns: int = 20 * SECOND
    size_bytes: int = 128
    topic: str = "chaos"
    spread_bytes: int = 0
    """Each body is so much longer at most, as drawn: records of different lengths."""
    operators: tuple[str, ...] = ()
    observers: tuple[str, ...] = ()
    client: str = ""
    """Of the kinds ``external``: which adapter (``java:4.9.8``, ``go:2.1.2``, ``python``, or a command line)."""


@dataclass(frozen=True)
class Deadlines:
    """Bounds of the phases that wait for something."""

    ready_ns: int = 120 * SECOND
    converge_ns: int = 120 * SECOND
    drain_ns: int = 120 * SECOND


@dataclass(frozen=True)
class Expect:
    """Narrows the contract of the mode, never widens it; empty = contract. ``lost``: ``none`` = nothing may be lost;
    ``replicas``: ``agree`` = slaves hold what their masters hold, whatever happened.

    ``verdict``: ``FAIL`` = the scenario is there to show a broken guarantee, with an anomaly of the kind ``because``.
    It makes no failure green: the verdict stays FAIL, and a run that does not show it is UNKNOWN. It has bounds:
    failures of other kinds than ``beside`` names, or of more than ``most`` messages, are not as expected.
    """

    lost: Lost = ""
    replicas: Replicas = ""
    sends: Sends = ""
    """``ok``: what was taken was promised: no send ends with a status that says "stored, not promised"."""
    verdict: Expected = ""
    because: str = ""
    beside: tuple[str, ...] = ()
    most: int = 0

    def narrowed(self) -> dict[str, Any]:
        """What it says, for checkers and files; nothing where it leaves everything to the contract."""
        said = {
            "lost": self.lost,
            "replicas": self.replicas,
            "sends": self.sends,
            "verdict": self.verdict,
            "because": self.because,
            "beside": list(self.beside),
            "most": self.most,
        }
        return {key: value for key, value in said.items() if value}


@dataclass(frozen=True)
class Scenario:
    """One scenario. ``source`` is where it came from (a path, or what made it), for messages."""

    name: str
    mode: str
    """A name in the table of modes (:data:`harness.modes.MODES`)."""
    topology: Topology = field(default_factory=Topology)
    workload: Workload = field(default_factory=Workload)
    faults: tuple[Fault, ...] = ()
    properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """``broker``, ``namesrv`` and ``slave`` → RocketMQ property → text; these win over what the harness sets, those of
    a slave over those of all brokers. ``{master}`` in a slave's stands for its master's host."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    expect: Expect = field(default_factory=Expect)
    claims: tuple[str, ...] = ()
    description: str = ""
    seed: int | None = None
    source: str = ""


# -- who is there ------------------------------------------------------------------------------------------------------


def server_names(scenario: Scenario) -> tuple[str, ...]:
    """Names of the servers: ``namesrv-1`` …, ``controller-1`` …, ``broker-a-0``, ``broker-a-1`` …"""
    topology = scenario.topology
    namesrvs = [f"namesrv-{number}" for number in range(1, topology.nameservers + 1)]
    controllers = [f"controller-{number}" for number in range(1, topology.controllers + 1)]
    letters = [chr(ord("a") + index) for index in range(topology.brokers)]
    brokers = [f"broker-{letter}-{number}" for letter in letters for number in range(topology.slaves + 1)]
    return (*namesrvs, *controllers, *brokers)


def client_names(scenario: Scenario) -> tuple[str, ...]:
    """``client-1`` …: one a producer, then one a consumer."""
    count = scenario.workload.producers + scenario.workload.consumers
    return tuple(f"client-{number}" for number in range(1, count + 1))


def topology_of(scenario: Scenario) -> Nodes:
    """Servers, clients and the operator, as selectors see them before anything runs."""
    nodes = Nodes.of((*server_names(scenario), *client_names(scenario), "operator"))
    serving, other = MODES[scenario.mode].role_words
    return nodes.with_roles({node.name: serving if node.is_master else other for node in nodes.nodes if node.broker})


# -- scenarios that come with the project ------------------------------------------------------------------------------

SHIPPED: Final = Path(__file__).resolve().parent / "scenarios"
"""Those of the claims and findings."""
MUSEUM: Final = SHIPPED / "museum"
"""Scenarios that reach planted bugs: found by name, not listed."""


def shipped() -> list[Path]:
    """Scenario files that come with the project, by name."""
    return sorted(SHIPPED.glob("*.yaml"), key=lambda path: path.stem)


def recipes() -> list[Path]:
    """Those of them that put faults together in a way that has a name."""
    return [path for path in shipped() if path.stem.startswith("recipe-")]


def find(name: str) -> Path:
    """A file by path, or a scenario that comes with the project by name; ``UsageError`` with a suggestion."""
    path = Path(name)
    if path.is_file():
        return path
    known = {path.stem: path for path in (*sorted(MUSEUM.glob("*.yaml")), *shipped())}
    if name in known:
        return known[name]
    if path.is_dir():
        raise UsageError(f"{name} is a folder, and a scenario is a file", hint="mqchaos list scenarios")
    what = (
        f"there is no scenario {name!r}" if "/" not in name and path.suffix != ".yaml" else f"there is no file {name}"
    )
    close = suggestion(path.stem, tuple(known))
    raise UsageError(what, hint=close if close.startswith("did") else "mqchaos list scenarios")
