"""Before a broker of a name that may have an acting master is seen by anybody (5.x).

Question: how does a master that returns get what its slave has done meanwhile, instead of overwriting it?

Model (RocketMQ: BrokerPreOnlineService). With ``enableSlaveActingMaster`` and more than one of ``totalReplicas`` a
broker starts isolated: it serves who knows its address, but neither registers nor sends heartbeats. It asks a
NameServer for the others of its name, and goes online as soon as it is done with them:

    nobody there             at once
    a slave, no master       at once
    a slave, and a master    asks the master for its HA address, waits until the log's connection stands
    a master, and slaves     one slave after the other: tells it the own HA address, waits for its connection, takes its
                             delay offsets and consumer offsets, each if their version is not older than the own

What fails is begun again after a second, a master's round with the slave that failed.

Versions. A fresh master, whose tables begin now, counts as newer than a slave with less than 500 commits: it keeps its
own nothing, as in RocketMQ.

Limits. ``skipPreOnline`` leaves all of this out. The checkpoint of timers is not taken from a slave, which delivers
none. A NameServer that still lists our own id is not believed in that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from reference_impl.broker.config import MASTER_ID
from reference_impl.broker.members import CALL_TIMEOUT_NS, MemberGroup, Members
from reference_impl.broker.state import State
from reference_impl.environment import SECOND, Address, Environment
from reference_impl.replication import Replication
from reference_impl.wire.bodies import read_consumer_offsets, read_data_version, read_delay_offsets
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer, CallFailed

RETRY_NS: Final = SECOND
LOOK_NS: Final = SECOND
CONNECT_TIMEOUT_NS: Final = 10 * SECOND
_RETRY, _LOOK = (("pre-online", name) for name in ("retry", "look"))

OnOnline = Callable[[Environment, int, Address], None]
"""(env, the smallest id, its address)."""


class PreOnline:
    """The way of one broker to its first registration."""

    def __init__(self, state: State, members: MemberGroup, replication: Replication, on_online: OnOnline) -> None:
        self._state, self._members, self._replication, self._on_online = state, members, replication, on_online
        self._config = state.config
        self._done: list[Address] = []
        """Slaves whose tables a master has taken."""
        self._wait: tuple[int, Callable[[], bool], Callable[[Environment], None]] | None = None
        """(deadline, what is waited for, what comes then)."""
        self._is_stopped = False

    def start(self, env: Environment) -> None:
        """Begin, or where a broker is not isolated be online."""
        if self._config.starts_isolated:
            self._members.ask(env, self._known)

    def stop(self, env: Environment) -> None:
        """The broker ends; whatever comes back now is too late."""
        env.cancel_timer(_RETRY)
        env.cancel_timer(_LOOK)
        self._wait, self._is_stopped = None, True

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key == _RETRY:
            self._members.ask(env, self._known)
        elif key == _LOOK:
            self._look(env)
        else:
            return False
        return True

    def _again(self, env: Environment, why: str) -> None:
        env.note("pre_online_failed", why=why)
        env.set_timer(_RETRY, RETRY_NS)

    def _known(self, env: Environment, members: Members | None) -> None:
        own = self._config.broker_id
        if self._is_stopped:
            return
        if members is None:
            self._again(env, "no NameServer")
            return
        others = {id_: address for id_, address in sorted(members.items()) if id_ != own}
        if not others:
            self._online(env, own, self._config.address)
        elif own == MASTER_ID:
            self._next_slave(env, [address for address in others.values() if address not in self._done])
        elif MASTER_ID in others:
            self._join(env, others[MASTER_ID])
        else:
            self._online(env, *min(others.items()))

    def _online(self, env: Environment, least_id: int, address: Address) -> None:
        env.note("pre_online_done", least_id=least_id)
        self._on_online(env, least_id, address)

    # --- waiting for the log's connection ---------------------------------------------------------------------------

    def _until(self, env: Environment, holds: Callable[[], bool], then: Callable[[Environment], None]) -> None:
        """RocketMQ: HAConnectionStateNotificationService, which looks once a second."""
        self._wait = (env.now() + CONNECT_TIMEOUT_NS, holds, then)
        env.set_timer(_LOOK, LOOK_NS)

    def _look(self, env: Environment) -> None:
        if self._wait is None:
            return
        deadline_ns, holds, then = self._wait
        if holds():
            self._wait = None
            then(env)
        elif env.now() > deadline_ns:
            self._wait = None
            self._again(env, "no connection of the log")
        else:
            env.set_timer(_LOOK, LOOK_NS)

    # --- a slave ----------------------------------------------------------------------------------------------------

    def _join(self, env: Environment, master: Address) -> None:
        def found(env: Environment, ha_address: str | None) -> None:
            if self._is_stopped:
                return
            if ha_address is None:
                self._again(env, "the master does not answer")
            elif not ha_address:
                self._online(env, MASTER_ID, master)
            else:
                self._replication.master_came(env, ha_address)
                client = self._replication.client
                self._until(env, lambda: client.is_connected, lambda env: self._online(env, MASTER_ID, master))

        self._members.ask_ha_address(env, master, found)

    # --- a master ---------------------------------------------------------------------------------------------------

    def _next_slave(self, env: Environment, slaves: list[Address]) -> None:
        if not slaves:
            self._online(env, MASTER_ID, self._config.address)
            return
        slave, *others = slaves
        fields = ext_fields(
            masterHaAddress=self._config.ha_address,
            masterAddress=self._config.address,
            masterFlushOffset=self._replication.log_end_at_start,
        )

        def told(env: Environment, _: Command) -> None:
            self._until(env, lambda: self._is_connected(slave), lambda env: self._take_delays(env, slave, others))

        self._ask(env, slave, Command(RequestCode.EXCHANGE_BROKER_HA_INFO, fields), told)

    def _is_connected(self, slave: Address) -> bool:
        host = slave.rpartition(":")[0]
        return any(held.peer.rpartition(":")[0] == host for held in self._replication.master.connections.values())

    def _take_delays(self, env: Environment, slave: Address, others: list[Address]) -> None:
        def take(env: Environment, answer: Command) -> None:
            if self._state.delays.version.value.is_newer_than(read_data_version(answer.body)):
                env.note("pre_online_keeps", slave=slave, table="delay offsets")
            else:
                read_delay_offsets(answer.body)  # what is none goes neither into the file nor into the table
                self._state.files.delays.save(env, answer.body.decode())
                self._state.delays.load(parse_lenient(answer.body))
            self._take_offsets(env, slave, others)

        self._ask(env, slave, Command(RequestCode.GET_ALL_DELAY_OFFSET), take)

    def _take_offsets(self, env: Environment, slave: Address, others: list[Address]) -> None:
        def take(env: Environment, answer: Command) -> None:
            version, offsets = read_data_version(answer.body), self._state.offsets
            if offsets.version.value.is_newer_than(version):
                env.note("pre_online_keeps", slave=slave, table="consumer offsets")
            else:
                offsets.take(read_consumer_offsets(answer.body), version)
                self._state.files.offsets.save(env, offsets.file_text())
            self._done.append(slave)
            self._next_slave(env, others)

        self._ask(env, slave, Command(RequestCode.GET_ALL_CONSUMER_OFFSET), take)

    def _ask(
        self, env: Environment, slave: Address, request: Command, then: Callable[[Environment, Command], None]
    ) -> None:
        def answered(env: Environment, answer: Answer) -> None:
            if self._is_stopped:
                return
            if isinstance(answer, CallFailed):
                self._again(env, answer.kind)
            elif answer.code != ResponseCode.SUCCESS:
                self._again(env, f"code {answer.code}")
            else:
                try:
                    then(env, answer)
                except RemoteWireError as error:
                    self._again(env, str(error))

        self._state.remoting.call(env, slave, request, CALL_TIMEOUT_NS, answered)
