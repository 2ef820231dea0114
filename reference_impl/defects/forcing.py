"""Bugs of bringing bytes to the disk: acknowledged, counted or vouched for before they are there."""

from __future__ import annotations

from typing import Final

from reference_impl.defects.defect import StoreDefect, substitute
from reference_impl.environment import Environment
from reference_impl.store import MessageStore, PutStatus
from reference_impl.store.flush import AsyncFlush, Decide, GroupCommit
from reference_impl.store.mapped_files import MappedFile, MappedFiles
from reference_impl.store.queue_flush import QueueFlush


class AcksBeforeFsync(GroupCommit):
    """Whoever waits for a force is answered at once; the force follows when there is time."""

    def wait(self, env: Environment, end: int, decide: Decide) -> None:
        self.appended(env, is_urgent=False)
        decide(env, PutStatus.PUT_OK)


def ack_before_fsync(store: MessageStore) -> None:
    """Only with SYNC_FLUSH does anybody wait."""
    if isinstance(store.flush, GroupCommit):
        substitute(store.flush, AcksBeforeFsync)


class LateIsDone(GroupCommit):
    """Whoever has waited for ``syncFlushTimeout`` is answered as if the force had come."""

    def wait(self, env: Environment, end: int, decide: Decide) -> None:
        super().wait(env, end, lambda env, status: decide(env, PutStatus.PUT_OK))


def late_force_counts(store: MessageStore) -> None:
    """Only with SYNC_FLUSH does anybody wait."""
    if isinstance(store.flush, GroupCommit):
        substitute(store.flush, LateIsDone)


class LoopEnds(AsyncFlush):
    """The loop goes to sleep once, and does not come back."""

    _has_slept = False

    def start(self, env: Environment) -> None:
        if not self._has_slept:
            super().start(env)
        self._has_slept = True


def flush_loop_ends(store: MessageStore) -> None:
    """Only ASYNC_FLUSH has a loop."""
    if isinstance(store.flush, AsyncFlush):
        substitute(store.flush, LoopEnds)


def failed_force_counts(store: MessageStore) -> None:
    """The store is strict, the files of its log are not."""
    store.log.files.is_strict = False


class SkipsOldFile(MappedFiles):
    """What is not forced when a new file begins never will be."""

    def _create(self, env: Environment, start: int) -> MappedFile:
        file = super()._create(env, start)
        self.flushed_to = file.start
        return file


class VouchesFirst(QueueFlush):
    """A thorough pass saves the checkpoint and forces nothing."""

    def _pass_thoroughly(self, env: Environment, logics_ms: int) -> None:
        self._save(env, logics_ms, self._passed)


FORCING: Final = {
    "ack-before-fsync": StoreDefect(
        ack_before_fsync,
        "SYNC_FLUSH acknowledges a message before it is forced to the disk",
        "acknowledged messages lost after a power cut in a mode that allows none",
        "accounting",
        ("C18", "C19"),
        "etcd#14370: a single node answered before its own write-ahead log was written; etcd#14140: with fsync "
        "switched off",
    ),
    "flush-loop-ends": StoreDefect(
        flush_loop_ends,
        "the flush loop of ASYNC_FLUSH ends after its first turn",
        "a power cut takes more than the flush interval can have left in memory",
        "accounting",
        ("C01", "R5"),
        "nats-server#7564: acknowledged messages of minutes lost, because nothing had been forced since; "
        "rocketmq#3129, #5235: a flush service that fails goes on being trusted",
    ),
    "failed-force-counts": StoreDefect(
        failed_force_counts,
        "with strictFlush, too, what a failed force has covered counts as being on the disk",
        "SEND_OK although every force failed, and a power cut that proves it",
        "accounting",
        ("B27", "R5", "C21"),
        "rocketmq#9713, #3129: the flushed position advances though the force call failed; cockroach#37102: a force "
        "that is tried again succeeds and has written nothing",
    ),
    "late-force-counts": StoreDefect(
        late_force_counts,
        "SYNC_FLUSH says SEND_OK when the time to wait for the force is over, whether it came or not",
        "acknowledged messages lost when the power goes while a disk hangs",
        "accounting",
        ("C18",),
        "a disk whose cache is full holds forces for seconds; a timer that ends the wait must not end it as a success",
    ),
    "roll-skips-flush": StoreDefect(
        lambda store: substitute(store.log.files, SkipsOldFile),
        "when a new log file begins, what was not forced of the old one counts as forced",
        "acknowledged messages lost after a power cut in a mode that allows none, from a file border on",
        "accounting",
        ("R6",),
        "rocketmq#405, #1434: after a power cut messages at the border of two log files are gone",
    ),
    "checkpoint-before-force": StoreDefect(
        lambda store: substitute(store.queue_flush, VouchesFirst),
        "the checkpoint is written without the consume queues that it vouches for being forced",
        "messages that are in the log, but in no queue, after a power cut",
        "accounting",
        ("C20", "R6"),
        "etcd#12589, #10508: the file that says what is safe is written before that is safe; rocketmq#467: messages in "
        "the commit log that no consumer sees",
    ),
}
