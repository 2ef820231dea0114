"""Bugs of sending the log to a slave: from the wrong place on, or with gaps."""

from __future__ import annotations

from typing import Final

from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Environment
from reference_impl.replication.master import HaConnection, HaMaster

SKIPPED_TAIL_BYTES: Final = 4096


class StartsFromAcked(HaMaster):
    """A slave that comes back is believed to have what any slave has ever had."""

    def _start_for(self, report: int) -> int:
        return max(super()._start_for(report), self.push2_slave_max_offset)


class StartsFromLastFile(HaMaster):
    """Every slave is treated as a new one."""

    def _start_for(self, report: int) -> int:
        return super()._start_for(0)


class SkipsFileTail(HaMaster):
    """The last bytes of a full file are left out."""

    def _following(self, env: Environment, connection: HaConnection) -> bytes:
        left = -connection.next_offset % self._file_size
        if 0 < left < SKIPPED_TAIL_BYTES and self._store.log_end >= connection.next_offset + left:
            connection.next_offset += left
        return super()._following(env, connection)


TRANSFERRING: Final = {
    "ha-start-from-acked": BrokerDefect(
        lambda broker: substitute(broker.replication.master, StartsFromAcked),
        "a master sends a slave that comes back what follows the greatest report ever, not what follows its own",
        "a slave that never follows again after it has lost something",
        "replicas",
        ("B23",),
        "rocketmq#3388: the slave never synchronises, its offset and the master's do not meet",
    ),
    "ha-start-from-last-file": BrokerDefect(
        lambda broker: substitute(broker.replication.master, StartsFromLastFile),
        "a master begins with the start of its last log file whatever the slave reports",
        "a slave that never follows again after it was away",
        "replicas",
        ("B23", "C40"),
        "rocketmq#3388: a loop of connections, none of which begins where the slave's log ends",
    ),
    "ha-skips-file-tail": BrokerDefect(
        lambda broker: substitute(broker.replication.master, SkipsFileTail),
        "a master leaves out the last bytes of each full log file",
        "a slave that stops following at the end of a log file",
        "replicas",
        ("B23",),
        "rocketmq#2706, #3349: a slave lags for ever behind a place that it cannot pass",
    ),
}
