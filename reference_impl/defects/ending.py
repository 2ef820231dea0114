"""Bugs of transactions and replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from reference_impl.broker.replies import Replies
from reference_impl.broker.transaction_check import TransactionCheck
from reference_impl.broker.transactions import Ending, Transactions, final_of
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Environment, Link
from reference_impl.store.request import PutRequest
from reference_impl.wire.message import TRANSACTION_COMMIT, TRANSACTION_ROLLBACK, Message


class _Remembers(Transactions):
    """Knows which end it is dealing with."""

    ending: Ending

    def _half(self, env: Environment, ending: Ending) -> Message:
        self.ending = ending
        return super()._half(env, ending)

    def _put(self, env: Environment, half: Message) -> None:
        commit = replace(self.ending, kind=TRANSACTION_COMMIT)
        self._state.store.put(env, final_of(half, commit), lambda env, result: None)


class RollbackCommits(_Remembers):
    """A rollback makes the message visible."""

    def _write_op(self, env: Environment, half: Message) -> None:
        super()._write_op(env, half)
        if self.ending.kind == TRANSACTION_ROLLBACK:
            self._put(env, half)


class CommitsTwice(_Remembers):
    """A commit makes two messages."""

    def _write_op(self, env: Environment, half: Message) -> None:
        super()._write_op(env, half)
        if self.ending.kind == TRANSACTION_COMMIT:
            self._put(env, half)


class ForgetsTheMark(Transactions):
    """An end leaves no mark: the check asks about what has ended."""

    def _write_op(self, env: Environment, half: Message) -> None:
        return None


class NeverAsks(TransactionCheck):
    """Whoever has not told the end is not asked for it."""

    def _ask(self, env: Environment, half: Message) -> None:
        return None


class RepliesToAnother(Replies):
    """The reply goes to a producer that did not ask, if there is one."""

    def _link_of(self, client_id: str) -> Link | None:
        links = [
            link
            for members in self._state.clients.producers.values()
            for link, member in members.items()
            if member.client_id != client_id
        ]
        return min(links, default=None) or super()._link_of(client_id)


class SaysHandedOver(Replies):
    """The reply is handed to nobody, and the replier is told that it was."""

    def _push(
        self, env: Environment, asker: Link, client: str, put: PutRequest, handed: Callable[[Environment, str], None]
    ) -> None:
        handed(env, "")


ENDING: Final = {
    "rollback-commits": BrokerDefect(
        lambda broker: substitute(broker.transactions, RollbackCommits),
        "a message that is rolled back becomes visible",
        "a listener that is given a message whose transaction did not commit",
        "transactions",
    ),
    "commits-twice": BrokerDefect(
        lambda broker: substitute(broker.transactions, CommitsTwice),
        "a commit makes two messages of one half",
        "a message from two places whose half was stored once",
        "transactions",
    ),
    "forgets-the-mark": BrokerDefect(
        lambda broker: substitute(broker.transactions, ForgetsTheMark),
        "the end of a transaction leaves no mark: its broker asks again, and commits again",
        "a message from two places whose half was stored once",
        "transactions",
    ),
    "never-asks": BrokerDefect(
        lambda broker: substitute(broker.transaction_check, NeverAsks),
        "a producer that did not tell the end of its transaction is not asked for it",
        "a message whose transaction committed and that no listener is given",
        "transactions",
    ),
    "replies-to-another": BrokerDefect(
        lambda broker: substitute(broker.replies, RepliesToAnother),
        "a reply goes to another client than the one that asked",
        "a client that gets a reply it never asked for",
        "replies",
    ),
    "says-handed-over": BrokerDefect(
        lambda broker: substitute(broker.replies, SaysHandedOver),
        "a reply is handed to nobody, and its sender is told that it was",
        "a reply that was handed over while its caller waited, and never came",
        "replies",
    ),
}
