"""Where each consumer group stands: the consumer offsets of one broker.

Question: from which offset does a group go on in a queue?

Model (RocketMQ: ConsumerOffsetManager). ``topic@group`` → queue id → offset, in memory; the last write wins, also a
smaller one. A writer (the broker) saves the text every 5 s and at an orderly stop, without forcing it to the disk, so
a kill loses up to 5 s of commits and a power cut may lose all of them. In 5.x the table has a version, by which a
master that returns sees whether that of its acting slave is newer.

Limits. Nothing is checked: unknown topics, groups, queues and offsets beyond the end are all stored, as RocketMQ does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from reference_impl.broker.pretty import pretty
from reference_impl.broker.table_version import TableVersion
from reference_impl.wire.bodies import DataVersion, write_consumer_offsets
from reference_impl.wire.dialect import convert

COMMITS_A_VERSION: Final = 500
"""RocketMQ: consumerOffsetUpdateVersionStep."""


class OffsetFile(msgspec.Struct, rename="camel"):
    """The content of consumerOffset.json."""

    data_version: DataVersion | None = None
    offset_table: dict[str, dict[int, int]] | None = None


class ConsumerOffsets:
    """The table and its text. ``regressions`` counts commits below the stored offset (RocketMQ only warns)."""

    def __init__(self, *, is_versioned: bool = False) -> None:
        self.version = TableVersion(COMMITS_A_VERSION, is_kept=is_versioned)
        self.table: dict[str, dict[int, int]] = {}
        self.regressions = 0
        self._text: str | None = None

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store *offset*, whatever was there."""
        queues = self.table.setdefault(f"{topic}@{group}", {})
        self.regressions += offset < queues.get(queue_id, offset)
        queues[queue_id] = offset
        self.version.changed()
        self._text = None

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        """The stored offset, ``None`` if there is none."""
        return self.table.get(f"{topic}@{group}", {}).get(queue_id)

    def groups_of(self, topic: str) -> list[str]:
        """Groups that have committed something in *topic*."""
        return [group for key in self.table for name, _, group in [key.partition("@")] if name == topic]

    def topics_of(self, group: str) -> list[str]:
        """Topics in which *group* has committed something."""
        return [name for key in self.table for name, _, other in [key.partition("@")] if other == group]

    def of(self, group: str, topic: str) -> dict[int, int]:
        """Queue id → offset of one group, empty if it has none."""
        return dict(self.table.get(f"{topic}@{group}", {}))

    def least(self, topic: str) -> dict[int, int]:
        """Queue id → the least offset of all groups that have committed in that queue."""
        least: dict[int, int] = {}
        for group in self.groups_of(topic):
            for queue_id, offset in self.of(group, topic).items():
                least[queue_id] = min(offset, least.get(queue_id, offset))
        return least

    def forget_group(self, group: str) -> None:
        """Drop all offsets of *group* (DELETE_SUBSCRIPTIONGROUP with ``removeOffset``)."""
        for topic in self.topics_of(group):
            del self.table[f"{topic}@{group}"]
        self._text = None

    def take(self, offsets: Mapping[str, Mapping[int, int]], version: DataVersion) -> None:
        """A slave takes its master's entries over its own, whichever is greater; what only it has stays. A master that
        returns takes those of its slave."""
        self.version.take(version)
        self.table.update({key: dict(queues) for key, queues in offsets.items()})
        self._text = None

    def load(self, parsed: Any) -> None:
        """Take over the parsed file; keys of queues may be texts or numbers. ``RemoteWireError``: it is no such
        file."""
        file = convert(parsed, OffsetFile)
        self.version.load(file.data_version)
        self.table = file.offset_table or {}
        self._text = None

    def answer_body(self) -> bytes:
        """The body of GET_ALL_CONSUMER_OFFSET."""
        return write_consumer_offsets(self.table, self.version.shown)

    def file_text(self) -> str:
        """The text of consumerOffset.json."""
        if self._text is None:
            self._text = pretty(self.version.text() | {"offsetTable": self.table})
        return self._text
