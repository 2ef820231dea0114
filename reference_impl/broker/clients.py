"""Who is connected: producers and consumers by group, as their heartbeats told.

Question: which clients does a group consist of now, and when must its members be told that this has changed?

Model (RocketMQ: ConsumerManager, ProducerManager, ConsumerGroupInfo). Identity is the connection, not the client id: a
client id may occur twice. A heartbeat adds or renews its connection; the end of the connection, an unregister call, or
120 s (wall clock) without a heartbeat remove it. Each change of members or of subscribed topics returns the groups
whose consumers must get NOTIFY_CONSUMER_IDS_CHANGED; an identical heartbeat returns none.

Limits. Pure tables: sending the notification and closing an expired connection is the broker's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from reference_impl.environment import Link

EXPIRY_MS: Final = 120_000
"""RocketMQ: CHANNEL_EXPIRED_TIMEOUT of both managers."""


@dataclass
class Member:
    """One connection of a group."""

    client_id: str
    language: str
    version: int
    seen_ms: int


@dataclass(frozen=True)
class Subscription:
    """What a consumer group wants of a topic. ``codes`` are tag hashes; empty: everything (``expression`` is ``*``)."""

    topic: str
    expression: str
    tags: tuple[str, ...] = ()
    codes: frozenset[int] = frozenset()
    version: int = 0
    expression_type: str = "TAG"

    @property
    def everything(self) -> bool:
        """No filtering at all (RocketMQ: SubscriptionData.SUB_ALL)."""
        return self.expression == "*"


@dataclass
class ConsumerGroup:
    """RocketMQ: ConsumerGroupInfo."""

    consume_type: str = "CONSUME_PASSIVELY"
    message_model: str = "CLUSTERING"
    consume_from: str = "CONSUME_FROM_LAST_OFFSET"
    members: dict[Link, Member] = field(default_factory=dict)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)


class ClientTable:
    """All groups of both kinds."""

    def __init__(self) -> None:
        self.producers: dict[str, dict[Link, Member]] = {}
        self.consumers: dict[str, ConsumerGroup] = {}

    def producer_seen(self, group: str, link: Link, member: Member) -> None:
        """A heartbeat named this producer group."""
        self.producers.setdefault(group, {})[link] = member

    def consumer_seen(
        self,
        name: str,
        link: Link,
        member: Member,
        kind: tuple[str, str, str],
        subscriptions: Iterable[Subscription],
    ) -> bool:
        """A heartbeat named this consumer group (*kind*: type, model, start); True if members or topics changed."""
        group = self.consumers.setdefault(name, ConsumerGroup())
        group.consume_type, group.message_model, group.consume_from = kind
        joined = link not in group.members
        group.members[link] = member
        return _subscribe(group, {wanted.topic: wanted for wanted in subscriptions}) or joined

    def remove_producer(self, group: str, link: Link) -> None:
        """UNREGISTER_CLIENT for a producer group."""
        members = self.producers.get(group, {})
        members.pop(link, None)
        if not members:
            self.producers.pop(group, None)

    def remove_consumer(self, name: str, link: Link) -> bool:
        """UNREGISTER_CLIENT for a consumer group; True if a member left."""
        group = self.consumers.get(name)
        if group is None or group.members.pop(link, None) is None:
            return False
        if not group.members:
            del self.consumers[name]
        return True

    def connection_closed(self, link: Link) -> list[str]:
        """Forget a connection everywhere; returns the consumer groups that lost a member."""
        for name in list(self.producers):
            self.remove_producer(name, link)
        return [name for name in list(self.consumers) if self.remove_consumer(name, link)]

    def expired(self, now_ms: int) -> list[Link]:
        """Connections whose last heartbeat for some group is too old, in a stable order."""
        members = [pair for group in self.consumers.values() for pair in group.members.items()]
        members += [pair for producers in self.producers.values() for pair in producers.items()]
        return list(dict.fromkeys(link for link, member in members if now_ms - member.seen_ms > EXPIRY_MS))

    def client_ids(self, name: str) -> list[str]:
        """Client ids of a consumer group, one a connection."""
        group = self.consumers.get(name)
        return [member.client_id for member in group.members.values()] if group else []

    def links(self, name: str) -> list[Link]:
        """Connections of a consumer group."""
        group = self.consumers.get(name)
        return list(group.members) if group else []


def _subscribe(group: ConsumerGroup, wanted: Mapping[str, Subscription]) -> bool:
    """Newer versions replace; topics no longer listed go. True if the *set of topics* changed."""
    before = list(group.subscriptions)
    for topic, subscription in wanted.items():
        known = group.subscriptions.get(topic)
        if known is None or subscription.version > known.version:
            group.subscriptions[topic] = subscription
    for topic in before:
        if topic not in wanted:
            del group.subscriptions[topic]
    return list(group.subscriptions) != before
