"""Replication of one broker: what the broker owns, and forwards to, so that its log has copies.

Question: which events are replication's, and what does the rest of the broker see of it?

Model. Every broker has a listener at its HA port (:mod:`.master`); a SYNC_MASTER has a gate for its puts
(:mod:`.group_transfer`); a slave has a client for the log (:mod:`.slave`) and one for the tables (:mod:`.metadata`).
The role forwards ``on_connected``, ``on_closed``, ``on_bytes`` and ``on_timer``; each tells whether the event was
replication's. ``master_learned`` takes what a registration answered.

Limits. No epoch, no checksum, no truncation: a slave that is ahead of its master, or beside it, stays so (RocketMQ's
classic protocol; the controller and DLedger are other modes).
"""

from __future__ import annotations

from collections.abc import Hashable

from reference_impl.environment import Address, Environment, Link
from reference_impl.replication.config import ReplicationConfig
from reference_impl.replication.group_transfer import GroupTransfer
from reference_impl.replication.master import HaMaster
from reference_impl.replication.metadata import MetadataSync, SlaveTables, fast_channel
from reference_impl.replication.slave import HaClient
from reference_impl.store.message_store import MessageStore
from reference_impl.wire.remoting import Remoting


class Replication:
    """All of it for one broker.

    *listen_address* is where slaves connect, *own_address* what NameServers are told of this broker.
    """

    def __init__(
        self,
        config: ReplicationConfig,
        store: MessageStore,
        remoting: Remoting,
        tables: SlaveTables,
        *,
        listen_address: Address,
        own_address: Address,
    ) -> None:
        self.config = config
        self._listen_address = listen_address
        self._remoting, self._store = remoting, store
        self.log_end_at_start = 0
        """Of this process' life (RocketMQ: brokerInitMaxOffset)."""
        self._is_stopped = False
        self.master = HaMaster(config, store, self._reported)
        self.transfer = GroupTransfer(config, store, self.master)
        self.client = HaClient(config, store)
        self.metadata = MetadataSync(config, remoting, tables, own_address)
        if config.looks_before_it_stores:
            store.replica_admission = self.transfer.admits
        if config.slaves_to_wait_for or config.looks_before_it_stores:
            store.replica_gate = self.transfer.gate
        store.on_appended = lambda env, _end: self.master.appended(env)

    def _reported(self, env: Environment) -> None:
        self.transfer.reported(env)

    # --- life -------------------------------------------------------------------------------------------------------

    def start(self, env: Environment) -> None:
        """The broker listens, the store is loaded; a slave begins to look for its master."""
        self.log_end_at_start = self._store.log_end
        if self.config.is_slave:
            self.client.start(env)
            self.metadata.start(env)

    def stop(self, env: Environment) -> None:
        """End all connections of replication (orderly stop)."""
        self._is_stopped = True
        self.metadata.stop(env)
        self.client.stop(env)
        self.master.close_all(env)

    def master_learned(self, env: Environment, master: Address | None, ha_address: Address | None) -> None:
        """A registration was answered: the live master's addresses, ``None`` where there is none.

        RocketMQ: BrokerController#doRegisterBrokerAll: a missing HA address changes nothing, a missing master stops the
        copying of tables.
        """
        if self.config.is_slave and not self._is_stopped:
            self.metadata.master = master
            self.client.learned(ha_address)

    def master_went(self, env: Environment, master: Address) -> None:
        """A slave of 5.x with acting masters hears that *master* is gone (RocketMQ: onMasterOffline)."""
        if self.config.is_slave and self.metadata.master == master:
            self.metadata.master = None
            self.client.told(None)
            for address in (master, fast_channel(master)):
                if (link := self._remoting.link_to(address)) is not None:
                    self._remoting.close(env, link)

    def master_came(self, env: Environment, ha_address: Address | None) -> None:
        """It hears of a master, and where that takes slaves: connect at once, if nothing stands (onMasterOnline)."""
        if self.config.is_slave and not self._is_stopped:
            if ha_address:
                self.client.told(ha_address)
            self.client.wake(env)

    # --- events -----------------------------------------------------------------------------------------------------

    def on_connected(self, env: Environment, link: Link) -> bool:
        """A slave has come, or our master is there."""
        if link == self.client.link:
            self.client.on_connected(env)
        elif env.listener(link) == self._listen_address:
            if self._is_stopped:
                env.close(link)
            else:
                self.master.accept(env, link)
        else:
            return False
        return True

    def on_closed(self, env: Environment, link: Link) -> bool:
        """A slave or the master is gone."""
        if link == self.client.link:
            self.client.on_closed(env)
        elif link in self.master.connections:
            self.master.forget(env, link)
        else:
            return False
        return True

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> bool:
        """Reports of a slave, or frames of the master."""
        if link in self.master.connections:
            self.master.on_bytes(env, link, data)
        elif link == self.client.link:
            self.client.on_bytes(env, data)
        else:
            return False
        return True

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Keys are tuples that start with ``ha``, ``ha-wait``, ``ha-client`` or ``metadata``."""
        return (
            self.master.on_timer(env, key)
            or self.transfer.on_timer(env, key)
            or self.client.on_timer(env, key)
            or self.metadata.on_timer(env, key)
        )
