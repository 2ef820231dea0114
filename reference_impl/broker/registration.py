"""A broker among its NameServers: it registers with all of them, again and again, and takes its leave.

Question: when is which NameServer told what, and what does the broker learn from the answers?

Model (RocketMQ: BrokerController#registerBrokerAll, BrokerOuterAPI). Everything goes to every configured NameServer in
parallel; none of them waits for another, and a failure is only noted. The full table is sent at the start, 10 s later,
and every ``registerNameServerPeriod``; one-way after an auto-created topic; with only the new topic in it, and awaited,
after an administrator made one. With ``forceRegister=false`` the periodic call first asks whether anything changed. An
answer may bring the table of ordered topics, and to a slave the addresses of its master: of all answers of a round the
first counts, once every NameServer has answered or failed. If none answers, nothing changes.

5.x says with it whether a slave of its name may act as a master, and then how soon it is to be missed. A broker that is
*isolated* (:mod:`~reference_impl.broker.pre_online`) is not registered at its start, nor periodically, until it goes
online.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final
from zlib import crc32

from reference_impl.broker.config import BrokerConfig
from reference_impl.broker.topics import TopicTable
from reference_impl.environment import MS, SECOND, Address, Environment
from reference_impl.wire.bodies import KVTable, TopicConfig, TopicConfigTable
from reference_impl.wire.codes import RequestCode, ResponseCode, response_name
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command
from reference_impl.wire.registration import write_registration
from reference_impl.wire.remoting import Answer, CallFailed, Remoting

Done = Callable[[Environment], None]
OnAnswered = Callable[[Environment, Address, Answer], None]
OnMaster = Callable[[Environment, Address | None, Address | None], None]
"""(env, address of the master, its HA address); ``None``: there is none alive."""

FIRST_PERIODIC_NS: Final = 10 * SECOND
UNREGISTER_TIMEOUT_NS: Final = 3_000 * MS
_KEY: Final = ("registration", "periodic")


class Registration:
    """The NameServer side of one broker. ``on_order`` is called when an answer changed the ordered topics."""

    def __init__(
        self,
        config: BrokerConfig,
        remoting: Remoting,
        topics: TopicTable,
        on_order: Done,
    ) -> None:
        self.config = config
        self._remoting = remoting
        self._topics = topics
        self._on_order = on_order
        self.on_master: OnMaster | None = None
        """Told after each round that was answered; set by a slave."""
        self.is_isolated = config.starts_isolated

    # --- timing -----------------------------------------------------------------------------------------------------

    def start(self, env: Environment) -> None:
        """Register everywhere now, then periodically."""
        if not self.is_isolated:
            self.register(env)
        self.start_later(env)

    def start_later(self, env: Environment) -> None:
        """Register everywhere in ten seconds, then periodically."""
        env.set_timer(_KEY, FIRST_PERIODIC_NS)

    def go_online(self, env: Environment) -> None:
        """Register, and go on doing so."""
        self.is_isolated = False
        self.register(env)

    def stop(self, env: Environment) -> None:
        """No more periodic registrations."""
        env.cancel_timer(_KEY)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key != _KEY:
            return False
        env.set_timer(_KEY, self.config.register_period_ns)
        if self.is_isolated:
            return True
        if self.config.force_register:
            self.register(env)
        else:
            self._register_if_changed(env)
        return True

    # --- what is told -----------------------------------------------------------------------------------------------

    def register(self, env: Environment, done: Done | None = None) -> None:
        """The full table to every NameServer; *done* when each has answered or failed."""
        self._send(env, self._topics.announced(self.config.broker_permission), done)

    def register_one(self, env: Environment, topic: TopicConfig, done: Done) -> None:
        """Only *topic*, after an administrator created or changed it."""
        self._send(env, self._topics.announced_one(topic, self.config.broker_permission), done)

    def announce(self, env: Environment) -> None:
        """The full table, one-way: nobody will know whether it arrived. Not of an isolated broker: 5.3.3 would tell the
        new topic alone, which NameServers do not take from a broker that they do not know."""
        if self.is_isolated:
            return
        request = self._request(self._topics.announced(self.config.broker_permission))
        for server in self.config.nameservers:
            self._remoting.oneway(env, server, _copy(request))

    def unregister(self, env: Environment, done: Done) -> None:
        """Take leave of every NameServer (orderly stop)."""
        config = self.config
        fields = ext_fields(
            brokerName=config.broker_name,
            brokerAddr=config.address,
            clusterName=config.cluster_name,
            brokerId=config.broker_id,
        )
        gather = _Gather(len(config.nameservers), done)
        for server in config.nameservers:
            request = Command(RequestCode.UNREGISTER_BROKER, fields)
            self._remoting.call(env, server, request, UNREGISTER_TIMEOUT_NS, gather.one)
        gather.check(env)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _send(self, env: Environment, table: TopicConfigTable, done: Done | None) -> None:
        request = self._request(table)
        first: list[Command] = []

        def finished(env: Environment) -> None:
            if first and self.on_master is not None:
                fields = first[0].fields
                self.on_master(env, fields.get("masterAddr"), fields.get("haServerAddr"))
            if done is not None:
                done(env)

        gather = _Gather(len(self.config.nameservers), finished)

        def answered(env: Environment, server: Address, answer: Answer) -> None:
            if not first and not isinstance(answer, CallFailed) and answer.code == ResponseCode.SUCCESS:
                first.append(answer)
            self._answered(env, server, answer, gather)

        self._ask_all(env, request, answered)
        gather.check(env)

    def _ask_all(self, env: Environment, request: Command, answered: OnAnswered) -> None:
        for server in self.config.nameservers:
            self._ask(env, request, server, answered)

    def _ask(self, env: Environment, request: Command, server: Address, answered: OnAnswered) -> None:
        timeout_ns = self.config.register_timeout_ns
        self._remoting.call(env, server, _copy(request), timeout_ns, lambda env, answer: answered(env, server, answer))

    def _request(self, table: TopicConfigTable) -> Command:
        config = self.config
        body = write_registration(table, compressed=config.compressed_register)
        fields = ext_fields(
            brokerName=config.broker_name,
            brokerAddr=config.address,
            clusterName=config.cluster_name,
            haServerAddr=config.ha_address,
            brokerId=config.broker_id,
            compressed=config.compressed_register,
            bodyCrc32=crc32(body) & 0x7FFFFFFF,
            enableActingMaster=config.acts if config.is_5x else None,
            heartbeatTimeoutMillis=config.not_active_timeout_ms if config.acts else None,
        )
        return Command(RequestCode.REGISTER_BROKER, fields, body)

    def _answered(self, env: Environment, server: Address, answer: Answer, gather: _Gather) -> None:
        if isinstance(answer, CallFailed):
            env.note("register_failed", nameserver=server, reason=answer.kind)
        elif answer.code != ResponseCode.SUCCESS:
            env.note("register_failed", nameserver=server, reason=response_name(answer.code), remark=answer.remark)
        else:
            self._accepted(env, answer)
        gather.one(env, answer)

    def _accepted(self, env: Environment, answer: Command) -> None:
        """The table of ordered topics, where the NameServer has one."""
        if not answer.body:
            return
        ordered = read_json(answer.body, KVTable).table
        if self._topics.apply_order(ordered, env.wall(), unmarks=not self.config.is_5x):
            self._on_order(env)

    def _register_if_changed(self, env: Environment) -> None:
        """Ask every NameServer for its version of us; register everywhere if one differs or fails."""
        config, changed = self.config, list[Address]()
        fields = ext_fields(
            brokerName=config.broker_name,
            brokerAddr=config.address,
            clusterName=config.cluster_name,
            brokerId=config.broker_id,
        )

        def decide(env: Environment) -> None:
            if changed:
                self.register(env)

        gather = _Gather(len(config.nameservers), decide)

        def compared(env: Environment, server: Address, answer: Answer) -> None:
            if isinstance(answer, CallFailed) or answer.fields.get("changed") != "false":
                changed.append(server)
            gather.one(env, answer)

        for server in config.nameservers:
            request = Command(RequestCode.QUERY_DATA_VERSION, fields, write_json(self._topics.version))
            self._remoting.call(
                env,
                server,
                request,
                config.register_timeout_ns,
                lambda env, answer, server=server: compared(env, server, answer),  # type: ignore[misc]
            )


class _Gather:
    """Calls *done* once when *count* answers are in."""

    def __init__(self, count: int, done: Done | None) -> None:
        self._missing = count
        self._done = done

    def one(self, env: Environment, _answer: Answer) -> None:
        self._missing -= 1
        self.check(env)

    def check(self, env: Environment) -> None:
        if self._missing <= 0 and self._done is not None:
            done, self._done = self._done, None
            done(env)


def _copy(request: Command) -> Command:
    """Each connection gives its own opaque to its own copy."""
    return Command(request.code, request.fields, request.body)
