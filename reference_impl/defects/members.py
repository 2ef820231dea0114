"""Bugs of what members of groups are told: offsets, locks, who is there, which tags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.broker.clients import ClientTable
from reference_impl.broker.filters import Wanted
from reference_impl.broker.locks import QueueLocks
from reference_impl.broker.offsets import ConsumerOffsets
from reference_impl.broker.pull import Pulls, _PullHeader
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Environment, Link
from reference_impl.store.reader import Reader
from reference_impl.store.request import GetResult
from reference_impl.wire.message import decode_record

PASSES_OVER_EVERY: Final = 7


class OneAhead(ConsumerOffsets):
    """Keeps the offset of the last message as that of the next one would be: one message is passed over."""

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        super().commit(group, topic, queue_id, offset + 1)


class KeepsTheDead(ClientTable):
    """A connection that closes leaves its member in the group."""

    def connection_closed(self, link: Link) -> list[str]:
        return []


class LocksForEverybody(QueueLocks):
    """Whoever asks gets the lock."""

    def _may_hold(self, now_ms: int, group: str, client_id: str, queue: object) -> bool:
        return True


class NeverUnlocks(QueueLocks):
    """A lock that is given back stays with who had it until it expires."""

    def unlock(self, group: str, client_id: str, queues: object) -> None:
        return None


class FillsEveryAnswer(Reader):
    """An answer has no limit of bytes."""

    def is_full(self, size: int, wanted: int, count: int, total: int, distance: int) -> bool:
        return super().is_full(0, wanted, count, 1, distance)


class LosesATag(Reader):
    """Of several tags that a group wants, one is not looked for."""

    def get(
        self,
        env: Environment,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        tag_codes: frozenset[int] | None = None,
        wants: Callable[[bytes], bool] | None = None,
    ) -> GetResult:
        some = frozenset(sorted(tag_codes)[1:]) if tag_codes else tag_codes
        return super().get(env, topic, queue_id, offset, max_messages, some, wants)


class UnknownIsTrue(Pulls):
    """A record that lacks all properties of a condition matches it."""

    def _condition_of(self, header: _PullHeader, expression: str) -> Wanted:
        wanted = super()._condition_of(header, expression)
        test = wanted.test
        assert test is not None

        def wrong(record: bytes) -> bool:
            return test(record) or not _own_properties(record)

        return Wanted(wanted.codes, wrong)


class PassesOverAfterAMiss(Pulls):
    """What follows a record that does not match is passed over once in a while."""

    missed = 0

    def _condition_of(self, header: _PullHeader, expression: str) -> Wanted:
        wanted = super()._condition_of(header, expression)
        test = wanted.test
        assert test is not None

        def wrong(record: bytes) -> bool:
            matches = test(record)
            self.missed += not matches
            return matches and self.missed % PASSES_OVER_EVERY > 0

        return Wanted(wanted.codes, wrong)


def _own_properties(record: bytes) -> list[str]:
    """Names of properties in small letters but for the load's number: what conditions are about."""
    return [name for name in decode_record(record).property_map() if name.islower() and name != "number"]


MEMBERS: Final = {
    "unknown-is-true": BrokerDefect(
        lambda broker: substitute(broker.pulls, UnknownIsTrue),
        "a message without the properties that a condition in SQL92 asks about counts as one for which it holds",
        "a listener that is given a message for which its condition is unknown",
        "filters",
    ),
    "passes-over-after-a-miss": BrokerDefect(
        lambda broker: substitute(broker.pulls, PassesOverAfterAMiss),
        "now and then a message that matches a condition in SQL92 is passed over with one before it that does not",
        "an acknowledged message, for which the group's condition holds, that no listener is given",
        "listeners",
    ),
    "offsets-one-ahead": BrokerDefect(
        lambda broker: substitute(broker.state.offsets, OneAhead),
        "a committed offset is kept as one more than it was",
        "a group that is told an offset which nobody had committed",
        "offsets",
    ),
    "keeps-the-dead": BrokerDefect(
        lambda broker: substitute(broker.state.clients, KeepsTheDead),
        "a member whose connection has closed stays in its group",
        "a queue of a dead member that nobody takes over",
        "owners",
    ),
    "locks-for-everybody": BrokerDefect(
        lambda broker: substitute(broker.state.locks, LocksForEverybody),
        "the lock of a queue is given to whoever asks",
        "two clients that hold one lock at once",
        "locks",
    ),
    "never-unlocks": BrokerDefect(
        lambda broker: substitute(broker.state.locks, NeverUnlocks),
        "a lock that is given back is held until it expires",
        "a client that is refused a lock which nobody can hold",
        "locks",
    ),
    "loses-a-tag": BrokerDefect(
        lambda broker: substitute(broker.state.store.reader, LosesATag),
        "of several tags that a group wants one is not looked for",
        "an acknowledged message of a wanted tag that no listener is given",
        "listeners",
    ),
    "answers-without-limit": BrokerDefect(
        lambda broker: substitute(broker.state.store.reader, FillsEveryAnswer),
        "an answer to a pull holds as many messages as were asked for, however large they are",
        "an answer above the 256 KiB that a consumer may count on",
        "answers",
    ),
}
