"""The NameServer's settings: RocketMQ's names and defaults.

Question: where does it listen, how soon does it give up a silent broker, and which release does it behave like?

RocketMQ: NamesrvConfig, NettyServerConfig. ``supportActingMaster`` and ``notifyMinBrokerIdChanged`` are 5.x's, and do
nothing in 4.9.7. Ours are two: ``release`` (4.9.7 or 5.3.3) and
``brokerChannelExpiredTime`` (in 4.9 a constant of 120,000 ms).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from reference_impl.configuration import ConfigurationError, bind
from reference_impl.environment import MS, SECOND, Address


class NamesrvConfig(msgspec.Struct, frozen=True, rename="camel"):
    """Times in milliseconds unless the name says otherwise. ``kvConfigPath`` is relative to the node's folder."""

    release: Literal["4.9.7", "5.3.3"] = "4.9.7"
    listen_port: int = 9876
    bind_address: str = "127.0.0.1"
    kv_config_path: str = "namesrv/kvConfig.json"
    order_message_enable: bool = False
    support_acting_master: bool = False
    notify_min_broker_id_changed: bool = False
    scan_not_active_broker_interval: int = 0
    broker_channel_expired_time: int = 120_000
    server_channel_max_idle_time_seconds: int = 120

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> NamesrvConfig:
        """:class:`ConfigurationError` names the property that cannot be used; other names are left alone."""
        config = bind(cls, properties)
        for name, value, least in (
            ("listenPort", config.listen_port, 1),
            ("scanNotActiveBrokerInterval", config.scan_not_active_broker_interval, 0),
            ("brokerChannelExpiredTime", config.broker_channel_expired_time, 1),
            ("serverChannelMaxIdleTimeSeconds", config.server_channel_max_idle_time_seconds, 1),
        ):
            if value < least:
                raise ConfigurationError(f"{name}={value}: expected {least} or more")
        if config.listen_port > 65_535:
            raise ConfigurationError(f"listenPort={config.listen_port}: expected 65535 or less")
        if config.kv_config_path.startswith("/") or ".." in config.kv_config_path.split("/"):
            raise ConfigurationError(f"kvConfigPath={config.kv_config_path}: expected a path below the node's folder")
        return config

    @property
    def is_5x(self) -> bool:
        return self.release.startswith("5.")

    @property
    def shows_acting_masters(self) -> bool:
        return self.is_5x and self.support_acting_master

    @property
    def notifies(self) -> bool:
        return self.is_5x and self.notify_min_broker_id_changed

    @property
    def address(self) -> Address:
        return f"{self.bind_address}:{self.listen_port}"

    @property
    def scan_interval_ns(self) -> int:
        """0, the default, means the release's own: 10 s in 4.9 (a constant there), 5 s in 5.x."""
        return (self.scan_not_active_broker_interval or (5_000 if self.is_5x else 10_000)) * MS

    @property
    def idle_close_ns(self) -> int:
        return self.server_channel_max_idle_time_seconds * SECOND


FIRST_SCAN_NS: Final = 5 * SECOND
"""RocketMQ: NamesrvController#initialize."""

UNCHANGEABLE: Final = ("kvConfigPath", "configStorePath", "configBlackList", "release")
"""Properties that UPDATE_NAMESRV_CONFIG refuses with NO_PERMISSION."""
