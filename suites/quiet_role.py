"""What a client role of a test leaves out: it sets no timer and writes no file, and leaves when it is asked to."""

from __future__ import annotations

from collections.abc import Hashable

from reference_impl.environment import Environment, Link


class QuietRole:
    """``Role`` but for ``on_bytes``; a call that nothing here can have caused is a mistake of the world."""

    def on_start(self, env: Environment) -> None:
        """Nothing until it is told to talk."""

    def on_connected(self, env: Environment, link: Link) -> None:
        """Bytes were queued before."""

    def on_closed(self, env: Environment, link: Link) -> None:
        """Whoever talks next finds out."""

    def on_timer(self, env: Environment, key: Hashable) -> None:
        raise AssertionError("no timer was set")

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        raise AssertionError("no sync was asked for")

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None:
        raise AssertionError("no sync was asked for")

    def on_stop(self, env: Environment) -> None:
        env.exit()
