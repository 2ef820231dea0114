"""From a scenario to nodes: who is there, where, with which properties.

Question: which RocketMQ properties make the cluster that a scenario describes, on this backend?

Model. One list of :class:`NodeSpec`, NameServers first, by RocketMQ's own property names, the same for the reference
and for Apache's broker. Files are small (a commit log file of 1 MiB) because a run lasts seconds and should see files
roll; everything that a guarantee depends on (flush type, intervals, roles) is RocketMQ's default unless the scenario
says otherwise. The scenario's own ``properties`` win.

    nameservers: namesrv-1 …    controllers: controller-1 …    masters: broker-a-0, broker-b-0 …    slaves: broker-a-1 …

What masters and slaves of a mode say besides stands in the table of modes (:mod:`harness.modes`). Slaves say
``slaveReadEnable=true``, since a 5.x slave would refuse to show what it has.

Limits. Addresses are the backend's; ports are RocketMQ's; folders are the target's (it writes the configuration).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from faults.selectors import Node
from harness.backends.backend import NodeSpec
from harness.modes import MODES
from harness.scenario import Scenario, server_names

NAMESRV_PORT: Final = 9876
BROKER_PORT: Final = 10911
HA_PORT: Final = 10912
MEMBER_PORT: Final = 40911
"""Of a member of a DLedger group."""
CONTROLLER_PORT: Final = 9877
"""Of a controller, also of one in a NameServer: brokers and the other controllers come to the same."""
CLUSTER_NAME: Final = "mqchaos"

COMMIT_LOG_FILE_BYTES: Final = 1024 * 1024
CONSUME_QUEUE_UNIT_BYTES: Final = 20

SMALL_FILES: Final[Mapping[str, str]] = {
    "mappedFileSizeConsumeQueue": str(1000 * CONSUME_QUEUE_UNIT_BYTES),
    "maxHashSlotNum": "500",
    "maxIndexNum": "2000",
    "diskMaxUsedSpaceRatio": "95",
}
"""Defaults are made for years of data: 1 GB, 6 MB and 400 MB a file; a nearly full machine would refuse to write."""


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
    defects: tuple[str, ...] = ()
    """Planted bugs of all of its nodes and clients."""


def build(scenario: Scenario, host: Callable[[str], str], defects: Sequence[str] = ()) -> Cluster:
    """The cluster of *scenario*; *host* is ``Backend.host``. *defects* go to every node, which knows its own, and to
    clients."""
    nodes = [Node.named(name) for name in server_names(scenario)]
    namesrvs = tuple(f"{host(node.name)}:{NAMESRV_PORT}" for node in nodes if node.kind == "namesrv")
    specs = [_spec(scenario, node, host, namesrvs, tuple(defects)) for node in nodes]
    return Cluster(
        mode=scenario.mode,
        flush=scenario.topology.flush,
        nodes=tuple(specs),
        namesrv_addresses=namesrvs,
        broker_addresses={node.name: f"{host(node.name)}:{BROKER_PORT}" for node in nodes if node.kind == "broker"},
        defects=tuple(defects),
    )


def _spec(
    scenario: Scenario, node: Node, host: Callable[[str], str], namesrvs: tuple[str, ...], defects: tuple[str, ...]
) -> NodeSpec:
    steps = any("clock" in fault.verb.needs for fault in scenario.faults)
    if node.kind == "namesrv":
        properties = {"bindAddress": host(node.name), "listenPort": str(NAMESRV_PORT)}
        if not scenario.topology.controllers:
            properties |= {**MODES[scenario.mode].nameserver, **_controller_properties(scenario, node, host)}
        properties |= dict(scenario.properties.get("namesrv", {}))
        return NodeSpec(node.name, "namesrv", properties, defects, has_own_clock=steps)
    if node.kind == "controller":
        properties = _controller_properties(scenario, node, host) | dict(scenario.properties.get("controller", {}))
        return NodeSpec(node.name, "controller", properties, defects, has_own_clock=steps)
    properties = _broker_properties(scenario, node, host, namesrvs)
    properties |= dict(scenario.properties.get("broker", {}))
    if not node.is_master:
        master = host(f"{node.broker}-0")
        own = scenario.properties.get("slave", {})
        properties |= {name: value.replace("{master}", master) for name, value in own.items()}
    return NodeSpec(node.name, "broker", properties, defects, has_own_clock=steps)


def _broker_properties(
    scenario: Scenario, node: Node, host: Callable[[str], str], namesrvs: tuple[str, ...]
) -> dict[str, str]:
    return {
        "brokerClusterName": CLUSTER_NAME,
        "brokerName": node.broker,
        "brokerId": str(node.number),
        **_role_properties(scenario, node, host),
        "brokerIP1": host(node.name),
        "brokerIP2": host(node.name),  # the HA address is taken from it
        "listenPort": str(BROKER_PORT),
        "haListenPort": str(HA_PORT),
        "namesrvAddr": ";".join(namesrvs),
        "flushDiskType": f"{scenario.topology.flush.upper()}_FLUSH",
        "mappedFileSizeCommitLog": str(
            _commit_log_file_bytes(scenario.workload.size_bytes + scenario.workload.spread_bytes)
        ),
        **SMALL_FILES,
    }


def _role_properties(scenario: Scenario, node: Node, host: Callable[[str], str]) -> dict[str, str]:
    """What the mode says of such a node."""
    mode = MODES[scenario.mode]
    words = _words(scenario, node, host)
    given = mode.master if node.is_master else mode.slave
    return {name: _filled(value, words) for name, value in given.items()}


def _controller_properties(scenario: Scenario, node: Node, host: Callable[[str], str]) -> dict[str, str]:
    words = _words(scenario, node, host)
    return {name: _filled(value, words) for name, value in MODES[scenario.mode].controller.items()}


def _words(scenario: Scenario, node: Node, host: Callable[[str], str]) -> dict[str, str]:
    """What stands in the table of modes for a node's own name, number and fellows."""
    nodes = [Node.named(name) for name in server_names(scenario)]
    members = [other for other in nodes if other.kind == "broker" and other.broker == node.broker]
    apart = [other for other in nodes if other.kind == "controller"]
    electors = apart or [other for other in nodes if other.kind == "namesrv"]
    return {
        "{broker}": node.broker,
        "{number}": str(node.number),
        "{peers}": ";".join(f"n{member.number}-{host(member.name)}:{MEMBER_PORT}" for member in members),
        "{electors}": ";".join(f"n{server.number}-{host(server.name)}:{CONTROLLER_PORT}" for server in electors),
        "{controllers}": ";".join(f"{host(server.name)}:{CONTROLLER_PORT}" for server in electors),
    }


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _commit_log_file_bytes(size_bytes: int) -> int:
    """A message never spans two files: a file holds at least four of them."""
    size = COMMIT_LOG_FILE_BYTES
    while size < 4 * size_bytes:
        size *= 2
    return size
