"""The master's end of replication: it listens, hears how far each slave is, and pushes what follows.

Question: which bytes go to which slave, when, and when is a slave given up?

Model (RocketMQ: HAService, HAConnection). Every broker listens, slave or not. A connection is a slave as soon as it
stands, whoever opened it; nothing is sent before its first report:

    first report 0         data from the start of the *last* log file: older messages never reach a new slave
    first report r > 0     data from exactly r; where the log holds no such byte only heartbeats, for ever, or until
                           the log has grown to r: then from there on, even in the middle of a record
    first report −1        counts as none
    later reports          how far the slave is; never move what is sent next. In 4.9.7 one beyond our own end closes
                           the connection. The first is not checked in any release, so eight bytes of anybody's make
                           a SYNC_MASTER acknowledge without a slave; ``strictHaReport=true`` closes then, too

``push2_slave_max_offset`` is the greatest end that any slave has reported since the start; it never goes back. So after
a power cut of the master a slave that is ahead of it makes SYNC_MASTER acknowledge what nobody has copied: that is
RocketMQ, and is kept.

Time. A heartbeat after 5 s without a frame (before data, if the first report comes later than that); after 20 s
without a byte from the slave the connection ends. A writer that has nothing to send looks again every 100 ms, unless a
waiting put wakes it: so a slave of an ASYNC_MASTER lags by up to 100 ms. One timer stands for that polling.

Limits. Sending knows no back-pressure here, so at most ``WINDOW_BYTES`` are under way beyond what a slave has reported,
where RocketMQ stops when the socket's buffers are full.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from reference_impl.environment import MS, Address, Environment, Link
from reference_impl.replication.config import ReplicationConfig
from reference_impl.replication.frames import ReportReader, encode_frame
from reference_impl.store.message_store import MessageStore

POLL_NS: Final = 100 * MS
WINDOW_BYTES: Final = 4 * 1024 * 1024

OnReport = Callable[[Environment], None]


class HaConnection:
    """One slave, as far as the master knows. Offsets are log offsets, −1 means not known yet."""

    __slots__ = (
        "acked",
        "idle_ns",
        "link",
        "next_offset",
        "peer",
        "read_ns",
        "reports",
        "requested",
        "taken",
        "written_ns",
    )

    def __init__(self, link: Link, peer: Address, now_ns: int) -> None:
        self.link, self.peer = link, peer
        self.reports = ReportReader()
        self.requested = -1
        self.acked = -1
        self.next_offset = -1
        """Where the next frame begins."""
        self.taken = -1
        """Greatest offset that the slave has confirmed of what was sent; only the window goes by it."""
        self.read_ns = self.written_ns = self.idle_ns = now_ns


class HaMaster:
    """All slaves of one broker. *on_report* is called after each report that was believed."""

    def __init__(self, config: ReplicationConfig, store: MessageStore, on_report: OnReport) -> None:
        self._config, self._store, self._on_report = config, store, on_report
        self._file_size = store.config.mapped_file_size_commit_log
        self.connections: dict[Link, HaConnection] = {}
        """Whoever is connected counts as a slave (RocketMQ: HAService.connectionCount)."""
        self.push2_slave_max_offset = 0

    # --- connections ------------------------------------------------------------------------------------------------

    def accept(self, env: Environment, link: Link) -> None:
        """A connection came in at the HA port."""
        connection = HaConnection(link, env.peer(link), env.now())
        self.connections[link] = connection
        env.set_timer(("ha", "heartbeat", link), self._config.heartbeat_ns + MS)
        env.set_timer(("ha", "silence", link), self._config.housekeeping_ns + MS)
        env.note("ha_slave_connected", slave=connection.peer)

    def forget(self, env: Environment, link: Link) -> None:
        """The connection has ended."""
        connection = self.connections.pop(link)
        for name in ("heartbeat", "silence", "poll"):
            env.cancel_timer(("ha", name, link))
        env.note("ha_slave_gone", slave=connection.peer, acked=connection.acked)

    def close(self, env: Environment, connection: HaConnection, why: str) -> None:
        """End it from here."""
        env.note("ha_slave_closed", slave=connection.peer, why=why, acked=connection.acked, log_end=self._store.log_end)
        env.close(connection.link)
        self.forget(env, connection.link)

    def close_all(self, env: Environment) -> None:
        """The broker stops."""
        for connection in list(self.connections.values()):
            self.close(env, connection, "stopping")

    # --- what a slave says ------------------------------------------------------------------------------------------

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        """Reports, in any pieces. RocketMQ: ReadSocketService#processReadEvent."""
        connection = self.connections[link]
        connection.read_ns = env.now()
        report = connection.reports.feed(data)
        if report is None:
            return
        is_first = connection.requested < 0
        if report > self._store.log_end and not self._believes(is_first):
            self.close(env, connection, "reports more than there is")
            return
        connection.acked = report
        if is_first:
            self._request(env, connection, report)
        connection.taken = max(connection.taken, min(report, connection.next_offset))
        self.push2_slave_max_offset = max(self.push2_slave_max_offset, report)
        self._on_report(env)
        self._transfer(env, connection)

    def _believes(self, is_first: bool) -> bool:
        """A report beyond our own end. RocketMQ takes any first one for where a slave's log ends."""
        return not self._config.strict_ha_report and (is_first or self._config.is_5x)

    def _request(self, env: Environment, connection: HaConnection, report: int) -> None:
        """The first report says where to begin."""
        connection.requested = report
        if report == -1 or connection.next_offset != -1:
            return
        start = connection.next_offset = connection.taken = self._start_for(report)
        env.note("ha_slave_begins", slave=connection.peer, report=report, start=start, log_end=self._store.log_end)

    def _start_for(self, report: int) -> int:
        """Where a slave that begins with this report is sent from."""
        end = self._store.log_end
        return report if report else end - end % self._file_size

    # --- what it is told --------------------------------------------------------------------------------------------

    def wake(self, env: Environment) -> None:
        """A put waits for slaves: send at once."""
        for connection in list(self.connections.values()):
            self._transfer(env, connection)

    def appended(self, env: Environment) -> None:
        """The log has grown; whoever has nothing to do will see it at the next look."""
        now = env.now()
        for connection in self.connections.values():
            if connection.idle_ns >= 0 and connection.next_offset >= 0:
                delay = POLL_NS - (now - connection.idle_ns) % POLL_NS
                connection.idle_ns = -1
                env.set_timer(("ha", "poll", connection.link), delay)

    def _transfer(self, env: Environment, connection: HaConnection) -> None:
        """Everything that may be sent now. RocketMQ: WriteSocketService#run."""
        if connection.next_offset == -1:
            return
        now = env.now()
        if now - connection.written_ns > self._config.heartbeat_ns:
            self._send(env, connection, now, b"")
        while connection.next_offset - connection.taken < WINDOW_BYTES:
            data = self._following(env, connection)
            if not data:
                break
            self._send(env, connection, now, data)
        if connection.idle_ns < 0:
            env.cancel_timer(("ha", "poll", connection.link))
        connection.idle_ns = now

    def _following(self, env: Environment, connection: HaConnection) -> bytes:
        """What the slave is sent next; empty where it has everything."""
        return self._store.read_raw(env, connection.next_offset, self._config.ha_transfer_batch_size)

    def _send(self, env: Environment, connection: HaConnection, now: int, data: bytes) -> None:
        env.send(connection.link, encode_frame(connection.next_offset, data))
        connection.next_offset += len(data)
        connection.written_ns = now

    # --- time -------------------------------------------------------------------------------------------------------

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Keys are ``("ha", name, link)``."""
        if not (isinstance(key, tuple) and key[0] == "ha"):
            return False
        _, name, link = key
        connection = self.connections[link]
        if name == "poll":
            self._transfer(env, connection)
        elif name == "heartbeat":
            self._look_after_heartbeat(env, connection)
        else:
            self._look_after_silence(env, connection)
        return True

    def _look_after_heartbeat(self, env: Environment, connection: HaConnection) -> None:
        now, interval = env.now(), self._config.heartbeat_ns
        if now - connection.written_ns > interval and connection.next_offset != -1:
            self._transfer(env, connection)
        silent_ns = now - connection.written_ns
        env.set_timer(
            ("ha", "heartbeat", connection.link), (interval - silent_ns if silent_ns <= interval else interval) + MS
        )

    def _look_after_silence(self, env: Environment, connection: HaConnection) -> None:
        silent_ns = env.now() - connection.read_ns
        if silent_ns > self._config.housekeeping_ns:
            self.close(env, connection, "silent")
            return
        env.set_timer(("ha", "silence", connection.link), self._config.housekeeping_ns - silent_ns + MS)
