"""What a NameServer knows: brokers, their topics, and when it last heard of them.

Question: what does a registration, an unregistration or a lost connection change, and what does a client then see?
Tables in memory; no network, no clock but the wall milliseconds it is told (RocketMQ: RouteInfoManager):

    topics     topic → broker name → queues and permission
    brokers    broker name → cluster and broker id → address
    clusters   cluster → broker names
    live       broker address → last registration, data version, link, HA address

Rules that surprise, all RocketMQ's:
* Only a master's registration (broker id 0) brings topics, and only if it is the first of that id or its data version
  differs from the one known of that address. Topics that are missing in it stay.
* So an address that was dropped and first returns with a one-topic registration keeps that data version, and later
  full registrations of the same version add nothing. 5.x refuses such a first one-topic registration.
* While a slave is left, a dead master's queues keep their permission: producers must see for themselves that no id 0
  is there.
* Liveness goes by the wall clock (``System.currentTimeMillis``): a jump ahead expires everybody.

5.x only, decided by the broker's own word ``enableActingMaster``:
* A slave that says yes or no, and has the smallest id of its name (the *prime* slave), brings topics as a master does;
  after a yes without their write bit.
* When a broker of a name that said yes goes, and no id 0 is left, its queues lose the write bit. A master that comes
  back brings the permission with it, as the first of its id.
* Where the NameServer supports acting masters, routes then show the smallest id as 0, while the queues cannot be
  written to. The tables keep the real ids: so do the list of members, the cluster's, and the route of the topic by
  which brokers look for the others of their name (``rmq_sys_SYNC_BROKER_MEMBER_…``).

Limits. Filter servers are not kept. A link that registered several addresses takes all of them with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET

from reference_impl.environment import Address, Link
from reference_impl.wire.bodies import (
    PERM_READ,
    PERM_WRITE,
    BrokerData,
    ClusterInfo,
    DataVersion,
    QueueData,
    TopicConfig,
    TopicConfigTable,
    TopicRouteData,
)

MASTER_ID: Final = 0
UNIT: Final = 1
UNIT_SUBSCRIPTION: Final = 2
"""Bits of ``topicSysFlag``."""

MEMBER_TOPIC_PREFIX: Final = "rmq_sys_SYNC_BROKER_MEMBER_"


@dataclass(frozen=True)
class BrokerKey:
    """Who registers."""

    cluster: str
    name: str
    broker_id: int
    address: Address


@dataclass
class LiveBroker:
    """One registered address and its last sign of life."""

    updated_ms: int
    expires_after_ms: int
    version: DataVersion
    link: Link
    ha_address: str

    def is_expired(self, wall_ms: int) -> bool:
        return self.updated_ms + self.expires_after_ms < wall_ms


@dataclass(frozen=True)
class Registration:
    """What became of one. The addresses are what a slave learns of its live master; else empty."""

    accepted: bool = True
    is_new: bool = False
    master_address: Address = ""
    ha_address: str = ""


@dataclass(frozen=True)
class LeastIdChanged:
    """Another broker id is the smallest of its name now. ``told`` are those who may hear of it: all that are left when
    the smallest has gone (``offline``), all but the newcomer when one came (``ha_address`` is its)."""

    broker_id: int
    address: Address
    told: tuple[Address, ...]
    offline: Address = ""
    ha_address: str = ""


class Registry:
    """The tables. What is listed comes in the order of registration."""

    def __init__(self, *, is_5x: bool = False) -> None:
        self._is_5x = is_5x
        self._topics: dict[str, dict[str, QueueData]] = {}
        self._topics_of: dict[str, dict[str, None]] = {}
        """Broker name → its topics."""
        self._brokers: dict[str, BrokerData] = {}
        self._clusters: dict[str, dict[str, None]] = {}
        self._clusters_of: dict[str, dict[str, None]] = {}
        """Broker name → its clusters."""
        self._live: dict[Address, LiveBroker] = {}
        self._live_on: dict[Link, dict[Address, None]] = {}
        """Connection → the addresses whose last registration came on it."""
        self._names_of: dict[Address, dict[str, None]] = {}
        """Address → broker names that have an id there."""
        self._least_id_changes: list[LeastIdChanged] = []

    # Brokers come ----------------------------------------------------------------------------------------------------

    def register(
        self, key: BrokerKey, topics: TopicConfigTable, live: LiveBroker, *, acting_master: bool | None = None
    ) -> Registration:
        """Take a registration, or (5.x) refuse it; of a refused one only the broker's name stays. *acting_master* is
        5.x's word, ``None`` of a broker that does not speak of it."""
        self._clusters.setdefault(key.cluster, {})[key.name] = None
        self._clusters_of.setdefault(key.name, {})[key.cluster] = None
        broker = self._brokers.setdefault(key.name, BrokerData({}, key.name, key.cluster))
        broker.enable_acting_master = bool(acting_master) if self._is_5x else UNSET
        least_id = min(broker.broker_addrs, default=MASTER_ID)
        addresses = broker.broker_addrs = _without_other_ids(broker.broker_addrs, key)
        is_first = key.broker_id not in addresses
        if self._is_5x and self._is_outdated(addresses.get(key.broker_id), key.address, live.version):
            self._forget_live(key.address)
            return Registration()
        if self._is_5x and is_first and len(topics.topic_config_table) == 1:
            return Registration(accepted=False)
        addresses[key.broker_id] = key.address
        self._names_of.setdefault(key.address, {})[key.name] = None
        if key.broker_id == MASTER_ID or self._is_prime(key, addresses, acting_master):
            withheld = PERM_WRITE if acting_master and key.broker_id != MASTER_ID else 0
            self._announce_all(key, topics, withheld, is_news=self._is_news(key, live.version, is_first))
        is_new = key.address not in self._live
        self._remember_live(key.address, live)
        if key.broker_id < least_id:
            others = tuple(held for id_, held in sorted(addresses.items()) if id_ != key.broker_id)
            told = others or (key.address,)
            self._least_id_changes.append(LeastIdChanged(key.broker_id, key.address, told, ha_address=live.ha_address))
        return self._answer(addresses, key.broker_id, is_new)

    def _is_prime(self, key: BrokerKey, addresses: dict[int, Address], acting_master: bool | None) -> bool:
        return self._is_5x and acting_master is not None and key.broker_id == min(addresses)

    def _announce_all(self, key: BrokerKey, topics: TopicConfigTable, withheld: int, *, is_news: bool) -> None:
        """All topics if they are news; else 5.x takes those that it does not know (RocketMQ: isTopicConfigChanged)."""
        for name, topic in topics.topic_config_table.items():
            if is_news or (self._is_5x and key.name not in self._topics.get(name, {})):
                self._announce(key.name, topic, topic.perm & ~withheld)

    def _is_news(self, key: BrokerKey, version: DataVersion, is_first: bool) -> bool:
        """Whether the topics that a broker brings are looked at."""
        return is_first or self.is_changed(key.address, version)

    def _is_outdated(self, holder: Address | None, address: Address, version: DataVersion) -> bool:
        """5.x: another address holds the id with a larger state version."""
        live = self._live.get(holder) if holder is not None and holder != address else None
        return live is not None and _state(live.version) > _state(version)

    def _announce(self, broker: str, topic: TopicConfig, perm: int) -> None:
        queues = QueueData(broker, perm, topic.read_queue_nums, topic.topic_sys_flag, topic.write_queue_nums)
        self._topics.setdefault(topic.topic_name, {})[broker] = queues
        self._topics_of.setdefault(broker, {})[topic.topic_name] = None

    def _answer(self, addresses: dict[int, Address], broker_id: int, is_new: bool) -> Registration:
        master = addresses.get(MASTER_ID, "") if broker_id != MASTER_ID else ""
        live = self._live.get(master)
        return Registration(True, is_new, master, live.ha_address) if live else Registration(True, is_new)

    def is_changed(self, address: Address, version: DataVersion) -> bool:
        """Whether *version* is another than the one last registered from *address*."""
        live = self._live.get(address)
        if live is None or not live.version.same_as(version):
            return True
        return self._is_5x and _state(live.version) != _state(version)

    def version_of(self, address: Address) -> DataVersion | None:
        """The data version last registered from *address*."""
        live = self._live.get(address)
        return live.version if live else None

    def touch(self, address: Address, wall_ms: int) -> None:
        """A sign of life that is no registration."""
        live = self._live.get(address)
        if live is not None:
            live.updated_ms = wall_ms

    # Brokers go ------------------------------------------------------------------------------------------------------

    def unregister(self, key: BrokerKey) -> bool:
        """Forget one broker id of a name (5.x: whatever id the address has), and its address; whether that address had
        been alive."""
        was_live = self._forget_live(key.address)
        broker = self._brokers.get(key.name)
        if broker is not None:
            self._remove(broker, _ids_of(broker, key.address) if self._is_5x else [key.broker_id], key.address)
            if not _ids_of(broker, key.address):
                self._names_of.get(key.address, {}).pop(key.name, None)
        if not self._names_of.get(key.address):
            self._names_of.pop(key.address, None)
        return was_live

    def drop_link(self, link: Link) -> list[Address]:
        """The connection is gone: forget the brokers that last registered on it."""
        gone = list(self._live_on.get(link, {}))
        for address in gone:
            self.drop(address)
        return gone

    def expired(self, wall_ms: int) -> list[tuple[Address, Link]]:
        """Who has been silent for too long."""
        return [(address, live.link) for address, live in self._live.items() if live.is_expired(wall_ms)]

    def drop(self, address: Address) -> None:
        """Forget one address; with the last of a broker name its queues go too."""
        self._forget_live(address)
        for name in list(self._names_of.get(address, {})):
            broker = self._brokers.get(name)
            if broker is not None and (ids := _ids_of(broker, address)):
                self._remove(broker, ids, address)
        self._names_of.pop(address, None)

    def _remember_live(self, address: Address, live: LiveBroker) -> None:
        before = self._live.get(address)
        if before is not None and before.link != live.link:
            self._leave_link(before.link, address)
        self._live_on.setdefault(live.link, {})[address] = None
        self._live[address] = live

    def _forget_live(self, address: Address) -> bool:
        """True if the address had been alive."""
        live = self._live.pop(address, None)
        if live is None:
            return False
        self._leave_link(live.link, address)
        return True

    def _leave_link(self, link: Link, address: Address) -> None:
        del self._live_on[link][address]
        if not self._live_on[link]:
            del self._live_on[link]

    def _remove(self, broker: BrokerData, ids: list[int], address: Address) -> None:
        addresses = broker.broker_addrs
        least_id = min(addresses, default=MASTER_ID)
        for id_ in ids:
            addresses.pop(id_, None)
        self._forget_if_empty(broker)
        if not addresses or broker.enable_acting_master is not True:
            return
        if MASTER_ID not in addresses:
            self.wipe_write_permission(broker.broker_name)
        if least_id in ids:
            least, told = min(addresses.items()), tuple(held for _, held in sorted(addresses.items()))
            self._least_id_changes.append(LeastIdChanged(*least, told, offline=address))

    def least_id_changes(self) -> list[LeastIdChanged]:
        """Those since the last call (5.x, NOTIFY_MIN_BROKER_ID_CHANGE)."""
        changes, self._least_id_changes = self._least_id_changes, []
        return changes

    def _forget_if_empty(self, broker: BrokerData) -> None:
        if broker.broker_addrs:
            return
        name = broker.broker_name
        self._brokers.pop(name, None)
        for cluster in self._clusters_of.pop(name, {}):
            del self._clusters[cluster][name]
            if not self._clusters[cluster]:
                del self._clusters[cluster]
        for topic in list(self._topics_of.get(name, {})):
            self._withdraw(topic, name)

    def _withdraw(self, topic: str, broker: str) -> None:
        if self._topics[topic].pop(broker, None) is not None:
            of_broker = self._topics_of[broker]
            del of_broker[topic]
            if not of_broker:
                del self._topics_of[broker]
        if not self._topics[topic]:
            del self._topics[topic]

    # What clients see ------------------------------------------------------------------------------------------------

    def route(self, topic: str, *, acting_masters: bool = False) -> TopicRouteData | None:
        """Queues and brokers of a topic; ``None`` unless both are known. With *acting_masters* a broker name shows a
        master, if it has none and said that a slave may act."""
        queues = list(self._topics.get(topic, {}).values())
        brokers = [self._shown(self._brokers[data.broker_name]) for data in queues if data.broker_name in self._brokers]
        if acting_masters and not topic.startswith(MEMBER_TOPIC_PREFIX):
            read_only = [data.broker_name for data in queues if not data.perm & PERM_WRITE]
            brokers = [_with_acting(broker) if broker.broker_name in read_only else broker for broker in brokers]
        return TopicRouteData(broker_datas=brokers, queue_datas=queues) if brokers else None

    def cluster_info(self) -> ClusterInfo:
        """All brokers and clusters."""
        brokers = {name: self._shown(broker) for name, broker in self._brokers.items()}
        return ClusterInfo(brokers, {cluster: list(names) for cluster, names in self._clusters.items()})

    def member_group(self, cluster: str, name: str) -> BrokerData:
        """The addresses of one broker name, none if it is unknown."""
        broker = self._brokers.get(name)
        addresses = dict(sorted(broker.broker_addrs.items())) if broker else {}
        return BrokerData(addresses, name, cluster)

    def _shown(self, broker: BrokerData) -> BrokerData:
        addresses = dict(sorted(broker.broker_addrs.items()))
        return BrokerData(addresses, broker.broker_name, broker.cluster, broker.enable_acting_master)

    def topics(self) -> list[str]:
        """All topics."""
        return list(self._topics)

    def topics_of_cluster(self, cluster: str) -> list[str]:
        """Topics with queues on a broker of *cluster*."""
        names = self._clusters.get(cluster, {})
        return [topic for topic, queues in self._topics.items() if any(name in queues for name in names)]

    def topics_with_flags(self, wanted: Callable[[int], bool]) -> list[str]:
        """Topics whose ``topicSysFlag`` is *wanted* (unit lists)."""
        return [t for t, queues in self._topics.items() if wanted(next(iter(queues.values())).topic_sys_flag)]

    def system_names(self) -> list[str]:
        """Names of clusters and brokers: each is a topic that a broker makes for itself."""
        names = dict.fromkeys(self._clusters)
        for brokers in self._clusters.values():
            names |= brokers
        return list(names)

    def any_address(self) -> Address | None:
        """Some broker's address."""
        return next((a for broker in self._brokers.values() for a in broker.broker_addrs.values()), None)

    # What an operator changes ----------------------------------------------------------------------------------------

    def wipe_write_permission(self, broker: str) -> int:
        """Take the write bit from every topic of *broker*; how many topics that touched."""
        return self._set_permission(broker, lambda perm: perm & ~PERM_WRITE)

    def add_write_permission(self, broker: str) -> int:
        """Make every topic of *broker* readable and writable, exactly; how many topics that touched."""
        return self._set_permission(broker, lambda _: PERM_READ | PERM_WRITE)

    def _set_permission(self, broker: str, change: Callable[[int], int]) -> int:
        touched = [self._topics[topic][broker] for topic in self._topics_of.get(broker, {})]
        for data in touched:
            data.perm = change(data.perm)
        return len(touched)

    def delete_topic(self, topic: str, cluster: str = "") -> None:
        """Forget a topic everywhere, or on the brokers of one cluster."""
        names = list(self._clusters.get(cluster, {}) if cluster else self._topics.get(topic, {}))
        for name in names:
            if topic in self._topics:
                self._withdraw(topic, name)


def _ids_of(broker: BrokerData, address: Address) -> list[int]:
    return [id_ for id_, held in broker.broker_addrs.items() if held == address]


def _with_acting(broker: BrokerData) -> BrokerData:
    """The smallest id shown as 0, if there is no 0 and the broker said that it may. A name may have no id at all: its
    only broker came as another, and was refused."""
    if broker.enable_acting_master is not True or not broker.broker_addrs or MASTER_ID in broker.broker_addrs:
        return broker
    (_, acting), *others = sorted(broker.broker_addrs.items())
    return BrokerData({MASTER_ID: acting, **dict(others)}, broker.broker_name, broker.cluster, True)


def _without_other_ids(addresses: dict[int, Address], key: BrokerKey) -> dict[int, Address]:
    """An address has one id: a broker that changed its role leaves its old one."""
    return {id_: held for id_, held in addresses.items() if held != key.address or id_ == key.broker_id}


def _state(version: DataVersion) -> int:
    return version.state_version if isinstance(version.state_version, int) else 0
