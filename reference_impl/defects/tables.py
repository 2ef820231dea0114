"""Bugs of the broker's tables: written too rarely, or believed too early."""

from __future__ import annotations

from typing import Final

from reference_impl.broker import Broker
from reference_impl.broker.state import State
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Environment
from reference_impl.store.config_file import ConfigFile, Saved


class KeepsOffsetsInMemory(State):
    """consumerOffset.json is left to the stop."""

    def save_offsets(self, env: Environment) -> None:
        """Nothing."""


class KeepsTopicsInMemory(State):
    """topics.json is left to the stop."""

    def save_topics(self, env: Environment) -> None:
        """Nothing."""


class ForcesNoTopics(ConfigFile):
    """With metadataSync, too, topics.json is only written."""

    def save(self, env: Environment, text: str, on_saved: Saved | None = None) -> None:
        self._is_synced = False
        super().save(env, text, on_saved)


class RemovesOrphans(Broker):
    """After a start, queues whose topic is in no topics.json go."""

    def _load(self, env: Environment) -> None:
        super()._load(env)
        store, known = self.state.store, self.state.topics.topics
        for topic in dict.fromkeys(topic for topic, _ in store.queues() if topic not in known):
            store.delete_topic(env, topic)


TABLES: Final = {
    "offsets-saved-at-stop": BrokerDefect(
        lambda broker: substitute(broker.state, KeepsOffsetsInMemory),
        "consumer offsets are written at an orderly stop only",
        "a group that is told less than it had committed long before its broker was killed",
        "offsets",
        ("B05", "R8", "R16"),
        "rocketmq#6881, fixed by #6882: the task that writes positions down hangs on an executor that does not run; "
        "rocketmq#3143: the same for offsets of consumers",
    ),
    "topics-saved-at-stop": BrokerDefect(
        lambda broker: substitute(broker.state, KeepsTopicsInMemory),
        "topics.json is written at an orderly stop only",
        "a broker that comes back from a kill does not know its topic",
        "accounting",
        ("R17", "C33"),
        "rocketmq-helm#33: no topic configuration on the broker that takes over; pulsar#18236: data are saved before "
        "what describes them",
    ),
    "topics-not-forced": BrokerDefect(
        lambda broker: substitute(broker.state.files.topics, ForcesNoTopics),
        "with metadataSync, too, topics.json is only written, not forced",
        "a broker that comes back from a power cut does not know its topic",
        "accounting",
        ("C20", "C33"),
        "etcd#12589, #10508: what makes data valid becomes durable in the wrong order; pulsar#18236: what describes "
        "data is saved apart from them",
    ),
    "orphan-cleanup-at-start": BrokerDefect(
        lambda broker: substitute(broker, RemovesOrphans),
        "a start deletes the queues of topics that it does not know, and topics.json may have been lost",
        "acknowledged messages lost after a power cut in a mode that allows none",
        "accounting",
        ("C05",),
        "nats-server#7545, #6888: streams that look like orphans while their metadata catch up are removed",
    ),
}
