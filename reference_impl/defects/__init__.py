"""Planted bugs: how the reference can be made to break its guarantees, so that checkers can prove that they see it.

Question: which wrong behaviours exist, where were they seen before, and which check must find each? A defect is a name;
``plant`` puts those that were named into a node that was just built (:mod:`~reference_impl.defects.defect`).

Most are exhibits of a museum: bugs that replicated logs really had. Numbers name the catalogue's entries (B: RocketMQ's
own code, C: other logs and queues, R: what operators of RocketMQ lost); ``history`` says where and what in short, and
``docs/museum.md`` what it takes to reach each.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from reference_impl.broker import Broker
from reference_impl.client import Client
from reference_impl.defects.acknowledging import ACKNOWLEDGING
from reference_impl.defects.administering import ADMINISTERING
from reference_impl.defects.appending import APPENDING
from reference_impl.defects.avoiding import AVOIDING
from reference_impl.defects.catching_up import CATCHING_UP
from reference_impl.defects.consuming_in_order import CONSUMING_IN_ORDER
from reference_impl.defects.defect import Defect, Kind, Plantable, StoreDefect
from reference_impl.defects.deriving import DERIVING
from reference_impl.defects.dying_file import DYING_FILE
from reference_impl.defects.electing import ELECTING
from reference_impl.defects.ending import ENDING
from reference_impl.defects.forcing import FORCING
from reference_impl.defects.group_disk import GROUP_DISK
from reference_impl.defects.group_identity import GROUP_IDENTITY
from reference_impl.defects.group_patience import GROUP_PATIENCE
from reference_impl.defects.handing_out import HANDING_OUT
from reference_impl.defects.handing_over import HANDING_OVER
from reference_impl.defects.listing import LISTING
from reference_impl.defects.members import MEMBERS
from reference_impl.defects.queue_offsets import QUEUE_OFFSETS
from reference_impl.defects.reading_entries import READING_ENTRIES
from reference_impl.defects.recovering import RECOVERING
from reference_impl.defects.registering import REGISTERING
from reference_impl.defects.reporting import REPORTING
from reference_impl.defects.retention import RETENTION
from reference_impl.defects.rolling import ROLLING
from reference_impl.defects.showing_early import SHOWING_EARLY
from reference_impl.defects.slave_serves import SLAVE_SERVES
from reference_impl.defects.slave_tables import SLAVE_TABLES
from reference_impl.defects.speaking_to_slaves import SPEAKING_TO_SLAVES
from reference_impl.defects.tables import TABLES
from reference_impl.defects.telling import TELLING
from reference_impl.defects.timing import TIMING
from reference_impl.defects.transferring import TRANSFERRING
from reference_impl.defects.waiting import WAITING
from reference_impl.dledger.node import DLedgerNode
from reference_impl.namesrv import NameServer
from reference_impl.store import MessageStore

STORE: Final[dict[str, Defect]] = {
    **FORCING,
    **RECOVERING,
    **QUEUE_OFFSETS,
    **APPENDING,
    **RETENTION,
    **ROLLING,
    **DYING_FILE,
    **DERIVING,
    **TABLES,
}
"""One broker and its files."""

REPLICATION: Final[dict[str, Defect]] = {
    **ACKNOWLEDGING,
    **TRANSFERRING,
    **SPEAKING_TO_SLAVES,
    **REPORTING,
    **SLAVE_TABLES,
    **SLAVE_SERVES,
    **WAITING,
}
"""A master and its slave."""

GROUPS: Final[dict[str, Defect]] = {
    **ELECTING,
    **HANDING_OVER,
    **CATCHING_UP,
    **GROUP_DISK,
    **GROUP_IDENTITY,
    **GROUP_PATIENCE,
    **SHOWING_EARLY,
    **READING_ENTRIES,
}
"""Members that elect their leader."""

ROUTING: Final[dict[str, Defect]] = {**REGISTERING, **LISTING, **AVOIDING}
"""Who finds whom."""

CONSUMERS: Final[dict[str, Defect]] = {**HANDING_OUT, **TIMING, **MEMBERS, **CONSUMING_IN_ORDER, **ENDING}
"""What consumers are given."""

OPERATORS: Final[dict[str, Defect]] = {**ADMINISTERING, **TELLING}
"""What operators order and are told."""

DEFECTS: Final[dict[str, Defect]] = {**STORE, **REPLICATION, **GROUPS, **ROUTING, **CONSUMERS, **OPERATORS}


_KINDS: Final[tuple[tuple[type, Kind], ...]] = (
    (Broker, "broker"),
    (NameServer, "namesrv"),
    (DLedgerNode, "dledger"),
    (Client, "client"),
)


def plant(role: Plantable, names: Iterable[str]) -> None:
    """Give *role*, which was just built, these bugs; ``ValueError`` for one that such a node cannot have."""
    node = next(kind for own, kind in _KINDS if isinstance(role, own))
    for name in sorted(checked_defects(names, node)):
        DEFECTS[name].plant_in(role)


def plant_in_store(store: MessageStore, names: Iterable[str]) -> None:
    """The same for a store without a broker; ``ValueError`` for one that is not of the store alone."""
    for name in sorted(checked_defects(names, "broker")):
        defect = DEFECTS[name]
        if not isinstance(defect, StoreDefect):
            raise ValueError(f"defect {name!r} is not one of a store alone")
        defect.plant(store)


def checked_defects(names: Iterable[str], node: Kind | None = None) -> frozenset[str]:
    """*names* as a set; ``ValueError`` for one that does not exist, or (given *node*) belongs to the other kind."""
    chosen = list(names)
    for name in chosen:
        if name not in DEFECTS:
            near = get_close_matches(name, DEFECTS, 1)
            raise ValueError(f"unknown defect {name!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        if node is not None and DEFECTS[name].node != node:
            raise ValueError(f"defect {name!r} is one of a {DEFECTS[name].node}, not of a {node}")
    return frozenset(chosen)
