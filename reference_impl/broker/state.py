"""What the parts of a broker share: its configuration, its store, its tables, its remoting end.

Question: where does a request handler find what it needs? In one :class:`State`, made by the broker and handed to every
group of handlers. The tables do not know each other; what must happen together (a new topic is saved and announced) is
a method here.

With ``metadataSync`` nobody is told of a message or a topic whose topics.json is not yet on the platter: such answers
wait in :meth:`State.when_topics_are_saved`. Without it they never wait, also not for a file that could not be written,
as in RocketMQ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from reference_impl.broker.clients import ClientTable
from reference_impl.broker.config import BrokerConfig
from reference_impl.broker.delay import DelayedDelivery
from reference_impl.broker.groups import GroupTable
from reference_impl.broker.locks import QueueLocks
from reference_impl.broker.mornings import Mornings
from reference_impl.broker.offsets import ConsumerOffsets
from reference_impl.broker.rates import Rates
from reference_impl.broker.throughput import Throughput
from reference_impl.broker.timer_wheel import TimerWheel
from reference_impl.broker.topics import TopicTable
from reference_impl.environment import Environment
from reference_impl.store.config_file import ConfigFile
from reference_impl.store.message_store import MessageStore
from reference_impl.wire.bodies import SubscriptionGroupConfig, TopicConfig
from reference_impl.wire.remoting import Remoting

Done = Callable[[Environment], None]


@dataclass
class Counters:
    """What GET_BROKER_RUNTIME_INFO tells, since the start of this process."""

    started_ms: int = 0
    messages_put: int = 0
    bytes_put: int = 0
    puts_failed: int = 0
    messages_pulled: int = 0
    pulls_found: int = 0
    pulls_missed: int = 0


@dataclass
class Files:
    """The four JSON files below ``<storePathRootDir>/config``."""

    topics: ConfigFile
    groups: ConfigFile
    offsets: ConfigFile
    delays: ConfigFile

    def all(self) -> tuple[ConfigFile, ...]:
        return self.topics, self.groups, self.offsets, self.delays


@dataclass
class State:
    """One broker's shared parts. ``announce`` tells all NameServers the topics, one-way."""

    config: BrokerConfig
    store: MessageStore
    remoting: Remoting
    topics: TopicTable
    groups: GroupTable
    delays: DelayedDelivery
    timers: TimerWheel
    files: Files
    announce: Done
    offsets: ConsumerOffsets = field(init=False)
    clients: ClientTable = field(default_factory=ClientTable)
    locks: QueueLocks = field(default_factory=QueueLocks)
    counters: Counters = field(default_factory=Counters)
    rates: Rates = field(init=False)
    throughput: Throughput = field(default_factory=Throughput)
    mornings: Mornings = field(default_factory=Mornings)
    _saves_begun: int = 0
    _saves_ended: int = 0
    _waiting: list[tuple[int, Done]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rates = Rates(self.config.cluster_name)
        self.offsets = ConsumerOffsets(is_versioned=self.config.is_5x)

    def topics_changed(self, env: Environment) -> None:
        """Save topics.json and announce the table, one-way (RocketMQ: registerBrokerAll(false, true, true))."""
        self.save_topics(env)
        self.announce(env)

    def save_topics(self, env: Environment) -> None:
        """Write topics.json."""
        if not self.config.metadata_sync:
            self.files.topics.save(env, self.topics.file_text())
            return
        self._saves_begun += 1
        number = self._saves_begun
        self.files.topics.save(env, self.topics.file_text(), lambda env: self._topics_saved(env, number))

    def save_offsets(self, env: Environment) -> None:
        """Write consumerOffset.json."""
        self.files.offsets.save(env, self.offsets.file_text())

    def when_topics_are_saved(self, env: Environment, go_on: Done) -> None:
        """*go_on* now, or when every save begun so far (or a later one) is durable."""
        if self._saves_begun == self._saves_ended:
            go_on(env)
        else:
            self._waiting.append((self._saves_begun, go_on))

    def _topics_saved(self, env: Environment, number: int) -> None:
        self._saves_ended = max(self._saves_ended, number)
        ready = [go_on for wanted, go_on in self._waiting if wanted <= self._saves_ended]
        self._waiting = [(wanted, go_on) for wanted, go_on in self._waiting if wanted > self._saves_ended]
        for go_on in ready:
            go_on(env)

    def internal_topic(self, env: Environment, name: str, queues: int) -> TopicConfig:
        """The retry or dead-letter topic *name*, made if it is not there."""
        topic = self.topics.topics.get(name)
        if topic is None:
            topic = self.topics.create_internal(name, queues, env.wall())
            self.topics_changed(env)
        return topic

    def group(self, env: Environment, name: str) -> SubscriptionGroupConfig | None:
        """The consumer group *name*, made and saved if it may be; ``None`` where it may not."""
        group = self.groups.groups.get(name)
        if group is not None:
            return group
        group = self.groups.find(name, env.wall())
        if self.groups.changed:
            self.save_groups(env)
        return group

    def save_groups(self, env: Environment) -> None:
        """Write subscriptionGroup.json."""
        self.groups.changed = False
        self.files.groups.save(env, self.groups.file_text())

    def reconfigure(self, config: BrokerConfig) -> None:
        """Obey a changed configuration from now on (UPDATE_BROKER_CONFIG)."""
        self.config = self.topics.config = self.groups.config = config
