"""What real processes offer on this machine: signals always, the rest by root and tools."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir

from harness.backends.capabilities import Ability, Capabilities
from harness.backends.opening import Order, World, open_heal_journal
from harness.backends.process import capabilities as machine
from harness.backends.process import own_users
from harness.backends.process.disks import IMAGE_MIB
from harness.errors import UsageError
from harness.runfolder import check_space

WITH_NETWORKS = frozenset({"network", "connections", "links"})
"""What root of a user namespace can, too."""


def capabilities() -> Capabilities:
    """``harness.backends.table.Offer``."""
    has = machine.scan()
    network = Ability(
        "a network namespace for every node", has.namespaces, "a partition needs a network of its own for every node"
    )
    connections = Ability(
        "ss, in the nodes' namespaces", has.namespaces, "to end connections needs a network of its own for every node"
    )
    servers = {
        "process": Ability("signals through pidfds"),
        "pause": Ability("SIGSTOP and SIGCONT"),
        "cpu": Ability(
            "a control group for the process", has.processors, "a process cannot be kept from the processors"
        ),
        "files": Ability("the process's own limit, by prlimit"),
        "memory": Ability("a control group, and a hog in it", has.memory, "memory cannot be short for one process"),
        "network": network,
        "connections": connections,
        "power": Ability(
            "a loop-mounted ext4 image for every node",
            has.power_cut,
            "a power cut needs a disk of its own for every node",
        ),
        "forces": Ability("strace, attached to the process", has.forces, "forces cannot be made to fail here"),
        "content": Ability("its files, while it is dead"),
        "configuration": Ability("its configuration file"),
        "space": Ability(
            "a file beside the node's own", has.power_cut, "to fill a disk takes a disk of its own for every node"
        ),
        "clock": Ability("libfaketime, preloaded", has.clocks, "a jump needs a wall clock of its own for every node"),
    }
    links = Ability(
        "proxies in the nodes' namespaces (toxiproxy, or ours)",
        has.namespaces or ("" if find_spec("toxiproxy") else "without the Python package toxiproxy"),
        "a proxy on a link needs a network of its own for every node, and mqchaos[docker]",
    )
    in_loop = Ability("the client's role in the harness's own loop")
    clients = {"process": in_loop, "pause": in_loop, "network": network, "connections": connections, "links": links}
    return Capabilities({**servers, "links": links}, clients=clients)


def enter() -> None:
    """``harness.backends.table.Offer``."""
    own_users.enter()


def gains() -> frozenset[str]:
    """``harness.backends.table.Offer``."""
    return WITH_NETWORKS if own_users.is_to_be_had() else frozenset()


def open_world(order: Order) -> World:
    """``harness.backends.table.Offer``."""
    from harness.backends.process.backend import ProcessBackend

    if order.folder is None:
        raise UsageError("nodes that are processes write files", hint="keep the run's folder")
    check_space(Path(gettempdir()), IMAGE_MIB << 20, "the disks of nodes")
    journal = open_heal_journal(order.run)
    return World(ProcessBackend(order.run, order.folder, order.target, journal), journal)
