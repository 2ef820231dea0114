"""What a world can do to its nodes, as values: plans are checked against them, tests ask for them, doctor shows them.

Question: which families of levers (``faults.levers.FAMILIES``) has this backend on this machine, for servers and for
clients, and what is missing for the others?

Model. A family that is not named is one that the world does not have at all; one that is named may still be out of
reach here (``lack``: no root, no tool), with the way to get it. So a plan that asks for either is refused before
anything runs, and the reason is always a sentence.

Limits. Capabilities are looked up, not tried: a security module may still refuse, and then the lever says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from faults.levers import LeverRefused


@dataclass(frozen=True)
class Ability:
    """One family of levers in one world. ``how``: what it is done with; ``lack``: why it cannot be had here and how to
    get it, empty if it is there; ``takes``: the sentence for who asked for it in vain."""

    how: str
    lack: str = ""
    takes: str = ""


@dataclass(frozen=True)
class Capabilities:
    """Family → ability, for servers and for clients (and the operator)."""

    servers: Mapping[str, Ability]
    clients: Mapping[str, Ability]
    where_clients_live: str = "lives in the harness's own process"

    def refusal(self, families: Sequence[str], servers: Sequence[str], clients: Sequence[str]) -> LeverRefused | None:
        """Why levers of these *families* cannot be pulled on these nodes; ``None``: they can."""
        for family in families:
            if clients and family not in self.clients:
                return LeverRefused(f"{clients[0]} {self.where_clients_live}", f"it can only be hit by {self._hits()}")
            for nodes, abilities in ((clients, self.clients), (servers, self.servers)):
                if nodes and family not in abilities:
                    return LeverRefused(f"this world has no levers of the family {family!r}")
                if nodes and abilities[family].lack:
                    return LeverRefused(abilities[family].takes or f"{family} is not to be had", abilities[family].lack)
        return None

    def lacks(self) -> dict[str, str]:
        """Families that are out of reach for servers here, and why."""
        return {family: ability.lack for family, ability in self.servers.items() if ability.lack}

    def _hits(self) -> str:
        return f"faults of {' and '.join(self.clients)}" if self.clients else "nothing"
