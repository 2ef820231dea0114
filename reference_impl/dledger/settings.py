"""What a member is told: its group, its timers, its limits.

Question: how long, how many, who? Names and defaults are DLedger's (DLedgerConfig) where it has one; a broker cannot
change its timers. Times in milliseconds.

Ours: ``is_strict`` (property ``dLegerStrictPersistence``). Without it a member answers as Apache's does, from the page
cache, and replaces ``currterm`` without forcing it: a power cut can take acknowledged entries and votes. With it,

    what leaves                          what is durable before
    any request, any answer              a changed term or vote
    the answer to APPEND, TRUNCATE       the entries, the cut
    an acknowledgement of the leader     the leader's own entry, for it to count among the quorum
"""

from __future__ import annotations

import msgspec

from reference_impl.configuration import ConfigurationError
from reference_impl.digits import is_number


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """One member's. ``peers``: id → address of every member, itself included, as this member reaches them."""

    group: str
    self_id: str
    peers: dict[str, str]
    preferred: tuple[str, ...] = ()
    is_strict: bool = False
    has_batch_push: bool = False
    marker: bytes | None = b""
    """Body of the entry with which a new leader commits what older terms left; ``None``: it waits for an append."""
    stamp_at: int = -1
    """Where 8 bytes of a body take the body's own position (a broker's messages); −1: nowhere."""

    loop_ms: int = 10
    heart_beat_ms: int = 2000
    heart_beat_leak: int = 3
    vote_wait_min_ms: int = 2000
    vote_wait_spread_ms: int = 1000
    vote_interval_min_ms: int = 300
    vote_interval_max_ms: int = 1000
    take_interval_min_ms: int = 30
    take_interval_max_ms: int = 100
    rpc_timeout_ms: int = 3000
    max_pending: int = 10_000
    ack_wait_ms: int = 2500
    push_timeout_ms: int = 1000
    compare_pause_ms: int = 500
    in_flight_max: int = 1000
    batch_push_bytes: int = 4 * 1024
    throttle_entries: int = 1000
    throttle_bytes: int = 300 * 1024 * 1024
    push_quota_bytes: int = 20 * 1024 * 1024
    transfer_lag_max: int = 1000
    transfer_wait_ms: int = 1000
    prefer_period_ms: int = 1000

    @property
    def others(self) -> tuple[str, ...]:
        """All but this member, in the order of the list."""
        return tuple(peer for peer in self.peers if peer != self.self_id)

    @property
    def quorum(self) -> int:
        return len(self.peers) // 2 + 1

    @property
    def silence_ms(self) -> int:
        """After so long without a heart beat a follower stands for election, a leader without a quorum steps down."""
        return self.heart_beat_ms * self.heart_beat_leak


def parse_peers(name: str, text: str) -> dict[str, str]:
    """``n0-host:port;n1-host:port`` → id → address. :class:`ConfigurationError` for anything else."""
    peers: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        member, _, address = part.partition("-")
        host, _, port = address.rpartition(":")
        if not member or not host or not is_number(port):
            raise ConfigurationError(f"{name}={text}: expected n0-host:port;n1-host:port, not {part!r}")
        if member in peers:
            raise ConfigurationError(f"{name}={text}: {member} is there twice")
        peers[member] = address
    return peers
