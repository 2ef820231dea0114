"""Bugs of cleaning: files that go too early, and a full disk that is never taken back."""

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
}
