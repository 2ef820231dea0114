"""The JSON bodies that NameServers, brokers and clients exchange.

Question: which members has a route, a topic table, a lock request? Each struct lists them in alphabetical order of
their Java names, so that they are written as Java writes them. Members that only 5.x knows are ``UNSET`` unless a peer
sent them, and are then kept; unknown members are ignored.

Reading is :func:`~reference_impl.wire.dialect.read_json`, writing ``write_json``; the few bodies that clients expect in
fastjson's dialect (bare integer keys, object keys) have a function here. Heartbeats and registrations, which have
rules of their own, are in their own files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from reference_impl.environment import Address
from reference_impl.wire.dialect import convert, parse_lenient, read_json, write_dialect, write_json
from reference_impl.wire.frame import RemoteWireError

PERM_PRIORITY: Final = 8
PERM_READ: Final = 4
PERM_WRITE: Final = 2
PERM_INHERIT: Final = 1

SINGLE_TAG: Final = "SINGLE_TAG"
MULTI_TAG: Final = "MULTI_TAG"


class DataVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The version of a configuration table. 5.x adds ``stateVersion`` (of acting masters and controllers)."""

    counter: int = 0
    state_version: int | UnsetType = UNSET
    timestamp: int = 0

    def next(self, wall_ms: int) -> DataVersion:
        """After one change at *wall_ms*."""
        return DataVersion(self.counter + 1, self.state_version, wall_ms)

    def same_as(self, other: DataVersion) -> bool:
        """Equality as 4.9 has it: both of its members, whatever the state version."""
        return self.counter == other.counter and self.timestamp == other.timestamp

    def is_newer_than(self, other: DataVersion) -> bool:
        """Order as 5.x has it: state version, then counter, then time (RocketMQ: DataVersion#compare)."""
        return self._order() > other._order()

    def _order(self) -> tuple[int, int, int]:
        return 0 if isinstance(self.state_version, UnsetType) else self.state_version, self.counter, self.timestamp


# Routes --------------------------------------------------------------------------------------------------------------


class BrokerData(msgspec.Struct, rename="camel"):
    """The addresses of one broker name, by broker id (0: the master)."""

    broker_addrs: dict[int, Address] = {}
    broker_name: str = ""
    cluster: str = ""
    enable_acting_master: bool | UnsetType = UNSET


class QueueData(msgspec.Struct, rename="camel"):
    """The queues of a topic on one broker name."""

    broker_name: str = ""
    perm: int = 0
    read_queue_nums: int = 0
    topic_sys_flag: int = 0
    write_queue_nums: int = 0


class TopicRouteData(msgspec.Struct, rename="camel"):
    """What a NameServer knows of a topic."""

    broker_datas: list[BrokerData] = []
    filter_server_table: dict[str, list[str]] | None = {}
    order_topic_conf: str | UnsetType | None = UNSET
    queue_datas: list[QueueData] = []


class ClusterInfo(msgspec.Struct, rename="camel"):
    """All brokers by name, all broker names by cluster."""

    broker_addr_table: dict[str, BrokerData] = {}
    cluster_addr_table: dict[str, list[str]] = {}


def write_route(route: TopicRouteData, *, strict: bool = True) -> bytes:
    """Quoted broker ids for those who asked by version 401 or later, bare ones for older clients; never a blank,
    because the Go client takes addresses out of the text."""
    return write_json(route) if strict else write_dialect(route)


# Topics and groups ---------------------------------------------------------------------------------------------------


class TopicConfig(msgspec.Struct, rename="camel"):
    """One topic on one broker. ``perm`` is the sum of PERM_READ, PERM_WRITE and PERM_INHERIT."""

    attributes: dict[str, str] | UnsetType = UNSET
    order: bool = False
    perm: int = PERM_READ | PERM_WRITE
    read_queue_nums: int = 16
    topic_filter_type: str = SINGLE_TAG
    topic_name: str = ""
    topic_sys_flag: int = 0
    write_queue_nums: int = 16


class TopicConfigTable(msgspec.Struct, rename="camel"):
    """RocketMQ: TopicConfigSerializeWrapper; also the content of ``topics.json``."""

    data_version: DataVersion = DataVersion()
    topic_config_table: dict[str, TopicConfig] = {}


class SubscriptionGroupConfig(msgspec.Struct, rename="camel"):
    """What a broker grants a consumer group. Members that only 5.x has are ignored."""

    broker_id: int = 0
    consume_broadcast_enable: bool = True
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    group_name: str = ""
    notify_consumer_ids_changed_enable: bool = True
    retry_max_times: int = 16
    retry_queue_nums: int = 1
    which_broker_when_consume_slowly: int = 1


class SubscriptionGroupTable(msgspec.Struct, rename="camel"):
    """RocketMQ: SubscriptionGroupWrapper; also the content of ``subscriptionGroup.json``."""

    data_version: DataVersion = DataVersion()
    subscription_group_table: dict[str, SubscriptionGroupConfig] = {}


class TopicList(msgspec.Struct, rename="camel"):
    """Names of topics. ``brokerAddr`` only in the answer to GET_SYSTEM_TOPIC_LIST_FROM_NS: any one broker."""

    broker_addr: Address | UnsetType | None = UNSET
    topic_list: list[str] = []


class KVTable(msgspec.Struct):
    """A flat table of texts: KV namespaces, broker runtime information."""

    table: dict[str, str] = {}


# Queues, locks, consumers --------------------------------------------------------------------------------------------


class MessageQueue(msgspec.Struct, frozen=True, order=True, rename="camel"):
    """One queue of a topic on one broker name."""

    broker_name: str
    queue_id: int
    topic: str


class LockBatchRequest(msgspec.Struct):
    """Body of LOCK_BATCH_MQ and UNLOCK_BATCH_MQ."""

    client_id: str = msgspec.field(default="", name="clientId")
    consumer_group: str = msgspec.field(default="", name="consumerGroup")
    queues: list[MessageQueue] = msgspec.field(default_factory=list, name="mqSet")
    only_this_broker: bool | UnsetType = msgspec.field(default=UNSET, name="onlyThisBroker")


class LockBatchAnswer(msgspec.Struct):
    """The queues that the asking client holds now."""

    queues: list[MessageQueue] = msgspec.field(default_factory=list, name="lockOKMQSet")


class ConsumerIds(msgspec.Struct, rename="camel"):
    """Client ids of a consumer group, one an open channel."""

    consumer_id_list: list[str] = []


# Offset tables: fastjson's dialect -----------------------------------------------------------------------------------


class TopicOffset(msgspec.Struct, rename="camel"):
    """Extent of one queue (GET_TOPIC_STATS_INFO)."""

    last_update_timestamp: int = 0
    max_offset: int = 0
    min_offset: int = 0


class ConsumeOffset(msgspec.Struct, rename="camel"):
    """Progress of a group in one queue (GET_CONSUME_STATS)."""

    broker_offset: int = 0
    consumer_offset: int = 0
    last_timestamp: int = 0
    pull_offset: int | UnsetType = UNSET


def write_consumer_offsets(offsets: Mapping[str, Mapping[int, int]], version: DataVersion | None = None) -> bytes:
    """``{"offsetTable":{"T1@CG_A":{0:12,1:7}}}`` (GET_ALL_CONSUMER_OFFSET; also ``consumerOffset.json``); 5.x puts the
    *version* before it."""
    return write_dialect(_versioned(version) | {"offsetTable": offsets})


def read_consumer_offsets(data: bytes) -> dict[str, dict[int, int]]:
    """topic@group → queue id → offset, from bare or quoted keys."""
    return convert(_offset_table(data), dict[str, dict[int, int]])


def write_delay_offsets(offsets: Mapping[int, int], version: DataVersion | None = None) -> bytes:
    """``{"offsetTable":{1:100}}``, by delay level (GET_ALL_DELAY_OFFSET; also ``delayOffset.json``)."""
    return write_dialect(_versioned(version) | {"offsetTable": offsets})


def _versioned(version: DataVersion | None) -> dict[str, object]:
    return {} if version is None else {"dataVersion": version}


def read_data_version(data: bytes) -> DataVersion:
    """The version of an offset table; 0 of time 0 where it has none (4.9)."""
    parsed = parse_lenient(data)
    return convert(parsed.get("dataVersion") or {}, DataVersion) if isinstance(parsed, dict) else DataVersion()


def read_delay_offsets(data: bytes) -> dict[int, int]:
    """delay level → offset."""
    return convert(_offset_table(data), dict[int, int])


def write_topic_stats(offsets: Mapping[MessageQueue, TopicOffset]) -> bytes:
    """``{"offsetTable":{{…queue…}:{…extent…}}}`` (GET_TOPIC_STATS_INFO)."""
    return write_dialect({"offsetTable": offsets})


def read_topic_stats(data: bytes) -> dict[MessageQueue, TopicOffset]:
    """queue → extent."""
    table = convert(_offset_table(data), dict[str, TopicOffset])
    return {read_json(key.encode(), MessageQueue): offset for key, offset in table.items()}


def write_consume_stats(offsets: Mapping[MessageQueue, ConsumeOffset], consume_tps: float = 0.0) -> bytes:
    """``{"consumeTps":0.0,"offsetTable":{{…queue…}:{…progress…}}}`` (GET_CONSUME_STATS)."""
    return write_dialect({"consumeTps": consume_tps, "offsetTable": offsets})


def read_consume_stats(data: bytes) -> dict[MessageQueue, ConsumeOffset]:
    """queue → progress."""
    table = convert(_offset_table(data), dict[str, ConsumeOffset])
    return {read_json(key.encode(), MessageQueue): offset for key, offset in table.items()}


def write_queue_offsets(offsets: Mapping[MessageQueue, int]) -> bytes:
    """``{"offsetTable":{{…queue…}:offset}}`` (RESET_CONSUMER_CLIENT_OFFSET, and the answer to 222)."""
    return write_dialect({"offsetTable": offsets})


def read_queue_offsets(data: bytes) -> dict[MessageQueue, int]:
    """queue → offset."""
    return _by_queue(_offset_table(data))


def write_consumer_status(
    own: Mapping[MessageQueue, int], by_client: Mapping[str, Mapping[MessageQueue, int]]
) -> bytes:
    """``{"consumerTable":{client:{{…queue…}:offset}},"messageQueueTable":{{…queue…}:offset}}``: a client tells its
    *own* (221), a broker what its clients told (223). RocketMQ: GetConsumerStatusBody."""
    return write_dialect({"consumerTable": by_client, "messageQueueTable": own})


def read_consumer_status(data: bytes) -> tuple[dict[MessageQueue, int], dict[str, dict[MessageQueue, int]]]:
    """Both tables of it; one that is left out is empty."""
    body = parse_lenient(data)
    if not isinstance(body, dict):
        raise RemoteWireError("body is no status of a consumer")
    clients = convert(body.get("consumerTable") or {}, dict[str, dict[str, int]])
    told = {client: _by_queue(offsets) for client, offsets in clients.items()}
    return _by_queue(body.get("messageQueueTable") or {}), told


def _by_queue(table: object) -> dict[MessageQueue, int]:
    return {read_json(key.encode(), MessageQueue): offset for key, offset in convert(table, dict[str, int]).items()}


def _offset_table(data: bytes) -> object:
    body = parse_lenient(data)
    table = body.get("offsetTable") if isinstance(body, dict) else None
    if not isinstance(table, dict):
        raise RemoteWireError("body has no offsetTable")
    return table
