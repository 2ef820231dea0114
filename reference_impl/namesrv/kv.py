"""The NameServer's key-value configuration: namespaces of texts, kept in a file.

Question: what do PUT, GET and DELETE_KV_CONFIG do, and what survives a restart? Every change rewrites the whole file
the way RocketMQ writes any table (RocketMQ: KVConfigManager): never forced, so a power cut may take it. A namespace
that existed once stays, be it empty.
"""

from __future__ import annotations

from typing import Final

import msgspec

from reference_impl.environment import Environment
from reference_impl.store.config_file import ConfigFile
from reference_impl.wire.dialect import convert, write_json

ORDER_TOPIC_CONFIG: Final = "ORDER_TOPIC_CONFIG"
"""The namespace whose entries (``brokerA:4;brokerB:4`` by topic) make topics ordered."""


class KvFile(msgspec.Struct, rename="camel"):
    """The file's content (RocketMQ: KVConfigSerializeWrapper)."""

    config_table: dict[str, dict[str, str]] = {}


class KvConfig:
    """The tables by namespace."""

    def __init__(self, path: str) -> None:
        self._file = ConfigFile(path)
        self._tables: dict[str, dict[str, str]] = {}

    def load(self, env: Environment) -> None:
        """Read the file, if there is one; ``ConfigUnreadable`` (the node does not start) if it holds something else."""
        table = self._file.load(env, lambda parsed: convert(parsed, KvFile))
        self._tables = table.config_table if table is not None else {}

    def put(self, env: Environment, namespace: str, key: str, value: str) -> None:
        """Set one entry."""
        self._tables.setdefault(namespace, {})[key] = value
        self._save(env)

    def delete(self, env: Environment, namespace: str, key: str) -> None:
        """Remove one entry; no error if there is none."""
        self._tables.get(namespace, {}).pop(key, None)
        self._save(env)

    def get(self, namespace: str, key: str) -> str | None:
        """One entry."""
        return self._tables.get(namespace, {}).get(key)

    def table(self, namespace: str) -> dict[str, str] | None:
        """A whole namespace; ``None`` if it never existed."""
        return self._tables.get(namespace)

    def _save(self, env: Environment) -> None:
        self._file.save(env, write_json(KvFile(self._tables)).decode())
