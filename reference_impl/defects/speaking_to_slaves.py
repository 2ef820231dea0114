"""Bugs of a master on its replication connections: silence, too much of it, and wrong partings."""

from __future__ import annotations

from typing import Final

from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Environment
from reference_impl.replication.master import HaConnection, HaMaster


class SendsNoHeartbeats(HaMaster):
    """Only frames that bring something are sent."""

    def _send(self, env: Environment, connection: HaConnection, now: int, data: bytes) -> None:
        if data:
            super()._send(env, connection, now, data)
        else:
            connection.written_ns = now


class ForgetsWhatItSent(HaMaster):
    """A heartbeat is due an interval after the connection came about, and ever after."""

    def _send(self, env: Environment, connection: HaConnection, now: int, data: bytes) -> None:
        before = connection.written_ns
        super()._send(env, connection, now, data)
        connection.written_ns = before


class KeepsTheSilent(HaMaster):
    """Nobody is given up."""

    def _look_after_silence(self, env: Environment, connection: HaConnection) -> None:
        """Nothing."""


class ThrowsOutEverybody(HaMaster):
    """The time counts from the connection, not from the last report."""

    def _look_after_silence(self, env: Environment, connection: HaConnection) -> None:
        self.close(env, connection, "silent")


SPEAKING_TO_SLAVES: Final = {
    "ha-no-heartbeats": BrokerDefect(
        lambda broker: substitute(broker.replication.master, SendsNoHeartbeats),
        "a master that has nothing to copy sends its slaves nothing at all",
        "a replication connection on which nothing comes for longer than an interval of heartbeats",
        "replication-links",
    ),
    "ha-heartbeats-all-the-time": BrokerDefect(
        lambda broker: substitute(broker.replication.master, ForgetsWhatItSent),
        "a master does not note when it sent something, and sends heartbeats between all frames",
        "heartbeats that come sooner than an interval after the frame before",
        "replication-links",
    ),
    "ha-keeps-the-silent": BrokerDefect(
        lambda broker: substitute(broker.replication.master, KeepsTheSilent),
        "a master never ends the connection of a slave that says nothing",
        "a slave that has been silent for longer than the master's patience, and is connected",
        "replication-links",
    ),
    "ha-throws-out-everybody": BrokerDefect(
        lambda broker: substitute(broker.replication.master, ThrowsOutEverybody),
        "a master ends every connection after the time that a silent slave has",
        "a slave that reports as it should and is thrown out",
        "replication-links",
    ),
}
