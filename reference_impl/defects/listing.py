"""Bugs of a NameServer's tables: brokers that stay too long, go too early, or cannot be written to."""

from __future__ import annotations

from typing import Final

from reference_impl.defects.defect import NameServerDefect, substitute
from reference_impl.environment import Address, Link
from reference_impl.namesrv.registry import MASTER_ID, BrokerKey, LiveBroker, Registration, Registry
from reference_impl.wire.bodies import DataVersion, TopicConfigTable


class DropsName(Registry):
    """Who unregisters takes the others of its name along."""

    def unregister(self, key: BrokerKey) -> bool:
        for address in self.member_group(key.cluster, key.name).broker_addrs.values():
            self.drop(address)
        return super().unregister(key)


class ReadOnlyAfterSlave(Registry):
    """A slave without a master takes the write bit from its name, and topics of that version do not bring it back."""

    of_slave: dict[str, DataVersion]
    """Broker name → version that a slave brought alone."""

    def register(
        self, key: BrokerKey, topics: TopicConfigTable, live: LiveBroker, *, acting_master: bool | None = None
    ) -> Registration:
        registration = super().register(key, topics, live, acting_master=acting_master)
        if registration.accepted and MASTER_ID not in self.member_group(key.cluster, key.name).broker_addrs:
            self.wipe_write_permission(key.name)
            self.of_slave[key.name] = live.version
        return registration

    def _is_news(self, key: BrokerKey, version: DataVersion, is_first: bool) -> bool:
        known = self.of_slave.get(key.name)
        return (known is None or not known.same_as(version)) and super()._is_news(key, version, is_first)


class TakesOldTopics(Registry):
    """Topics are news at each registration."""

    def _is_news(self, key: BrokerKey, version: DataVersion, is_first: bool) -> bool:
        return True


class IgnoresClose(Registry):
    """A connection that has ended says nothing about its broker."""

    def drop_link(self, link: Link) -> list[Address]:
        return []


class NeverExpires(IgnoresClose):
    """Nor does silence."""

    def expired(self, wall_ms: int) -> list[tuple[Address, Link]]:
        return []


LISTING: Final = {
    "unregister-drops-name": NameServerDefect(
        lambda server: substitute(server.registry, DropsName),
        "whoever unregisters takes all brokers of its name with it",
        "a master that is well and missing in the routes after its slave was stopped",
        "routes",
        ("B43",),
        "rocketmq#5374, fixed by #5375: the farewell of one broker removes another of the same name",
    ),
    "slave-alone-is-read-only": NameServerDefect(
        lambda server: substitute(server.registry, ReadOnlyAfterSlave, of_slave={}),
        "a slave that registers while its name has no master makes the topics read-only, and so they stay",
        "no message accepted by a master that is back, because nobody finds a queue of it to write to",
        "availability",
        ("B14",),
        "rocketmq#7626, fixed by #7661: a NameServer that has heard of a slave first shows permission 4 for all topics "
        "of its name, although there is a master",
    ),
    "namesrv-takes-old-topics": NameServerDefect(
        lambda server: substitute(server.registry, TakesOldTopics),
        "a NameServer takes the topics of every registration, also of one that brings nothing new",
        "write permission that an operator took from a broker and that is back with its next registration",
        "propagation",
    ),
    "namesrv-ignores-close": NameServerDefect(
        lambda server: substitute(server.registry, IgnoresClose),
        "a closed connection does not count, a broker leaves the routes only for silence",
        "a dead broker in the routes longer than a closed connection allows",
        "routes",
        ("R16",),
        "alibaba/RocketMQ#173: sends to a crashed broker fail for two minutes",
    ),
    "namesrv-never-expires": NameServerDefect(
        lambda server: substitute(server.registry, NeverExpires),
        "a broker leaves the routes only by unregistering, never for silence or a closed connection",
        "a dead broker in the routes longer than its expiry allows",
        "routes",
        ("R16",),
        "alibaba/RocketMQ#173, rocketmq#3143: clients go on being sent to a broker that is gone",
    ),
}
