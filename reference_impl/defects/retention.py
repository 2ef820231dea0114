"""Bugs of cleaning: files that go too early or never, a full disk that nobody sees or that stays full."""

from __future__ import annotations

from typing import Final

from reference_impl.defects.defect import StoreDefect, substitute
from reference_impl.environment import Environment
from reference_impl.store.flags import RunningFlags
from reference_impl.store.retention import Retention


class DeletesYoungFiles(Retention):
    """Every file that is full is old enough."""

    def _is_due(self, env: Environment, name: str) -> bool:
        return True


class DeletesOldFilesOnly(Retention):
    """However full the disk is."""

    def _is_due(self, env: Environment, name: str) -> bool:
        self._is_forced = False
        return super()._is_due(env, name)


class NeverSets(RunningFlags):
    """Nothing keeps a broker from taking messages."""

    def set(self, bit: int) -> bool:
        return False


class NeverClears(RunningFlags):
    """What is set stays set."""

    def clear(self, bit: int) -> bool:
        return False


RETENTION: Final = {
    "retention-ignores-age": StoreDefect(
        lambda store: substitute(store.retention, DeletesYoungFiles),
        "the clean-up deletes every full log file, however young",
        "acknowledged messages lost although nothing was broken",
        "accounting",
        ("R10",),
        "rocketmq#1137, #1367, #2398: the broker deletes log files that nobody has consumed yet",
    ),
    "disk-full-sticks": StoreDefect(
        lambda store: substitute(store.flags, NeverClears),
        "a broker that has refused messages for a full disk goes on refusing when there is space again",
        "no message accepted after the disk was emptied",
        "availability",
        ("R10",),
        "alibaba/RocketMQ#331, rocketmq#1400: the disk was full and is not any more, and the broker never takes "
        "messages again",
    ),
    "disk-full-unseen": StoreDefect(
        lambda store: substitute(store.flags, NeverSets),
        "a broker whose disk is full takes messages on until a write fails",
        "messages that are stored although the disk has been full for longer than a broker takes to look",
        "disk-space",
    ),
    "full-disk-deletes-nothing": StoreDefect(
        lambda store: substitute(store.retention, DeletesOldFilesOnly),
        "a broker whose disk is nearly full deletes no file before its time",
        "queues that begin where they began although the disk was nearly full for a minute",
        "disk-space",
    ),
}
