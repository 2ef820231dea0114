"""The message store of a broker whose commit log is a group's log (``enableDLegerCommitLog=true``).

Question: what of a store is different if a group keeps its log?

Model (RocketMQ: DLedgerCommitLog over DefaultMessageStore). Queues, index, reads and retention are the store's own.
The log, its recovery and its forces are the :class:`~reference_impl.dledger.engine.Engine`'s; ``flushDiskType`` and
slaves have no say. A put is answered when a quorum has it:

    done                                          put status (4.9.7; 5.3.3 where it differs)
    refused before it was in the log              OS_PAGE_CACHE_BUSY
    SUCCESS                                       PUT_OK
    not leader, disk full                         SERVICE_NOT_AVAILABLE
    no quorum in time, too many wait              OS_PAGE_CACHE_BUSY; no quorum: IN_SYNC_REPLICAS_NOT_ENOUGH
    everything else (the term has changed)        UNKNOWN_ERROR

With 4.9.7 a producer cannot tell a certain refusal from a time-out by the answer.

Limits. A classic commit log beside it is refused, where RocketMQ would go on serving it. One data folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from reference_impl.dledger.codes import Code
from reference_impl.dledger.config import DLedgerConfig
from reference_impl.dledger.engine import Engine
from reference_impl.dledger.entry import HEAD_SIZE
from reference_impl.dledger.events import Accepted as InLog
from reference_impl.dledger.events import Done as Decided
from reference_impl.dledger.identity import ForeignStore
from reference_impl.dledger.log import FileLog
from reference_impl.dledger.message_log import (
    STAMP_AT,
    CommittedDispatcher,
    EntryReader,
    MessageLog,
    QueueRecovery,
    cut_queues,
    marker,
)
from reference_impl.dledger.recovery import LogDamaged
from reference_impl.environment import Environment
from reference_impl.store.accepting import Acceptance, Accepted
from reference_impl.store.config import StoreConfig
from reference_impl.store.dispatch import Dispatcher
from reference_impl.store.mapped_files import Done, MappedFiles
from reference_impl.store.message_store import MessageStore, StoreUnloadable
from reference_impl.store.recovery import Recovery
from reference_impl.store.request import Dispatched, PutResult, PutStatus
from reference_impl.store.waiting import OnStored
from reference_impl.wire.remoting import Remoting

STATUS_4: Final[Mapping[int, PutStatus]] = {
    Code.SUCCESS: PutStatus.PUT_OK,
    Code.NOT_LEADER: PutStatus.SERVICE_NOT_AVAILABLE,
    Code.DISK_FULL: PutStatus.SERVICE_NOT_AVAILABLE,
    Code.WAIT_QUORUM_ACK_TIMEOUT: PutStatus.OS_PAGE_CACHE_BUSY,
    Code.LEADER_PENDING_FULL: PutStatus.OS_PAGE_CACHE_BUSY,
}
STATUS_5: Final[Mapping[int, PutStatus]] = {
    **STATUS_4,
    Code.WAIT_QUORUM_ACK_TIMEOUT: PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH,
}


class EngineFlush:
    """``FlushService``: the engine forces its log by itself."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def start(self, env: Environment) -> None:
        """It has begun."""

    def appended(self, env: Environment, *, is_urgent: bool) -> None:
        """It knows."""

    def on_timer(self, env: Environment, name: str) -> None:
        """It has its own."""

    def fail_all(self, env: Environment) -> None:
        """Nobody waits here."""

    def stop(self, env: Environment, done: Done) -> None:
        self._engine.stop(env, done)


class GroupStore(MessageStore):
    """``engine`` is the member; whoever owns the store starts it."""

    def __init__(self, config: StoreConfig, group: DLedgerConfig, remoting: Remoting, *, is_5x: bool) -> None:
        self._group, self._remoting = group, remoting
        self._status_of = STATUS_5 if is_5x else STATUS_4
        self._knows_its_numbers = False
        super().__init__(config)

    # --- parts ------------------------------------------------------------------------------------------------------

    def _build_log(self, config: StoreConfig) -> MappedFiles:
        group = self._group
        self.entries = FileLog(
            group.folder,
            self._forcing,
            data_file_size=config.mapped_file_size_commit_log,
            index_file_size=group.mapped_file_size_for_entry_index,
            is_strict=group.d_leger_strict_persistence,
        )
        settings = group.settings(marker=marker(config.store_host, self.delay_levels), stamp_at=STAMP_AT)
        self.engine = Engine(group, settings, self._remoting, self.entries, self._forcing, expires=False)
        self.engine.on_committed = lambda env, _index: self._dispatcher.wake(env)
        self.engine.on_shortened = self._log_shortened
        self._acceptance = Acceptance(config, self.delay_levels, HEAD_SIZE)
        self.message_log = MessageLog(self.entries.data, config.store_host, self.delay_levels)
        self.log = self.message_log
        return self.entries.data

    def _build_dispatcher(self, log: MappedFiles) -> Dispatcher:
        dispatcher = CommittedDispatcher(
            log,
            self._queues,
            self._index,
            self._checkpoint,
            self.flags,
            EntryReader(self.delay_levels, check_crc=False, is_whole=False),
            on_flags=self._update_writable,
            is_slave=self._is_slave,
        )
        dispatcher.committed_position = lambda: self.engine.committed_position
        return dispatcher

    def _build_recovery(self, log: MappedFiles) -> Recovery:
        return QueueRecovery(self.config, log, self._queues, self._checkpoint, self._dispatcher, self.delay_levels)

    def _build_flushes(self, config: StoreConfig, log: MappedFiles) -> None:
        super()._build_flushes(config, log)
        self.flush, self._group_commit, self._commit = EngineFlush(self.engine), None, None

    def _load_log(self, env: Environment) -> None:
        if any(env.files(f"{folder}/") for folder in self.config.commit_log_folders):
            raise StoreUnloadable("a classic commit log is there: enableDLegerCommitLog cannot take it over")
        try:
            self.engine.load(env)
        except (LogDamaged, ForeignStore) as error:
            raise StoreUnloadable(str(error)) from error

    def _log_shortened(self, env: Environment) -> None:
        """Usually nothing of what went was committed, so that no queue knows it. But a log that begins anew may begin
        behind what was dispatched."""
        end = self.entries.end_position
        if self._dispatcher.position < self.entries.data.start:
            for queue in self._queues.all():
                queue.is_behind_gap = True
        if self._dispatcher.position > end:
            cut_queues(env, self._queues, end)
            self._dispatcher.position = end

    # --- roles ------------------------------------------------------------------------------------------------------

    def become_slave(self) -> None:
        """It takes no messages, and tells nobody that one has arrived."""
        self._knows_its_numbers = False
        self._set_slave(True)

    def become_master(self) -> None:
        """Everything is committed and dispatched: the queues know all numbers that are used up."""
        self.log.next_offsets = self._queues.next_offsets()
        self._knows_its_numbers = True
        self._set_slave(False)

    def _set_slave(self, is_slave: bool) -> None:
        self._is_slave = self._dispatcher.is_slave = self.reader.is_slave = is_slave
        self.takes_messages = not is_slave
        self._update_writable()

    @property
    def is_caught_up(self) -> bool:
        """All that is in the log is committed and dispatched."""
        return self.entries.end_index == self.engine.member.committed and not self._dispatcher.is_behind

    @property
    def log_end(self) -> int:
        """What is committed: nothing behind it is to be seen."""
        return self.engine.committed_position or self.entries.data.start

    # --- writing ----------------------------------------------------------------------------------------------------

    def _store(self, env: Environment, accepted: Accepted, on_stored: OnStored) -> None:
        if not self._knows_its_numbers:
            # A leader that is not master yet. RocketMQ's takes messages now if it was no slave before, and gives
            # numbers of its queues that what is not dispatched yet has already.
            on_stored(env, PutResult(PutStatus.OS_PAGE_CACHE_BUSY))
            return
        bodies, records = self.message_log.bodies(env, accepted)
        put = _Put(on_stored, self._status_of)
        in_log = self.engine.propose(env, tuple(bodies), put.decided)
        if in_log is None:
            on_stored(env, PutResult(PutStatus.OS_PAGE_CACHE_BUSY))
            return
        self.message_log.count(accepted, records)
        put.is_in_log(env, self._result(self._placed(records, in_log)))

    def _placed(self, records: list[Dispatched], in_log: InLog) -> list[Dispatched]:
        """The records with their places: one entry each, *in_log* the last."""
        first = in_log.entry.index - len(records) + 1
        places = [in_log.entry.pos]
        if len(records) > 1:
            units = [self.entries.unit(index) for index in range(first, in_log.entry.index + 1)]
            places = [unit.pos for unit in units if unit is not None]
        return [
            msgspec.structs.replace(record, physical_offset=pos + HEAD_SIZE)
            for record, pos in zip(records, places, strict=True)
        ]


class _Put:
    """One put: it may be decided before it is known where it lies."""

    def __init__(self, on_stored: OnStored, status_of: Mapping[int, PutStatus]) -> None:
        self._on_stored, self._status_of = on_stored, status_of
        self._result: PutResult | None = None
        self._status: PutStatus | None = None

    def is_in_log(self, env: Environment, result: PutResult) -> None:
        self._result = result
        self._answer(env)

    def decided(self, env: Environment, decided: Decided) -> None:
        self._status = self._status_of.get(decided.code, PutStatus.UNKNOWN_ERROR)
        self._answer(env)

    def _answer(self, env: Environment) -> None:
        if self._result is None or self._status is None:
            return
        is_stored = self._status is PutStatus.PUT_OK
        self._on_stored(env, self._result if is_stored else PutResult(self._status))
