"""A network of containers: one container a node that only holds the node's network, as a machine holds its card.

Question: a node is killed and started again while it is isolated. Do its rules and its address survive? A container's
network namespace dies with it; rules put again after a start would let packets through meanwhile. So a node is two
containers: ``NODE-net`` sleeps and owns the namespace with the fixed address, and the node's own container joins it.
Partitions are then the same nftables tables as those of the process backend, reached as ``/proc/PID/ns/net``.

    mqc-RUN            a network of the engine, *internal*: no way out, nothing published
    mqc-RUN-NODE-net   one a server node, one for all clients (an address each)

Sockets of clients are made in the clients' namespace; nothing is sent from the host's own.

Limits. IPv4, 240 addresses. The engine's bridge is on the host (10.77.x.1), so the host could reach nodes; we do not.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Final

import docker
import docker.errors
import docker.types

from faults.levers import HealStep
from faults.mechanisms import engine, netns, undo
from harness.backends.process.network import CLIENTS, NamespaceNetwork
from harness.backends.process.undo_steps import UndoSteps
from harness.errors import BackendUnavailable, ClusterError

PREFIX_LENGTH: Final = 24
FIRST_HOST: Final = 10
HOSTS_MAX: Final = 240
TRIES: Final = 32
KEEPER: Final = ["sleep", "infinity"]


class ContainerNetwork(NamespaceNetwork):
    """``harness.backends.process.network.Network`` of one run in one engine."""

    isolation = "containers"

    def __init__(self, tag: str, undo_steps: UndoSteps, client: docker.DockerClient, url: str, image: str) -> None:
        """*image*: any that has ``sleep``."""
        super().__init__(tag, undo_steps)
        self._client, self._url, self._image = client, url, image
        self._name = f"{undo.FOLDER_PREFIX}{tag}"
        undo_steps.record("the network of the containers", undo.remove_network(url, self._name, tag))
        self._subnet = self._create()

    def host(self, node: str) -> str:
        if node not in self._hosts and len(self._hosts) == HOSTS_MAX:
            raise ClusterError(f"a network of containers has {HOSTS_MAX} addresses", hint="fewer nodes or clients")
        return self._hosts.setdefault(node, f"{self._subnet}.{FIRST_HOST + len(self._hosts)}")

    def add_client(self, client: str) -> None:
        if (namespace := self._namespaces.get(CLIENTS)) is None:
            self._namespaces[CLIENTS] = self._make(CLIENTS, [self.host(client)])
        else:
            netns.add_host(namespace, self.host(client), PREFIX_LENGTH)

    def keeper(self, node: str) -> str:
        """The container that holds the node's network."""
        return f"{self._name}-{node}-net"

    def heal_partition_steps(self, name: str) -> list[HealStep]:
        """Nothing: the rules die with the namespaces, whose undo steps exist since they were made."""
        return []

    def _make(self, node: str, hosts: Sequence[str]) -> str:
        name = self.keeper(node)
        self._undo_steps.record(f"the network container of {node}", undo.remove_container(self._url, name, self._tag))
        api = self._client.api
        try:
            endpoints: Any = {self._name: api.create_endpoint_config(ipv4_address=hosts[0])}  # typed as one of them
            made = api.create_container(
                self._image,
                name=name,
                hostname=node,
                entrypoint=KEEPER,
                user="65534:65534",
                labels=engine.labels(self._tag, node),
                healthcheck={"test": ["NONE"]},
                host_config=api.create_host_config(network_mode=self._name, restart_policy={"Name": "no"}),
                networking_config=api.create_networking_config(endpoints),
            )
            api.start(made["Id"])
            pid = int(api.inspect_container(made["Id"])["State"]["Pid"])
        except docker.errors.APIError as error:
            raise ClusterError(f"cannot make the network of {node}: {error}") from error
        return f"/proc/{pid}/ns/net"

    def _create(self) -> str:
        """The first three bytes of a subnet that nobody in this engine has."""
        for _ in range(TRIES):
            subnet = f"10.77.{1 + secrets.randbelow(254)}"
            pool = docker.types.IPAMConfig(pool_configs=[docker.types.IPAMPool(subnet=f"{subnet}.0/{PREFIX_LENGTH}")])
            try:
                self._client.networks.create(
                    self._name, driver="bridge", internal=True, ipam=pool, labels=engine.labels(self._tag)
                )
            except docker.errors.APIError as error:
                if "overlap" not in str(error):
                    raise BackendUnavailable(f"the engine makes no network: {error}") from error
            else:
                return subnet
        raise BackendUnavailable(f"no free subnet in {TRIES} tries", hint="docker network ls: remove what nobody needs")
