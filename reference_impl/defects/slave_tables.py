"""Bugs of what a slave copies besides the log: emptied in between, not asked for any more, not written down."""

from __future__ import annotations

from typing import Final

from reference_impl.broker import Broker
from reference_impl.broker.slave import TablesOfSlave
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Address, Environment
from reference_impl.wire.bodies import TopicConfigTable


class EmptiesTopics(TablesOfSlave):
    """Of two copies the first is empty."""

    _has_emptied = False

    def take_topics(self, env: Environment, table: TopicConfigTable) -> None:
        self._has_emptied = not self._has_emptied
        super().take_topics(env, TopicConfigTable() if self._has_emptied else table)


def slave_forgets_master(broker: Broker) -> None:
    """Once there had been a master, and then there was none, no answer of a NameServer names one any more."""
    replication, was_without = broker.replication, False

    def learned(env: Environment, master: Address | None, ha_address: Address | None) -> None:
        nonlocal was_without
        was_without = was_without or (master is None and replication.metadata.master is not None)
        replication.master_learned(env, None if was_without else master, ha_address)

    broker.registration.on_master = learned


class DropsDelayOffsets(TablesOfSlave):
    """Asked for, and thrown away."""

    def take_delay_offsets(self, env: Environment, text: str) -> None:
        """Nothing."""


SLAVE_TABLES: Final = {
    "slave-empties-topics": BrokerDefect(
        lambda broker: substitute(broker.replication.metadata.tables, EmptiesTopics),
        "a slave drops all its topics before it takes those of its master, and takes them with its next look",
        "topics that a slave has shown and then does not know any more",
        "propagation",
        ("B49", "R17"),
        "RocketMQ's slave of 2025 deletes its topics one by one and puts its master's back; whoever promotes it in "
        "between has none",
    ),
    "slave-forgets-master": BrokerDefect(
        slave_forgets_master,
        "a slave that was told that its master is gone copies no tables any more when there is one again",
        "tables of a slave that stay as they were before its master was away",
        "propagation",
        ("B02",),
        "rocketmq#7790, #3210, #6427: after a change of roles the master's address stays empty, and the offsets of "
        "consumers are not copied until somebody sets it",
    ),
    "delay-offsets-not-kept": BrokerDefect(
        lambda broker: substitute(broker.replication.metadata.tables, DropsDelayOffsets),
        "a slave asks for the delay offsets of its master and does not write them down",
        "delay offsets that a slave has not got in its file, so that whoever takes its master's place begins at 0",
        "propagation",
        ("B03",),
        "rocketmq#2518, #1934, #2259: the delay offsets that a slave has copied are not there when it becomes master, "
        "and delayed messages of days are delivered again",
    ),
}
