"""The smallest server that can show what a lever does: it answers lines and keeps them, forced or not.

    echo X      answers X
    keep X      appends X to ``log``, forces it, answers when it is forced
    drop X      appends X to ``log`` without forcing it, answers at once
    read        answers what ``log`` holds
    crash       raises

Run as a process, or as the program of a container: it needs the reference's runtime and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from pathlib import Path

from reference_impl.environment import Environment, Link
from reference_impl.runtime import run_role


class TinyNode:
    """``Role``."""

    def __init__(self, address: str) -> None:
        self.address = address

    def on_start(self, env: Environment) -> None:
        env.listen(self.address)
        env.note("listening", address=self.address)

    def on_connected(self, env: Environment, link: Link) -> None: ...

    def on_closed(self, env: Environment, link: Link) -> None: ...

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        for line in data.splitlines():
            verb, _, rest = line.partition(b" ")
            getattr(self, f"do_{verb.decode()}")(env, link, rest)

    def do_echo(self, env: Environment, link: Link, rest: bytes) -> None:
        env.send(link, rest + b"\n")

    def do_keep(self, env: Environment, link: Link, rest: bytes) -> None:
        env.write("log", max(env.size("log"), 0), rest + b" ")
        env.sync("log", (link, rest))
        env.sync_dir("names")

    def do_drop(self, env: Environment, link: Link, rest: bytes) -> None:
        env.write("log", max(env.size("log"), 0), rest + b" ")
        env.send(link, rest + b"\n")

    def do_read(self, env: Environment, link: Link, rest: bytes) -> None:
        env.send(link, env.read("log", 0, 10_000) + b"\n")

    def do_crash(self, env: Environment, link: Link, rest: bytes) -> None:
        raise RuntimeError("planted")

    def on_timer(self, env: Environment, key: Hashable) -> None: ...

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        if isinstance(token, tuple):
            link, rest = token
            env.send(link, rest + b"\n")

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...

    def on_stop(self, env: Environment) -> None:
        env.exit(0)


if __name__ == "__main__":
    sys.exit(run_role(TinyNode(sys.argv[1]), Path(sys.argv[2]), notes=Path(sys.argv[3])))
