"""Tiny nodes as processes or in containers, with clients that say lines and wait for answers."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any, Literal

from faults.journal import HealJournal
from harness.backends.backend import NodeSpec
from harness.backends.process import Isolation, ProcessBackend
from harness.backends.process.world import RealBackend
from reference_impl.environment import SECOND, Environment, Link
from suites.unit.process.tiny_node import TinyTarget, make_image

PORTS = {"namespaces": 10911, "containers": 10911, "loopback": 42911}
"""On the host's network RocketMQ's own port may be in use on all addresses."""


def _backend(isolation: str, folder: Path, target: TinyTarget, journal: HealJournal) -> RealBackend:
    if isolation != "containers":
        return ProcessBackend("tiny", folder, target, journal, isolation=isolation)
    from harness.backends.docker.backend import DockerBackend

    make_image()
    return DockerBackend("tiny", folder, target, journal)


class LineClient:
    """Says lines to addresses and keeps the answers (``Role``)."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.closed: list[str] = []
        self._links: dict[str, Link] = {}

    def say(self, env: Environment, address: str, line: str) -> None:
        if address not in self._links:
            self._links[address] = env.connect(address)
        env.send(self._links[address], line.encode() + b"\n")

    def on_start(self, env: Environment) -> None: ...

    def on_connected(self, env: Environment, link: Link) -> None: ...

    def on_closed(self, env: Environment, link: Link) -> None:
        address = next(address for address, known in self._links.items() if known == link)
        del self._links[address]
        self.closed.append(address)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self.answers += data.splitlines()

    def on_timer(self, env: Environment, key: Hashable) -> None: ...

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None: ...

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...

    def on_stop(self, env: Environment) -> None: ...


class TinyWorld:
    """*nodes* started and listening, and ``client-1``, ``client-2``."""

    def __init__(
        self,
        folder: Path,
        isolation: Isolation | Literal["containers"],
        nodes: tuple[str, ...] = ("broker-a-0",),
        target: TinyTarget | None = None,
        own_clock: bool = False,
    ) -> None:
        self.journal = HealJournal.open("tiny", folder / "heal")
        self.backend = _backend(isolation, folder / "run", target or TinyTarget(), self.journal)
        self.levers = self.backend.levers
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.backend.on_event = lambda node, event, fields: self.events.append((node, event, fields))
        self.port = PORTS[self.backend.isolation]
        for node in nodes:
            properties = {"address": self.address(node), "listenPort": str(self.port)}
            self.backend.add_node(NodeSpec(node, "broker", properties, has_own_clock=own_clock))
        self.clients = {name: LineClient() for name in ("client-1", "client-2")}
        for name, client in self.clients.items():
            self.backend.add_client(name, client)

    def address(self, node: str) -> str:
        return f"{self.backend.host(node)}:{self.port}"

    def start(self, *nodes: str) -> None:
        for node in nodes:
            count = self.count(node, "listening")
            self.do(self.levers.start, node)
            self.until(lambda node=node, count=count: self.count(node, "listening") > count)

    def do(self, lever: Any, *arguments: Any) -> Any:
        return self.backend.perform(lambda: lever(*arguments))

    def count(self, node: str, event: str) -> int:
        return sum(seen[:2] == (node, event) for seen in self.events)

    def says(self, holds: Any, within_ns: int) -> bool:
        return self.backend.run_until(holds, self.backend.now() + within_ns)

    def until(self, holds: Any) -> None:
        assert self.says(holds, 60 * SECOND), self.events

    def say(self, line: str, node: str = "broker-a-0", client: str = "client-1") -> None:
        self.backend.step(client, lambda env: self.clients[client].say(env, self.address(node), line))

    def ask(self, line: str, node: str = "broker-a-0", client: str = "client-1") -> bytes:
        before = len(self.clients[client].answers)
        self.say(line, node, client)
        self.until(lambda: len(self.clients[client].answers) > before)
        return self.clients[client].answers[-1]

    def close(self) -> None:
        self.backend.close()
        self.journal.close()
