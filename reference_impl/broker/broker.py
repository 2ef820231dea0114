"""The broker role: a master or a slave of RocketMQ's classic modes.

Question: what does a RocketMQ broker do with each request, at each start, tick and stop?

Model. The role owns a remoting end, a message store and a few tables (topics, groups, offsets, clients, locks). A
request is looked up by its code in one table of handlers; a handler returns its answer, or nothing and answers later
(a synchronous flush, a parked pull). Behaviour is that of Apache RocketMQ 4.9.7 where it is known.

    start   tables from their files, the store's recovery, listen (main and fast port), register, timers
    ticks   5 s parked pulls, 10 s silent clients, 5 s consumer offsets, 10 s delay offsets, 30 s registration
    stop    connections of clients end, the store flushes, tables are written, the NameServers are told, exit

What a member of a DLedger group does otherwise is :mod:`reference_impl.broker.group_broker`'s. Copies of the log are
:mod:`reference_impl.replication`'s business, which is asked first about links and timers; what clients see differently
on a slave is :mod:`reference_impl.broker.slave`'s. A slave delivers no delayed messages, asks about no transactions,
and writes only the consumer offsets by itself: its other tables are its master's. With 5.x's acting masters a broker
knows the others of its name (:mod:`~reference_impl.broker.members`), and may have to wait for them before it registers
(:mod:`~reference_impl.broker.pre_online`).

Limits. A step never waits, so the answers that RocketMQ gives from overload (code 2) cannot occur. POP is not served.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from errno import EADDRNOTAVAIL
from typing import Final, Protocol

from reference_impl.broker.admin import Admin
from reference_impl.broker.config import BrokerConfig
from reference_impl.broker.delay import DelayedDelivery
from reference_impl.broker.groups import GroupTable
from reference_impl.broker.members import MemberGroup
from reference_impl.broker.membership import Membership
from reference_impl.broker.of_5x import Of5x
from reference_impl.broker.pre_online import PreOnline
from reference_impl.broker.pull import Pulls
from reference_impl.broker.rates import RATES_TIMER
from reference_impl.broker.reads import Reads
from reference_impl.broker.registration import Registration
from reference_impl.broker.relay import Relay
from reference_impl.broker.replies import Replies
from reference_impl.broker.send import Sends
from reference_impl.broker.send_back import SendBacks
from reference_impl.broker.slave import TablesOfSlave, slave_handlers
from reference_impl.broker.state import Files, State
from reference_impl.broker.statistics import Statistics
from reference_impl.broker.throughput import Totals
from reference_impl.broker.timer_wheel import TimerWheel
from reference_impl.broker.timers import TIMER_TOPIC
from reference_impl.broker.topics import TopicTable
from reference_impl.broker.transaction_check import TransactionCheck
from reference_impl.broker.transactions import Transactions
from reference_impl.broker.upkeep import Upkeep
from reference_impl.configuration import ConfigurationError
from reference_impl.environment import SECOND, Address, Environment, Link
from reference_impl.replication import Replication, ReplicationConfig
from reference_impl.store.config import StoreConfig
from reference_impl.store.config_file import ConfigFile, ConfigUnreadable
from reference_impl.store.delay import SCHEDULE_TOPIC
from reference_impl.store.message_store import MessageStore, StoreUnloadable
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Handler, Remoting, not_supported

LOAD_FAILED_EXIT: Final = 253
"""RocketMQ exits with −3 where its files cannot be loaded."""

LISTEN_FAILED_EXIT: Final = 255
"""And with −1 where its ports are taken."""

WRONG_ADDRESS_EXIT: Final = 64
"""A mistake of the configuration, as those that are seen earlier."""

SWEEP_NS: Final = 5 * SECOND
CLIENT_SCAN_NS: Final = 10 * SECOND
FIRST_SAVE_NS: Final = 10 * SECOND
SAVE_TIMEOUT_NS: Final = 5 * SECOND
"""A stopping broker waits this long for tables that cannot be written."""

_SWEEP, _CLIENTS, _OFFSETS, _DELAYS = (("broker", name) for name in ("sweep", "clients", "offsets", "delays"))
_UNSAVED = ("broker", "unsaved")


class Timed(Protocol):
    """A part that has timers of its own."""

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was its own."""


class Broker:
    """A broker node (``Role``).

    ``config`` holds RocketMQ's properties. ``on_start`` recovers the store, listens on ``listenPort`` and
    ``listenPort − 2`` and registers with every NameServer; ``on_stop`` flushes, writes the tables, unregisters, and
    calls ``env.exit()``. :class:`ConfigurationError` for a configuration that this broker cannot be.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self.config = config
        self.state, self.registration = self._build_state(config)
        state = self.state
        self.replication = self._build_replication(state)
        self.registration.on_master = self.replication.master_learned
        self._members = MemberGroup(config, state.remoting, state.topics, self.replication)
        self._pre_online = PreOnline(state, self._members, self.replication, self._go_online)
        self.pulls = Pulls(state)
        self.send_backs = SendBacks(state)
        self._sends = Sends(state)
        self.replies = Replies(state, self._sends)
        self.transactions = Transactions(state)
        self._membership = Membership(state)
        self.transaction_check = TransactionCheck(state)
        self._handlers_of_master = self._all_handlers()
        self._handlers = self._handlers_for(config)
        self._main_port_only = frozenset(self.pulls.handlers())
        self._fast_listener = config.listen_addresses[1]
        self._ticks = self._ticks_by_timer()
        self._timed: tuple[Timed, ...] = (
            state.store,
            state.remoting,
            self.replication,
            self.registration,
            state.delays,
            state.timers,
            self.transaction_check,
            self._members,
            self._pre_online,
        )
        self._stopping = False

    def _build_store(self, config: BrokerConfig) -> MessageStore:
        return MessageStore(store_config(config))

    def _build_replication(self, state: State) -> Replication:
        return Replication(
            ReplicationConfig.from_properties(state.config.properties),
            state.store,
            state.remoting,
            TablesOfSlave(state),
            listen_address=state.config.ha_listen_address,
            own_address=state.config.address,
        )

    def _handlers_for(self, config: BrokerConfig) -> dict[int, Handler]:
        """What the role that *config* names answers."""
        return slave_handlers(self.state, self._handlers_of_master) if config.is_slave else self._handlers_of_master

    def _build_state(self, config: BrokerConfig) -> tuple[State, Registration]:
        """What the parts share, and who tells NameServers of it."""
        store = self._build_store(config)
        store.on_arrived = self._arrived
        remoting = Remoting(self._handle, on_gone=self._connection_gone)
        topics = TopicTable(config)
        registration = Registration(config, remoting, topics, self._order_changed)
        state = State(
            config=config,
            store=store,
            remoting=remoting,
            topics=topics,
            groups=GroupTable(config),
            delays=DelayedDelivery(store, config.delay_levels, is_versioned=config.is_5x),
            timers=TimerWheel(store, config, f"{store.config.store_path_root_dir}/config/timercheck"),
            files=_files(config, store.config.store_path_root_dir),
            announce=registration.announce,
        )
        return state, registration

    def _ticks_by_timer(self) -> dict[Hashable, Callable[[Environment], None]]:
        return {
            _SWEEP: self._tick_sweep,
            _CLIENTS: self._tick_clients,
            _OFFSETS: self._tick_offsets,
            _DELAYS: self._tick_delays,
            _UNSAVED: self._unregister,
            RATES_TIMER: self._tick_rates,
        }

    def _all_handlers(self) -> dict[int, Handler]:
        state, statistics = self.state, Statistics(self.state)
        return {
            **self._sends.handlers(),
            **self.replies.handlers(),
            **self.transactions.handlers(),
            **self.pulls.handlers(),
            **Reads(state).handlers(),
            **self._membership.handlers(),
            **self.send_backs.handlers(),
            **Admin(state, self.registration).handlers(),
            **statistics.handlers(),
            **Of5x(state).handlers(),
            **Upkeep(state, statistics).handlers(),
            **Relay(state).handlers(),
            **(self._members.handlers() if self.config.is_5x else {}),
        }

    # --- life -------------------------------------------------------------------------------------------------------

    def on_start(self, env: Environment) -> None:
        """Recover, listen, register. A node whose files cannot be loaded exits with 253 and a note."""
        try:
            self._listen(env)
        except OSError as error:
            env.note("listen_failed", error=str(error))
            code, why = _why_deaf(error, self.config)
            env.exit(code, f"{self.config.broker_name} does not start: {why}")
            return
        try:
            self._load(env)
        except (ConfigUnreadable, StoreUnloadable, OSError) as error:
            env.note("load_failed", error=str(error))
            env.exit(LOAD_FAILED_EXIT, f"{self.config.broker_name} does not start: {error}")
            return
        env.set_timer(_SWEEP, self._sweep_ns())
        env.set_timer(_CLIENTS, CLIENT_SCAN_NS)
        env.set_timer(_OFFSETS, FIRST_SAVE_NS)
        self.state.rates.start(env)
        self._start_role(env)
        env.note("broker_started", address=self.config.address, log_end=self.state.store.log_end)

    def _start_role(self, env: Environment) -> None:
        """Act as what the configuration says."""
        if not self.config.is_slave:
            self._save_delays_from_now_on(env)
            if not self.config.starts_isolated:
                self._deliver(env)
        self.replication.start(env)
        self.registration.start(env)
        if self.config.acts:
            self._members.start(env)
        self._pre_online.start(env)

    def _listen(self, env: Environment) -> None:
        """Before anything is touched: a second broker of the same ports must leave no trace in its store."""
        for address in self._ports():
            env.listen(address)

    def _ports(self) -> tuple[Address, ...]:
        return (*self.config.listen_addresses, self.config.ha_listen_address)

    def _go_online(self, env: Environment, least_id: int, least_address: Address) -> None:
        """Isolated no more (RocketMQ: BrokerController#startService)."""
        if self._stopping:
            return
        if not self.config.is_slave:
            self._deliver(env)
        self._members.go_online(env, least_id, least_address)
        self.registration.go_online(env)

    def _deliver(self, env: Environment) -> None:
        """What a master does by itself: delayed messages, timers, and questions about transactions."""
        self.state.delays.start(env)
        self.state.timers.start(env)
        self.transaction_check.start(env)

    def _save_delays_from_now_on(self, env: Environment) -> None:
        env.set_timer(_DELAYS, FIRST_SAVE_NS)

    def _deliver_no_more(self, env: Environment) -> None:
        """A slave now: its master delivers, and asks."""
        env.cancel_timer(_DELAYS)
        self.state.delays.stop(env)
        self.state.timers.stop(env)
        self.transaction_check.stop(env)

    def _load(self, env: Environment) -> None:
        state = self.state
        state.counters.started_ms = env.wall()
        state.files.topics.load(env, state.topics.load)
        state.files.groups.load(env, state.groups.load)
        state.files.offsets.load(env, state.offsets.load)
        state.store.load(env)
        state.files.delays.load(env, state.delays.load)
        state.timers.load(env)
        state.topics.start_version(env.wall())
        state.groups.start_version(env.wall())
        state.offsets.version.begin(env.wall())
        state.delays.version.begin(env.wall())

    def on_stop(self, env: Environment) -> None:
        """Orderly end. Clients see their connections close; what they had in flight stays undecided for them."""
        if self._stopping:
            return
        self._stopping = True
        for key in self._ticks:
            env.cancel_timer(key)
        self.state.delays.stop(env)
        self.state.timers.stop(env)
        self.transaction_check.stop(env)
        self.registration.stop(env)
        self._members.stop(env)
        self._pre_online.stop(env)
        for link in self.state.remoting.links():
            if env.listener(link) is not None:
                self.state.remoting.close(env, link)
        self.replication.stop(env)
        self.state.store.shutdown(env, self._store_is_down)

    def _store_is_down(self, env: Environment) -> None:
        """Write the tables; with ``metadataSync`` wait for them, but not for ever."""
        state = self.state
        texts = [(state.files.offsets, state.offsets.file_text())]
        if not self.config.is_slave:
            texts += [
                (state.files.topics, state.topics.file_text()),
                (state.files.groups, state.groups.file_text()),
                (state.files.delays, state.delays.file_text()),
            ]
            state.timers.save(env)
        missing = len(texts)

        def saved(env: Environment) -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                self._unregister(env)

        env.set_timer(_UNSAVED, SAVE_TIMEOUT_NS)
        for file, text in texts:
            file.save(env, text, saved)

    def _unregister(self, env: Environment) -> None:
        env.cancel_timer(_UNSAVED)
        self.registration.unregister(env, self._farewell)

    def _farewell(self, env: Environment) -> None:
        self.state.remoting.close_all(env)
        env.note("broker_stopped")
        env.exit()

    # --- events -----------------------------------------------------------------------------------------------------

    def on_connected(self, env: Environment, link: Link) -> None:
        """A client is there, a NameServer, a slave, our master."""
        if self._stopping and env.listener(link) is not None:
            env.close(link)
        elif not self.replication.on_connected(env, link):
            self.state.remoting.on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        """Whoever was there is gone."""
        if not self.replication.on_closed(env, link):
            self.state.remoting.on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        """Requests of clients, answers of NameServers, pieces of the log and reports of slaves."""
        if not self.replication.on_bytes(env, link, data):
            self.state.remoting.on_bytes(env, link, data)
        self.pulls.run_woken(env)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        """The store's own timers first: they are the many."""
        tick = self._ticks.get(key)
        if tick is not None:
            tick(env)
        else:
            for part in self._timed:
                if part.on_timer(env, key):
                    break
        self.pulls.run_woken(env)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        """Something is durable: mostly a commit log file."""
        if not self.state.store.on_synced(env, file, token):
            any(config.on_synced(env, file, token) for config in self.state.files.all())
        self.pulls.run_woken(env)

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None:
        """A force failed."""
        if not self.state.store.on_disk_error(env, file, token, error):
            any(config.on_disk_error(env, file, token, error) for config in self.state.files.all())
        self.pulls.run_woken(env)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _handle(self, env: Environment, link: Link, request: Command) -> Command | None:
        """Everything but pulls is served on the fast port too."""
        handler = self._handlers.get(request.code)
        if handler is None:
            return not_supported(request)
        if request.code in self._main_port_only and env.listener(link) == self._fast_listener:
            return not_supported(request)
        return handler(env, link, request)

    def _arrived(self, env: Environment, topic: str, queue_id: int, next_offset: int, tags_code: int) -> None:
        self.pulls.arrived(topic, queue_id, next_offset, tags_code)
        if topic == SCHEDULE_TOPIC:
            self.state.delays.arrived(env)
        elif topic == TIMER_TOPIC:
            self.state.timers.arrived(env)

    def _connection_gone(self, env: Environment, link: Link) -> None:
        self.pulls.parked.forget(link)
        self._membership.connection_gone(env, link)

    def _order_changed(self, env: Environment) -> None:
        self.state.save_topics(env)

    def _sweep_ns(self) -> int:
        config = self.state.config
        return SWEEP_NS if config.long_polling else config.short_polling_ns

    def _tick_sweep(self, env: Environment) -> None:
        env.set_timer(_SWEEP, self._sweep_ns())
        self.pulls.sweep(env)

    def _tick_clients(self, env: Environment) -> None:
        env.set_timer(_CLIENTS, CLIENT_SCAN_NS)
        self._membership.close_expired(env)

    def _tick_rates(self, env: Environment) -> None:
        state = self.state
        state.rates.on_tick(env)
        counters = state.counters
        put, got = counters.messages_put, counters.messages_pulled
        state.throughput.sample(env.now(), Totals(put, counters.pulls_found, counters.pulls_missed, got))
        state.mornings.look(env.wall(), put, got)

    def _tick_offsets(self, env: Environment) -> None:
        env.set_timer(_OFFSETS, self.state.config.flush_consumer_offset_interval_ns)
        self.state.save_offsets(env)

    def _tick_delays(self, env: Environment) -> None:
        env.set_timer(_DELAYS, self.state.config.flush_delay_offset_interval_ns)
        self.state.files.delays.save(env, self.state.delays.file_text())


def _why_deaf(error: OSError, config: BrokerConfig) -> tuple[int, str]:
    if error.errno != EADDRNOTAVAIL:
        return LISTEN_FAILED_EXIT, str(error)
    hint = f"this machine has no address {config.bind_address}, set bindAddress (0.0.0.0: all of its own)"
    return WRONG_ADDRESS_EXIT, f"{error}; {hint}"


def store_config(config: BrokerConfig) -> StoreConfig:
    """The store's settings; :class:`ConfigurationError` for one that it cannot have."""
    try:
        return StoreConfig.from_properties({**config.properties, "storeHost": config.address})
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _files(config: BrokerConfig, root: str) -> Files:
    def file(name: str) -> ConfigFile:
        return ConfigFile(f"{root}/config/{name}", metadata_sync=config.metadata_sync)

    return Files(
        topics=file("topics.json"),
        groups=file("subscriptionGroup.json"),
        offsets=file("consumerOffset.json"),
        delays=file("delayOffset.json"),
    )
