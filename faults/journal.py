"""The heal journal: what must be undone, on the disk before it is done.

Question: a harness that dies in mid-fault (``kill -9``, power, a bug) leaves rules, stopped processes, namespaces and
mounts behind. How does another process undo exactly these, and nothing of a run that is still alive?

Model. One file a run, JSON lines, each forced to the disk before the call returns:

    {"t": "head", "run": …, "pid": …, "started": …}           who owns it
    {"t": "undo", "entry": 1, "what": …, "steps": [[action, arguments], …]}    written *before* the act
    {"t": "undone", "entry": 1}                               written after the undo

The owner holds a lock on the file as long as it lives; the kernel drops it with the process, so "is the owner alive?"
is asked of the kernel, and a recycled pid deceives nobody. ``pid`` and ``started`` are for the reader. Entries are
undone newest first. A file with nothing outstanding is removed. Undo is idempotent: what is gone is no error.

Space is reserved before it is needed: the file is longer than what is written (zeros, which readers drop), so that a
disk that fills up later can take neither an undo entry nor the note that it was carried out. For an entry that finds
no space the act is not begun. To heal needs no disk: what cannot be noted is undone all the same.

Limits. A torn last line is an undo entry whose act was never begun: it is dropped. A file that cannot be read otherwise
is told and left alone, and keeps nobody from healing the others. Locks are ``flock``: the folder must be on a local
file system.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

from faults.errors import FaultTrouble, UndoFailed
from faults.levers import HealStep

NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
NO_SPACE_HINT: Final = "nothing is broken that could not be undone: make room there, or set XDG_STATE_HOME"

Undo = Callable[[HealStep], object]
"""Carries out one step (``faults.mechanisms.undo.carry_out``); raises what went wrong, not that there was nothing."""

HEAL_COMMAND = "mqchaos heal"
RESERVE_BYTES: Final = 64 * 1024
UNDONE_BYTES: Final = 64
"""More than the note that one entry was carried out."""


@dataclass(frozen=True)
class UndoEntry:
    """One outstanding entry."""

    entry: int
    what: str
    steps: tuple[HealStep, ...]


@dataclass(frozen=True)
class Leftover:
    """A journal found on the disk. ``is_owned`` while its run is alive: then it is not ours to heal.

    ``damage`` says why a file could not be read as a journal; then nothing else of it is known.
    """

    path: Path
    run: str
    pid: int
    is_owned: bool
    outstanding: tuple[UndoEntry, ...]
    damage: str = ""


class HealJournal:
    """The journal of a living run. Use :meth:`open`; ``close`` at the end of the run."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self._file = path, file
        self._written = self._reserved = 0
        self._outstanding: dict[int, UndoEntry] = {}
        self._entry_count = 0

    @classmethod
    def open(cls, run: str, folder: Path | None = None) -> HealJournal:
        """Create ``<folder>/<run>.jsonl`` and own it; ``FileExistsError`` if the run has one already,
        :class:`FaultTrouble` if there is no space for it."""
        folder = folder or state_folder()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{run}.jsonl"
            journal = cls(path, _locked(path))
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            raise FaultTrouble(f"no space for a heal journal in {folder}", NO_SPACE_HINT) from error
        try:
            journal._write({"t": "head", "run": run, "pid": os.getpid(), "started": process_started(os.getpid())})
        except FaultTrouble:
            journal.close()
            raise
        _sync_folder(folder)
        return journal

    @property
    def outstanding(self) -> tuple[UndoEntry, ...]:
        """What is to be undone, newest first."""
        return tuple(reversed(self._outstanding.values()))

    def record(self, what: str, steps: Sequence[HealStep]) -> int:
        """Before an act: how to undo it. On the disk when this returns; the number is for :meth:`undone`."""
        self._entry_count += 1
        entry = self._entry_count
        written = [[step.action, step.arguments] for step in steps]
        self._write({"t": "undo", "entry": entry, "what": what, "steps": written})
        self._outstanding[entry] = UndoEntry(entry, what, tuple(steps))
        return entry

    def undone(self, entry: int) -> None:
        """After the undo. ``KeyError`` for an entry that is not outstanding."""
        del self._outstanding[entry]
        self._write({"t": "undone", "entry": entry})

    def close(self) -> None:
        """Remove the file if nothing is outstanding, else leave it for ``mqchaos heal``; idempotent."""
        if self._file.closed:
            return
        if not self._outstanding:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        """All of it, and forced; the notes that all entries were carried out have their space, too."""
        data = json.dumps(line).encode() + b"\n"
        self._reserve(self._written + len(data) + UNDONE_BYTES * (len(self._outstanding) + 1))
        while data:
            count = os.pwrite(self._file.fileno(), data, self._written)
            self._written, data = self._written + count, data[count:]
        os.fsync(self._file.fileno())

    def _reserve(self, size: int) -> None:
        if size <= self._reserved:
            return
        wanted = self._reserved + max(RESERVE_BYTES, size - self._reserved)
        try:
            os.posix_fallocate(self._file.fileno(), 0, wanted)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            raise FaultTrouble(f"no space for the heal journal {self.path}", NO_SPACE_HINT) from error
        self._reserved = wanted


def state_folder() -> Path:
    """``$XDG_STATE_HOME/mqchaos/heal``, by default below ``~/.local/state``."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "mqchaos" / "heal"


def process_started(pid: int) -> int:
    """When the process began, in clock ticks since boot (``/proc/PID/stat`` field 22); −1 if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return -1
    return int(text.rpartition(")")[2].split()[19])


def open_journals(folder: Path | None = None) -> list[Leftover]:
    """Every journal on the disk, by name; of living and of dead runs."""
    folder = folder or state_folder()
    found = (_read(path) for path in sorted(folder.glob("*.jsonl")))
    return [leftover for leftover in found if leftover is not None]


def heal(leftover: Leftover, undo: Undo) -> list[str]:
    """Undo everything outstanding of a dead run, newest first, and say what was done.

    Everything is tried; :class:`UndoFailed` at the end names what is left, and the journal stays. A journal whose owner
    lives, or that somebody else is healing, is :class:`FaultTrouble`.
    """
    with leftover.path.open("r+b", buffering=0) as file:
        if not _lock(file):
            raise FaultTrouble(f"the run {leftover.run} is alive (pid {leftover.pid})", "end it first: Ctrl-C heals")
        file.seek(len(leftover.path.read_bytes().rstrip(b"\0")))
        done, failed = [], []
        for entry in _read_lines(leftover.path).outstanding:
            try:
                for step in entry.steps:
                    undo(step)
            except Exception as error:  # noqa: BLE001 - one undo that fails must not keep the others from being tried
                failed.append(f"{entry.what}: {error}")
                continue
            with suppress(OSError):  # it is undone, and undone again it would be no error
                file.write(json.dumps({"t": "undone", "entry": entry.entry}).encode() + b"\n")
            done.append(entry.what)
        with suppress(OSError):
            os.fsync(file.fileno())
        if failed:
            raise UndoFailed(f"could not undo: {'; '.join(failed)}", f"then type: {HEAL_COMMAND}")
        leftover.path.unlink()
    return done


def _lock(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _locked(path: Path) -> BinaryIO:
    """A new file that is locked before anybody can see it: one without a lock is a dead run's, and is removed."""
    unseen = path.with_suffix(".new")
    file = unseen.open("wb", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.link(unseen, path)
    except OSError:
        file.close()
        raise
    finally:
        unseen.unlink()
    return file


def _read(path: Path) -> Leftover | None:
    """``None`` if its run has ended well since the folder was listed."""
    is_owned = False
    try:
        with path.open("rb", buffering=0) as file:
            is_owned = not _lock(file)
        return replace(_read_lines(path), is_owned=is_owned)
    except FileNotFoundError:
        return None
    except FaultTrouble as error:
        return Leftover(path, path.stem, -1, is_owned, (), damage=error.what)


def _read_lines(path: Path) -> Leftover:
    """Fold the lines; what cannot be parsed is allowed only as the last line (a torn write)."""
    run, pid, outstanding = path.stem, -1, {}
    lines = path.read_bytes().rstrip(b"\0").split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            entry = json.loads(line)
            if entry["t"] == "head":
                run, pid = entry["run"], entry["pid"]
            elif entry["t"] in ("undo", "promise"):  # an older version wrote "promise"
                steps = tuple(HealStep(action, arguments) for action, arguments in entry["steps"])
                outstanding[entry["entry"]] = UndoEntry(entry["entry"], entry["what"], steps)
            else:
                outstanding.pop(entry["entry"], None)
        except (ValueError, KeyError, TypeError):
            if number == len(lines):
                break
            raise FaultTrouble(f"{path}:{number}: not a line of a heal journal", "look at it, then remove it") from None
    return Leftover(path, run, pid, False, tuple(reversed(outstanding.values())))


def _sync_folder(folder: Path) -> None:
    """A new name is durable only with its folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
