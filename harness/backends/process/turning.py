"""An event loop that turns only while somebody asks: the bridge between sequential text and clients that live on.

Question: how does a run that is plain text (do this, wait for that, do the next) share a thread with an asyncio loop?
``run_until`` turns the loop until a condition holds; ``perform`` turns it while a blocking act goes on in a thread.
Between these nothing in the loop moves.

The condition is asked after everything that may have changed it (``changed``), and every ``POLL_NS`` for what tells
nobody. An exception in a callback is somebody's bug or verdict (a recorder that has enough): it comes out of the call
that turned the loop, it is never only logged.

Limits. One act at a time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

POLL_NS = 50_000_000


class TurningLoop:
    """Owns the loop. *poll* is called every ``POLL_NS`` while it turns in ``run_until``."""

    def __init__(self, poll: Callable[[], None]) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._keep_trouble)
        self._poll = poll
        self._changed = asyncio.Event()
        self._trouble: BaseException | None = None
        self._acts = ThreadPoolExecutor(1, thread_name_prefix="lever")

    def changed(self) -> None:
        """Something happened that a condition may be waiting for. From the loop's thread only."""
        self._changed.set()

    def after(self, delay_ns: int, action: Callable[[], None]) -> None:
        """Call *action* in a turn of the loop, *delay_ns* from now."""
        self.loop.call_later(delay_ns / 1e9, self._act, action)

    def run_until(self, done: Callable[[], bool], deadline_monotonic_ns: int) -> bool:
        """Turn until *done* (True) or until the deadline on the monotonic clock has passed (False)."""
        return self._turn(self._until(done, deadline_monotonic_ns))

    def perform(self, work: Callable[[], T]) -> T:
        """Turn while *work* goes on in a thread."""
        return self._turn(self._in_thread(work))

    def close(self) -> None:
        """Wait for an act that is still going on, then close the loop."""
        self._acts.shutdown(wait=True)
        self.loop.close()

    # -- how -------------------------------------------------------------------------------------------------------

    def _act(self, action: Callable[[], None]) -> None:
        action()
        self._changed.set()

    def _turn(self, work: Coroutine[Any, Any, T]) -> T:
        result = self.loop.run_until_complete(work)
        self._raise_trouble()
        return result

    async def _until(self, done: Callable[[], bool], deadline_ns: int) -> bool:
        next_poll_ns = 0
        while not done():
            self._raise_trouble()
            now_ns = time.monotonic_ns()
            if now_ns >= deadline_ns:
                return False
            if now_ns >= next_poll_ns:
                self._poll()
                next_poll_ns = now_ns + POLL_NS
            await self._something(min(deadline_ns, next_poll_ns) - now_ns)
        return True

    async def _something(self, at_most_ns: int) -> None:
        self._changed.clear()
        alarm = self.loop.call_later(at_most_ns / 1e9, self._changed.set)
        await self._changed.wait()
        alarm.cancel()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await self.loop.run_in_executor(self._acts, work)

    def _keep_trouble(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        trouble = context.get("exception") or RuntimeError(str(context.get("message")))
        self._trouble = self._trouble or trouble
        self._changed.set()

    def _raise_trouble(self) -> None:
        if (trouble := self._trouble) is not None:
            self._trouble = None
            raise trouble
