"""A client role in our own loop, and its lives: ended, frozen and begun again like a process.

Question: how is a client crashed whose code runs beside the harness?

Model. A life is one environment. A kill abandons it: its connections are reset and no method of its role is called
again. A pause holds every step back, so that nothing is answered and no timer fires, while its connections stay open; a
resume does what was held, in order. A start is a new role in a new environment. Levers are pulled in a thread of their
own: what they do here is done in the loop's, and waited for.

Limits. What arrives while the role is frozen is read from its sockets all the same, so that its peers see no closed
window. A client whose next life nobody can make (*again*) can only be paused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event
from typing import Final

from faults.errors import InjectionFailed
from faults.levers import LeverRefused, NodeState
from reference_impl.environment import Role
from reference_impl.runtime import AsyncioEnvironment

IN_LOOP_S: Final = 10.0


class HostedClient:
    """One client node; *make* is an environment for a role, not started, told whom to call when the role exits."""

    def __init__(
        self,
        name: str,
        loop: asyncio.AbstractEventLoop,
        make: Callable[[Role, Callable[[int], None]], AsyncioEnvironment],
        again: Callable[[], Role] | None,
    ) -> None:
        self.name, self._loop, self._make, self._again = name, loop, make, again
        self._past: list[AsyncioEnvironment] = []
        self._now: AsyncioEnvironment | None = None
        self._exited = Event()

    def begin(self, role: Role) -> None:
        """A life, in the loop's thread."""
        if self._now is not None:
            self._past.append(self._now)
        self._exited.clear()
        self._now = self._make(role, lambda _code: self._exited.set())
        self._now.start()

    @property
    def environment(self) -> AsyncioEnvironment:
        """Of the present life, or of the last one."""
        assert self._now is not None, "begin first"
        return self._now

    @property
    def environments(self) -> tuple[AsyncioEnvironment, ...]:
        """Of all lives."""
        return (*self._past, self.environment)

    def state(self) -> NodeState:
        environment = self.environment
        return "dead" if environment.ended else "paused" if environment.is_held else "running"

    # -- levers, from their thread ---------------------------------------------------------------------------------

    def kill(self) -> None:
        self._mortal()
        self._in_loop(self.environment.abandon)

    def stop(self, timeout_ns: int) -> None:
        self._mortal()
        if self.environment.ended:
            return
        self._in_loop(self.environment.stop)
        if not self._exited.wait(timeout_ns / 1e9):
            raise TimeoutError(f"{self.name} did not end within {timeout_ns / 1e9:g} s of being asked to")

    def start(self) -> None:
        again = self._mortal()
        if self.environment.ended:
            self._in_loop(lambda: self.begin(again()))

    def pause(self) -> None:
        if self.environment.ended:
            raise InjectionFailed(f"{self.name} is dead")
        self._in_loop(self.environment.hold)

    def resume(self) -> None:
        self._in_loop(self.environment.release)

    def _mortal(self) -> Callable[[], Role]:
        if self._again is None:
            raise LeverRefused(f"{self.name} lives in the harness's own process", "pause it, or isolate it")
        return self._again

    def _in_loop(self, action: Callable[[], None]) -> None:
        done: Future[None] = Future()

        def act() -> None:
            try:
                action()
            except Exception as error:  # noqa: BLE001 - it is raised again where the lever was pulled
                done.set_exception(error)
            else:
                done.set_result(None)

        self._loop.call_soon_threadsafe(act)
        done.result(IN_LOOP_S)
