"""The load ``push-sql``: messages with properties, and a group that wants those for which a condition in SQL92 holds.

Question: does a group get all messages for which its condition is true, and none for which it is false or unknown?

Model. The load ``push-tags``; messages have the properties of :data:`CASES` in turn, and the history calls a case a
tag. The group's subscription is :data:`CONDITION`, told with its heartbeats; brokers need ``enablePropertyFilter``.
Which cases it holds for was worked out by hand, so that the broker's evaluation is not asked:

    price        colour   between, in   null, not green   wanted
    10, 20       red      yes           –                 yes      both ends of a BETWEEN are in it
    15           green    no            –                 no
    9.5, 21      red      no            –                 no
    –            red      unknown       yes               yes
    –            green    unknown       no                no
    –            –        unknown       unknown           no       NOT of what is unknown is unknown

Limits. One condition; no tests of texts, which only 5.x has. The consume queue's bit maps are not used, as by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.workloads.group import GROUP
from harness.workloads.producers import About
from harness.workloads.tags import TaggingApplication, TagsWorkload
from reference_impl.client import PushSettings

CONDITION: Final = "(price BETWEEN 10 AND 20 AND colour IN ('red', 'blue')) OR (price IS NULL AND NOT colour = 'green')"
CASES: Final[Mapping[str, tuple[Mapping[str, str], bool]]] = {
    "red, 10": ({"price": "10", "colour": "red"}, True),
    "green, 15": ({"price": "15", "colour": "green"}, False),
    "blue, 20": ({"price": "20", "colour": "blue"}, True),
    "red, 21": ({"price": "21", "colour": "red"}, False),
    "red": ({"colour": "red"}, True),
    "red, 9.5": ({"price": "9.5", "colour": "red"}, False),
    "green": ({"colour": "green"}, False),
    "nothing": ({}, False),
}
"""Name → properties, and whether the condition holds."""


class PricingApplication(TaggingApplication):
    """The cases in turn."""

    def kind(self, count: int) -> About:
        name = list(CASES)[count % len(CASES)]
        return About(properties=CASES[name][0], tags=name)


class SqlWorkload(TagsWorkload):
    """``Workload`` of the load ``push-sql``."""

    tagging = PricingApplication
    wants = tuple(name for name, (_, is_wanted) in CASES.items() if is_wanted)

    def settings(self) -> PushSettings:
        topic = self.stage.topic
        return PushSettings(GROUP, {topic: CONDITION}, frozenset({topic}), from_last=False, confirm=True)
