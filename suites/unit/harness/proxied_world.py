"""A backend, a family of levers and a verb of somebody else's, in one file: the simulator behind a proxy that hangs up.

What the project needs to know of it are three rows: ``BACKENDS["proxied"] = ROW``, ``FAMILIES["proxy"] = ProxyLevers``,
``VERBS["hang_up"] = HANG_UP``.
"""

from __future__ import annotations

from typing import Any, Protocol

from faults.levers import LinkSet, Nodes
from faults.levers.acts import Joined, act
from faults.verb import NO, YES, Facts, Probed, Strike, Verb
from harness.backends.capabilities import Ability, Capabilities
from harness.backends.opening import Order, World
from harness.backends.sim.world import SimBackend
from harness.backends.table import Row


class ProxyLevers(Nodes, Protocol):
    """A proxy stands before every node."""

    @act("hung_up")
    def hang_up(self, node: str) -> int:
        """Reset every connection to the node; how many there were."""


class Proxy:
    def __init__(self, world: SimBackend) -> None:
        self._world = world

    def hang_up(self, node: str) -> int:
        others = tuple(name for name in self._world.nodes if name != node)
        between = LinkSet("hang-up", (node,), others)
        count = len(self._world.all_levers.connections(between))
        self._world.all_levers.reset_connections(between)
        return count


class Proxied(SimBackend):
    def __init__(self, order: Order) -> None:
        super().__init__(order.target, order.seed)
        self.levers: Any = Joined(self.all_levers, Proxy(self))


def capabilities() -> Capabilities:
    return Capabilities({"process": Ability("in the model"), "proxy": Ability("our own")}, clients={})


def open_world(order: Order) -> World:
    return World(Proxied(order))


def _probe(levers: ProxyLevers, strike: Strike, facts: Facts) -> list[Probed]:
    return [Probed(node, YES if facts[node] else NO, {"connections": facts[node]}) for node in strike.left]


HANG_UP = Verb(
    name="hang_up",
    family="proxy",
    summary="every connection to the node is reset",
    takes_effect_when="there was at least one",
    undone_by="nothing to undo",
    shape="nodes",
    condition="none",
    effects=(),
    inject=lambda levers, strike: {node: levers.hang_up(node) for node in strike.left},
    probe=_probe,
    heal=lambda levers, strike, facts: None,
    heal_probe=lambda levers, strike, facts: [Probed(node, YES) for node in strike.left],
    needs=("proxy",),
)

ROW = Row("proxied", "the simulator behind a proxy", __name__, needs_folder=False, runs_roles=True)
