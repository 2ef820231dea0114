"""How nodes and clients reach each other: namespaces with a bridge, or plain loopback.

Question: what is a node's address, in which network does its process run, where are a client's sockets made, and how is
a partition made and seen?

                     NamespaceNetwork (root)                     LoopbackNetwork (any user)
    server node      its own namespace, 10.77.1.x                127.x.y.1 …, the host's network
    client           one namespace for all, an address each      127.x.y.101 …
    partition        nft tables at both ends                     refused
    probe            a real connect made in the source's         a real connect from the source's address
                     namespace

``reaches`` asks "does what *source* sends get to *target*?" and answers by sending: first a TCP connect to the port
that the class stands for. Connected or refused, something came back: yes. Silence has two readings, the way there or
the way back is blocked; a UDP datagram to a socket of our own in the target's namespace tells which.

Limits. IPv4. On loopback two runs choose different second and third bytes by chance; a port that is taken is noticed
when the node is started.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from typing import Protocol

from faults.levers import HealStep, LeverRefused, LinkSet, PortClass
from faults.mechanisms import netns, nft, undo
from harness.backends.process.undo_steps import UndoSteps

PROBE_PORT: dict[PortClass, int] = {"any": 9999, "broker": 10911, "namesrv": 9876, "ha": 10912}
"""Where a probe knocks. ``any``: a port of no class; nobody listens there, and a refusal is an answer."""

CONNECT_TIMEOUT_S = 0.25
DATAGRAM_TIMEOUT_S = 0.1

CLIENTS = "clients"
"""The namespace that holds every client's address."""


class Network(Protocol):
    """What the backend needs of either."""

    isolation: str

    def host(self, node: str) -> str:
        """The node's IPv4 literal; the same at every call."""

    def add_server(self, node: str) -> None:
        """Make its network, before it is started."""

    def add_client(self, client: str) -> None:
        """Make its address."""

    def argv(self, node: str, argv: Sequence[str]) -> list[str]:
        """The command that runs *argv* in the node's network."""

    def open_socket(self, node: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
        """A socket in the network of a node or client, not bound."""

    def namespace(self, node: str) -> str:
        """The one that the node's sockets are in; refused where it has none of its own."""

    def partition(self, links: LinkSet) -> None: ...

    def heal_partition(self, name: str) -> None: ...

    def leaked_bytes(self, name: str) -> int:
        """Of packets that got through a partition, until now or until it was healed."""

    def heal_partition_steps(self, name: str) -> list[HealStep]: ...


class NamespaceNetwork:
    """One namespace a server node, one for all clients, one bridge."""

    isolation = "namespaces"

    def __init__(self, tag: str, undo_steps: UndoSteps) -> None:
        """*tag* goes into the names of the namespaces; unique on this machine."""
        self._tag, self._undo_steps = tag, undo_steps
        self._hosts: dict[str, str] = {}
        self._namespaces: dict[str, str] = {}
        self._port_count = 0
        self._leaked: dict[str, int] = {}
        """Of partitions that are healed."""

    def host(self, node: str) -> str:
        return self._hosts.setdefault(node, f"10.77.{1 + len(self._hosts) // 250}.{1 + len(self._hosts) % 250}")

    def add_server(self, node: str) -> None:
        self._namespaces[node] = self._make(node, [self.host(node)])

    def add_client(self, client: str) -> None:
        if (namespace := self._namespaces.get(CLIENTS)) is None:
            self._namespaces[CLIENTS] = self._make(CLIENTS, [self.host(client)])
        else:
            netns.add_host(namespace, self.host(client))

    def argv(self, node: str, argv: Sequence[str]) -> list[str]:
        return netns.argv_inside(self.namespace(node), argv)

    def open_socket(self, node: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
        return netns.open_socket(self.namespace(node), kind)

    def partition(self, links: LinkSet) -> None:
        left, right = self._hosts_of(links.left), self._hosts_of(links.right)
        drops = [nft.Drop(left, right, links.port_class, links.only_new)]
        drops += [] if links.one_way else [nft.Drop(right, left, links.port_class, links.only_new)]
        for namespace in dict.fromkeys(self.namespace(node) for node in (*links.left, *links.right)):
            nft.install(namespace, links.name, drops)
        self._leaked.pop(links.name, None)

    def leaked_bytes(self, name: str) -> int:
        if name in self._leaked:
            return self._leaked[name]
        return sum(nft.leaked_bytes(namespace, name) for namespace in self._namespaces.values())

    def heal_partition(self, name: str) -> None:
        self._leaked[name] = self.leaked_bytes(name)
        for namespace in self._namespaces.values():
            nft.remove(namespace, name)

    def heal_partition_steps(self, name: str) -> list[HealStep]:
        return [undo.delete_nft_table(namespace, nft.table_name(name)) for namespace in self._namespaces.values()]

    def _make(self, node: str, hosts: Sequence[str]) -> str:
        if self._port_count == 0:
            self._undo_steps.record("the hub namespace", undo.delete_namespace(netns.namespace_name(self._tag, "hub")))
            netns.create_hub(self._tag)
        self._port_count += 1
        self._undo_steps.record(
            f"the namespace of {node}", undo.delete_namespace(netns.namespace_name(self._tag, node))
        )
        return netns.create_node(self._tag, node, self._port_count, hosts)

    def namespace(self, node: str) -> str:
        """The one that the node's sockets are in."""
        return self._namespaces.get(node) or self._namespaces[CLIENTS]

    def _hosts_of(self, nodes: Sequence[str]) -> tuple[str, ...]:
        return tuple(self.host(node) for node in nodes)


class LoopbackNetwork:
    """Every node and client an address of 127/8; nothing to make, nothing to undo."""

    isolation = "loopback"

    def __init__(self, why_no_namespaces: str) -> None:
        self._why = why_no_namespaces
        # Not 127.0.0.x, where everybody's own services live.
        self._prefix = f"127.{64 + secrets.randbelow(128)}.{1 + secrets.randbelow(254)}"
        self._hosts: dict[str, str] = {}

    def host(self, node: str) -> str:
        return self._hosts.setdefault(node, f"{self._prefix}.{1 + len(self._hosts)}")

    def add_server(self, node: str) -> None:
        self.host(node)

    def add_client(self, client: str) -> None:
        self.host(client)

    def argv(self, node: str, argv: Sequence[str]) -> list[str]:
        return list(argv)

    def open_socket(self, node: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
        return socket.socket(socket.AF_INET, kind)

    def namespace(self, node: str) -> str:
        raise LeverRefused("what is done to connections of a node needs a namespace for every node", self._why)

    def partition(self, links: LinkSet) -> None:
        raise LeverRefused("a partition needs a network namespace for every node", self._why)

    def heal_partition(self, name: str) -> None:
        """There never was one."""

    def leaked_bytes(self, name: str) -> int:
        """Nobody counts."""
        return -1

    def heal_partition_steps(self, name: str) -> list[HealStep]:
        return []


def connects(network: Network, source: str, target: str, port: int) -> bool:
    """Whether *target* answers who connects from *source*; below 1 s. May be called from any thread."""
    return _connects(network, source, target, port)


def reaches(network: Network, source: str, target: str, port: int) -> bool:
    """Whether a packet from *source* gets to *target*; below 1 s. May be called from any thread."""
    return _connects(network, source, target, port) or _datagram_arrives(network, source, target, port)


def _connects(network: Network, source: str, target: str, port: int) -> bool:
    with network.open_socket(source) as probe:
        probe.settimeout(CONNECT_TIMEOUT_S)
        probe.bind((network.host(source), 0))
        return _came_back(lambda: probe.connect((network.host(target), port)))


def _came_back(connect: Callable[[], None]) -> bool:
    try:
        connect()
    except ConnectionRefusedError:
        return True  # the target's kernel said so
    except OSError:
        return False  # timed out, or no route: nobody answered
    return True


def _datagram_arrives(network: Network, source: str, target: str, port: int) -> bool:
    token = secrets.token_bytes(16)
    with (
        network.open_socket(target, socket.SOCK_DGRAM) as receiver,
        network.open_socket(source, socket.SOCK_DGRAM) as sender,
    ):
        receiver.settimeout(DATAGRAM_TIMEOUT_S)
        receiver.bind((network.host(target), port))
        sender.bind((network.host(source), 0))
        try:
            sender.sendto(token, (network.host(target), port))
            return receiver.recv(64) == token
        except OSError:
            return False  # dropped on the way out (EPERM), or never arrived
