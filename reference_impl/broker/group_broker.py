"""A broker whose commit log is kept by a DLedger group: it becomes master when its member leads, else it is a slave.

Question: how does a role in the group become a role that clients see, and what starts and stops with it?

Model (RocketMQ: DLedgerRoleChangeHandler, BrokerController#changeToMaster, #changeToSlave). Role changes of the member
are worked off one after the other:

    candidate   a master becomes slave; a slave whose leader is gone stays what it is, route included
    follower    slave
    leader      looked at every 100 ms until all of the log is committed and dispatched (or the member leads no more),
                then master

    becoming    slave                                        master
    brokerId    digits of dLegerSelfId behind its letter, + 1  0
    stops       delayed messages, timers, checks             copying the master's tables
    starts      copying the master's tables                  the same, from delayOffset.json and timercheck
    numbers     –                                            of all queues, from what is dispatched
    tells       every NameServer, one-way                    the same

Before the first role the broker has id −1, registers nothing by itself for ten seconds, and answers a send as one that
is busy. The address of the master comes with the answer to a periodic registration only, up to 30 s after the change,
so that a new slave copies no tables until then (as RocketMQ).

The member has a port of its own, its address in ``dLegerPeers``. There is no HA port. Limits: no POP.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import replace
from typing import Final

from reference_impl.broker.broker import Broker, store_config
from reference_impl.broker.config import MASTER_ID, BrokerConfig
from reference_impl.broker.slave import TablesOfSlave
from reference_impl.broker.state import State
from reference_impl.configuration import ConfigurationError
from reference_impl.digits import is_number
from reference_impl.dledger.codes import Role
from reference_impl.dledger.config import DLedgerConfig
from reference_impl.dledger.events import RoleChanged
from reference_impl.dledger.group_store import GroupStore
from reference_impl.environment import MS, Address, Environment, Link
from reference_impl.replication import Replication, ReplicationConfig
from reference_impl.store.config_file import ConfigUnreadable
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Remoting, handler_by_code

_LOOK: Final = ("group", "look")
_LOOK_EVERY_NS: Final = 100 * MS


class TablesOnly(Replication):
    """A slave of a group copies tables; the log comes by the group."""

    is_slave = False

    def start(self, env: Environment) -> None:
        """Nothing listens."""

    def become_slave(self, env: Environment) -> None:
        """Copy, as soon as a master is known."""
        self.is_slave = True
        self.metadata.stop(env)
        self.metadata.start(env)

    def become_master(self, env: Environment) -> None:
        self.is_slave = False
        self.metadata.stop(env)

    def master_learned(self, env: Environment, master: Address | None, ha_address: Address | None) -> None:
        if self.is_slave:
            self.metadata.master = master


class GroupBroker(Broker):
    """``Role``. :class:`ConfigurationError` for a group that this broker cannot be a member of."""

    replication: TablesOnly

    def __init__(self, config: BrokerConfig) -> None:
        self._group = _group_config(config)
        self._own_id = _numeric_id(self._group.d_leger_self_id)
        self._member_remoting = Remoting(self._handle_member, name="dledger")
        super().__init__(config)
        self._engine = self.store.engine
        self._engine.on_role = self._role_changed
        self._member_handler = handler_by_code(self._engine.handlers())
        self._timed = (*self._timed, self._member_remoting, self._engine)
        self._changes: deque[RoleChanged] = deque()
        self._is_looking = False

    @property
    def store(self) -> GroupStore:
        assert isinstance(self.state.store, GroupStore)
        return self.state.store

    def _build_store(self, config: BrokerConfig) -> GroupStore:
        return GroupStore(store_config(config), self._group, self._member_remoting, is_5x=config.is_5x)

    def _build_replication(self, state: State) -> TablesOnly:
        config = state.config
        return TablesOnly(
            ReplicationConfig.from_properties({**config.properties, "brokerRole": "ASYNC_MASTER"}),
            state.store,
            state.remoting,
            TablesOfSlave(state),
            listen_address="",
            own_address=config.address,
        )

    # --- life -------------------------------------------------------------------------------------------------------

    def _ports(self) -> tuple[Address, ...]:
        """Members at the group's; no slave connects."""
        return (*self.config.listen_addresses, self._group.listen_address)

    def _start_role(self, env: Environment) -> None:
        """None is known yet."""
        self.registration.start_later(env)
        self._engine.start(env)

    def on_stop(self, env: Environment) -> None:
        env.cancel_timer(_LOOK)
        self._member_remoting.close_all(env)
        super().on_stop(env)

    # --- events -----------------------------------------------------------------------------------------------------

    def on_connected(self, env: Environment, link: Link) -> None:
        if self._member_remoting.owns(link) or env.listener(link) == self._group.listen_address:
            self._member_remoting.on_connected(env, link)
        else:
            super().on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        if self._member_remoting.owns(link):
            self._member_remoting.on_closed(env, link)
        else:
            super().on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        if self._member_remoting.owns(link):
            self._member_remoting.on_bytes(env, link, data)
        else:
            super().on_bytes(env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if key == _LOOK:
            self._look(env)
        else:
            super().on_timer(env, key)

    def _handle_member(self, env: Environment, link: Link, request: Command) -> Command | None:
        return self._member_handler(env, link, request)

    # --- roles ------------------------------------------------------------------------------------------------------

    def _role_changed(self, env: Environment, change: RoleChanged) -> None:
        self._changes.append(change)
        self._work_off(env)

    def _work_off(self, env: Environment) -> None:
        while self._changes and not self._is_looking and not self._stopping:
            change = self._changes.popleft()
            if change.role == Role.LEADER:
                self._is_looking = True
                self._look(env)
            elif change.role == Role.FOLLOWER or not self.config.is_slave:
                self._become_slave(env)

    def _look(self, env: Environment) -> None:
        """May a leader act as master yet?"""
        if self._engine.is_leader and not self.store.is_caught_up:
            env.set_timer(_LOOK, _LOOK_EVERY_NS)
            return
        self._is_looking = False
        if self._engine.is_leader:
            self._become_master(env)
        self._work_off(env)

    def _become_slave(self, env: Environment) -> None:
        self._deliver_no_more(env)
        self.store.become_slave()
        self.replication.become_slave(env)
        self._act_as(env, "SLAVE", self._own_id)

    def _become_master(self, env: Environment) -> None:
        self.replication.become_master(env)
        self.store.become_master()
        self._load_delays(env)
        self._save_delays_from_now_on(env)
        self._deliver(env)
        self._act_as(env, "SYNC_MASTER", MASTER_ID)

    def _load_delays(self, env: Environment) -> None:
        """As far as the last master told. A file that cannot be read any more gives way to what is known here, as in
        RocketMQ, whose ScheduleMessageService#start does not ask what its load came to."""
        try:
            self.state.files.delays.load(env, self.state.delays.load)
        except ConfigUnreadable as error:
            env.note("delays_not_loaded", error=str(error))

    def _act_as(self, env: Environment, role: str, broker_id: int) -> None:
        config = replace(self.state.config, broker_role=role, broker_id=broker_id)
        self.config = self.registration.config = config
        self.state.reconfigure(config)
        self._handlers = self._handlers_for(config)
        term = self._engine.member.term
        env.note("became_master" if broker_id == MASTER_ID else "became_slave", term=term, broker_id=broker_id)
        self.registration.announce(env)


def _group_config(config: BrokerConfig) -> DLedgerConfig:
    """The group's properties; where it keeps its log follows from the store's."""
    properties = dict(config.properties)
    store = store_config(config)
    properties["storeBaseDir"] = store.store_path_root_dir
    properties["mappedFileSizeForEntryData"] = str(store.mapped_file_size_commit_log)
    return DLedgerConfig.from_properties(properties)


def _numeric_id(self_id: str) -> int:
    """``n0`` → 1 (RocketMQ: DLedgerCommitLog: the digits behind the first letter, plus one)."""
    if not is_number(self_id[1:]):
        raise ConfigurationError(f"dLegerSelfId={self_id}: expected a letter and a number, as n0")
    return int(self_id[1:]) + 1
