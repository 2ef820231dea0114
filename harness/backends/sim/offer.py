"""What the simulator offers: every family whose levers it has, since nothing in it is real.

Clients are objects as servers are, but their role is the harness's own: they have no disk and no power. Which loads
know how a client begins again after its end, the table of loads says.
"""

from __future__ import annotations

from faults.levers import FAMILIES
from faults.levers.acts import levers_of
from harness.backends.capabilities import Ability, Capabilities
from harness.backends.opening import Order, World
from harness.backends.sim.levers import SimLevers
from harness.backends.sim.world import SimBackend

OF_CLIENTS = ("process", "pause", "network", "connections", "clock")


def capabilities() -> Capabilities:
    """``harness.backends.table.Offer``."""
    has = [name for name, family in FAMILIES.items() if all(hasattr(SimLevers, lever) for lever in levers_of(family))]
    return Capabilities(
        servers={family: Ability("in the model") for family in has},
        clients={family: Ability("in the model") for family in OF_CLIENTS},
    )


def open_world(order: Order) -> World:
    """``harness.backends.table.Offer``."""
    return World(SimBackend(order.target, order.seed))
