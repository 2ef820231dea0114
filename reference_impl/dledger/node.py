"""A member of a DLedger group as a node of its own: a replicated log that clients append to and read from.

    python -m mqchaos.reference_impl dledger -c n0.conf

Question: what is DLedger without a broker? One :class:`~reference_impl.dledger.engine.Engine`, one port for members and
clients. A node whose files cannot be loaded exits with 255, as Apache's does.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from reference_impl.dledger.config import DLedgerConfig
from reference_impl.dledger.engine import Engine
from reference_impl.dledger.identity import ForeignStore
from reference_impl.dledger.log import FileLog
from reference_impl.dledger.recovery import LogDamaged
from reference_impl.environment import Environment, Link
from reference_impl.store.forcing import Forcing
from reference_impl.store.mapped_files import WrongFileSize
from reference_impl.wire.remoting import Remoting, handler_by_code

LOAD_FAILED_EXIT: Final = 255


class DLedgerNode:
    """``Role``."""

    def __init__(self, config: DLedgerConfig) -> None:
        self.config = config
        self._forcing = Forcing()
        self._remoting = Remoting(lambda env, link, command: self._handler(env, link, command))
        log = FileLog(
            config.folder,
            self._forcing,
            data_file_size=config.mapped_file_size_for_entry_data,
            index_file_size=config.mapped_file_size_for_entry_index,
            is_strict=config.d_leger_strict_persistence,
        )
        self.engine = Engine(config, config.settings(), self._remoting, log, self._forcing)
        self._handler = handler_by_code(self.engine.handlers())

    def on_start(self, env: Environment) -> None:
        """Recover, listen, take part."""
        try:
            self.engine.load(env)
        except (WrongFileSize, LogDamaged, ForeignStore) as error:
            env.note("load_failed", error=str(error))
            env.exit(LOAD_FAILED_EXIT)
            return
        env.listen(self.config.listen_address)
        self.engine.start(env)

    def on_connected(self, env: Environment, link: Link) -> None:
        self._remoting.on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        self._remoting.on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self._remoting.on_bytes(env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if not self._remoting.on_timer(env, key):
            self.engine.on_timer(env, key)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        self._forcing.on_synced(env, token)

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None:
        self._forcing.on_disk_error(env, token, error)

    def on_stop(self, env: Environment) -> None:
        """Force the log, save the checkpoint, leave. Nobody is told: the others find out."""
        self._remoting.close_all(env)
        self.engine.stop(env, lambda env: env.exit())
