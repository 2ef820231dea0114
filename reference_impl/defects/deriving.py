"""Bugs of what is derived from the log: hashes that no other implementation finds, units in another file."""

from __future__ import annotations

from typing import Final

from reference_impl.defects.defect import StoreDefect, substitute
from reference_impl.environment import Environment
from reference_impl.store import MessageStore
from reference_impl.store.consume_queue import ConsumeQueue
from reference_impl.store.consume_queues import ConsumeQueues
from reference_impl.store.index import Index
from reference_impl.store.request import Dispatched


def _bytes(key: str) -> str:
    """A text whose characters are the bytes of *key*."""
    return key.encode().decode("latin-1")


class HashesBytes(Index):
    """The hash of a key is that of its bytes in UTF-8, as a program not written in Java has it."""

    def _enter(self, env: Environment, record: Dispatched, key: str) -> None:
        super()._enter(env, record, _bytes(key))

    def select(self, env: Environment, topic: str, key: str, limit: int, begin_ms: int, end_ms: int) -> list[int]:
        return super().select(env, topic, _bytes(key), limit, begin_ms, end_ms)


class LeavesUnitsInFiles(ConsumeQueue):
    """What is collected when a file is full goes into the next one."""

    def _prepare(self, env: Environment, place: int) -> None:
        kept, self.collected = self.collected, []
        super()._prepare(env, place)
        self.collected = kept


class MakesSuchQueues(ConsumeQueues):
    """All queues are such."""

    def of(self, topic: str, queue_id: int) -> ConsumeQueue:
        queue = super().of(topic, queue_id)
        if not isinstance(queue, LeavesUnitsInFiles):
            substitute(queue, LeavesUnitsInFiles)
        return queue


def _hashes_bytes(store: MessageStore) -> None:
    assert store._index is not None
    substitute(store._index, HashesBytes)


DERIVING: Final = {
    "index-of-bytes": StoreDefect(
        _hashes_bytes,
        "the index keeps the hash of a key's bytes instead of that of its characters",
        "entries of the index under a hash of none of their message's keys",
        "broker-disks",
    ),
    "units-across-files": StoreDefect(
        lambda store: substitute(store._queues, MakesSuchQueues),
        "units of a batch that lies across the border of two queue files all go into the second one",
        "acknowledged messages that no queue leads to",
        "accounting",
    ),
}
