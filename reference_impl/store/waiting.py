"""Putting together what a put has to wait for: the flush and the replicas.

Question: when does a producer get its answer, and which? Model (RocketMQ: CommitLog#asyncPutMessage): both parts are
decided on their own; the answer leaves when both are, with the flush status, unless the replica status is not PUT_OK:
then with that one.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from reference_impl.environment import Environment
from reference_impl.store.request import PutResult, PutStatus

OnStored = Callable[[Environment, PutResult], None]


class Waiting:
    """One stored put whose answer is not decided yet."""

    __slots__ = ("_flush", "_on_stored", "_replica", "_result")
    _flush: PutStatus | None
    _replica: PutStatus | None

    def __init__(self, result: PutResult, on_stored: OnStored, waits_for_flush: bool, waits_for_replicas: bool) -> None:
        self._result, self._on_stored = result, on_stored
        self._flush = None if waits_for_flush else PutStatus.PUT_OK
        self._replica = None if waits_for_replicas else PutStatus.PUT_OK

    def flush_decided(self, env: Environment, status: PutStatus) -> None:
        """The flush is over, in time or not."""
        self._flush = status
        self._answer(env)

    def replica_decided(self, env: Environment, status: PutStatus) -> None:
        """Replication is over, in time or not."""
        self._replica = status
        self._answer(env)

    def _answer(self, env: Environment) -> None:
        if self._flush is None or self._replica is None:
            return
        status, result = combined(self._flush, self._replica), self._result
        if status is not PutStatus.PUT_OK:
            result = msgspec.structs.replace(result, status=status)
        self._on_stored(env, result)


def combined(flush: PutStatus, replica: PutStatus) -> PutStatus:
    """The replica status wins unless it is PUT_OK."""
    return flush if replica is PutStatus.PUT_OK else replica
