"""A group's properties: RocketMQ's names where a broker has them, DLedger's for the rest.

Question: what does a configuration say about this member's group? RocketMQ: MessageStoreConfig (dLegerGroup,
dLegerPeers, dLegerSelfId, preferredLeaderId, enableBatchPush, spelled so); DLedger: DLedgerConfig. A broker of RocketMQ
obeys the first five and takes the defaults of the others, since it cannot set them; here it can.

Ours: ``dLegerStrictPersistence`` (see ``settings.py``), ``dLegerStrictIdentity`` (see ``identity.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from reference_impl.configuration import ConfigurationError, bind, property_names
from reference_impl.dledger.log import INDEX_FILE_SIZE
from reference_impl.dledger.settings import Settings, parse_peers


class DLedgerConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Sizes in bytes, times in milliseconds unless the name says otherwise. Build it with :meth:`from_properties`."""

    d_leger_group: str = ""
    d_leger_peers: str = ""
    d_leger_self_id: str = ""
    preferred_leader_id: str = ""
    enable_batch_push: bool = False
    d_leger_strict_persistence: bool = False
    d_leger_strict_identity: bool = False

    heart_beat_time_interval_ms: int = 2000
    max_heart_beat_leak: int = 3
    min_vote_interval_ms: int = 300
    max_vote_interval_ms: int = 1000
    max_pending_requests_num: int = 10_000
    max_wait_ack_time_ms: int = 2500
    max_push_time_out_ms: int = 1000
    rpc_timeout_ms: int = 3000

    store_base_dir: str = "dledger"
    mapped_file_size_for_entry_data: int = 1024 * 1024 * 1024
    mapped_file_size_for_entry_index: int = INDEX_FILE_SIZE
    flush_file_interval: int = 10
    check_point_interval: int = 3000
    file_reserved_hours: int = 72
    delete_when: str = "04"
    disk_space_ratio_to_check_expired: int = 70
    disk_space_ratio_to_force_clean: int = 85
    enable_disk_force_clean: bool = True

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> DLedgerConfig:
        """:class:`ConfigurationError` names the property that cannot be used; other names are left alone."""
        config = bind(cls, properties)
        peers = config.peers
        if config.d_leger_self_id not in peers:
            known = ", ".join(peers) or "nobody"
            raise ConfigurationError(f"dLegerSelfId={config.d_leger_self_id}: not among dLegerPeers ({known})")
        if not config.d_leger_group:
            raise ConfigurationError("dLegerGroup is empty")
        for name, value in (
            ("heartBeatTimeIntervalMs", config.heart_beat_time_interval_ms),
            ("maxHeartBeatLeak", config.max_heart_beat_leak),
            ("minVoteIntervalMs", config.min_vote_interval_ms),
            ("maxVoteIntervalMs", config.max_vote_interval_ms - config.min_vote_interval_ms),
            ("flushFileInterval", config.flush_file_interval),
            ("checkPointInterval", config.check_point_interval),
        ):
            if value < 1:
                raise ConfigurationError(f"{name}={properties[name]}: too small")
        return config

    @classmethod
    def names(cls) -> list[str]:
        """The names of all properties."""
        return property_names(cls)

    @property
    def peers(self) -> dict[str, str]:
        """Member → address."""
        return parse_peers("dLegerPeers", self.d_leger_peers)

    @property
    def folder(self) -> str:
        """Where this member keeps everything."""
        return f"{self.store_base_dir}/dledger-{self.d_leger_self_id}"

    @property
    def listen_address(self) -> str:
        """Its own address in its own list."""
        return self.peers[self.d_leger_self_id]

    def settings(self, *, marker: bytes | None = b"", stamp_at: int = -1) -> Settings:
        """What the protocol needs of it; *marker* and *stamp_at* depend on what the entries are."""
        return Settings(
            group=self.d_leger_group,
            self_id=self.d_leger_self_id,
            peers=self.peers,
            preferred=tuple(it.strip() for it in self.preferred_leader_id.split(";") if it.strip()),
            is_strict=self.d_leger_strict_persistence,
            has_batch_push=self.enable_batch_push,
            marker=marker,
            stamp_at=stamp_at,
            heart_beat_ms=self.heart_beat_time_interval_ms,
            heart_beat_leak=self.max_heart_beat_leak,
            vote_interval_min_ms=self.min_vote_interval_ms,
            vote_interval_max_ms=self.max_vote_interval_ms,
            max_pending=self.max_pending_requests_num,
            ack_wait_ms=self.max_wait_ack_time_ms,
            push_timeout_ms=self.max_push_time_out_ms,
            rpc_timeout_ms=self.rpc_timeout_ms,
        )
