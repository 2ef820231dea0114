"""What replication is told: RocketMQ's names and defaults, and the release whose habits it shows.

Question: how long, how much, how many? RocketMQ: MessageStoreConfig. Times in milliseconds, sizes in bytes.

``release`` (ours, as the NameServer has it) chooses between two generations that differ on the wire and in time. What
only the second knows is not even read for the first:

    what                                         4.9.7                            5.3.3
    haListenPort                                 always listenPort + 1            listenPort + 1 unless it is set
    haMasterAddress                              used, no NameServer needed       nothing ever connects (a bug),
                                                                                  but with acting masters one is told
    a later report beyond the master's end       closes the connection            is believed
    first report after a connect                 5 s later                        at once if the last is older than 5 s
    reconnect after a broken frame or close      at once                          after 5 s
    a silent master                              is never noticed                 is left after 20 s
    SYNC_MASTER waits for                        any one slave                    inSyncReplicas − 1 slaves (default: 0)
    SYNC_MASTER without a fit slave              SLAVE_NOT_AVAILABLE at once      waits, FLUSH_SLAVE_TIMEOUT
    the same with enableSlaveActingMaster        no such setting                  refused before it is stored
    metadata copied                              after 3 s, every 10 s            after more than 60 s, every 60 s
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from reference_impl.configuration import ConfigurationError, bind, property_names
from reference_impl.digits import is_number
from reference_impl.environment import MS

Release = Literal["4.9.7", "5.3.3"]


_ONLY_5X: Final = (
    "haMaxGapNotInSync",
    "inSyncReplicas",
    "minInSyncReplicas",
    "totalReplicas",
    "enableAutoInSyncReplicas",
    "enableSlaveActingMaster",
)


class ReplicationConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The settings of both ends. Build it with :meth:`from_properties`."""

    release: Release = "4.9.7"
    broker_role: Literal["ASYNC_MASTER", "SYNC_MASTER", "SLAVE"] = "ASYNC_MASTER"
    slave_timeout: int = 3000
    ha_send_heartbeat_interval: int = 5000
    ha_housekeeping_interval: int = 20_000
    ha_transfer_batch_size: int = 32 * 1024
    ha_slave_fallbehind_max: int = 256 * 1024 * 1024
    ha_master_address: str = ""
    ha_max_gap_not_in_sync: int = 256 * 1024 * 1024
    in_sync_replicas: int = 1
    min_in_sync_replicas: int = 1
    total_replicas: int = 1
    enable_auto_in_sync_replicas: bool = False
    enable_slave_acting_master: bool = False
    strict_ha_report: bool = False

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> ReplicationConfig:
        """:class:`ConfigurationError` names the property that cannot be used; other names are left alone."""
        is_4 = properties.get("release", "4.9.7").strip() == "4.9.7"
        config = bind(cls, {name: text for name, text in properties.items() if not (is_4 and name in _ONLY_5X)})
        for name, value in (
            ("slaveTimeout", config.slave_timeout),
            ("haSendHeartbeatInterval", config.ha_send_heartbeat_interval),
            ("haHousekeepingInterval", config.ha_housekeeping_interval),
            ("haTransferBatchSize", config.ha_transfer_batch_size),
            ("inSyncReplicas", config.in_sync_replicas),
            ("minInSyncReplicas", config.min_in_sync_replicas),
            ("totalReplicas", config.total_replicas),
        ):
            if value < 1:
                raise ConfigurationError(f"{name}={value}: expected 1 or more")
        address = config.ha_master_address
        if address and not (address.rpartition(":")[0] and is_number(address.rpartition(":")[2])):
            raise ConfigurationError(f"haMasterAddress={address}: expected host:port")
        return config

    @classmethod
    def names(cls) -> list[str]:
        """RocketMQ's names of all fields."""
        return property_names(cls)

    @property
    def is_5x(self) -> bool:
        return self.release == "5.3.3"

    @property
    def is_slave(self) -> bool:
        return self.broker_role == "SLAVE"

    @property
    def slaves_to_wait_for(self) -> int:
        """How many slaves must have reported before SYNC_MASTER says SEND_OK; 0: none is waited for."""
        if self.broker_role != "SYNC_MASTER":
            return 0
        return self.in_sync_replicas - 1 if self.is_5x else 1

    @property
    def looks_before_it_stores(self) -> bool:
        """Whether a put that too few replicas could confirm is refused: 5.x with acting masters."""
        return self.is_5x and self.enable_slave_acting_master and self.broker_role == "SYNC_MASTER"

    @property
    def heartbeat_ns(self) -> int:
        """Silence after which either end says something."""
        return self.ha_send_heartbeat_interval * MS

    @property
    def housekeeping_ns(self) -> int:
        """Silence after which the other end is given up."""
        return self.ha_housekeeping_interval * MS

    @property
    def slave_timeout_ns(self) -> int:
        """How long a put waits for slaves."""
        return self.slave_timeout * MS
