"""Forcing files to the disk, names included: the one place where a durable byte is made.

Question: when may the store say "this is on the platter"? Model. A file's bytes are durable when its ``sync`` has come
back *and* the file's name is durable. RocketMQ only forces the file: on ext4 that also commits the journal, so that the
name (and that of ``abort``, and every rename before) is safe with it. ``Environment`` guarantees no such thing,
therefore a force adds one ``sync_dir`` whenever a name has changed since the last one that came back.

    force(a)   sync(a), sync_dir   → then(ok) when both are back
    force(a)   sync(a)             → no name changed in between: one call

Limits. A failed force is reported, not repeated: after a failed fsync Linux has dropped the dirty marks, and a second
one would succeed without having written anything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from reference_impl.environment import Environment

Then = Callable[[Environment, str], None]
"""(env, error): the force is over; *error* is "" or the name of an errno."""


class _Pending:
    __slots__ = ("error", "outstanding", "then")

    def __init__(self, outstanding: int, then: Then) -> None:
        self.outstanding, self.then, self.error = outstanding, then, ""


class Forcing:
    """All forces of one store; tokens are ``("store", "file" | "names", number)``."""

    def __init__(self) -> None:
        self._names_changed = 0
        self._names_durable = 0
        self._number = 0
        self._pending: dict[int, _Pending] = {}
        self._names_of: dict[int, int] = {}

    def names_changed(self) -> None:
        """A file was created, renamed or deleted: the next force makes that durable, too."""
        self._names_changed += 1

    def force(self, env: Environment, file: str, then: Then) -> None:
        """*then* once every earlier write to *file*, and every earlier change of names, is durable or has failed."""
        self._number += 1
        number = self._number
        if self._names_durable == self._names_changed:
            self._pending[number] = _Pending(1, then)
            env.sync(file, ("store", "file", number))
            return
        self._pending[number] = _Pending(2, then)
        self._names_of[number] = self._names_changed
        env.sync(file, ("store", "file", number))
        env.sync_dir(("store", "names", number))

    def force_all(self, env: Environment, files: list[str], then: Then) -> None:
        """*then* when all of *files* have been forced, with the first error; at once if there are none."""
        outstanding = 1 + len(files)
        first_error = ""

        def one_done(env: Environment, error: str) -> None:
            nonlocal outstanding, first_error
            first_error = first_error or error
            outstanding -= 1
            if outstanding == 0:
                then(env, first_error)

        for file in files:
            self.force(env, file, one_done)
        one_done(env, "")

    def on_synced(self, env: Environment, token: Hashable) -> bool:
        """True if *token* is one of ours."""
        return self._end(env, token, "")

    def on_disk_error(self, env: Environment, token: Hashable, error: str) -> bool:
        """True if *token* is one of ours."""
        return self._end(env, token, error or "EIO")

    def _end(self, env: Environment, token: Hashable, error: str) -> bool:
        if not (isinstance(token, tuple) and len(token) == 3 and token[0] == "store"):
            return False
        _, what, number = token
        if what == "names":
            version = self._names_of.pop(number)
            if not error:
                self._names_durable = max(self._names_durable, version)
        pending = self._pending[number]
        pending.error = pending.error or error
        pending.outstanding -= 1
        if pending.outstanding == 0:
            del self._pending[number]
            pending.then(env, pending.error)
        return True
