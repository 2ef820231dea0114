"""The NameServer role: where brokers register and clients ask for routes.

Question: what does a RocketMQ NameServer answer to each request, and when does it forget a broker?

Model (RocketMQ: NamesrvController, DefaultRequestProcessor). The role owns a remoting endpoint, a
:class:`~reference_impl.namesrv.registry.Registry` and the key-value configuration. NameServers never talk to each
other. A broker is forgotten when it unregisters, at once when the connection of its last registration ends, and by a
scan (first after 5 s, then every 10 s; 5.x every 5 s) when it has been silent for 120 s; its connection is then closed.

``release`` 4.9.7 (default) or 5.3.3 decides where the two differ: an unknown code gets no answer at all in 4.9, code 3
in 5.x; answers take the form of their request, or are always JSON; 5.x knows 901 and 904, heartbeat timeouts of the
broker's own choosing, and refuses a first registration of exactly one topic. With ``supportActingMaster`` 5.x shows a
slave whose master is gone as a master that cannot be written to, if the broker said that it may; with
``notifyMinBrokerIdChanged`` it tells (905, one-way) the others of a name when another of them has the smallest id.

Notes: ``listening``, ``broker_registered`` for a new address, ``broker_removed`` with why (``unregistered``,
``closed``, ``expired``).

Limits. Start-up gate, zones and filter servers are absent. UPDATE_NAMESRV_CONFIG changes what runs,
not the file: a restart forgets it. Registrations are taken as RegisterBrokerBody, which brokers before 3.0.11 do not
send.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Final

from msgspec import UNSET

from reference_impl.configuration import ConfigurationError, parse_properties, properties_text, unbind
from reference_impl.environment import Environment, Link
from reference_impl.namesrv.config import FIRST_SCAN_NS, UNCHANGEABLE, NamesrvConfig
from reference_impl.namesrv.kv import ORDER_TOPIC_CONFIG, KvConfig
from reference_impl.namesrv.registry import UNIT, UNIT_SUBSCRIPTION, BrokerKey, LiveBroker, Registration, Registry
from reference_impl.store.config_file import ConfigUnreadable
from reference_impl.wire.bodies import DataVersion, KVTable, TopicList, write_route
from reference_impl.wire.codes import STRICT_JSON_VERSION, V5_0_0, RequestCode, ResponseCode
from reference_impl.wire.dialect import read_json, write_dialect, write_json
from reference_impl.wire.fields import RequestRefused, boolean, ext_fields, integer, integer_or_none, text
from reference_impl.wire.frame import Command
from reference_impl.wire.message import body_crc
from reference_impl.wire.registration import read_registration
from reference_impl.wire.remoting import Handler, Remoting, not_supported

START_FAILED_EXIT: Final = 255
"""RocketMQ exits with −1, whatever it was."""


class NameServer:
    """A NameServer node (``Role``)."""

    def __init__(self, config: NamesrvConfig) -> None:
        self.config = config
        self.registry = Registry(is_5x=config.is_5x)
        self._kv = KvConfig(config.kv_config_path)
        self._remoting = Remoting(
            self._handle,
            on_gone=self._on_link_gone,
            answer_in_json=config.is_5x,
            idle_close_ns=config.idle_close_ns,
        )
        self._handlers = self._handler_table()

    # Role ------------------------------------------------------------------------------------------------------------

    def on_start(self, env: Environment) -> None:
        """Read the key-value file, listen, begin to scan."""
        try:
            env.listen(self.config.address)
            self._kv.load(env)
        except (OSError, ConfigUnreadable) as error:
            env.note("start_failed", error=str(error))
            env.exit(START_FAILED_EXIT, f"the NameServer does not start: {error}")
            return
        env.note("listening", address=self.config.address)
        env.set_timer(_SCAN, FIRST_SCAN_NS)

    def on_connected(self, env: Environment, link: Link) -> None:
        self._remoting.on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        self._remoting.on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self._remoting.on_bytes(env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if key == _SCAN:
            self._scan(env)
        else:
            self._remoting.on_timer(env, key)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        """Nothing here is ever forced."""

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None:
        """Nothing here is ever forced."""

    def on_stop(self, env: Environment) -> None:
        """Close the connections and leave."""
        self._remoting.close_all(env)
        env.exit()

    # Liveness --------------------------------------------------------------------------------------------------------

    def _scan(self, env: Environment) -> None:
        env.set_timer(_SCAN, self.config.scan_interval_ns)
        for address, link in self.registry.expired(env.wall()):
            self.registry.drop(address)
            env.note("broker_removed", address=address, why="expired")
            self._remoting.close(env, link)
        self._tell_least_ids(env)

    def _on_link_gone(self, env: Environment, link: Link) -> None:
        for address in self.registry.drop_link(link):
            env.note("broker_removed", address=address, why="closed")
        self._tell_least_ids(env)

    def _tell_least_ids(self, env: Environment) -> None:
        changes = self.registry.least_id_changes()
        for change in changes if self.config.notifies else ():
            fields = ext_fields(
                minBrokerId=change.broker_id,
                minBrokerAddr=change.address,
                offlineBrokerAddr=change.offline or None,
                haBrokerAddr=change.ha_address or None,
            )
            for address in change.told:
                request = Command(RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE, dict(fields))
                self._remoting.oneway(env, address, request)

    # Requests --------------------------------------------------------------------------------------------------------

    def _handle(self, env: Environment, link: Link, request: Command) -> Command | None:
        handler = self._handlers.get(request.code)
        if handler is not None:
            return handler(env, link, request)
        return not_supported(request) if self.config.is_5x else None

    def _handler_table(self) -> Mapping[int, Handler]:
        handlers: dict[int, Handler] = {
            RequestCode.REGISTER_BROKER: self._register,
            RequestCode.UNREGISTER_BROKER: self._unregister,
            RequestCode.QUERY_DATA_VERSION: self._query_data_version,
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._route,
            RequestCode.GET_BROKER_CLUSTER_INFO: self._cluster_info,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER: self._wipe_write_permission,
            RequestCode.ADD_WRITE_PERM_OF_BROKER: self._add_write_permission,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: self._all_topics,
            RequestCode.DELETE_TOPIC_IN_NAMESRV: self._delete_topic,
            RequestCode.GET_TOPICS_BY_CLUSTER: self._topics_by_cluster,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: self._system_topics,
            RequestCode.GET_UNIT_TOPIC_LIST: self._unit_topics,
            RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: self._unit_topics,
            RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: self._unit_topics,
            RequestCode.PUT_KV_CONFIG: self._put_kv,
            RequestCode.GET_KV_CONFIG: self._get_kv,
            RequestCode.DELETE_KV_CONFIG: self._delete_kv,
            RequestCode.GET_KVLIST_BY_NAMESPACE: self._list_kv,
            RequestCode.UPDATE_NAMESRV_CONFIG: self._update_config,
            RequestCode.GET_NAMESRV_CONFIG: self._get_config,
        }
        if self.config.is_5x:
            handlers[RequestCode.GET_BROKER_MEMBER_GROUP] = self._member_group
            handlers[RequestCode.BROKER_HEARTBEAT] = self._broker_heartbeat
        return handlers

    # Brokers ---------------------------------------------------------------------------------------------------------

    def _register(self, env: Environment, link: Link, request: Command) -> Command:
        crc = integer_or_none(request, "bodyCrc32", bits=32)
        if crc and crc != body_crc(request.body):
            return Command(ResponseCode.SYSTEM_ERROR, {}, remark="crc32 not match")
        key, is_5x = _broker_key(request), self.config.is_5x
        topics = read_registration(
            request.body,
            compressed=boolean(request, "compressed"),
            attributes=is_5x,
            mapping=is_5x and request.version >= V5_0_0,
        ).topics
        ha_address = request.fields.get("haServerAddr", "")
        live = LiveBroker(env.wall(), self._expires_after_ms(request), topics.data_version, link, ha_address)
        acting_master = boolean(request, "enableActingMaster") if "enableActingMaster" in request.fields else None
        registration = self.registry.register(key, topics, live, acting_master=acting_master)
        if registration.is_new:
            env.note("broker_registered", broker=key.name, id=key.broker_id, address=key.address)
        self._tell_least_ids(env)
        return self._registered(registration)

    def _expires_after_ms(self, request: Command) -> int:
        """5.x brokers may ask for a time of their own (acting masters: 10 s)."""
        wanted = integer_or_none(request, "heartbeatTimeoutMillis") if self.config.is_5x else None
        return self.config.broker_channel_expired_time if wanted is None else wanted

    def _registered(self, registration: Registration) -> Command:
        if not registration.accepted:
            return Command(ResponseCode.SYSTEM_ERROR, {}, remark="register broker failed")
        fields = ext_fields(
            haServerAddr=registration.ha_address or None, masterAddr=registration.master_address or None
        )
        order = self._kv.table(ORDER_TOPIC_CONFIG)
        return Command(ResponseCode.SUCCESS, fields, b"" if order is None else write_json(KVTable(order)))

    def _unregister(self, env: Environment, link: Link, request: Command) -> Command:
        key = _broker_key(request)
        if self.registry.unregister(key):
            env.note("broker_removed", address=key.address, why="unregistered")
        self._tell_least_ids(env)
        return Command(ResponseCode.SUCCESS)

    def _query_data_version(self, env: Environment, link: Link, request: Command) -> Command:
        """4.9 takes the question as a sign of life only where nothing changed; 5.x always does."""
        address, version = text(request, "brokerAddr"), read_json(request.body, DataVersion)
        changed = self.registry.is_changed(address, version)
        if self.config.is_5x or not changed:
            self.registry.touch(address, env.wall())
        known = self.registry.version_of(address)
        return Command(ResponseCode.SUCCESS, ext_fields(changed=changed), write_json(known) if known else b"")

    def _broker_heartbeat(self, env: Environment, link: Link, request: Command) -> Command:
        self.registry.touch(text(request, "brokerAddr"), env.wall())
        return Command(ResponseCode.SUCCESS)

    def _wipe_write_permission(self, env: Environment, link: Link, request: Command) -> Command:
        count = self.registry.wipe_write_permission(text(request, "brokerName"))
        return Command(ResponseCode.SUCCESS, ext_fields(wipeTopicCount=count))

    def _add_write_permission(self, env: Environment, link: Link, request: Command) -> Command:
        count = self.registry.add_write_permission(text(request, "brokerName"))
        return Command(ResponseCode.SUCCESS, ext_fields(addTopicCount=count))

    # Routes ----------------------------------------------------------------------------------------------------------

    def _route(self, env: Environment, link: Link, request: Command) -> Command:
        topic = text(request, "topic")
        route = self.registry.route(topic, acting_masters=self.config.shows_acting_masters)
        if route is None:
            return Command(ResponseCode.TOPIC_NOT_EXIST, remark=_NO_ROUTE[self.config.is_5x].format(topic))
        order = self._kv.get(ORDER_TOPIC_CONFIG, topic) if self.config.order_message_enable else None
        if order is not None:
            route.order_topic_conf = order
        strict = request.version >= STRICT_JSON_VERSION or boolean(request, "acceptStandardJsonOnly")
        return Command(ResponseCode.SUCCESS, body=write_route(route, strict=strict))

    def _cluster_info(self, env: Environment, link: Link, request: Command) -> Command:
        return Command(ResponseCode.SUCCESS, body=write_dialect(self.registry.cluster_info()))

    def _member_group(self, env: Environment, link: Link, request: Command) -> Command:
        group = self.registry.member_group(text(request, "clusterName"), text(request, "brokerName"))
        remark = "not set any response code"  # what 5.3.3 leaves in this successful answer
        return Command(ResponseCode.SUCCESS, body=write_dialect({"brokerMemberGroup": group}), remark=remark)

    # Topics ----------------------------------------------------------------------------------------------------------

    def _all_topics(self, env: Environment, link: Link, request: Command) -> Command:
        return _topic_list(self.registry.topics())

    def _topics_by_cluster(self, env: Environment, link: Link, request: Command) -> Command:
        return _topic_list(self.registry.topics_of_cluster(text(request, "cluster")))

    def _system_topics(self, env: Environment, link: Link, request: Command) -> Command:
        names = TopicList(self.registry.any_address() or UNSET, self.registry.system_names())
        return Command(ResponseCode.SUCCESS, body=write_json(names))

    def _unit_topics(self, env: Environment, link: Link, request: Command) -> Command:
        return _topic_list(self.registry.topics_with_flags(_UNIT_LISTS[request.code]))

    def _delete_topic(self, env: Environment, link: Link, request: Command) -> Command:
        self.registry.delete_topic(text(request, "topic"), request.fields.get("clusterName", ""))
        return Command(ResponseCode.SUCCESS)

    # Configuration ---------------------------------------------------------------------------------------------------

    def _put_kv(self, env: Environment, link: Link, request: Command) -> Command:
        self._kv.put(env, text(request, "namespace"), text(request, "key"), text(request, "value"))
        return Command(ResponseCode.SUCCESS)

    def _get_kv(self, env: Environment, link: Link, request: Command) -> Command:
        namespace, key = text(request, "namespace"), text(request, "key")
        value = self._kv.get(namespace, key)
        if value is None:
            remark = f"No config item, Namespace: {namespace} Key: {key}"
            return Command(ResponseCode.QUERY_NOT_FOUND, {}, remark=remark)
        return Command(ResponseCode.SUCCESS, {"value": value})

    def _delete_kv(self, env: Environment, link: Link, request: Command) -> Command:
        self._kv.delete(env, text(request, "namespace"), text(request, "key"))
        return Command(ResponseCode.SUCCESS)

    def _list_kv(self, env: Environment, link: Link, request: Command) -> Command:
        namespace = text(request, "namespace")
        table = self._kv.table(namespace)
        if table is None:
            return Command(ResponseCode.QUERY_NOT_FOUND, remark=f"No config item, Namespace: {namespace}")
        return Command(ResponseCode.SUCCESS, body=write_json(KVTable(table)))

    def _update_config(self, env: Environment, link: Link, request: Command) -> Command:
        """Names that we do not know are ignored, as RocketMQ does; a value that cannot be read is refused."""
        try:
            changes = parse_properties(request.body.decode()).values
            if any(name in changes for name in UNCHANGEABLE):
                return Command(ResponseCode.NO_PERMISSION, remark=_NOT_CHANGEABLE[self.config.is_5x])
            self.config = NamesrvConfig.from_properties(unbind(self.config) | dict(changes))
        except (ConfigurationError, UnicodeDecodeError) as error:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
        return Command(ResponseCode.SUCCESS)

    def _get_config(self, env: Environment, link: Link, request: Command) -> Command:
        return Command(ResponseCode.SUCCESS, body=properties_text(unbind(self.config)).encode())


def _broker_key(request: Command) -> BrokerKey:
    return BrokerKey(
        text(request, "clusterName"),
        text(request, "brokerName"),
        integer(request, "brokerId"),
        text(request, "brokerAddr"),
    )


def _topic_list(names: list[str]) -> Command:
    return Command(ResponseCode.SUCCESS, body=write_json(TopicList(topic_list=names)))


_SCAN: Final = "scan"

_UNIT_LISTS: Final[Mapping[int, Callable[[int], bool]]] = {
    RequestCode.GET_UNIT_TOPIC_LIST: lambda flag: flag & UNIT != 0,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: lambda flag: flag & UNIT_SUBSCRIPTION != 0,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: lambda flag: flag & (UNIT | UNIT_SUBSCRIPTION) == UNIT_SUBSCRIPTION,
}

_NO_ROUTE: Final = {
    False: "No topic route info in name server for the topic: {}\n"
    "See http://rocketmq.apache.org/docs/faq/ for further details.",
    True: "No topic route info in name server for the topic: {}\n"
    "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.",
}

_NOT_CHANGEABLE: Final = {False: "Can not update config path", True: "Can not update config in black list."}
