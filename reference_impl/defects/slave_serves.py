"""Bugs of who serves whom: a slave that takes messages, and consumers that are sent to it."""

from __future__ import annotations

from typing import Final

from reference_impl.broker.pull import Pulls
from reference_impl.defects.defect import BrokerDefect, StoreDefect, substitute
from reference_impl.store import MessageStore
from reference_impl.wire.bodies import SubscriptionGroupConfig


def slave_takes_messages(store: MessageStore) -> None:
    """Whatever the role."""
    store.takes_messages = True


class SuggestsSlave(Pulls):
    """However near the end of the log the consumer is."""

    def _suggestion(self, group: SubscriptionGroupConfig, suggest_slave: bool) -> int:
        return super()._suggestion(group, True)


SLAVE_SERVES: Final = {
    "slave-takes-messages": StoreDefect(
        slave_takes_messages,
        "a slave takes messages as if it were a master",
        "a slave that says it has stored a message",
        "slaves",
        ("B20",),
        "rocketmq#4423: the store takes messages while its role does not let it",
    ),
    "suggests-slave-always": BrokerDefect(
        lambda broker: substitute(broker.pulls, SuggestsSlave),
        "every answer to a pull suggests the slave, whoever asks",
        "readers at the end of the log that are sent to the slave",
        "suggestions",
        ("B28",),
        "rocketmq#2165: consumers are sent to a slave's id that is not right for them",
    ),
}
