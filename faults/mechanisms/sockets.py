"""TCP connections of a network namespace, seen and reset by ``ss``.

Question: which connections are up between these addresses, and how does one end them so that both ends learn it at
once? ``ss -K`` asks the kernel to destroy a socket (SOCK_DESTROY): its owner gets ECONNABORTED, the other end a RST. A
connection is named by its two ends, in order: who comes back has another port, and another name.

Limits. IPv4. A kernel without CONFIG_INET_DIAG_DESTROY destroys nothing and says so to nobody: only what
:func:`established` shows afterwards tells. Of a connection through a proxy each half is one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.levers import PortClass
from faults.mechanisms.command import call
from faults.mechanisms.netns import argv_inside
from faults.mechanisms.nft import PORTS

SHOW = ("ss", "-tnH", "state", "established")
DESTROY = ("ss", "-K", "-tnH", "state", "established")


def established(
    namespaces: Sequence[str], left: Sequence[str], right: Sequence[str], port_class: PortClass
) -> frozenset[str]:
    """``10.0.0.1:40000 10.0.0.2:10911`` of every connection between the addresses *left* and *right*."""
    found = [line for namespace in namespaces for line in _ss(namespace, SHOW, left, right, port_class)]
    return frozenset(" ".join(sorted(line.split()[2:4])) for line in found)


def reset(namespaces: Sequence[str], left: Sequence[str], right: Sequence[str], port_class: PortClass) -> None:
    """Destroy all of them, at both ends."""
    for namespace in namespaces:
        _ss(namespace, DESTROY, left, right, port_class)


def _ss(
    namespace: str, argv: Sequence[str], left: Sequence[str], right: Sequence[str], port_class: PortClass
) -> list[str]:
    return call(argv_inside(namespace, [*argv, *_filter(left, right, port_class).split()])).splitlines()


def _filter(left: Sequence[str], right: Sequence[str], port_class: PortClass) -> str:
    """In the language of ``ss``, a blank between any two words."""
    ways = [f"( {_any('src', a)} and {_any('dst', b)} )" for a, b in ((left, right), (right, left))]
    hosts = f"( {' or '.join(ways)} )"
    ports = [f"{side} = :{port}" for port in PORTS[port_class] for side in ("sport", "dport")]
    return f"{hosts} and ( {' or '.join(ports)} )" if ports else hosts


def _any(side: str, hosts: Sequence[str]) -> str:
    return f"( {' or '.join(f'{side} {host}' for host in hosts)} )"
