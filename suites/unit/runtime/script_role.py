"""A role whose every method is a function of the test, and a loop that runs until something holds, bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from reference_impl.environment import Environment, Link
from reference_impl.runtime import AsyncioEnvironment, Disk

LIMIT_S = 60.0


class ScriptRole:
    """Writes down every call; ``reactions`` maps the name of a method to what it does with ``(env, *arguments)``."""

    def __init__(self, **reactions: Callable[..., None]) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.reactions = reactions

    def _told(self, name: str, env: Environment, *arguments: Any) -> None:
        self.calls.append((name, *arguments))
        if reaction := self.reactions.get(name):
            reaction(env, *arguments)

    def count(self, name: str) -> int:
        return sum(call[0] == name for call in self.calls)

    def on_start(self, env: Environment) -> None:
        self._told("start", env)

    def on_connected(self, env: Environment, link: Link) -> None:
        self._told("connected", env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        self._told("closed", env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self._told("bytes", env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        self._told("timer", env, key)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        self._told("synced", env, file, token)

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None:
        self._told("disk_error", env, file, token, error)

    def on_stop(self, env: Environment) -> None:
        self._told("stop", env)


class Stage:
    """Several roles in one loop, each with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = folder
        self.environments: list[AsyncioEnvironment] = []
        self.crashes: list[Exception] = []
        self.exits: list[int] = []
        self.notes: list[tuple[str, dict[str, Any]]] = []

    def host(self, role: ScriptRole, **options: Any) -> AsyncioEnvironment:
        """Start *role*."""
        environment = AsyncioEnvironment(
            role,
            self.loop,
            Disk(self.folder / str(len(self.environments)), self.loop.call_soon_threadsafe),
            note=lambda ns, event, fields: self.notes.append((event, fields)),
            crashed=self.crashes.append,
            exited=self.exits.append,
            **options,
        )
        self.environments.append(environment)
        environment.start()
        return environment

    def until(self, holds: Callable[[], bool]) -> None:
        """Turn the loop until *holds*, at most a minute."""

        async def turn() -> None:
            async with asyncio.timeout(LIMIT_S):
                while not holds():
                    await asyncio.sleep(0.001)

        self.loop.run_until_complete(turn())

    def turn(self) -> None:
        """One more turn, so that everything already due is done."""
        self.loop.run_until_complete(asyncio.sleep(0))

    def close(self) -> None:
        for environment in self.environments:
            environment.abandon()
            self.loop.run_until_complete(environment.shut_down())
        self.loop.close()
