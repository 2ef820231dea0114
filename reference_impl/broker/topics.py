"""The topics of one broker: which exist, how many queues they have, who may read and write them.

Question: is there such a topic here, and if not, may it come into being now?

Model (RocketMQ: TopicConfigManager). A table by name with one version (counter and time) that every change bumps. The
system topics exist from the start and do not count as a change. A send to an unknown topic makes it after the
template that the client names (usually TBW102), if that may be inherited; retry and dead-letter topics are made by the
broker itself. The table is saved after each change, without forcing it to the disk.

Limits. A topic that is lost with its unforced file is unknown again, though its messages are still in the log: pulls
answer TOPIC_NOT_EXIST until somebody makes it anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from reference_impl.broker.config import BrokerConfig
from reference_impl.broker.pretty import pretty
from reference_impl.broker.timers import TIMER_TOPIC
from reference_impl.store.delay import SCHEDULE_TOPIC
from reference_impl.wire.bodies import (
    PERM_INHERIT,
    PERM_READ,
    PERM_WRITE,
    DataVersion,
    TopicConfig,
    TopicConfigTable,
)
from reference_impl.wire.codes import ResponseCode
from reference_impl.wire.dialect import convert, write_json
from reference_impl.wire.fields import RequestRefused
from reference_impl.wire.message import TOPIC_BYTES_MAX

AUTO_CREATE_TOPIC: Final = "TBW102"
OFFSET_MOVED_EVENT: Final = "OFFSET_MOVED_EVENT"
RETRY_PREFIX: Final = "%RETRY%"
DEAD_LETTER_PREFIX: Final = "%DLQ%"

HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
GIVEN_UP_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"

MEMBER_TOPIC_PREFIX: Final = "rmq_sys_SYNC_BROKER_MEMBER_"
"""5.x: the route of this topic tells a broker who else of its name is alive."""

FORBIDDEN_TOPICS: Final = frozenset(
    {
        SCHEDULE_TOPIC,
        HALF_TOPIC,
        OP_TOPIC,
        GIVEN_UP_TOPIC,
        "SELF_TEST_TOPIC",
        OFFSET_MOVED_EVENT,
    }
)
"""Nobody may send to these (RocketMQ: TopicValidator.isNotAllowedSendTopic). TBW102 is not among them."""

SYSTEM_TOPICS: Final = FORBIDDEN_TOPICS | {AUTO_CREATE_TOPIC, "BenchmarkTest", "RMQ_SYS_TRACE_TOPIC"}

QUEUES_LISTED_MAX: Final = 100_000
"""Queues of one topic that an answer can tell of: more do not fit into a frame. A topic may be given two thousand
million, by any client."""

READ_WRITE: Final = PERM_READ | PERM_WRITE
_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")


@lru_cache(maxsize=4096)
def name_fault(topic: str) -> str | None:
    """Why *topic* cannot be a topic's name (RocketMQ's own words); ``None`` if it can."""
    if not topic.strip():
        return "The specified topic is blank."
    if not _NAME.fullmatch(topic):
        return "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    if len(topic) > TOPIC_BYTES_MAX:
        return "The specified topic is longer than topic max length."
    return None


def listed_queues(topic: TopicConfig) -> range:
    """The ids of all queues that can be read or written, for an answer with an entry a queue."""
    return _listed(topic, max(topic.read_queue_nums, topic.write_queue_nums))


def listed_write_queues(topic: TopicConfig) -> range:
    """The ids of all queues that can be written."""
    return _listed(topic, topic.write_queue_nums)


def _listed(topic: TopicConfig, count: int) -> range:
    if count > QUEUES_LISTED_MAX:
        remark = f"topic[{topic.topic_name}] has {count} queues, an answer lists {QUEUES_LISTED_MAX}"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
    return range(count)


class TopicTable:
    """The table. Methods that change something return what the caller must save and announce."""

    def __init__(self, config: BrokerConfig) -> None:
        self.config = config
        self.version = DataVersion()
        self.topics: dict[str, TopicConfig] = {}
        self._registration: bytes | None = None
        for topic in _system_topics(config):
            self.topics[topic.topic_name] = topic

    def start_version(self, wall_ms: int) -> None:
        """Give the table a time where no file has brought one (RocketMQ: DataVersion's constructor)."""
        if not self.version.timestamp:
            self.version = DataVersion(timestamp=wall_ms)

    def load(self, parsed: Any) -> None:
        """Take over the parsed topics.json; system topics that it lacks stay."""
        table = convert(parsed, TopicConfigTable)
        self.topics.update(table.topic_config_table)
        self.version = table.data_version

    def is_system(self, topic: str) -> bool:
        """Reserved names, which nobody may create (RocketMQ: TopicValidator.isSystemTopic)."""
        own = (self.config.cluster_name, self.config.broker_name, f"{self.config.cluster_name}_REPLY_TOPIC")
        return topic in SYSTEM_TOPICS or topic in own or topic.startswith("rmq_sys_")

    def system_names(self) -> list[str]:
        """All reserved names of this broker."""
        own = (self.config.cluster_name, self.config.broker_name, f"{self.config.cluster_name}_REPLY_TOPIC")
        return sorted({*SYSTEM_TOPICS, *own})

    # --- changes ----------------------------------------------------------------------------------------------------

    def put(self, topic: TopicConfig, wall_ms: int) -> None:
        """Create or replace (UPDATE_AND_CREATE_TOPIC)."""
        self.topics[topic.topic_name] = topic
        self._changed(wall_ms)

    def remove(self, name: str, wall_ms: int) -> bool:
        """Delete; True if it existed."""
        if self.topics.pop(name, None) is None:
            return False
        self._changed(wall_ms)
        return True

    def create_from_template(
        self, name: str, template_name: str, queues: int, sys_flag: int, wall_ms: int
    ) -> TopicConfig | None:
        """A topic made by a send; ``None`` if the template is unknown or not to be inherited."""
        template = self.topics.get(template_name)
        if template is None:
            return None
        if template_name == AUTO_CREATE_TOPIC and not self.config.auto_create_topic:
            template.perm = READ_WRITE  # RocketMQ takes the inherit bit away for good
        if not template.perm & PERM_INHERIT:
            return None
        count = max(0, min(queues, template.write_queue_nums))
        topic = TopicConfig(
            perm=template.perm & ~PERM_INHERIT,
            read_queue_nums=count,
            topic_filter_type=template.topic_filter_type,
            topic_name=name,
            topic_sys_flag=sys_flag,
            write_queue_nums=count,
        )
        self.put(topic, wall_ms)
        return topic

    def create_internal(self, name: str, queues: int, wall_ms: int) -> TopicConfig:
        """A retry or dead-letter topic (RocketMQ: createTopicInSendMessageBackMethod)."""
        topic = TopicConfig(perm=READ_WRITE, read_queue_nums=queues, topic_name=name, write_queue_nums=queues)
        self.put(topic, wall_ms)
        return topic

    def apply_order(self, ordered: Mapping[str, str], wall_ms: int, *, unmarks: bool = True) -> bool:
        """Mark the topics of the NameServer's order table, and take the mark from all others; 5.x does not *unmark*.

        True if something changed. RocketMQ: TopicConfigManager#updateOrderTopicConfig.
        """
        changed = False
        for topic in self.topics.values():
            is_ordered = topic.topic_name in ordered or (topic.order and not unmarks)
            if topic.order != is_ordered:
                topic.order = is_ordered
                changed = True
        if changed:
            self._changed(wall_ms)
        return changed

    def take(self, table: TopicConfigTable) -> bool:
        """A slave becomes what its master is; True if the versions differ. RocketMQ: SlaveSynchronize."""
        if self.version.same_as(table.data_version):
            return False
        self.topics, self.version = dict(table.topic_config_table), table.data_version
        self._registration = None
        return True

    def bump(self, wall_ms: int) -> None:
        """Count as a change without one (a new broker permission must reach the NameServers)."""
        self._changed(wall_ms)

    def _changed(self, wall_ms: int) -> None:
        self.version = self.version.next(wall_ms)
        self._registration = None

    # --- texts ------------------------------------------------------------------------------------------------------

    def announced(self, permission: int) -> TopicConfigTable:
        """What NameServers are told: with a restricted broker its permission stands in every topic."""
        if permission == READ_WRITE:
            return TopicConfigTable(self.version, self.topics)
        restricted = {name: msgspec.structs.replace(topic, perm=permission) for name, topic in self.topics.items()}
        return TopicConfigTable(self.version, restricted)

    def announced_one(self, topic: TopicConfig, permission: int) -> TopicConfigTable:
        """The same with only *topic* in it (admin create registers just that one)."""
        if permission != READ_WRITE:
            topic = msgspec.structs.replace(topic, perm=permission)
        return TopicConfigTable(self.version, {topic.topic_name: topic})

    def answer_body(self) -> bytes:
        """The body of GET_ALL_TOPIC_CONFIG."""
        return write_json(TopicConfigTable(self.version, self.topics))

    def file_text(self) -> str:
        """The text of topics.json."""
        return pretty({"dataVersion": self.version, "topicConfigTable": self.topics})


def _system_topics(config: BrokerConfig) -> list[TopicConfig]:
    """What a broker owns from the start; the half-message topic comes with the first check of transactions."""
    inherited = READ_WRITE | PERM_INHERIT
    queues = config.default_topic_queue_nums
    topics = [
        _topic("SELF_TEST_TOPIC", 1),
        *([_topic(AUTO_CREATE_TOPIC, queues, inherited)] if config.auto_create_topic else []),
        _topic("BenchmarkTest", 1024),
        _topic(config.cluster_name, 16, inherited),
        _topic(config.broker_name, 1, inherited),
        _topic(OFFSET_MOVED_EVENT, 1),
        _topic(SCHEDULE_TOPIC, len(config.delay_levels)),
        _topic(f"{config.cluster_name}_REPLY_TOPIC", 1),
        *([_topic(MEMBER_TOPIC_PREFIX + config.broker_name, 1, PERM_INHERIT)] if config.is_5x else []),
        *([_topic(TIMER_TOPIC, 1)] if config.is_5x and config.timer_wheel_enable else []),
    ]
    return topics


def _topic(name: str, queues: int, perm: int = READ_WRITE) -> TopicConfig:
    return TopicConfig(perm=perm, read_queue_nums=queues, topic_name=name, write_queue_nums=queues)
