"""What containers offer on this machine: all that processes with root do, if an engine answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from harness.backends.capabilities import Ability, Capabilities
from harness.backends.opening import Order, World, open_heal_journal
from harness.backends.process import offer as processes
from harness.errors import UsageError

OTHER_MEANS: Final = {
    "process": "signals to the container's process",
    "network": "nftables in the network namespace of the node's container",
    "power": "a loop-mounted ext4 image for every node, bind-mounted",
}
"""Family → how, where it is not as with processes."""


def capabilities() -> Capabilities:
    """``harness.backends.table.Offer``."""
    of_processes, lack = processes.capabilities(), _lack()
    servers = {family: _in_containers(family, ability, lack) for family, ability in of_processes.servers.items()}
    clients = {family: _in_containers(family, ability, lack) for family, ability in of_processes.clients.items()}
    return replace(of_processes, servers=servers, clients=clients)


def open_world(order: Order) -> World:
    """``harness.backends.table.Offer``."""
    from harness.backends.docker.backend import DockerBackend

    if order.folder is None:
        raise UsageError("nodes in containers write files", hint="keep the run's folder")
    journal = open_heal_journal(order.run)
    try:
        return World(DockerBackend(order.run, order.folder, order.target, journal), journal)
    except BaseException:
        journal.close()
        raise


def _in_containers(family: str, ability: Ability, lack: str) -> Ability:
    how = OTHER_MEANS.get(family, ability.how)
    return replace(ability, how=how, lack=lack or ability.lack, takes=ability.takes if not lack else "no engine")


def _lack() -> str:
    """Why there can be no containers here; empty if there can."""
    try:
        from faults.mechanisms import engine
    except ImportError as error:
        return f"without the Python package {error.name}: pip install 'mqchaos[docker]'"
    from harness.backends.process.capabilities import scan

    has = scan()
    return has.namespaces or has.power_cut or engine.lack()
