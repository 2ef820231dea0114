"""Links that go through proxies: which server runs where, which proxies it has, and what is seen of them.

Question: a fault wants the link between two nodes slow, or single answers on it lost. Who stands in between? A server
of proxies in the network of each node that is connected to, started when first needed, with a proxy for each pair of
source and port; connections are led there without a change of address (``faults/mechanisms/redirect.py``). toxiproxy
where it is to be had, our own for what only that can (``jam``, ``frames``).

What a fault leaves behind when it is healed is an idle proxy under connections that go on; everything ends with the
run.

Limits. Both nodes need a network of their own. One toxic a fault.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from select import select
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from faults.errors import InjectionFailed
from faults.levers import LeverRefused, LinkSet
from faults.mechanisms import netns, nft, redirect, undo
from faults.mechanisms.redirect import Detour
from harness.backends.process.network import NamespaceNetwork
from harness.backends.process.undo_steps import UndoSteps
from harness.cache import cache_folder
from harness.targets.reference import import_path

if TYPE_CHECKING:  # its client is an extra, and takes a while to load
    from faults.mechanisms import toxiproxy

ONLY_OURS: Final = ("jam", "frames")
API_PORTS: Final = {"toxiproxy": 8474, "ours": 8475}
LOOK_S: Final = 0.1
STREAMS: Final = ("upstream", "downstream")
CLIENT_PORTS: Final = {"namesrv": 9876, "broker": 10911}
UNKNOWN_CODE: Final = 32_767
"""A request that every server answers at once: it does not know it (REQUEST_CODE_NOT_SUPPORTED)."""
QUESTIONS: Final = 2


Way = tuple[str, str, int]
"""(source, target, port)"""


@dataclass
class _Server:
    """One server of proxies in the network of a node."""

    node: str
    kind: str
    client: toxiproxy.Toxiproxy
    used: int = 0


@dataclass
class _Shaped:
    """What one fault has put up: the proxy on each way, (server, proxy, toxic), and the ports of proxies by target."""

    proxies: dict[Way, tuple[_Server, str]] = field(default_factory=dict)
    toxics: list[tuple[_Server, str, str]] = field(default_factory=list)
    ports: dict[str, list[int]] = field(default_factory=dict)


class Links:
    """``faults.levers.families.LinkLevers``, but what all levers have. *kind_of*: node → ``broker`` or ``namesrv``,
    empty for who serves nobody."""

    def __init__(
        self, tag: str, scratch: Path, undo_steps: UndoSteps, network: NamespaceNetwork, kind_of: Callable[[str], str]
    ) -> None:
        self._tag, self._scratch, self._undo_steps, self._network, self._kind_of = (
            tag,
            scratch,
            undo_steps,
            network,
            kind_of,
        )
        self._servers: dict[tuple[str, str], _Server] = {}
        self._shaped: dict[str, _Shaped] = {}
        self._idle: dict[Way, tuple[_Server, str]] = {}
        """Proxies of healed faults, under connections that go on."""

    def shape_links(self, link: LinkSet, toxic: str, attributes: Mapping[str, int | str]) -> None:
        ways = self._ways(link)
        self._check_free(link, ways)
        shaped = self._shaped[link.name] = _Shaped()
        detours: dict[str, list[Detour]] = {}
        for way in ways:
            source, target, port = way
            proxy_port = self._put_proxy(way, shaped, toxic, attributes)
            detours.setdefault(target, []).append(Detour(self._network.host(source), port, proxy_port))
        for target, those in detours.items():
            shaped.ports[target] = [detour.proxy_port for detour in those]
            redirect.install(self._network.namespace(target), link.name, those)
        self._end_idle(ways)

    def unshape_links(self, name: str) -> None:
        shaped = self._shaped.get(name, _Shaped())
        for target in shaped.ports:
            nft.remove(self._network.namespace(target), name)
        stuck = {proxy for server, proxy, toxic in shaped.toxics if not self._remove(server, proxy, toxic)}
        self._idle |= {way: used for way, used in shaped.proxies.items() if used[1] not in stuck}
        self._shaped.pop(name, None)

    def _remove(self, server: _Server, proxy: str, toxic: str) -> bool:
        """Whether the proxy goes on without the toxic. toxiproxy may wait for ever for a connection that is just ending
        to let go of it; then the proxy goes, and its connections come back without one."""
        from faults.mechanisms.toxiproxy import ToxiproxyError

        with netns.inside(self._network.namespace(server.node)):
            try:
                server.client.remove(proxy, toxic)
            except ToxiproxyError as error:
                if error.status >= 0:
                    raise
                server.client.destroy(proxy)
                return False
        return True

    def links_shaped(self, name: str, patience_ms: int = 0) -> tuple[int, int]:
        shaped = self._shaped.get(name, _Shaped())
        in_force = {proxy for server, proxy, toxic in shaped.toxics if toxic in self._toxics_of(server, proxy)}
        return len(in_force), _once(lambda: self._connection_count(shaped), patience_ms)

    def frames_hit(self, name: str, patience_ms: int = 0) -> tuple[int, int]:
        done = _once(lambda: self._frames(name, "done"), patience_ms)
        return self._frames(name, "seen"), done

    def answers_after_ms(self, source: str, target: str, patience_ms: int) -> int:
        deadline_s = monotonic() + patience_ms / 1000
        with self._network.open_socket(source) as connection:
            try:
                connection.settimeout(patience_ms / 1000)
                connection.bind((self._network.host(source), 0))
                connection.connect((self._network.host(target), CLIENT_PORTS[self._kind_of(target)]))
                return min(_answer_ms(connection, number, deadline_s) for number in range(QUESTIONS))
            except OSError:
                return -1

    # -- how -------------------------------------------------------------------------------------------------------

    def _ways(self, link: LinkSet) -> list[Way]:
        """All connections that may be made across the link."""
        pairs = [pair for a in link.left for b in link.right for pair in ((a, b), (b, a))]
        return [(a, b, port) for a, b in pairs for port in self._ports(b, link)]

    def _check_free(self, link: LinkSet, ways: Sequence[Way]) -> None:
        if not ways:
            raise InjectionFailed("nobody on either side of this link serves the other")
        for name, shaped in self._shaped.items():
            if name == link.name or shaped.proxies.keys() & set(ways):
                raise InjectionFailed(f"{name} is on the same link: one toxic a link at a time")

    def _end_idle(self, ways: Sequence[Way]) -> None:
        """Connections through a proxy of before would never come to the new one: they end, and come back through it."""
        for way in ways:
            if (idle := self._idle.pop(way, None)) is not None:
                server, proxy = idle
                with netns.inside(self._network.namespace(server.node)):
                    server.client.destroy(proxy)

    def _ports(self, target: str, link: LinkSet) -> Sequence[int]:
        """Those of the class that the target listens on."""
        kind = self._kind_of(target)
        serves = {"broker": ("broker", "ha"), "namesrv": ("namesrv",)}.get(kind, ())
        return [
            port
            for port_class, ports in nft.PORTS.items()
            if port_class in serves and link.port_class in ("any", port_class)
            for port in ports
        ]

    def _connection_count(self, shaped: _Shaped) -> int:
        spaces = ((self._network.namespace(target), ports) for target, ports in shaped.ports.items())
        return sum(redirect.connection_count(namespace, ports) for namespace, ports in spaces)

    def _frames(self, name: str, what: str) -> int:
        put = self._shaped.get(name, _Shaped()).toxics
        found = (self._toxics_of(server, proxy).get(toxic) for server, proxy, toxic in put)
        return sum(int(rule.attributes[what]) for rule in found if rule is not None and rule.type == "frames")

    def _put_proxy(self, way: Way, shaped: _Shaped, toxic: str, attributes: Mapping[str, int | str]) -> int:
        """A proxy of its own for each fault and way; the port that it listens on."""
        source, target, port = way
        server = self._server(target, toxic)
        server.used += 1
        name, upstream = f"{source}-{port}-{server.used}", f"{self._network.host(target)}:{port}"
        own = {key: value for key, value in attributes.items() if key != "stream"}
        streams = [str(attributes["stream"])] if "stream" in attributes else STREAMS
        shaped.proxies[way] = (server, name)
        with netns.inside(self._network.namespace(target)):
            listen: str = server.client.create(name, upstream, "0.0.0.0:0").listen
            for stream in streams:
                shaped.toxics.append((server, name, server.client.add(name, toxic, stream, own).name))
        return int(listen.rpartition(":")[2])

    def _toxics_of(self, server: _Server, proxy: str) -> dict[str, Any]:
        """A server's interface is in its node's network, and nowhere else."""
        with netns.inside(self._network.namespace(server.node)):
            return dict(server.client.toxics(proxy))

    def _server(self, node: str, toxic: str) -> _Server:
        from faults.mechanisms import toxiproxy

        real = None if toxic in ONLY_OURS else toxiproxy.find_server(cache_folder())
        kind = "ours" if real is None else "toxiproxy"
        if (known := self._servers.get((node, kind))) is not None:
            return known
        argv = toxiproxy.own_argv() if real is None else [str(real)]
        marker, log = f"{self._tag}/{node}/{kind}", self._scratch / f"{node}.{kind}.log"
        self._undo_steps.record(f"the proxies of {node}", undo.end_processes(marker))
        environment = {undo.MARKER: marker, "PYTHONPATH": import_path()}
        inside = self._network.argv(node, argv)
        server = _Server(node, kind, toxiproxy.Toxiproxy(port=API_PORTS[kind]))
        process = toxiproxy.start(inside, "127.0.0.1", API_PORTS[kind], log, environment)
        with netns.inside(self._network.namespace(node)):
            toxiproxy.wait_ready(server.client, process, log)
        self._servers[node, kind] = server
        return server


class NoLinks:
    """Where nodes share one network: nobody can stand in between unseen."""

    def __init__(self, why: str) -> None:
        self._why = why

    def shape_links(self, link: LinkSet, toxic: str, attributes: Mapping[str, int | str]) -> None:
        raise LeverRefused("a proxy on a link needs a network of its own for every node", self._why)

    def unshape_links(self, name: str) -> None:
        """There never was one."""

    def links_shaped(self, name: str, patience_ms: int = 0) -> tuple[int, int]:
        return 0, 0

    def frames_hit(self, name: str, patience_ms: int = 0) -> tuple[int, int]:
        return 0, 0


def _once(count: Callable[[], int], patience_ms: int) -> int:
    """What *count* says when it is no longer 0, or after so long. Nobody tells when a connection comes: looked at."""
    deadline_s = monotonic() + patience_ms / 1000
    while not (found := count()) and monotonic() < deadline_s:
        select([], [], [], LOOK_S)
    return found


def _answer_ms(connection: socket.socket, opaque: int, deadline_s: float) -> int:
    """Ask and wait for the whole answer; ``OSError`` if it does not come in time."""
    header = {"code": UNKNOWN_CODE, "flag": 0, "language": "OTHER", "opaque": opaque, "version": 0}
    data = json.dumps({**header, "serializeTypeCurrentRPC": "JSON"}).encode()
    began_s = monotonic()
    connection.settimeout(max(0.001, deadline_s - began_s))
    connection.sendall(struct.pack(">II", 4 + len(data), len(data)) + data)
    length = int.from_bytes(_receive(connection, 4), "big")
    _receive(connection, length)
    return int((monotonic() - began_s) * 1000)


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (more := connection.recv(size - len(data))):
            raise ConnectionResetError("closed before the answer")
        data += more
    return data
