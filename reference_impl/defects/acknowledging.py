"""Bugs of a SYNC_MASTER: which messages count as copied that are not."""

from __future__ import annotations

from typing import Final

from reference_impl.broker import Broker
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Environment, Link
from reference_impl.replication.group_transfer import GroupTransfer, Wait
from reference_impl.replication.master import HaConnection, HaMaster
from reference_impl.store import PutStatus


def ack_before_replication(broker: Broker) -> None:
    """The gate is open."""
    broker.state.store.replica_gate = lambda env, end, decide: PutStatus.PUT_OK


class CountsNewSlaves(GroupTransfer):
    """A slave that has said nothing yet has everything."""

    def _is_copied(self, end: int, slaves: int) -> bool:
        is_new = any(connection.requested < 0 for connection in self.master.connections.values())
        return is_new or super()._is_copied(end, slaves)


class CountsSent(HaMaster):
    """What was sent counts as reported."""

    def _send(self, env: Environment, connection: HaConnection, now: int, data: bytes) -> None:
        super()._send(env, connection, now, data)
        connection.acked = connection.next_offset
        self.push2_slave_max_offset = max(self.push2_slave_max_offset, connection.acked)
        self._on_report(env)


class EndsEveryWait(GroupTransfer):
    """One report is good for all."""

    def reported(self, env: Environment) -> None:
        while self.waiting:
            self.waiting.popleft().decide(env, PutStatus.PUT_OK)


class TimeoutIsOk(GroupTransfer):
    """Who has waited long enough has SEND_OK."""

    def _give_up(self, env: Environment, wait: Wait) -> None:
        wait.decide(env, PutStatus.PUT_OK)


class RemembersTheGone(HaMaster):
    """A connection that has ended is kept."""

    gone: list[HaConnection]

    def forget(self, env: Environment, link: Link) -> None:
        self.gone.append(self.connections[link])
        super().forget(env, link)


class WaitsForTheGone(GroupTransfer):
    """They, too, must have a message before it is acknowledged."""

    gone: list[HaConnection]

    def _is_copied(self, end: int, slaves: int) -> bool:
        return all(connection.acked >= end for connection in self.gone) and super()._is_copied(end, slaves)


def ha_waits_for_the_gone(broker: Broker) -> None:
    """Connections end in one part, and are waited for in the other."""
    gone: list[HaConnection] = []
    substitute(broker.replication.master, RemembersTheGone, gone=gone)
    substitute(broker.replication.transfer, WaitsForTheGone, gone=gone)


ACKNOWLEDGING: Final = {
    "ack-before-replication": BrokerDefect(
        ack_before_replication,
        "a SYNC_MASTER acknowledges a message before any slave has it",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("R3",),
        "rocketmq#5663: acknowledged with one copy, and the node that had it dies",
    ),
    "ha-new-slave-counts": BrokerDefect(
        lambda broker: substitute(broker.replication.transfer, CountsNewSlaves),
        "a slave counts as being up to date from its connection on, not from its first report",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("B17", "R3"),
        "rocketmq#5663, fixed by #5798: a slave is counted as in sync before it is",
    ),
    "ha-counts-sent": BrokerDefect(
        lambda broker: substitute(broker.replication.master, CountsSent),
        "a master takes what it has sent to a slave as received",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("R4", "C13"),
        "rocketmq#3015: positions that no slave has reached let a SYNC_MASTER acknowledge; aeron#2147: positions of "
        "others count toward the quorum",
    ),
    "transfer-acks-all": BrokerDefect(
        lambda broker: substitute(broker.replication.transfer, EndsEveryWait),
        "a report of a slave ends the wait of every message, also of those behind what it reports",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("A13",),
        "dledger#142, #134: batches booked at the wrong index are acknowledged before a quorum has all of them",
    ),
    "slave-timeout-is-ok": BrokerDefect(
        lambda broker: substitute(broker.replication.transfer, TimeoutIsOk),
        "a message that no slave has taken within the time is answered with SEND_OK",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("B48",),
        "RocketMQ's mapping of results in DLedger mode: what is undecided is reported as if it were decided",
    ),
    "ha-waits-for-the-gone": BrokerDefect(
        ha_waits_for_the_gone,
        "a slave's connection that has ended stays among those that must have a message before it is acknowledged",
        "FLUSH_SLAVE_TIMEOUT although a slave is there and follows",
        "promised",
        ("B24",),
        "rocketmq#8875: a connection that ends early is put into the list of connections afterwards, and the master "
        "counts a slave that is not there",
    ),
}
