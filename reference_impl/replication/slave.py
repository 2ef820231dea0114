"""The slave's end of replication: it connects, tells how far it is, and appends what comes.

Question: when does a slave connect and report, which frames does it take, and what makes it start anew?

Model (RocketMQ: HAService.HAClient; 5.3.3: DefaultHAClient). A loop with one connection:

    no address, or the connect fails        look again after 5 s
    connected                               4.9.7: first report only after more than 5 s; 5.3.3: at once, if the last
                                            report is older than 5 s
    frame whose offset is not our end       close and reconnect (4.9.7 at once, 5.3.3 after 5 s); an empty log takes any
    frame complete                          append, whatever becomes of it; if our end has moved, report it at once
    nothing said for more than 5 s          report again
    nothing heard for more than 20 s        4.9.7 never notices; 5.3.3 closes and reconnects

Our end is what has been written, not what is on the disk: a report promises the page cache. A master address that
changes is used for the next connection. The loop looks at its clocks when something comes and once a second.

Limits. A frame that can never fit RocketMQ's read buffer stalls it there; here it counts as a broken frame.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from reference_impl.environment import MS, SECOND, Address, Environment, Link
from reference_impl.replication.config import ReplicationConfig
from reference_impl.replication.frames import HEADER, SLAVE_BUFFER_BYTES, FrameReader, encode_report
from reference_impl.store.message_store import MessageStore

RETRY_NS: Final = 5 * SECOND
CONNECT_TIMEOUT_NS: Final = 5 * SECOND
LOOP_NS: Final = SECOND + MS
"""RocketMQ selects for a second; with its own work a turn takes a little more."""

_RETRY, _CONNECT, _LOOP = (("ha-client", name) for name in ("retry", "connect", "loop"))


class HaClient:
    """The replication client of one broker. Without an address it only looks for one (a master's never gets one)."""

    def __init__(self, config: ReplicationConfig, store: MessageStore) -> None:
        self._config, self._store = config, store
        self.address: Address | None = None
        """The master's HA address for the next connection."""
        self.link: Link | None = None
        self.is_connected = False
        self._frames = FrameReader()
        self._reported = 0
        self._last_write_ns = 0
        self._last_read_ns = 0
        if config.ha_master_address and not config.is_5x:
            self.address = config.ha_master_address

    # --- life -------------------------------------------------------------------------------------------------------

    def start(self, env: Environment) -> None:
        """Begin the loop."""
        self._last_write_ns = env.now()
        self._connect(env)

    def stop(self, env: Environment) -> None:
        """End it."""
        for key in (_RETRY, _CONNECT, _LOOP):
            env.cancel_timer(key)
        if self.link is not None:
            env.close(self.link)
        self.link, self.is_connected = None, False

    def learned(self, address: Address | None) -> None:
        """A NameServer told the master's HA address, or that there is no master. A configured address is never
        replaced (in 5.3.3 neither is it used)."""
        if address and not self._config.ha_master_address:
            self.address = address

    def told(self, address: Address | None) -> None:
        """5.x with acting masters: the master's HA address, whatever is configured, from itself or a NameServer;
        ``None``: there is no master any more. An open connection stays until it breaks."""
        self.address = address

    def wake(self, env: Environment) -> None:
        """Do not wait out the pause before the next connect (RocketMQ: HAClient#wakeup)."""
        if self.link is None and self.address is not None:
            env.cancel_timer(_RETRY)
            self._connect(env)

    # --- connection -------------------------------------------------------------------------------------------------

    def _connect(self, env: Environment) -> None:
        if self.address is None:
            env.set_timer(_RETRY, RETRY_NS)
            return
        self.link = env.connect(self.address)
        env.set_timer(_CONNECT, CONNECT_TIMEOUT_NS)

    def on_connected(self, env: Environment) -> None:
        """Our connect has succeeded."""
        env.cancel_timer(_CONNECT)
        now = env.now()
        self.is_connected = True
        self._frames = FrameReader()
        self._reported = self._store.log_end
        self._last_read_ns = now
        if not self._config.is_5x:
            self._last_write_ns = now
        env.note("ha_master_connected", master=self.address, log_end=self._reported)
        self._look(env)

    def on_closed(self, env: Environment) -> None:
        """The connection has ended, or never stood."""
        was_connected = self.is_connected
        self._dropped(env, "closed by the master" if was_connected else "cannot connect")
        if was_connected and not self._config.is_5x:
            self._connect(env)
        else:
            env.set_timer(_RETRY, RETRY_NS)

    def _dropped(self, env: Environment, why: str) -> None:
        env.cancel_timer(_CONNECT)
        env.cancel_timer(_LOOP)
        self.link, self.is_connected = None, False
        env.note("ha_master_gone", master=self.address, why=why, log_end=self._store.log_end)

    def _close(self, env: Environment, why: str, *, pause: bool) -> None:
        assert self.link is not None
        env.close(self.link)
        self._dropped(env, why)
        if pause:
            env.set_timer(_RETRY, RETRY_NS)
        else:
            self._connect(env)

    # --- frames -----------------------------------------------------------------------------------------------------

    def on_bytes(self, env: Environment, data: bytes) -> None:
        """Frames, in any pieces."""
        self._last_read_ns = env.now()
        self._frames.feed(data)
        while (header := self._frames.header()) is not None:
            if why := self._fault(header.offset, header.size):
                env.note("ha_frame_refused", offset=header.offset, size=header.size, log_end=self._store.log_end)
                self._close(env, why, pause=self._config.is_5x)
                return
            body = self._frames.body(header.size)
            if body is None:
                break
            self._take(env, header.offset, body)
        self._look(env)

    def _fault(self, offset: int, size: int) -> str:
        """Why the frame cannot be taken; empty if it can."""
        end = self._received_to
        if end and offset != end:
            return f"frame at {offset}, log ends at {end}"
        if not 0 <= size <= SLAVE_BUFFER_BYTES - HEADER.size:
            return f"frame of {size} bytes"
        return ""

    def _take(self, env: Environment, offset: int, body: bytes) -> None:
        self._write(env, offset, body)
        if self._received_to > self._reported:
            self._report(env, self._received_to)

    @property
    def _received_to(self) -> int:
        """The end of our log, by which frames are checked and which is reported."""
        return self._store.log_end

    def _write(self, env: Environment, offset: int, body: bytes) -> None:
        self._store.append_raw(env, offset, body)

    # --- reports ----------------------------------------------------------------------------------------------------

    def _report(self, env: Environment, end: int) -> None:
        assert self.link is not None
        self._reported = end
        self._last_write_ns = env.now()
        env.send(self.link, encode_report(end))

    def _look(self, env: Environment) -> None:
        """One turn of the loop: say again where we are, if nothing was said for too long."""
        now = env.now()
        if self._is_report_due(now):
            self._report(env, self._reported)
        if self._config.is_5x and now - self._last_read_ns > self._config.housekeeping_ns:
            self._close(env, "silent", pause=False)
            return
        env.set_timer(_LOOP, LOOP_NS)

    def _is_report_due(self, now: int) -> bool:
        return now - self._last_write_ns > self._config.heartbeat_ns

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Keys are tuples that start with ``"ha-client"``."""
        if key == _LOOP:
            self._look(env)
        elif key == _RETRY:
            self._connect(env)
        elif key == _CONNECT:
            self._close(env, "connect takes too long", pause=True)
        else:
            return False
        return True
