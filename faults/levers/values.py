"""What levers are told and what they tell: states, port classes, sides, undos, refusals. Values, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PortClass = Literal["any", "broker", "namesrv", "ha"]
"""Narrows a fault of the network: ``broker`` is the client port and the fast port."""

NodeState = Literal["running", "paused", "dead"]


class LeverRefused(Exception):
    """The world cannot do this here. ``reason`` and ``hint`` are shown to the user."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(f"{reason} ({hint})" if hint else reason)
        self.reason, self.hint = reason, hint


@dataclass(frozen=True)
class LinkSet:
    """Packets between every node of *left* and every node of *right*, both ways, on one port class: what is dropped by
    a partition, held by a jam, delayed by a slow link.

    ``one_way`` drops only left → right; ``only_new`` only what opens a connection, whoever opens it. ``name`` is unique
    in the run; healing goes by it.
    """

    name: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    port_class: PortClass = "any"
    one_way: bool = False
    only_new: bool = False


@dataclass(frozen=True)
class HealStep:
    """One undo as data, so that another process can carry it out after ours has died.

    ``action`` is a key of the table in ``faults/mechanisms/undo.py``; ``arguments`` are JSON strings and numbers.
    """

    action: str
    arguments: dict[str, str | int]
