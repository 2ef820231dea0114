"""What a broker is told at its start: RocketMQ's property names and text values, read once into typed values.

Question: which of RocketMQ's settings does this broker obey, and with which defaults?

Model. A configuration file is lines ``name=value``. The broker reads the names below (RocketMQ: BrokerConfig,
NettyServerConfig); the store reads its own from the same mapping (``BrokerConfig.properties`` is handed through
unread). Durations end in ``_ns`` here, whatever unit the property has.

Limits. An unknown name is carried along and shown by GET_BROKER_CONFIG, as RocketMQ does; a known name with a value
that cannot be read is one :class:`ConfigurationError`. Three names are ours: ``metadataSync`` (force topics.json and
its siblings to the disk; RocketMQ never does), ``bindAddress`` (RocketMQ 5's name; default here: ``brokerIP1``) and
``release`` (4.9.7 or 5.3.3: whose habits a pair of master and slave shows; everything else is 4.9.7's). Names that only
5.x has are read with that release alone. ``enableRemoteEscape=true`` and ``lockInStrictMode=true`` are refused there: a
slave that acts as a master here sends nothing to other masters, and its own lock is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import AddressValueError, IPv4Address
from typing import Any, Final, TypeVar

from reference_impl.configuration import ConfigurationError
from reference_impl.digits import is_number
from reference_impl.environment import MS, Address
from reference_impl.wire.fields import java_number

T = TypeVar("T")

MASTER_ID: Final = 0
"""The brokerId of a master."""

UNDECIDED_ID: Final = -1
"""The brokerId of a member of a DLedger group before its first role is known."""


@dataclass(frozen=True)
class BrokerConfig:
    """Typed settings of one broker. Build it with :meth:`from_properties`; change it with :meth:`updated`."""

    properties: Mapping[str, str] = field(default_factory=dict)
    broker_name: str = "broker-a"
    broker_id: int = MASTER_ID
    cluster_name: str = "DefaultCluster"
    broker_ip: str = "127.0.0.1"
    broker_ip2: str = "127.0.0.1"
    bind_address: str = "127.0.0.1"
    listen_port: int = 10911
    ha_listen_port: int = 10912
    release: str = "4.9.7"
    nameservers: tuple[Address, ...] = ()
    broker_role: str = "ASYNC_MASTER"
    broker_permission: int = 6
    default_topic_queue_nums: int = 8
    auto_create_topic: bool = True
    auto_create_group: bool = True
    max_message_size: int = 4 * 1024 * 1024
    long_polling: bool = True
    short_polling_ns: int = 1000 * MS
    slave_read_enable: bool = False
    enable_property_filter: bool = False
    store_reply_message: bool = True
    reject_transaction_message: bool = False
    transaction_timeout_ms: int = 6_000
    transaction_check_max: int = 15
    transaction_check_interval_ns: int = 60_000 * MS
    notify_consumer_ids_changed: bool = True
    trace_on: bool = True
    region: str = "DefaultRegion"
    register_period_ns: int = 30_000 * MS
    register_timeout_ns: int = 6_000 * MS
    force_register: bool = True
    compressed_register: bool = False
    flush_consumer_offset_interval_ns: int = 5_000 * MS
    flush_delay_offset_interval_ns: int = 10_000 * MS
    delay_levels: tuple[int, ...] = ()
    start_accept_send_ms: int = 0
    metadata_sync: bool = False
    in_group: bool = False
    enable_slave_acting_master: bool = False
    total_replicas: int = 1
    skip_pre_online: bool = False
    compatible_with_old_name_server: bool = True
    heartbeat_interval_ns: int = 1000 * MS
    not_active_timeout_ms: int = 10_000
    member_group_period_ns: int = 1000 * MS
    timer_wheel_enable: bool = True
    timer_precision_ms: int = 1000
    timer_max_delay_sec: int = 3 * 24 * 3600
    timer_flush_interval_ns: int = 1000 * MS

    @property
    def address(self) -> Address:
        """What the NameServer is told: ``brokerIP1:listenPort``."""
        return f"{self.broker_ip}:{self.listen_port}"

    @property
    def ha_address(self) -> Address:
        """Where slaves are told to connect: ``brokerIP2:haListenPort``."""
        return f"{self.broker_ip2}:{self.ha_listen_port}"

    @property
    def ha_listen_address(self) -> Address:
        """Where slaves are accepted."""
        return f"{self.bind_address}:{self.ha_listen_port}"

    @property
    def listen_addresses(self) -> tuple[Address, Address]:
        """Where we accept: the main port and the fast port."""
        return f"{self.bind_address}:{self.listen_port}", f"{self.bind_address}:{self.listen_port - 2}"

    @property
    def is_slave(self) -> bool:
        return self.broker_role == "SLAVE"

    @property
    def is_5x(self) -> bool:
        return self.release == "5.3.3"

    @property
    def acts(self) -> bool:
        """Whether a slave of this name may act as its master (5.x)."""
        return self.is_5x and self.enable_slave_acting_master

    @property
    def starts_isolated(self) -> bool:
        """Whether it looks for the others of its name before it registers (RocketMQ: BrokerController#start)."""
        return self.acts and self.total_replicas > 1 and not self.skip_pre_online

    @property
    def readable(self) -> bool:
        return bool(self.broker_permission & 4)

    @property
    def writable(self) -> bool:
        return bool(self.broker_permission & 2)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> BrokerConfig:
        """Read *properties* (text to text). Raises :class:`ConfigurationError` naming the first bad value."""
        table = _PROPERTIES + (_PROPERTIES_5X if properties.get("release") == "5.3.3" else ())
        known = {name: convert(key, properties[key]) for key, name, convert in table if key in properties}
        known.setdefault("delay_levels", _delay_levels("messageDelayLevel", DEFAULT_DELAY_LEVELS))
        known.setdefault("bind_address", known.get("broker_ip", cls.broker_ip))
        known.setdefault("broker_ip2", known.get("broker_ip", cls.broker_ip))
        known["ha_listen_port"] = _ha_port(known)
        if known.get("broker_role") != "SLAVE":
            # RocketMQ: BrokerStartup sets it, whatever was configured
            known["broker_id"] = UNDECIDED_ID if known.get("in_group") else MASTER_ID
        for key in ("enableRemoteEscape", "lockInStrictMode") if known.get("enable_slave_acting_master") else ():
            if _switch(key, properties.get(key, "false")):
                raise ConfigurationError(f"{key}={properties[key]}: not implemented, expected false")
        return _checked(cls(properties=dict(properties), **known))

    def updated(self, changes: Mapping[str, str]) -> BrokerConfig:
        """The same with some properties changed (25); :class:`ConfigurationError` for one that is fixed."""
        fixed = [name for name in changes if name not in CHANGEABLE]
        if fixed:
            raise ConfigurationError(f"cannot be changed while the broker runs: {', '.join(fixed)}")
        return self.from_properties({**self.properties, **changes})

    def described(self) -> dict[str, str]:
        """All properties with their values as text: those given, and those obeyed with their defaults."""
        table = _PROPERTIES + (_PROPERTIES_5X if self.is_5x else ())
        obeyed = {key: _as_text(name, getattr(self, name)) for key, name, _ in table if name != "delay_levels"}
        return {"messageDelayLevel": DEFAULT_DELAY_LEVELS, **obeyed, **self.properties}


def _ha_port(known: Mapping[str, Any]) -> int:
    """4.9 overwrites a configured port, 5.x takes it (RocketMQ: BrokerStartup, BrokerController)."""
    configured = known.get("ha_listen_port", 0)
    if known.get("release") == "5.3.3" and configured > 0:
        return int(configured)
    return int(known.get("listen_port", BrokerConfig.listen_port)) + 1


DEFAULT_DELAY_LEVELS: Final = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _text(_key: str, value: str) -> str:
    return value.strip()


def _integer(key: str, value: str) -> int:
    number = java_number(value.strip(), 64)
    if number is None:
        raise ConfigurationError(f"{key}={value}: expected a whole number")
    return number


def _switch(key: str, value: str) -> bool:
    if value.strip().lower() not in ("true", "false"):
        raise ConfigurationError(f"{key}={value}: expected true or false")
    return value.strip().lower() == "true"


def _milliseconds(key: str, value: str) -> int:
    return _integer(key, value) * MS


def _register_period(key: str, value: str) -> int:
    """RocketMQ clamps to 10 to 60 s (RocketMQ: BrokerController#start)."""
    return max(10_000, min(_integer(key, value), 60_000)) * MS


def _addresses(key: str, value: str) -> tuple[Address, ...]:
    parts = tuple(part.strip() for part in value.split(";") if part.strip())
    for part in parts:
        if not is_number(part.rpartition(":")[2]) or not part.rpartition(":")[0]:
            raise ConfigurationError(f"{key}={value}: expected host:port separated by ';'")
    return parts


def _delay_levels(key: str, value: str) -> tuple[int, ...]:
    """``1s 5m …`` → milliseconds by level; level 1 is the first."""
    try:
        return tuple(int(word[:-1]) * _UNITS_MS[word[-1]] for word in value.split())
    except (ValueError, KeyError):
        raise ConfigurationError(f"{key}={value}: expected durations such as '1s 5m 2h'") from None


def _role(key: str, value: str) -> str:
    if value not in ("ASYNC_MASTER", "SYNC_MASTER", "SLAVE"):
        raise ConfigurationError(f"{key}={value}: expected ASYNC_MASTER, SYNC_MASTER or SLAVE")
    return value


def _release(key: str, value: str) -> str:
    if value not in ("4.9.7", "5.3.3"):
        raise ConfigurationError(f"{key}={value}: expected 4.9.7 or 5.3.3")
    return value


_PROPERTIES: Final[tuple[tuple[str, str, Callable[[str, str], Any]], ...]] = (
    ("brokerName", "broker_name", _text),
    ("brokerId", "broker_id", _integer),
    ("brokerClusterName", "cluster_name", _text),
    ("brokerIP1", "broker_ip", _text),
    ("brokerIP2", "broker_ip2", _text),
    ("bindAddress", "bind_address", _text),
    ("listenPort", "listen_port", _integer),
    ("haListenPort", "ha_listen_port", _integer),
    ("release", "release", _release),
    ("namesrvAddr", "nameservers", _addresses),
    ("brokerRole", "broker_role", _role),
    ("brokerPermission", "broker_permission", _integer),
    ("defaultTopicQueueNums", "default_topic_queue_nums", _integer),
    ("autoCreateTopicEnable", "auto_create_topic", _switch),
    ("autoCreateSubscriptionGroup", "auto_create_group", _switch),
    ("maxMessageSize", "max_message_size", _integer),
    ("longPollingEnable", "long_polling", _switch),
    ("shortPollingTimeMills", "short_polling_ns", _milliseconds),
    ("slaveReadEnable", "slave_read_enable", _switch),
    ("enablePropertyFilter", "enable_property_filter", _switch),
    ("storeReplyMessageEnable", "store_reply_message", _switch),
    ("rejectTransactionMessage", "reject_transaction_message", _switch),
    ("transactionTimeOut", "transaction_timeout_ms", _integer),
    ("transactionCheckMax", "transaction_check_max", _integer),
    ("transactionCheckInterval", "transaction_check_interval_ns", _milliseconds),
    ("notifyConsumerIdsChangedEnable", "notify_consumer_ids_changed", _switch),
    ("traceOn", "trace_on", _switch),
    ("regionId", "region", _text),
    ("registerNameServerPeriod", "register_period_ns", _register_period),
    ("registerBrokerTimeoutMills", "register_timeout_ns", _milliseconds),
    ("forceRegister", "force_register", _switch),
    ("compressedRegister", "compressed_register", _switch),
    ("flushConsumerOffsetInterval", "flush_consumer_offset_interval_ns", _milliseconds),
    ("flushDelayOffsetInterval", "flush_delay_offset_interval_ns", _milliseconds),
    ("messageDelayLevel", "delay_levels", _delay_levels),
    ("startAcceptSendRequestTimeStamp", "start_accept_send_ms", _integer),
    ("metadataSync", "metadata_sync", _switch),
    ("enableDLegerCommitLog", "in_group", _switch),
)

_PROPERTIES_5X: Final[tuple[tuple[str, str, Callable[[str, str], Any]], ...]] = (
    ("enableSlaveActingMaster", "enable_slave_acting_master", _switch),
    ("totalReplicas", "total_replicas", _integer),
    ("skipPreOnline", "skip_pre_online", _switch),
    ("compatibleWithOldNameSrv", "compatible_with_old_name_server", _switch),
    ("brokerHeartbeatInterval", "heartbeat_interval_ns", _milliseconds),
    ("brokerNotActiveTimeoutMillis", "not_active_timeout_ms", _integer),
    ("syncBrokerMemberGroupPeriod", "member_group_period_ns", _milliseconds),
    ("timerWheelEnable", "timer_wheel_enable", _switch),
    ("timerPrecisionMs", "timer_precision_ms", _integer),
    ("timerMaxDelaySec", "timer_max_delay_sec", _integer),
    ("timerFlushIntervalMs", "timer_flush_interval_ns", _milliseconds),
)


CHANGEABLE: Final = frozenset(
    {
        "brokerPermission",
        "autoCreateTopicEnable",
        "autoCreateSubscriptionGroup",
        "longPollingEnable",
        "shortPollingTimeMills",
        "slaveReadEnable",
        "rejectTransactionMessage",
        "transactionTimeOut",
        "transactionCheckMax",
        "transactionCheckInterval",
        "notifyConsumerIdsChangedEnable",
        "registerNameServerPeriod",
        "registerBrokerTimeoutMills",
        "forceRegister",
        "flushConsumerOffsetInterval",
        "startAcceptSendRequestTimeStamp",
        "namesrvAddr",
        "defaultTopicQueueNums",
    }
)
"""Names that UPDATE_BROKER_CONFIG may change: the broker looks at them anew each time, the last one when it starts."""


def _as_text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and name.endswith("_ns"):
        return str(value // MS)
    return ";".join(value) if isinstance(value, tuple) else str(value)


def _is_ipv4(host: str) -> bool:
    try:
        IPv4Address(host)
    except AddressValueError:
        return False
    return True


def _checked(config: BrokerConfig) -> BrokerConfig:
    """What must hold between properties."""
    if not 2 < config.listen_port < 65_536:
        raise ConfigurationError(
            f"listenPort={config.listen_port}: expected 3 to 65535 (the fast channel is two below)"
        )
    if config.is_slave and config.broker_id <= MASTER_ID:
        raise ConfigurationError(f"brokerId={config.broker_id}: a slave's brokerId must be greater than 0")
    if config.in_group and (config.is_slave or config.acts):
        raise ConfigurationError("enableDLegerCommitLog=true: not with brokerRole=SLAVE or enableSlaveActingMaster")
    for name, attribute, convert in (*_PROPERTIES, *_PROPERTIES_5X):
        if convert is _milliseconds and getattr(config, attribute) < MS:
            raise ConfigurationError(f"{name}={getattr(config, attribute) // MS}: expected 1 or more")
    if config.timer_precision_ms < 1:
        raise ConfigurationError(f"timerPrecisionMs={config.timer_precision_ms}: expected 1 or more")
    for name, host in (
        ("brokerIP1", config.broker_ip),
        ("brokerIP2", config.broker_ip2),
        ("bindAddress", config.bind_address),
    ):
        if not _is_ipv4(host):
            raise ConfigurationError(f"{name}={host}: expected an IPv4 address (message ids hold one)")
    if not config.broker_name:
        raise ConfigurationError("brokerName is empty")
    return replace(config, nameservers=tuple(dict.fromkeys(config.nameservers)))
