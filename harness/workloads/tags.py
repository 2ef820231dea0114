"""The load ``push-tags``: messages with tags and a property of the application's, and a group that wants some tags.

Question: does a group get all messages of the tags that it wants, none of the others, and each as it was sent?

Model. The load ``push``; messages have the tags of :data:`TAGS` in turn, and their number as a property. The group
wants :data:`WANTED`: an op ``subscribe`` says so. What a listener is given says the property as it came.

Limits. Tags; conditions in SQL92 are the load ``push-sql``'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Final

from harness.workloads.group import GROUP
from harness.workloads.producers import PLAIN, About, Application, AttemptRecorder, OnResult
from harness.workloads.push import Member, PushWorkload
from harness.workloads.table import Companion
from harness.workloads.workload import Stage
from reference_impl.client import Message, Producer, PulledMessage, PushSettings
from reference_impl.environment import Environment
from reference_impl.wire.message import PROPERTY_TAGS

TAGS: Final = ("alpha", "beta", "gamma")
WANTED: Final = ("alpha", "beta")
NUMBER: Final = "number"
"""A property of the application's."""


class TaggingApplication(Application):
    """Tags in turn."""

    wanted: set[int]
    """Numbers of messages that the group wants."""
    wants: Container[str]
    """What the history calls a tag, of those."""
    _count = 0
    _last = PLAIN

    def about(self) -> About:
        self._count += 1
        self._last = self.kind(self._count)
        return self._last

    def kind(self, count: int) -> About:
        """Of the message with that number of this producer."""
        tag = TAGS[count % len(TAGS)]
        return About(properties={PROPERTY_TAGS: tag}, tags=tag)

    def hand_over(self, env: Environment, message: Message, number: int, ended: OnResult) -> int:
        properties = {**message.properties, NUMBER: str(number)}
        self.wanted |= {number} if self._last.tags in self.wants else set()
        return super().hand_over(env, replace(message, properties=properties), number, ended)


class TagsMember(Member):
    """Says the property as it came."""

    def about(self, message: PulledMessage) -> dict[str, str]:
        return {NUMBER: message.properties.get(NUMBER, "")}


class TagsWorkload(PushWorkload):
    """``Workload`` of the load ``push-tags``."""

    member: Callable[[Stage, str, Counter[str], PushSettings], Member] = TagsMember
    tagging: Callable[[Stage, Producer, AttemptRecorder, int, Counter[str]], TaggingApplication] = TaggingApplication
    wants: Sequence[str] = WANTED

    def __init__(self, stage: Stage, companions: Sequence[Companion] = ()) -> None:
        self._wanted: set[int] = set()
        super().__init__(stage, companions)

    def settings(self) -> PushSettings:
        return PushSettings(GROUP, {self.stage.topic: " || ".join(WANTED)}, from_last=False, confirm=True)

    def start(self) -> None:
        super().start()
        recorder = self.stage.recorder
        op = recorder.invoke(recorder.process(), "subscribe", group=GROUP)
        recorder.complete(op, "ok", "OK", detail={"tags": list(self.wants)})

    def acknowledged(self) -> set[int]:
        """Of those that the group wants."""
        return super().acknowledged() & self._wanted

    def _make_application(self, producer: Producer, record: AttemptRecorder, number: int) -> Application:
        application = self.tagging(self.stage, producer, record, number, self.counts)
        application.wanted, application.wants = self._wanted, self.wants
        return application
