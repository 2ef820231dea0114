"""Who serves a broker name now: roles of the moment, and where each queue is to be found.

Question: a queue belongs to a broker *name*. Which of the nodes of that name takes messages for it at this moment,
which are its replicas, and what do selectors mean by ``masters`` or ``leader``?

Model. One :class:`Addressing` a run. It begins with the roles of the configuration (broker id 0 serves) and is told
others by whoever has asked:

    configured   the broker id in each node's configuration now (an operator may have promoted a slave). A dead master
                 whose place a running node has taken is none any more
    registered   whom the NameServers list as id 0, for modes whose roles move by themselves

Drain, operator and faults ask it when they act. Load asks it only in modes whose roles move: elsewhere a client that
sends to one node, whatever becomes of it, is what is wanted (``harness/workloads/log.py``).

Limits. What is registered is what NameServers have heard: for some seconds it may be a leader that is dead, or nobody.
Then the last one known is kept, and asked in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from faults.selectors import Role, Topology

if TYPE_CHECKING:
    from harness.modes import Mode
    from harness.workloads.workload import QueueAddress
    from reference_impl.wire.bodies import ClusterInfo

SERVING_ID: Final = 0
"""The broker id of who serves (RocketMQ: MixAll.MASTER_ID)."""


@dataclass(frozen=True)
class BrokerNode:
    """One broker as it was configured at the start."""

    node: str
    broker: str
    broker_id: int
    address: str


class Addressing:
    """Who serves which name. *roles_move*: the mode's, by themselves, so that nobody's configuration tells them."""

    def __init__(
        self,
        brokers: Sequence[BrokerNode],
        mode: Mode,
        on_change: Callable[[BrokerNode], None] = lambda node: None,
    ) -> None:
        """*on_change*: told when another node serves its name than before, and who serves first where roles move."""
        self.brokers, self.roles_move, self._on_change = tuple(brokers), mode.roles_move, on_change
        self._serving_word, other = mode.role_words
        self._nodes = {node.node: node for node in self.brokers}
        self._roles: dict[str, Role] = {
            node.node: self._serving_word if node.broker_id == SERVING_ID else other for node in self.brokers
        }
        self._serves = {node.broker: node for node in self.brokers if node.broker_id == SERVING_ID}
        self._told = {} if mode.roles_move else dict(self._serves)

    def learn(self, roles: Mapping[str, Role]) -> None:
        """What each node is now; who is not named stays what it was."""
        self._roles |= roles
        for node, role in roles.items():
            known = self._nodes[node]
            if role == self._serving_word and self._is_news(known, roles):
                self._serves[known.broker] = self._told[known.broker] = known
                self._on_change(known)

    def _is_news(self, node: BrokerNode, roles: Mapping[str, Role]) -> bool:
        """Another serves so far, and does so no more: of two that say they serve, who was there first is kept."""
        before = self._told.get(node.broker)
        return before is None or (before != node and roles.get(before.node) != self._serving_word)

    def serves(self, broker: str) -> BrokerNode | None:
        """Who takes messages for this name; ``None`` if nobody ever did."""
        return self._serves.get(broker)

    def replicas(self, broker: str) -> tuple[BrokerNode, ...]:
        """The other nodes of this name."""
        return tuple(node for node in self.brokers if node.broker == broker and node != self._serves.get(broker))

    def at(self, queue: QueueAddress) -> QueueAddress:
        """*queue* where it is served now."""
        node = self._serves.get(queue.broker)
        if node is None or node.node == queue.node:
            return queue
        return replace(queue, node=node.node, address=node.address, is_moved=True)

    def topology(self, nodes: Topology) -> Topology:
        """*nodes* with the roles of the moment."""
        return nodes.with_roles(self._roles)


def configured(
    brokers: Sequence[BrokerNode], broker_id: Callable[[str], str], runs: Callable[[str], bool]
) -> dict[str, Role]:
    """Roles by configuration: *broker_id* of a node as it is configured now, and whether it *runs*."""
    masters = [node for node in brokers if broker_id(node.node) == str(SERVING_ID)]
    taken = {node.broker for node in masters if runs(node.node)}
    roles: dict[str, Role] = dict.fromkeys((node.node for node in brokers), "slave")
    for node in masters:
        roles[node.node] = "master" if runs(node.node) or node.broker not in taken else ""
    return roles


def registered(brokers: Sequence[BrokerNode], infos: Sequence[ClusterInfo]) -> dict[str, Role]:
    """Roles as NameServers tell them, of each broker name those of the first that lists somebody who serves it."""
    roles: dict[str, Role] = {}
    for broker in dict.fromkeys(node.broker for node in brokers):
        serving = next((found for info in infos if (found := _serving(info, broker))), "")
        named = {node.node: node.address for node in brokers if node.broker == broker}
        if serving in named.values():
            roles |= {node: "leader" if address == serving else "follower" for node, address in named.items()}
    return roles


def _serving(info: ClusterInfo, broker: str) -> str:
    data = info.broker_addr_table.get(broker)
    return data.broker_addrs.get(SERVING_ID, "") if data else ""
