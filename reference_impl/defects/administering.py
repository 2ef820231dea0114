"""Bugs of what operators order and ask: topics and groups that stay, answers about other messages, other times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from reference_impl.broker.clients import ClientTable, Member, Subscription
from reference_impl.broker.offsets import ConsumerOffsets
from reference_impl.defects.defect import BrokerDefect, NameServerDefect, StoreDefect, substitute
from reference_impl.environment import Environment, Link
from reference_impl.namesrv.kv import KvConfig
from reference_impl.namesrv.registry import Registry
from reference_impl.store import MessageStore
from reference_impl.store.request import QueryResult
from reference_impl.wire.bodies import TopicRouteData


class KeepsQueues(MessageStore):
    """A topic goes, its queues stay."""

    def delete_topic(self, env: Environment, topic: str) -> None:
        """Nothing."""


class KeepsOffsetsOfTheGone(ConsumerOffsets):
    """A group goes, its offsets stay."""

    def forget_group(self, group: str) -> None:
        """Nothing."""


class NamesrvKeepsTopics(Registry):
    """A NameServer that is told to forget a topic does nothing."""

    def delete_topic(self, topic: str, cluster: str = "") -> None:
        """Nothing."""


class KeepsEntries(KvConfig):
    """What is deleted stays."""

    def delete(self, env: Environment, namespace: str, key: str) -> None:
        """Nothing."""


class FindsAtAnyTime(MessageStore):
    """By key alone, whatever the times that were asked for."""

    def query(
        self, env: Environment, topic: str, key: str, max_messages: int, begin_ms: int, end_ms: int
    ) -> QueryResult:
        return super().query(env, topic, key, max_messages, 0, (1 << 63) - 1)


class FindsTheNext(MessageStore):
    """The message behind the one that was stored at that instant."""

    def offset_by_time(self, env: Environment, topic: str, queue_id: int, timestamp_ms: int) -> int:
        found = super().offset_by_time(env, topic, queue_id, timestamp_ms)
        return min(found + 1, max(0, self.max_offset(topic, queue_id) - 1))


class RemembersTheFirstWish(ClientTable):
    """A member that wants something else is known with what it wanted first."""

    def consumer_seen(
        self,
        name: str,
        link: Link,
        member: Member,
        kind: tuple[str, str, str],
        subscriptions: Iterable[Subscription],
    ) -> bool:
        known = self.consumers[name].subscriptions if name in self.consumers else {}
        wishes = [replace(wish, **_first(known.get(wish.topic))) for wish in subscriptions]
        return super().consumer_seen(name, link, member, kind, wishes)


def _first(known: Subscription | None) -> dict[str, Any]:
    return {} if known is None else {"expression": known.expression, "tags": known.tags, "codes": known.codes}


class GoesBackNowhere(MessageStore):
    """Whatever the instant, it is the end of the queue: a group that is sent there stays where it is."""

    def offset_by_time(self, env: Environment, topic: str, queue_id: int, timestamp_ms: int) -> int:
        return self.max_offset(topic, queue_id)


class ShowsNoActing(Registry):
    """A slave that acts as its master is shown as the slave that it is."""

    def route(self, topic: str, *, acting_masters: bool = False) -> TopicRouteData | None:
        return super().route(topic)


ADMINISTERING: Final = {
    "deleted-topic-keeps-queues": StoreDefect(
        lambda store: substitute(store, KeepsQueues),
        "a topic that is deleted leaves its queues behind, and has them again when it is made again",
        "a queue of a deleted topic that has an end",
        "answers",
    ),
    "deleted-group-keeps-offsets": BrokerDefect(
        lambda broker: substitute(broker.state.offsets, KeepsOffsetsOfTheGone),
        "the offsets of a group stay although it was deleted with them",
        "a deleted group among those that consume a topic",
        "answers",
    ),
    "namesrv-keeps-topics": NameServerDefect(
        lambda server: substitute(server.registry, NamesrvKeepsTopics),
        "a NameServer that is told to forget a topic goes on listing it",
        "a route of a topic that the NameServer was told to forget",
        "answers",
    ),
    "namesrv-keeps-entries": NameServerDefect(
        lambda server: substitute(server._kv, KeepsEntries),
        "an entry that is deleted at a NameServer stays",
        "a deleted entry that is read",
        "answers",
    ),
    "finds-at-any-time": StoreDefect(
        lambda store: substitute(store, FindsAtAnyTime),
        "a query by key takes no notice of the times that it names",
        "a message that was stored after the end of what was asked for",
        "answers",
    ),
    "finds-the-next": StoreDefect(
        lambda store: substitute(store, FindsTheNext),
        "a search by time finds the message behind the right one",
        "the instant of a message that leads to the next one",
        "answers",
    ),
    "remembers-the-first-wish": BrokerDefect(
        lambda broker: substitute(broker.state.clients, RemembersTheFirstWish),
        "a member that changes its subscription goes on being given what it wanted first",
        "messages that a member does not want any more",
        "answers",
    ),
    "goes-back-nowhere": StoreDefect(
        lambda store: substitute(store, GoesBackNowhere),
        "a group that is sent back in time stays where it is",
        "an answer to the operator that names another place than that of the instant",
        "answers",
    ),
    "acting-master-unseen": NameServerDefect(
        lambda server: substitute(server.registry, ShowsNoActing),
        "a slave that acts as its master is shown to clients under its own id",
        "a route without a master while the slave acts as it",
        "answers",
    ),
}
