"""Bugs of numbering: which queue offset a message gets, what its producer is told, where a consumer is sent."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from reference_impl.defects.defect import StoreDefect, substitute
from reference_impl.environment import Environment
from reference_impl.store import MessageStore, PutResult
from reference_impl.store.commit_log import CommitLog
from reference_impl.store.reader import Reader
from reference_impl.store.recovery import Recovery
from reference_impl.store.request import Dispatched


class CountsTooEarly(Recovery):
    """The table of next offsets is taken before the rest of the log is dispatched."""

    _ends: dict[tuple[str, int], int]

    def _recover_queues(self, env: Environment) -> int:
        end = super()._recover_queues(env)
        self._ends = super().next_offsets()
        return end

    def next_offsets(self) -> dict[tuple[str, int], int]:
        return self._ends


class GoesOneBack(Recovery):
    """Every queue goes on one too low."""

    def next_offsets(self) -> dict[tuple[str, int], int]:
        return {key: max(0, following - 1) for key, following in super().next_offsets().items()}


class CountsBatchAsOne(CommitLog):
    """Whatever a put holds, its queue goes on by one."""

    def _count(self, key: tuple[str, int], queue_offset: int, records: int) -> None:
        super()._count(key, queue_offset, 1)


class SendsToTheBeginning(Reader):
    """Who asks for more than there is starts again, as long as the first message is still there."""

    def _beyond_end(self, first: int, following: int) -> int:
        return super()._beyond_end(first, following) if first else 0


class TellsOneLess(MessageStore):
    """The producer of a file's first message is told the offset before its own."""

    def _result(self, records: list[Dispatched]) -> PutResult:
        result = super()._result(records)
        if begins_file(self, records[0]):
            return replace(result, queue_offset=result.queue_offset - 1)
        return result


def begins_file(store: MessageStore, record: Dispatched) -> bool:
    """Whether *record* is the first of a log file, but not of the log."""
    return record.physical_offset > 0 and record.physical_offset % store.config.mapped_file_size_commit_log == 0


QUEUE_OFFSETS: Final = {
    "offset-table-ignores-tail": StoreDefect(
        lambda store: substitute(store.recovery, CountsTooEarly),
        "the table of next queue offsets is made from the queues before the rest of the log is dispatched to them",
        "two messages get one queue offset, and one of them is never delivered",
        "log",
        ("B15", "R1"),
        "rocketmq#7689, fixed by #7690: brokers killed together come back, and an acknowledged message shares its "
        "queue offset with another",
    ),
    "reuse-offset": StoreDefect(
        lambda store: substitute(store.recovery, GoesOneBack),
        "after a restart a queue goes on one offset too low",
        "one queue offset that holds two messages",
        "log",
        ("R7",),
        "rocketmq#6703: offsets are given again after a restart",
    ),
    "batch-counts-as-one": StoreDefect(
        lambda store: substitute(store.log, CountsBatchAsOne),
        "after a batch a queue goes on one offset behind its first message, not behind its last",
        "one queue offset that holds two messages, in a load of batches",
        "log",
        ("B30",),
        "rocketmq#2865, fixed by #2866: messages of a batch get queue offsets that were given already",
    ),
    "overflow-resets-to-zero": StoreDefect(
        lambda store: substitute(store.reader, SendsToTheBeginning),
        "a consumer that asks for more than its queue has is sent to the beginning of the queue, not to its end",
        "messages that a group has had, again from the first one on, after a power cut",
        "deliveries",
        ("B31",),
        "rocketmq#4215, #2181 (before 4.9.4), alibaba/RocketMQ#210: “offset overflow badly”, and the whole queue comes "
        "again",
    ),
    "offset-from-wrong-base": StoreDefect(
        lambda store: substitute(store, TellsOneLess),
        "the answer to the first message of a log file names the queue offset before its own",
        "one queue offset that holds two messages: the one read there, and the one acknowledged there",
        "log",
        ("C36",),
        "Jepsen's report on Redpanda 21.10.1: offsets told to producers differ from where the records are",
    ),
}
