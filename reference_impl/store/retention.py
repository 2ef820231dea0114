"""Getting rid of old files, and refusing new messages before the disk is full.

Question: which log files may go, and when does a broker stop taking messages?

Model (RocketMQ: CleanCommitLogService, CleanConsumeQueueService). Every 10 s the disk is looked at; first after 60 s
and then every 10 s files are cleaned. The disk's ratio is used / total, in whole per cent, rounded up.

    above 75 %   expired files (older than fileReservedTime since their last change) go at any hour, else in deleteWhen
    above 85 %   the oldest files go whatever their age and whoever still wants them (cleanFileForciblyEnable)
    above 90 %   DISK_FULL: puts are refused until the ratio is back at 90 % or below

Where the log has several folders, the smallest ratio of their disks counts, or that of the queues' disk if that is the
greater; no new file of the log is made in those above 85 %.

At most 10 files a run, 100 ms apart, oldest first, up to the first that is not due; the last file never. Then queue and
index files that point below the log's start. Files that a recovery has set aside go by the same rules, all at once.

Limits. Hours of ``deleteWhen`` are UTC, because a role knows no time zone. A file with unforced bytes is never deleted.
No file is ever in use, since a read is over when it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.environment import MS, SECOND, Environment
from reference_impl.store.config import StoreConfig
from reference_impl.store.consume_queues import ConsumeQueues
from reference_impl.store.flags import DISK_FULL, RunningFlags
from reference_impl.store.index import Index
from reference_impl.store.mapped_files import MappedFiles
from reference_impl.store.recovery import SET_ASIDE

DISK_TIMER: Final = ("store", "disk-check")
CLEAN_TIMER: Final = ("store", "clean")
DELETE_TIMER: Final = ("store", "delete-next")
_DISK_FIRST_NS: Final = SECOND
_DISK_EVERY_NS: Final = 10 * SECOND
_CLEAN_FIRST_NS: Final = 60 * SECOND
_FILES_A_RUN: Final = 10
_MANUAL_RUNS: Final = 20


class Retention:
    """The cleaning of one store."""

    def __init__(
        self,
        config: StoreConfig,
        log: MappedFiles,
        queues: ConsumeQueues,
        index: Index | None,
        flags: RunningFlags,
        on_flags: Callable[[], None],
    ) -> None:
        self._config, self._log, self._queues, self._index = config, log, queues, index
        self._flags, self._on_flags = flags, on_flags
        self._hours = tuple(int(hour) for hour in config.delete_when.split(";") if hour.strip())
        self._is_forced = False
        self._left_in_run = 0
        self._manual_runs = 0
        self._cleaned_to = 0

    def start(self, env: Environment) -> None:
        """Set both timers."""
        env.set_timer(DISK_TIMER, _DISK_FIRST_NS)
        env.set_timer(CLEAN_TIMER, _CLEAN_FIRST_NS)

    def stop(self, env: Environment) -> None:
        """Cancel them."""
        for timer in (DISK_TIMER, CLEAN_TIMER, DELETE_TIMER):
            env.cancel_timer(timer)

    def on_timer(self, env: Environment, name: str) -> None:
        """The timer ``("store", name)``, one of ours."""
        if name == DISK_TIMER[1]:
            self.check_disk(env)
            env.set_timer(DISK_TIMER, _DISK_EVERY_NS)
            return
        try:
            if name == CLEAN_TIMER[1]:
                self._begin_run(env)
            else:
                self._delete_next(env)
        except OSError as error:
            env.note("cleaning_failed", error=str(error))
            self._next_run(env)

    # --- the disk ---------------------------------------------------------------------------------------------------

    def check_disk(self, env: Environment) -> int:
        """Set or clear DISK_FULL; returns the ratio in per cent."""
        percent = self._percent(env)
        if percent > self._config.disk_space_warning_level_ratio:
            changed = self._flags.set(DISK_FULL)
        else:
            changed = self._flags.clear(DISK_FULL)
        if changed:
            env.note("disk_full" if self._flags.bits & DISK_FULL else "disk_ok", percent=percent)
            self._on_flags()
        return percent

    def _percent(self, env: Environment) -> int:
        """RocketMQ: calcStorePathPhysicRatio, isSpaceFull. Folders that are nearly full are told to the log."""
        percents = {folder: disk_percent(env, folder) for folder in self._config.commit_log_folders}
        limit = self._config.disk_space_clean_forcibly_ratio
        self._log.full_folders = frozenset(folder for folder, percent in percents.items() if percent > limit)
        return max(min(percents.values()), disk_percent(env, self._queues.folder))

    def _is_space_short(self, env: Environment) -> bool:
        """RocketMQ: isSpaceToDelete. Between the two upper marks DISK_FULL is neither set nor cleared here."""
        percent = self._percent(env)
        self._is_forced = percent > self._config.disk_space_clean_forcibly_ratio
        if percent > self._config.disk_space_warning_level_ratio or not self._is_forced:
            self.check_disk(env)
        return percent > self._config.disk_max_used_space_ratio

    def delete_soon(self) -> None:
        """The next runs delete expired files at any hour (RocketMQ: executeDeleteFilesManually)."""
        self._manual_runs = _MANUAL_RUNS

    # --- files ------------------------------------------------------------------------------------------------------

    def _begin_run(self, env: Environment) -> None:
        is_time = env.wall() // 3_600_000 % 24 in self._hours or self._manual_runs > 0
        self._manual_runs = max(0, self._manual_runs - 1)
        if self._is_space_short(env) or is_time:
            self._drop_set_aside(env)
            self._left_in_run = _FILES_A_RUN
            self._delete_next(env)
        else:
            self._end_run(env)

    def _delete_next(self, env: Environment) -> None:
        if not self._is_first_due(env):
            self._end_run(env)
            return
        env.note("log_file_deleted", file=self._log.files[0].name, forced=self._is_forced)
        self._log.drop_first(env)
        self._left_in_run -= 1
        env.set_timer(DELETE_TIMER, self._config.delete_commit_log_files_interval * MS)

    def _is_first_due(self, env: Environment) -> bool:
        if len(self._log.files) < 2 or not self._left_in_run:
            return False
        first = self._log.files[0]
        return first.end <= self._log.flushed_to and self._is_due(env, first.name)

    def _is_due(self, env: Environment, name: str) -> bool:
        if self._is_forced and self._config.clean_file_forcibly_enable:
            return True
        return env.wall() >= env.modified(name) + self._config.file_reserved_time_hours * 3_600_000

    def _drop_set_aside(self, env: Environment) -> None:
        for name in env.files(f"{self._config.store_path_root_dir}/{SET_ASIDE}/"):
            if self._is_due(env, name):
                env.note("set_aside_deleted", file=name, forced=self._is_forced)
                env.delete(name)

    def _end_run(self, env: Environment) -> None:
        if self._log.start > self._cleaned_to:
            for queue in self._queues.all():
                queue.expire(env, self._log.start)
            if self._index is not None:
                self._index.expire(env, self._log.start)
            self._cleaned_to = self._log.start
        self._next_run(env)

    def _next_run(self, env: Environment) -> None:
        env.set_timer(CLEAN_TIMER, self._config.clean_resource_interval * MS)


def disk_percent(env: Environment, path: str = "") -> int:
    """Used share of the disk that holds *path* in whole per cent, rounded up."""
    used, total = env.disk_usage(path)
    return -(-used * 100 // total) if total > 0 else 0
