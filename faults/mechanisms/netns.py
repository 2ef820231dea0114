"""A private network: one namespace a node, one bridge between them, nothing of it on the host.

    mqc-RUN-hub    bridge hub0, one port p0, p1 … a node
    mqc-RUN-NODE   eth0 with the node's addresses (10.77.x.y/16), lo

Both ends of a veth pair are born inside namespaces, so the host never has an interface, address or route of ours; no
packet can leave, and two runs with the same addresses do not know of each other. Deleting a namespace deletes its
interfaces.

``inside(namespace)`` moves the *calling thread* and is undone on leaving; sockets made there stay there for life. So
one process can own sockets in many namespaces, and one namespace can hold many addresses (the harness's clients).

A namespace is named as ``ip netns`` names it, or by a path (``/proc/PID/ns/net``: that of a container).

Limits. Linux, CAP_SYS_ADMIN and CAP_NET_ADMIN. A namespace outlives its name as long as a process or socket is in it.
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from faults.mechanisms.command import call

NAMES = Path("/run/netns")
"""Where ``ip netns`` keeps the names."""

PREFIX = "mqc-"
"""Every namespace of ours begins so; nothing else is ever deleted."""

CLONE_NEWNET = 0x40000000
PREFIX_LENGTH = 16


def namespace_name(run: str, node: str) -> str:
    """``mqc-RUN-NODE``."""
    return f"{PREFIX}{run}-{node}"


def list_namespaces(run: str = "") -> list[str]:
    """Names of ours that exist (of one run), sorted."""
    if not NAMES.is_dir():
        return []
    return sorted(entry.name for entry in NAMES.iterdir() if entry.name.startswith(f"{PREFIX}{run}"))


def create_hub(run: str) -> str:
    """Make the namespace with the bridge; returns its name."""
    hub = namespace_name(run, "hub")
    call(["ip", "netns", "add", hub])
    # No spanning tree and no address: the bridge is a wire with many ends. Without forward_delay 0 a port would
    # swallow packets for its first 15 seconds.
    call(["ip", "-n", hub, "link", "add", "hub0", "type", "bridge", "stp_state", "0", "forward_delay", "0"])
    call(["ip", "-n", hub, "link", "set", "hub0", "up"])
    return hub


def create_node(run: str, node: str, port: int, hosts: Sequence[str]) -> str:
    """Make a node's namespace, plug it into port *port* (a number unique in the run) and give it *hosts*."""
    hub, name = namespace_name(run, "hub"), namespace_name(run, node)
    call(["ip", "netns", "add", name])
    call(["ip", "-n", name, "link", "set", "lo", "up"])
    call(["ip", "-n", hub, "link", "add", f"p{port}", "type", "veth", "peer", "name", "eth0", "netns", name])
    call(["ip", "-n", hub, "link", "set", f"p{port}", "master", "hub0", "up"])
    call(["ip", "-n", name, "link", "set", "eth0", "up"])
    for host in hosts:
        add_host(name, host)
    return name


def add_host(namespace: str, host: str, prefix_length: int = PREFIX_LENGTH) -> None:
    """One more address for a namespace."""
    call(argv_inside(namespace, ["ip", "address", "add", f"{host}/{prefix_length}", "dev", "eth0"]))


def delete_namespace(name: str) -> bool:
    """Remove it and its interfaces; False if there is none. Only names of ours are taken."""
    if not name.startswith(PREFIX):
        raise ValueError(f"not a namespace of ours: {name!r}")
    if not (NAMES / name).exists():
        return False
    call(["ip", "netns", "delete", name])
    return True


def argv_inside(namespace: str, argv: Sequence[str]) -> list[str]:
    """*argv* as a command that runs in the namespace under the same pid.

    Not ``ip netns exec``: that makes a mount namespace, whose copies of other nodes' mounts would keep their disks
    alive when they are unmounted after a power cut.
    """
    return ["nsenter", f"--net={NAMES / namespace}", "--", *argv]


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Move the calling thread into the namespace for the length of the block."""
    home = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        away = os.open(NAMES / namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _set_namespace(away)
            try:
                yield
            finally:
                _set_namespace(home)
        finally:
            os.close(away)
    finally:
        os.close(home)


def open_socket(namespace: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    """An IPv4 socket that lives in the namespace, whoever uses it."""
    with inside(namespace):
        return socket.socket(socket.AF_INET, kind)


def _set_namespace(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"setns: {os.strerror(code)}")


_libc = ctypes.CDLL(None, use_errno=True)
