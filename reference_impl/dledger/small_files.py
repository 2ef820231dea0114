"""The two small files beside the log: ``currterm`` (term and vote) and ``checkpoint`` (what was committed).

Question: how are a few properties replaced, and what is left of them after a crash?

Model (DLedger: IOUtils#string2File, MemberState, DLedgerMmapFileStore#persistCheckPoint). Lines ``name=value``, in the
order in which Java's hash table keeps them. Two ways to replace a file:

    as Apache   write .tmp; copy the old text to .bak; delete the file; rename .tmp. Nothing is forced: a power cut may
                leave the old text, the new one, or no file at all
    forced      write .tmp; force it; rename it over the file; force the names. What stood there stays until the new
                text is durable

Limits. ``.bak`` is never read, as with Apache's. A text that cannot be read counts as absent.
"""

from __future__ import annotations

from typing import Final

from reference_impl.configuration import parse_properties, properties_text
from reference_impl.environment import Environment
from reference_impl.store.forcing import Forcing
from reference_impl.store.mapped_files import Done

TERM_FILE: Final = "currterm"
CHECKPOINT_FILE: Final = "checkpoint"


def term_text(term: int, voted_for: str) -> str:
    """The content of ``currterm``."""
    return properties_text({"voteLeader": voted_for, "currTerm": str(term)})


def read_term(text: str) -> tuple[int, str]:
    """(term, vote); (0, "") where there is none."""
    values = parse_properties(text).values
    return _number(values.get("currTerm"), 0), values.get("voteLeader", "")


def checkpoint_text(end_index: int, committed_index: int) -> str:
    """The content of ``checkpoint``."""
    return properties_text({"committedIndex": str(committed_index), "endIndex": str(end_index)})


def read_checkpoint(text: str) -> int:
    """The committed index; −1 where there is none."""
    return _number(parse_properties(text).values.get("committedIndex"), -1)


def _number(text: str | None, default: int) -> int:
    try:
        return int(text) if text is not None else default
    except ValueError:
        return default


class SmallFile:
    """One of the two, at *path*."""

    def __init__(self, path: str, forcing: Forcing, *, is_forced: bool) -> None:
        self._path, self._forcing, self._is_forced = path, forcing, is_forced
        self._is_busy = False
        self._waiting: tuple[str, list[Done]] | None = None

    def load(self, env: Environment) -> str:
        """The text; empty where there is no file."""
        size = env.size(self._path)
        return env.read(self._path, 0, size).decode("utf-8", "replace") if size > 0 else ""

    def save(self, env: Environment, text: str, done: Done) -> None:
        """Replace the content. ``OSError`` where it cannot be written; *done* when it is as safe as it gets. A forced
        save that comes while another is under way begins when that is over; the last of several counts for all."""
        if not self._is_forced:
            self._replace_as_apache(env, text)
            done(env)
        elif self._is_busy:
            self._waiting = (text, [*(self._waiting[1] if self._waiting else []), done])
        else:
            self._replace_forced(env, text, [done])

    def _replace_as_apache(self, env: Environment, text: str) -> None:
        temporary = f"{self._path}.tmp"
        self._write(env, temporary, text)
        if (old := self.load(env)) != "":
            self._write(env, f"{self._path}.bak", old)
        env.delete(self._path)
        env.rename(temporary, self._path)
        self._forcing.names_changed()

    def _replace_forced(self, env: Environment, text: str, done: list[Done]) -> None:
        temporary = f"{self._path}.tmp"
        self._write(env, temporary, text)
        self._is_busy = True

        def written(env: Environment, error: str) -> None:
            _check(error)
            env.rename(temporary, self._path)
            self._forcing.names_changed()
            self._forcing.force(env, self._path, named)

        def named(env: Environment, error: str) -> None:
            _check(error)
            self._is_busy = False
            waiting, self._waiting = self._waiting, None
            if waiting is not None:
                self._replace_forced(env, *waiting)
            for one in done:
                one(env)

        self._forcing.force(env, temporary, written)

    def _write(self, env: Environment, path: str, text: str) -> None:
        data = text.encode()
        env.write(path, 0, data)
        env.truncate(path, len(data))


def _check(error: str) -> None:
    """After a failed force nobody knows what is on the disk: this ends the node."""
    if error:
        raise OSError(error)
