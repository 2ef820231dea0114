"""Bugs of a start: what recovery leaves out of the log or of the queues, or leaves in."""

from __future__ import annotations

from typing import Final

from reference_impl.defects.defect import StoreDefect, substitute
from reference_impl.environment import Environment
from reference_impl.store.mapped_files import MappedFile
from reference_impl.store.recovery import Recovery
from reference_impl.store.request import Dispatched


class SkipsDispatch(Recovery):
    """The end of the log is found; what lies before it counts as dispatched."""

    def _dispatch_again(self, env: Environment, record: Dispatched) -> None:
        """Nothing."""

    def _undispatched_from(self) -> int:
        return self._log.end


class StopsAtBorder(Recovery):
    """Only the first file is scanned."""

    def _files_from(self, first: int) -> list[MappedFile]:
        return super()._files_from(first)[:1]


class LeavesTails(Recovery):
    """Queues keep what points behind the end of the log."""

    def _cut_queues(self, env: Environment, end: int) -> None:
        """Nothing."""


class DropsLast(Recovery):
    """The log ends where its last good record begins."""

    _last_place = -1

    def _scan(self, env: Environment, first: int) -> int:
        end = super()._scan(env, first)
        return self._last_place if self._last_place >= 0 else end

    def _seen(self, env: Environment, place: int, record: Dispatched) -> None:
        self._last_place = place
        super()._seen(env, place, record)

    def _cut(self, env: Environment, end: int, queues_end: int) -> None:
        super()._cut(env, end, max(queues_end, self._queues.max_physical))


RECOVERING: Final = {
    "recovery-skips-dispatch": StoreDefect(
        lambda store: substitute(store.recovery, SkipsDispatch),
        "an abnormal start finds the end of the log, but does not dispatch again what it finds",
        "messages that are in the log, but in no queue, after a power cut",
        "accounting",
        ("R6",),
        "rocketmq#678, #7355: power cut between the append to the log and the dispatch to the queue; the message is in "
        "the commit log and cannot be read",
    ),
    "recovery-stops-at-border": StoreDefect(
        lambda store: substitute(store.recovery, StopsAtBorder),
        "the scan of an abnormal start ends at the end of the first log file that it reads",
        "acknowledged messages lost after a kill: all log files but one",
        "accounting",
        ("R6", "A16"),
        "rocketmq#6609, dledger#285: recovery computes a wrong end where a file ends",
    ),
    "queue-tail-not-cut": StoreDefect(
        lambda store: substitute(store.recovery, LeavesTails),
        "after a power cut queues keep the units of records that the log has lost",
        "offsets that exist, but hold no message or one of another queue",
        "log",
        ("R6", "C28"),
        "rocketmq#1434: “logic queue order maybe wrong”; ra#562: the index is ahead of the log after a crash",
    ),
    "skip-last-record": StoreDefect(
        lambda store: substitute(store.recovery, DropsLast),
        "recovery drops the last good record of the commit log",
        "an acknowledged message lost after a restart that may lose none",
        "accounting",
        ("B10",),
        "rocketmq#9084: recovery steps on by the wrong size and ends before the end",
    ),
}
