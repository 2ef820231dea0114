"""Building a node: the one place where a NameServer, a broker or a DLedger member is made of its properties.

Question: which object is the node that a configuration describes? Everybody who runs one asks here: the command line,
the simulator, tests of whole nodes. Planted bugs are put in here and nowhere else, and looked up only if one is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final, Literal

from reference_impl.configuration import property_names
from reference_impl.environment import Role

if TYPE_CHECKING:
    from reference_impl.broker import Broker
    from reference_impl.client import Client
    from reference_impl.dledger.node import DLedgerNode
    from reference_impl.namesrv import NameServer

    Node = Broker | NameServer | DLedgerNode

Kind = Literal["namesrv", "broker", "dledger"]


def build_node(kind: Kind, properties: Mapping[str, str], defects: Collection[str] = ()) -> Role:
    """A node that was not started yet; ``ConfigurationError`` for properties that it cannot have, ``ValueError`` for a
    planted bug that it cannot have."""
    node = _BUILDERS[kind](properties)
    if defects:
        from reference_impl.defects import plant

        plant(node, defects)
    return node


def plant_in_client(client: Client, defects: Collection[str]) -> None:
    """Give *client*, whose parts have been made, those of *defects* that clients can have."""
    if defects:
        from reference_impl.defects import DEFECTS, plant

        plant(client, [name for name in defects if DEFECTS[name].node == "client"])


def known_properties(kind: Kind) -> list[str]:
    """The names of all properties of any release."""
    if kind == "namesrv":
        from reference_impl.namesrv import NamesrvConfig

        return property_names(NamesrvConfig)
    from reference_impl.dledger.config import DLedgerConfig

    if kind == "dledger":
        return DLedgerConfig.names()
    from reference_impl.broker import BrokerConfig
    from reference_impl.replication import ReplicationConfig
    from reference_impl.store import StoreConfig

    every = BrokerConfig.from_properties({"release": "5.3.3"})
    return [*every.described(), *StoreConfig.property_names(), *ReplicationConfig.names(), *DLedgerConfig.names()]


def _name_server(properties: Mapping[str, str]) -> NameServer:
    from reference_impl.namesrv import NameServer, NamesrvConfig

    return NameServer(NamesrvConfig.from_properties(properties))


def _broker(properties: Mapping[str, str]) -> Broker:
    from reference_impl.broker import Broker, BrokerConfig

    config = BrokerConfig.from_properties(properties)
    if config.in_group:
        from reference_impl.broker.group_broker import GroupBroker

        return GroupBroker(config)
    return Broker(config)


def _dledger(properties: Mapping[str, str]) -> DLedgerNode:
    from reference_impl.dledger.config import DLedgerConfig
    from reference_impl.dledger.node import DLedgerNode

    return DLedgerNode(DLedgerConfig.from_properties(properties))


_BUILDERS: Final[Mapping[Kind, Callable[[Mapping[str, str]], Node]]] = {
    "namesrv": _name_server,
    "broker": _broker,
    "dledger": _dledger,
}
