"""A broker and the others of its name (5.x, ``enableSlaveActingMaster``): who is alive, and whose id is the smallest.

Question: how does a broker tell NameServers within seconds that it lives, and how does it hear of the others?

Model (RocketMQ: BrokerController#sendHeartbeat, #syncBrokerMemberGroup, #onMinBrokerChange; BrokerOuterAPI). Once a
second, from a second after the start on:

    heartbeat   to every NameServer, one-way: BROKER_HEARTBEAT, or with compatibleWithOldNameSrv (the default)
                QUERY_DATA_VERSION, which both generations take as a sign of life. An isolated broker sends none
    members     asked of one NameServer: GET_BROKER_MEMBER_GROUP, or the route of a topic that every 5.x broker has

The number of members, oneself included, is what a SYNC_MASTER may count on. To a slave a changed smallest id means: its
master went (no tables are copied, no log is fetched until there is one again), or came (its HA address is asked for,
EXCHANGE_BROKER_HA_INFO, and used at once). NameServers may also say so by themselves (NOTIFY_MIN_BROKER_ID_CHANGE).

Notes: ``acting_master_begins`` and ``acting_master_ends`` of a slave whose id became, or no longer is, the smallest.

Limits. A slave whose id is the smallest delivers no delayed messages and no timers, asks about no transactions and
revives no POP messages: without an escape to another master, which is not built, such puts fail in RocketMQ, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

import msgspec

from reference_impl.broker.config import MASTER_ID, BrokerConfig
from reference_impl.broker.topics import MEMBER_TOPIC_PREFIX, TopicTable
from reference_impl.environment import MS, Address, Environment, Link
from reference_impl.replication import Replication
from reference_impl.wire.bodies import BrokerData, TopicRouteData
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.fields import ext_fields, integer
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer, CallFailed, Handler, Remoting

Members = dict[int, Address]
OnMembers = Callable[[Environment, Members | None], None]
"""Address by broker id, as a NameServer knows them; ``None``: nobody answered so that it could be understood."""

CALL_TIMEOUT_NS: Final = 3_000 * MS
FIRST_NS: Final = 1_000 * MS

_HEARTBEAT, _MEMBERS = (("members", name) for name in ("heartbeat", "ask"))


class _MemberGroupAnswer(msgspec.Struct, rename="camel"):
    broker_member_group: BrokerData


class MemberGroup:
    """The others of one broker's name. Without :meth:`start` it only answers."""

    def __init__(self, config: BrokerConfig, remoting: Remoting, topics: TopicTable, replication: Replication) -> None:
        self._config, self._remoting, self._topics, self._replication = config, remoting, topics, replication
        self.is_isolated = config.starts_isolated
        self.least_id = MASTER_ID
        self._least_address: Address | None = None
        self._server = 0
        """Which NameServer is asked: the one after it as soon as it fails."""
        self._is_asking = False

    def handlers(self) -> dict[int, Handler]:
        """By request code; brokers of 5.x have them whether or not they may act."""
        return {
            RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE: self._notified,
            RequestCode.EXCHANGE_BROKER_HA_INFO: self._exchange,
        }

    # --- life -------------------------------------------------------------------------------------------------------

    def start(self, env: Environment) -> None:
        """Begin to send and to ask."""
        env.set_timer(_HEARTBEAT, FIRST_NS)
        env.set_timer(_MEMBERS, FIRST_NS)

    def stop(self, env: Environment) -> None:
        """Be silent."""
        env.cancel_timer(_HEARTBEAT)
        env.cancel_timer(_MEMBERS)

    def go_online(self, env: Environment, least_id: int, least_address: Address) -> None:
        """Isolated no more; this is the smallest id as far as is known (RocketMQ: BrokerController#startService)."""
        self.is_isolated = False
        self._note(env, least_id)
        self.least_id, self._least_address = least_id, least_address

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key == _HEARTBEAT:
            env.set_timer(_HEARTBEAT, self._config.heartbeat_interval_ns)
            if not self.is_isolated:
                self._send_heartbeats(env)
        elif key == _MEMBERS:
            env.set_timer(_MEMBERS, self._config.member_group_period_ns)
            if not self._is_asking:
                self._is_asking = True
                self.ask(env, self._learned)
        else:
            return False
        return True

    # --- heartbeats -------------------------------------------------------------------------------------------------

    def _send_heartbeats(self, env: Environment) -> None:
        config = self._config
        fields = ext_fields(brokerName=config.broker_name, brokerAddr=config.address, clusterName=config.cluster_name)
        for server in config.nameservers:
            if config.compatible_with_old_name_server:
                more = {"brokerId": str(config.broker_id)}
                beat = Command(RequestCode.QUERY_DATA_VERSION, fields | more, write_json(self._topics.version))
            else:
                beat = Command(RequestCode.BROKER_HEARTBEAT, dict(fields))
            self._remoting.oneway(env, server, beat)

    # --- members ----------------------------------------------------------------------------------------------------

    def ask(self, env: Environment, on_members: OnMembers) -> None:
        """Ask a NameServer for the members; *on_members* is called once, at once where there is none to ask."""
        config, servers = self._config, self._config.nameservers
        if not servers:
            on_members(env, None)
            return
        if config.compatible_with_old_name_server:
            request = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": MEMBER_TOPIC_PREFIX + config.broker_name})
        else:
            fields = ext_fields(clusterName=config.cluster_name, brokerName=config.broker_name)
            request = Command(RequestCode.GET_BROKER_MEMBER_GROUP, fields)

        def answered(env: Environment, answer: Answer) -> None:
            members = self._read(answer)
            if members is None:
                self._server += 1
            on_members(env, members)

        self._remoting.call(env, servers[self._server % len(servers)], request, CALL_TIMEOUT_NS, answered)

    def _read(self, answer: Answer) -> Members | None:
        """No route means that nobody is there."""
        if isinstance(answer, CallFailed):
            return None
        if answer.code != ResponseCode.SUCCESS or not answer.body:
            return {}
        try:
            if not self._config.compatible_with_old_name_server:
                return read_json(answer.body, _MemberGroupAnswer).broker_member_group.broker_addrs
            for broker in read_json(answer.body, TopicRouteData).broker_datas:
                if (broker.broker_name, broker.cluster) == (self._config.broker_name, self._config.cluster_name):
                    return broker.broker_addrs
        except RemoteWireError:
            return None
        return {}

    def _learned(self, env: Environment, members: Members | None) -> None:
        """RocketMQ: BrokerController#syncBrokerMemberGroup."""
        self._is_asking = False
        if not members:
            return
        is_listed = self._config.broker_id in members
        self._replication.transfer.alive_replicas = len(members) + (not is_listed)
        if not self.is_isolated:
            least_id = min(members)
            offline = self._least_address if least_id > self.least_id else None
            self._least_is(env, least_id, members[least_id], offline, None)

    def _least_is(
        self, env: Environment, least_id: int, address: Address, offline: Address | None, ha_address: Address | None
    ) -> None:
        """Of a slave; its master cares for none of this."""
        if not self._config.acts or self._config.broker_id == MASTER_ID or least_id == self.least_id:
            return
        self._note(env, least_id)
        self.least_id, self._least_address = least_id, address
        if offline is not None:
            self._replication.master_went(env, offline)
        if least_id != MASTER_ID or not address:
            return
        if ha_address is not None:
            self._replication.master_came(env, ha_address)
        else:
            self.ask_ha_address(env, address, lambda env, found: self._replication.master_came(env, found or None))

    def _note(self, env: Environment, least_id: int) -> None:
        own = self._config.broker_id
        if own != MASTER_ID and own in (least_id, self.least_id) and least_id != self.least_id:
            env.note("acting_master_begins" if least_id == own else "acting_master_ends", least_id=least_id)

    # --- HA addresses -----------------------------------------------------------------------------------------------

    def ask_ha_address(
        self, env: Environment, master: Address, on_found: Callable[[Environment, str | None], None]
    ) -> None:
        """Where the master takes slaves; ``""``: it does not say, ``None``: it does not answer."""

        def answered(env: Environment, answer: Answer) -> None:
            is_answer = not isinstance(answer, CallFailed) and answer.code == ResponseCode.SUCCESS
            on_found(env, answer.fields.get("masterHaAddress", "") if is_answer else None)  # type: ignore[union-attr]

        self._remoting.call(env, master, Command(RequestCode.EXCHANGE_BROKER_HA_INFO), CALL_TIMEOUT_NS, answered)

    def _exchange(self, env: Environment, link: Link, request: Command) -> Command:
        """906: a master says where it takes slaves, or is asked for it."""
        ha_address, config = request.fields.get("masterHaAddress"), self._config
        if ha_address:
            self._replication.master_came(env, ha_address)
        elif config.broker_id == MASTER_ID:
            fields = ext_fields(
                masterHaAddress=config.ha_address,
                masterAddress=config.address,
                masterFlushOffset=self._replication.log_end_at_start,
            )
            return Command(ResponseCode.SUCCESS, fields)
        return Command(ResponseCode.SUCCESS, {})

    def _notified(self, env: Environment, link: Link, request: Command) -> Command:
        """905."""
        fields = request.fields
        self._least_is(
            env,
            integer(request, "minBrokerId"),
            fields.get("minBrokerAddr", ""),
            fields.get("offlineBrokerAddr"),
            fields.get("haBrokerAddr"),
        )
        return Command(ResponseCode.SUCCESS)
