"""SYNC_MASTER: when does a put count as copied, and what is said if it does not?

Model. RocketMQ 4.9.7 (CommitLog#submitReplicaRequest, HAService.GroupTransferService):

    no connection, or end − push2SlaveMaxOffset ≥ haSlaveFallbehindMax      SLAVE_NOT_AVAILABLE, at once
    push2SlaveMaxOffset ≥ end, now or within slaveTimeout                   PUT_OK
    else                                                                    FLUSH_SLAVE_TIMEOUT at the deadline

One slave is enough, and which one does not matter: the offset is the greatest that any of them has ever reported.
5.3.3 asks nothing before it waits, waits for ``inSyncReplicas`` − 1 connections whose own report covers the put, and
with the default of 1 for none at all. Deadlines go by the monotonic clock.

With ``enableSlaveActingMaster`` 5.3.3 looks before it stores (CommitLog#asyncPutMessage, #calcNeedAckNums):

    in sync     min(replicas alive by the NameServer, 1 + connections less than haMaxGapNotInSync behind)
    needed      inSyncReplicas; with enableAutoInSyncReplicas no more than are in sync, no less than minInSyncReplicas
    needed > in sync      IN_SYNC_REPLICAS_NOT_ENOUGH, nothing is stored; else needed − 1 slaves are waited for

Limits. The controller's in-sync sets of 5.x (``allAckInSyncStateSet``) do not exist here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Final, NamedTuple

from reference_impl.environment import Environment
from reference_impl.replication.config import ReplicationConfig
from reference_impl.replication.master import HaMaster
from reference_impl.store.flush import Decide
from reference_impl.store.message_store import MessageStore
from reference_impl.store.request import PutStatus

_KEY: Final = ("ha-wait", "deadline")


class Wait(NamedTuple):
    """One put: it waits until *slaves* slaves have everything below *end*."""

    end: int
    slaves: int
    deadline_ns: int
    decide: Decide


class GroupTransfer:
    """The puts of one SYNC_MASTER that wait for slaves, in the order of their places in the log."""

    def __init__(self, config: ReplicationConfig, store: MessageStore, master: HaMaster) -> None:
        self._config, self._store, self.master = config, store, master
        self.waiting: deque[Wait] = deque()
        self._slaves = config.slaves_to_wait_for
        """That the put which is now being stored waits for."""
        self.alive_replicas = config.total_replicas
        """This broker and the others of its name that a NameServer has told of; at first those that are configured."""

    def admits(self) -> bool:
        """The store's ``ReplicaAdmission`` where it looks before it stores: can the next put be confirmed?"""
        in_sync = min(self.alive_replicas, 1 + self._slaves_in_sync())
        needed = self._config.in_sync_replicas
        if self._config.enable_auto_in_sync_replicas:
            needed = max(min(needed, in_sync), self._config.min_in_sync_replicas)
        self._slaves = needed - 1
        return needed <= in_sync

    def _slaves_in_sync(self) -> int:
        """RocketMQ: DefaultHAService#inSyncReplicasNums: a connection that has reported nothing stands at −1."""
        least = self._store.log_end - self._config.ha_max_gap_not_in_sync
        return sum(connection.acked > least for connection in self.master.connections.values())

    def gate(self, env: Environment, end: int, decide: Decide) -> PutStatus | None:
        """The store's ``ReplicaGate``."""
        if not self._config.is_5x and not self._is_slave_fit(end):
            return PutStatus.SLAVE_NOT_AVAILABLE
        self.master.wake(env)
        if self._is_copied(end, self._slaves):
            return PutStatus.PUT_OK
        if not self.waiting:
            env.set_timer(_KEY, self._config.slave_timeout_ns)
        self.waiting.append(Wait(end, self._slaves, env.now() + self._config.slave_timeout_ns, decide))
        return None

    def reported(self, env: Environment) -> None:
        """A slave has told how far it is."""
        waiting = self.waiting
        while waiting and self._is_copied(waiting[0].end, waiting[0].slaves):
            waiting.popleft().decide(env, PutStatus.PUT_OK)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key != _KEY:
            return False
        waiting, now = self.waiting, env.now()
        while waiting and waiting[0].deadline_ns <= now:
            self._give_up(env, waiting.popleft())
        if waiting:
            env.set_timer(_KEY, waiting[0].deadline_ns - now)
        return True

    def _give_up(self, env: Environment, wait: Wait) -> None:
        wait.decide(env, PutStatus.FLUSH_SLAVE_TIMEOUT)

    def _is_slave_fit(self, end: int) -> bool:
        """RocketMQ: HAService#isSlaveOK."""
        behind = end - self.master.push2_slave_max_offset
        return bool(self.master.connections) and behind < self._config.ha_slave_fallbehind_max

    def _is_copied(self, end: int, slaves: int) -> bool:
        if not self._config.is_5x:
            return self.master.push2_slave_max_offset >= end
        acks = sum(connection.acked >= end for connection in self.master.connections.values())
        return acks >= slaves
