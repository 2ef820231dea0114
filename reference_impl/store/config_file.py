"""One JSON file as RocketMQ keeps them: topics.json, consumerOffset.json, subscriptionGroup.json, delayOffset.json.

Question: how is a table saved so that its loss after a power cut looks exactly like Apache's?

Model (RocketMQ: MixAll#string2File, ConfigManager#load). Save: the new text goes to ``<file>.tmp``, the old text to
``<file>.bak``, the file is deleted, ``.tmp`` is renamed. Nothing is forced, so a power cut may take a table that was
saved long ago. Load: a file that is missing, empty or cannot be parsed gives way to ``.bak``; a ``.bak`` that is
missing or empty means "no table yet"; a ``.bak`` that cannot be parsed stops the broker (:class:`ConfigUnreadable`).

With ``metadataSync=true`` every file and the names are forced before ``on_saved`` is called.

Both versions of RocketMQ write integer keys without quotes (``{0:3}``); ``parse_json`` accepts both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reference_impl.environment import Environment

Saved = Callable[[Environment], None]


class ConfigUnreadable(Exception):
    """Both the file and its ``.bak`` are there and neither can be parsed: the broker exits with 253."""


class ConfigFile:
    """One table's file. ``path`` is relative to the node's folder, e.g. ``store/config/topics.json``."""

    def __init__(self, path: str, *, metadata_sync: bool = False) -> None:
        self.path = path
        self.metadata_sync = metadata_sync

    def load(self, env: Environment) -> Any | None:
        """The parsed table, ``None`` where there is none; :class:`ConfigUnreadable` where both copies are broken."""
        raise NotImplementedError

    def save(self, env: Environment, text: str, on_saved: Saved | None = None) -> None:
        """Replace the table's text. ``on_saved`` is called at once, or with ``metadata_sync`` when it is durable."""
        raise NotImplementedError

    def on_synced(self, env: Environment, file: str, token: object) -> bool:
        """Forward the role's ``on_synced``; True if it was ours."""
        raise NotImplementedError

    def on_disk_error(self, env: Environment, file: str, token: object, error: str) -> bool:
        """Forward the role's ``on_disk_error``; True if it was ours. The save is then never reported."""
        raise NotImplementedError


def parse_json(text: str) -> Any:
    """JSON whose object keys may be bare integers; ``ValueError`` where it is neither."""
    raise NotImplementedError
