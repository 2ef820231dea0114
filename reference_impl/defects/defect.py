"""A planted bug: its description, and how it gets into a node.

Question: how can a node without bugs be given exactly one? Model. The node is built as always; then :func:`substitute`
puts a subclass in the place of one part's class. The subclass overrides the method that the bug is about, and nothing
else. The node knows nothing of it: outside this folder there is no parameter, no flag and no test for a bug.

    built      broker ── store ── recovery : Recovery
    planted    broker ── store ── recovery : StopsAtBorder(Recovery)

Several bugs may be planted in one part; each is on top of the one before.

Limits. A method that was handed out while the node was built (a callback, a row of a table of handlers) stays what it
was; what *it* calls is the subclass's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from reference_impl.broker import Broker
from reference_impl.client import Client
from reference_impl.dledger.node import DLedgerNode
from reference_impl.namesrv import NameServer
from reference_impl.store import MessageStore

Plantable = Broker | NameServer | DLedgerNode | Client
Kind = Literal["namesrv", "broker", "dledger", "client"]


@dataclass(frozen=True)
class Defect:
    """*plant* puts it into a node that was just built. *what* goes wrong, and *shows*: what a run must show for it to
    be found by *check*.

    ``exhibits``: entries of the museum's catalogue that it stands for (none: our own); ``history``: what happened
    there.
    """

    node: ClassVar[Kind] = "broker"

    plant: Callable[[Any], None]
    what: str
    shows: str
    check: str
    exhibits: tuple[str, ...] = ()
    history: str = ""

    def plant_in(self, role: Plantable) -> None:
        """*role*, which has not been started, has the bug from now on."""
        self.plant(role)


@dataclass(frozen=True)
class BrokerDefect(Defect):
    """One that is planted in a broker."""

    plant: Callable[[Broker], None]


@dataclass(frozen=True)
class StoreDefect(Defect):
    """One that is planted in a broker's store alone."""

    plant: Callable[[MessageStore], None]

    def plant_in(self, role: Plantable) -> None:
        assert isinstance(role, Broker)
        self.plant(role.state.store)


@dataclass(frozen=True)
class NameServerDefect(Defect):
    """One that is planted in a NameServer."""

    node: ClassVar[Kind] = "namesrv"

    plant: Callable[[NameServer], None]


@dataclass(frozen=True)
class ClientDefect(Defect):
    """One that is planted in a client, when its parts have been made."""

    node: ClassVar[Kind] = "client"

    plant: Callable[[Client], None]


def substitute(part: object, wrong: type, **state: object) -> None:
    """*part* behaves as *wrong* from now on, which is a subclass of its class. *state*: what *wrong* needs to know."""
    part.__class__ = type(wrong.__name__, (wrong, type(part)), {})
    vars(part).update(state)
