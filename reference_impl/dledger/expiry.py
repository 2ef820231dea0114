"""Which data files are deleted, and when.

Question: how long does an entry stay, whatever followers and consumers have read?

Model (DLedger: DLedgerMmapFileStore.CleanSpaceService). Whole files, the oldest first, never the last one:

    older than fileReservedHours   in the hour deleteWhen, or whenever the disk is fuller than 70 %
    whatever their age             where the disk is fuller than 85 % (enableDiskForceClean)

The log then begins with the first entry of the next file; a follower that needs an older one starts anew there.
Limits. Looked at every 10 s (DLedger: 100 ms), at most ten files each time.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from reference_impl.digits import is_number
from reference_impl.dledger.config import DLedgerConfig
from reference_impl.dledger.log import FileLog
from reference_impl.environment import SECOND, Environment
from reference_impl.store.retention import disk_percent

TIMER: Final = ("dledger", "expire")
_EVERY_NS: Final = 10 * SECOND
_FILES_A_RUN: Final = 10


class Expiry:
    """Of one log."""

    def __init__(self, config: DLedgerConfig, log: FileLog) -> None:
        self._config, self._log = config, log
        self._hours = {int(hour) for hour in config.delete_when.split(";") if is_number(hour.strip())}

    def start(self, env: Environment) -> None:
        env.set_timer(TIMER, _EVERY_NS)

    def stop(self, env: Environment) -> None:
        env.cancel_timer(TIMER)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key != TIMER:
            return False
        percent = disk_percent(env, self._log.data.folders[0])
        for _ in range(_FILES_A_RUN):
            if not self._is_due(env, percent):
                break
            env.note("data_file_deleted", file=self._log.data.files[0].name)
            self._log.data.drop_first(env)
        self.start(env)
        return True

    def _is_due(self, env: Environment, percent: int) -> bool:
        files, config = self._log.data.files, self._config
        if len(files) < 2 or files[0].end > self._log.data.flushed_to:
            return False
        if config.enable_disk_force_clean and percent > config.disk_space_ratio_to_force_clean:
            return True
        is_time = env.wall() // 3_600_000 % 24 in self._hours or percent > config.disk_space_ratio_to_check_expired
        return is_time and env.wall() >= env.modified(files[0].name) + config.file_reserved_hours * 3_600_000
