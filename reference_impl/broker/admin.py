"""Administration: topics (17, 21, 215, 305), groups (200, 201, 207), offset tables (43, 45), configuration (25, 26).

Question: what may an operator or a slave ask of a broker, and when is a change in force?

Model (RocketMQ: AdminBrokerProcessor). A topic made here is saved, and registered with every NameServer *before* the
answer leaves, so that its route is there when the operator hears of it. A deleted topic loses its queues; NameServers
go on routing it until they are told. A changed broker permission is registered at once.

Limits. UPDATE_BROKER_CONFIG changes what the broker looks at anew each time (``config.CHANGEABLE``) and refuses other
names with code 1, where RocketMQ silently stores them.
"""

from __future__ import annotations

from reference_impl.broker.registration import Registration
from reference_impl.broker.state import State
from reference_impl.broker.topics import name_fault
from reference_impl.configuration import ConfigurationError, parse_properties, properties_text
from reference_impl.environment import Environment, Link
from reference_impl.wire.bodies import (
    MULTI_TAG,
    SINGLE_TAG,
    DataVersion,
    SubscriptionGroupConfig,
    TopicConfig,
    TopicList,
)
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.fields import RequestRefused, boolean, integer_or_none, small_integer, text
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Handler

NO_CODE_REMARK = "not set any response code"
"""RocketMQ leaves this text in some answers that went well."""


class Admin:
    """Administrative handlers of one broker."""

    def __init__(self, state: State, registration: Registration) -> None:
        self._state = state
        self._registration = registration
        self._config_version = DataVersion()

    def handlers(self) -> dict[int, Handler]:
        """By request code."""
        return {
            RequestCode.UPDATE_AND_CREATE_TOPIC: self.create_topic,
            RequestCode.GET_ALL_TOPIC_CONFIG: self.all_topics,
            RequestCode.DELETE_TOPIC_IN_BROKER: self.delete_topic,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: self.system_topics,
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self.create_group,
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: self.all_groups,
            RequestCode.DELETE_SUBSCRIPTIONGROUP: self.delete_group,
            RequestCode.GET_ALL_CONSUMER_OFFSET: self.all_offsets,
            RequestCode.GET_ALL_DELAY_OFFSET: self.all_delay_offsets,
            RequestCode.UPDATE_BROKER_CONFIG: self.update_config,
            RequestCode.GET_BROKER_CONFIG: self.get_config,
        }

    # --- topics -----------------------------------------------------------------------------------------------------

    def create_topic(self, env: Environment, link: Link, request: Command) -> Command | None:
        """17; answered when every NameServer has the topic or has failed."""
        topic = TopicConfig(
            perm=small_integer(request, "perm"),
            read_queue_nums=small_integer(request, "readQueueNums"),
            topic_filter_type=request.fields.get("topicFilterType", SINGLE_TAG),
            topic_name=text(request, "topic"),
            topic_sys_flag=integer_or_none(request, "topicSysFlag", bits=32) or 0,
            write_queue_nums=small_integer(request, "writeQueueNums"),
        )
        self._check_name(topic.topic_name)
        if topic.topic_filter_type not in (SINGLE_TAG, MULTI_TAG):
            remark = f"java.lang.IllegalArgumentException: topicFilterType {topic.topic_filter_type}"
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
        self._state.topics.put(topic, env.wall())
        self._state.save_topics(env)
        answer = Command(ResponseCode.SUCCESS, remark=NO_CODE_REMARK)

        def registered(env: Environment) -> None:
            self._state.remoting.reply(env, link, request, answer)

        self._state.when_topics_are_saved(env, lambda env: self._registration.register_one(env, topic, registered))
        return None

    def all_topics(self, env: Environment, link: Link, request: Command) -> Command:
        """21."""
        return Command(ResponseCode.SUCCESS, {}, self._state.topics.answer_body())

    def delete_topic(self, env: Environment, link: Link, request: Command) -> Command:
        """215; an unknown topic is no error."""
        topic = text(request, "topic")
        self._check_name(topic)
        if self._state.topics.remove(topic, env.wall()):
            self._state.save_topics(env)
        self._state.store.delete_topic(env, topic)
        return Command(ResponseCode.SUCCESS)

    def system_topics(self, env: Environment, link: Link, request: Command) -> Command:
        """305."""
        names = TopicList(topic_list=self._state.topics.system_names())
        return Command(ResponseCode.SUCCESS, body=write_json(names))

    def _check_name(self, topic: str) -> None:
        if fault := name_fault(topic):
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, fault)
        if self._state.topics.is_system(topic):
            remark = f"The topic[{topic}] is conflict with system topic."
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)

    # --- groups and offsets -----------------------------------------------------------------------------------------

    def create_group(self, env: Environment, link: Link, request: Command) -> Command:
        """200."""
        self._state.groups.put(read_json(request.body, SubscriptionGroupConfig), env.wall())
        self._state.save_groups(env)
        return Command(ResponseCode.SUCCESS)

    def all_groups(self, env: Environment, link: Link, request: Command) -> Command:
        """201."""
        return Command(ResponseCode.SUCCESS, body=self._state.groups.answer_body())

    def delete_group(self, env: Environment, link: Link, request: Command) -> Command:
        """207: ``removeOffset`` of 4.9 and ``cleanOffset`` of 5.x mean the same."""
        name = text(request, "groupName")
        self._state.groups.remove(name, env.wall())
        self._state.save_groups(env)
        if boolean(request, "removeOffset") or boolean(request, "cleanOffset"):
            self._state.offsets.forget_group(name)
        return Command(ResponseCode.SUCCESS)

    def all_offsets(self, env: Environment, link: Link, request: Command) -> Command:
        """43."""
        return Command(ResponseCode.SUCCESS, body=self._state.offsets.answer_body())

    def all_delay_offsets(self, env: Environment, link: Link, request: Command) -> Command:
        """45."""
        return Command(ResponseCode.SUCCESS, body=self._state.delays.answer_body())

    # --- configuration ----------------------------------------------------------------------------------------------

    def update_config(self, env: Environment, link: Link, request: Command) -> Command:
        """25: lines of ``name=value``."""
        try:
            changes = parse_properties(request.body.decode("utf-8", "replace")).values
            config = self._state.config.updated(changes)
        except ConfigurationError as error:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
        self._config_version = self._config_version.next(env.wall())
        self._state.reconfigure(config)
        self._registration.config = config
        if "brokerPermission" in changes:
            self._state.topics.bump(env.wall())
            self._registration.register(env)
        return Command(ResponseCode.SUCCESS)

    def get_config(self, env: Environment, link: Link, request: Command) -> Command:
        """26."""
        body = properties_text(self._state.config.described()).encode()
        known = self._config_version
        version = write_json(known if known.timestamp else DataVersion(0, timestamp=self._state.counters.started_ms))
        return Command(ResponseCode.SUCCESS, {"version": version.decode()}, body)
