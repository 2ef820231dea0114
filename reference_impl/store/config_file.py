"""One JSON file as RocketMQ keeps them: topics.json, consumerOffset.json, subscriptionGroup.json, delayOffset.json.

Question: how is a table saved so that its loss after a power cut looks exactly like Apache's?

Model (RocketMQ: MixAll#string2File, ConfigManager#load). Save: the new text goes to ``<file>.tmp``, the old text to
``<file>.bak``, the file is deleted, ``.tmp`` is renamed. Nothing is forced, so a power cut may take a table that was
saved long ago. Load: a file that is missing, empty, cannot be read or parsed, or holds something else than this table,
gives way to ``.bak``; a ``.bak`` that is missing or empty means "no table yet"; a ``.bak`` that is no better stops the
broker (:class:`ConfigUnreadable`).

With ``metadataSync=true`` a save is durable, and one of the two texts is there at any moment:

    write .tmp and .bak ──► both forced ──► rename .tmp over the file ──► names forced ──► on_saved

Saves that come while one is under way are merged: the newest text wins, everybody is told when it is durable.

Both versions of RocketMQ write integer keys without quotes (``{0:3}``); ``parse_json`` accepts both ways.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

from reference_impl.environment import Environment
from reference_impl.wire.frame import RemoteWireError

Saved = Callable[[Environment], None]
T = TypeVar("T")

_BARE_KEY: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<key>-?\d+)(?=\s*:)')


class ConfigUnreadable(Exception):
    """Both copies are of no use: the broker exits with ``code``, as RocketMQ 4.9.7."""

    code = 253


class ConfigFile:
    """One table's file. ``path`` is relative to the node's folder, e.g. ``store/config/topics.json``."""

    def __init__(self, path: str, *, metadata_sync: bool = False) -> None:
        self.path = path
        self._is_synced = metadata_sync
        self._number = 0
        self._outstanding = 0
        self._has_failed = False
        self._waiting: list[Saved] = []
        self._next: tuple[str, list[Saved]] | None = None

    # --- loading ----------------------------------------------------------------------------------------------------

    def load(self, env: Environment, take: Callable[[Any], T]) -> T | None:
        """What *take* makes of the parsed table, ``None`` where there is none. *take* raises ``ValueError`` or
        ``RemoteWireError`` for a table of the wrong shape. :class:`ConfigUnreadable`: neither copy is of use."""
        fault = ""
        for file in (self.path, f"{self.path}.bak"):
            try:
                text = self._read(env, file)
                if text:
                    return take(parse_json(text))
            except (ValueError, RemoteWireError, OSError) as error:
                env.note("config_broken", file=file, error=str(error))
                fault = f"{file}: {error}"
            else:
                if file != self.path:
                    return None
        raise ConfigUnreadable(f"{fault} (and {self.path} is of no use either)")

    def _read(self, env: Environment, file: str) -> str:
        size = env.size(file)
        return env.read(file, 0, size).decode("utf-8", "replace") if size > 0 else ""

    # --- saving -----------------------------------------------------------------------------------------------------

    def save(self, env: Environment, text: str, on_saved: Saved | None = None) -> None:
        """Replace the table's text. ``on_saved`` is called at once, or with ``metadata_sync`` when it is durable.

        A file that cannot be written is noted (``config_not_saved``), and ``on_saved`` is not called.
        """
        told = [] if on_saved is None else [on_saved]
        if self._outstanding:
            self._next = (text, [*self._next[1], *told] if self._next else told)
            return
        try:
            self._write(env, text)
        except OSError as error:
            env.note("config_not_saved", file=self.path, error=str(error))
            return
        if not self._is_synced:
            _call_all(env, told)
            return
        self._waiting, self._has_failed = told, False
        self._force(env, [f"{self.path}.tmp", *([f"{self.path}.bak"] if env.size(f"{self.path}.bak") >= 0 else [])])

    def _write(self, env: Environment, text: str) -> None:
        old = env.read(self.path, 0, size) if (size := env.size(self.path)) >= 0 else None
        _overwrite(env, f"{self.path}.tmp", text.encode())
        if old is not None:
            _overwrite(env, f"{self.path}.bak", old)
        if not self._is_synced:
            env.delete(self.path)
            env.rename(f"{self.path}.tmp", self.path)

    def _force(self, env: Environment, files: list[str]) -> None:
        self._number += 1
        self._outstanding = len(files)
        for file in files:
            env.sync(file, ("config", self.path, self._number))

    def on_synced(self, env: Environment, file: str, token: Hashable) -> bool:
        """Forward the role's ``on_synced``; True if it was ours."""
        return self._forced(env, file, token)

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> bool:
        """Forward the role's ``on_disk_error``; True if it was ours. That save is then never reported as done."""
        if isinstance(token, tuple) and token[:2] == ("config", self.path):
            self._has_failed = True
            env.note("config_not_saved", file=self.path, error=error)
        return self._forced(env, file, token)

    def _forced(self, env: Environment, file: str, token: Hashable) -> bool:
        if not (isinstance(token, tuple) and token[:2] == ("config", self.path)):
            return False
        self._outstanding -= 1
        if self._outstanding:
            return True
        if file and not self._has_failed:
            env.rename(f"{self.path}.tmp", self.path)
            self._outstanding = 1
            env.sync_dir(("config", self.path, self._number))
            return True
        self._finish(env)
        return True

    def _finish(self, env: Environment) -> None:
        waiting, self._waiting = self._waiting, []
        if not self._has_failed:
            _call_all(env, waiting)
        if self._next is not None:
            (text, told), self._next = self._next, None
            self.save(env, text, lambda env: _call_all(env, told))


def _call_all(env: Environment, told: list[Saved]) -> None:
    for saved in told:
        saved(env)


def _overwrite(env: Environment, file: str, data: bytes) -> None:
    if env.size(file) >= 0:
        env.truncate(file, 0)
    env.write(file, 0, data)


def parse_json(text: str) -> Any:
    """JSON whose object keys may be bare integers; ``ValueError`` where it is neither."""
    try:
        return json.loads(_BARE_KEY.sub(lambda found: f'"{found["key"]}"' if found["key"] else found[0], text))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
