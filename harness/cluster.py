"""From a scenario to nodes: who is there, where, with which properties.

Question: which RocketMQ properties make the cluster that a scenario describes, on this backend?

Model. One list of :class:`NodeSpec`, NameServers first, by RocketMQ's own property names, the same for the reference and
for Apache's broker. Files are small (a commit log file of 1 MiB) because a run lasts seconds; everything that a promise
depends on (flush type, intervals, roles) is RocketMQ's default unless the scenario says otherwise. The scenario's own
``properties`` win.

    nameservers: namesrv-1 …            brokers: broker-a-0, broker-b-0 …       slaves: broker-a-1 …

Limits. Addresses are the backend's; ports are RocketMQ's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from faults.selectors import Topology as Nodes
from harness.backends.backend import NodeSpec
from harness.scenario import Scenario

NAMESRV_PORT: Final = 9876
BROKER_PORT: Final = 10911
HA_PORT: Final = 10912
CLUSTER_NAME: Final = "mqchaos"


@dataclass(frozen=True)
class Cluster:
    """The nodes of a run, before they live."""

    mode: str
    flush: str
    nodes: tuple[NodeSpec, ...]
    namesrv_addresses: tuple[str, ...]
    """``host:port`` of every NameServer, in order."""
    broker_addresses: Mapping[str, str]
    """Node name → ``host:port`` of its client port."""

    @property
    def broker_names(self) -> tuple[str, ...]:
        """``broker-a`` …, in order, once each."""
        names = (spec.properties["brokerName"] for spec in self.nodes if spec.kind == "broker")
        return tuple(dict.fromkeys(names))


def node_names(scenario: Scenario) -> tuple[str, ...]:
    """Names of the servers of a scenario, NameServers first."""
    raise NotImplementedError


def client_names(scenario: Scenario) -> tuple[str, ...]:
    """``client-1`` … one a producer and a consumer, in that order."""
    raise NotImplementedError


def topology(scenario: Scenario) -> Nodes:
    """Servers, clients and the operator, as selectors see them."""
    raise NotImplementedError


def build(scenario: Scenario, host: Callable[[str], str], defects: Sequence[str] = ()) -> Cluster:
    """The cluster of *scenario*; *host* is ``Backend.host``. *defects* go to every node (each role knows its own)."""
    raise NotImplementedError
