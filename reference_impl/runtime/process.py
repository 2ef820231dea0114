"""One role as one operating-system process.

Question: what is a node's life outside the simulator? ``run_role`` blocks until the role has called ``env.exit`` and
returns its code. SIGTERM and SIGINT ask for the orderly end (``on_stop``) once; there is no deadline in here, whoever
sent the signal keeps the time. An exception that leaves the role ends the process at once with its traceback on
standard error and code 70 (EX_SOFTWARE), nothing of the failed step having left. A role that refuses to start says why:
the reason of its ``exit`` is one line on standard error.

Notes are JSON lines ``{"ns": …, "event": …, "fields": {…}}``, each written with one system call before the effects of
its step leave, so that a kill loses none of them. ``ns`` is CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from reference_impl.environment import Role
from reference_impl.runtime.asyncio_environment import AsyncioEnvironment
from reference_impl.runtime.disk import Disk

EXIT_CRASH = 70
"""An exception left the role (EX_SOFTWARE)."""

EXIT_LOCKED = 255
"""Another process holds the node's folder, or it cannot be used at all (RocketMQ: exit code −1)."""


def run_role(role: Role, home: Path, *, notes: Path | None = None, lock: str | None = None) -> int:
    """Run *role* on the folder *home* until it exits; returns the exit code for ``sys.exit``.

    *notes*: file that JSON lines are appended to (``-``: standard output; ``None``: nowhere). *lock*: file below *home*
    that is held exclusively while we live; if another process holds it, the code is ``EXIT_LOCKED`` and the role is
    never started (RocketMQ: DefaultMessageStore#start, "Lock failed, MQ already started").
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        if lock is not None and not _hold(home / lock):
            _say(f"Lock failed, MQ already started: {home / lock} is held by another process")
            return EXIT_LOCKED
        trace = NoteFile(notes)
    except OSError as error:
        _say(f"cannot start: {error}")
        return EXIT_LOCKED
    return asyncio.run(_live(role, home, trace))


class NoteFile:
    """Appends notes to a file, one system call each."""

    def __init__(self, path: Path | None) -> None:
        self._descriptor = -1 if path is None else 1 if str(path) == "-" else _open_to_append(path)

    def write(self, ns: int, event: str, fields: dict[str, Any]) -> None:
        if self._descriptor >= 0:
            os.write(self._descriptor, msgspec.json.encode({"ns": ns, "event": event, "fields": fields}) + b"\n")


async def _live(role: Role, home: Path, notes: NoteFile) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()
    disk = Disk(home, loop.call_soon_threadsafe)
    environment = AsyncioEnvironment(
        role, loop, disk, note=notes.write, crashed=_die, exited=ended.set_result, say=_say
    )
    stop_once = _once(environment.stop)
    for wanted in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(wanted, stop_once)
    environment.start()
    code = await ended
    await environment.shut_down()
    return code


def _once(action: Callable[[], None]) -> Callable[[], None]:
    """*action* the first time, nothing after: a second SIGTERM must not run ``on_stop`` twice."""
    left = [action]
    return lambda: left.pop()() if left else None


def _die(error: Exception) -> NoReturn:
    """Leave without running anything more: no finalizer may touch files that the role left in mid-step."""
    _say("".join(traceback.format_exception(error)))
    os._exit(EXIT_CRASH)


def _say(text: str) -> None:
    sys.stderr.write(text.rstrip("\n") + "\n")
    sys.stderr.flush()


def _open_to_append(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)


def _hold(path: Path) -> bool:
    """Lock *path* for the life of this process. flock: closing another descriptor of the file must not release it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    return True
