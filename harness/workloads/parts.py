"""Parts of a client node: observers and operators, beside whatever else it does.

Question: how do several things that look and act share one client, one connection a node, one count of what is under
way?

Model. A :class:`Part` is started with its host and asked about every timer that the host does not know. It sends by the
host's remoting and records by its recorder, so ``in_flight`` and ``stopped`` of the host hold for it, too. Keys of its
timers are tuples that begin with its own name.

Limits. A part that blocks nobody: one question to one node at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from harness.workloads.measuring import MeasuringClient
from harness.workloads.table import Companion
from harness.workloads.workload import Stage
from reference_impl.environment import Environment, Link


class Part(Protocol):
    """One observer or operator."""

    def on_start(self, env: Environment) -> None:
        """The load begins."""

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether *key* was its own."""


class Stranger:
    """A connection of a part that speaks another protocol than remoting. By itself it hears nothing."""

    def on_connected(self, env: Environment, link: Link) -> None:
        """It stands."""

    def on_closed(self, env: Environment, link: Link) -> None:
        """It has ended, or never stood."""

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        """In any pieces."""


class PartHost(MeasuringClient):
    """A client node with parts. By itself it does nothing else."""

    def __init__(self, stage: Stage, name: str) -> None:
        super().__init__(stage, name)
        self._parts: list[Part] = []
        self.strangers: dict[Link, Stranger] = {}

    def take(self, companions: Sequence[Companion]) -> None:
        """Make their parts, in this order, behind those that are there."""
        self._parts += [companion.make(self) for companion in companions]

    def on_start(self, env: Environment) -> None:
        for part in self._parts:
            part.on_start(env)

    def on_connected(self, env: Environment, link: Link) -> None:
        stranger = self.strangers.get(link)
        if stranger is not None:
            stranger.on_connected(env, link)
        else:
            super().on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        stranger = self.strangers.pop(link, None)
        if stranger is not None:
            stranger.on_closed(env, link)
        else:
            super().on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        stranger = self.strangers.get(link)
        if stranger is not None:
            stranger.on_bytes(env, link, data)
        else:
            super().on_bytes(env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if not any(part.on_timer(env, key) for part in self._parts):
            super().on_timer(env, key)


def lone_host(stage: Stage, companions: Sequence[Companion]) -> list[PartHost]:
    """A node of their own for *companions*; none for nobody."""
    if not companions:
        return []
    host = PartHost(stage, stage.load.spare_client("companions"))
    host.take(companions)
    return [host]
