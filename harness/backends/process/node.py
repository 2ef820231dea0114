"""One server process: started with its output in files, watched, ended, and its last words kept.

Question: is the node alive, and if it died, what did it say? The process runs in its own session (a Ctrl-C in the
terminal is the harness's alone), with standard output and error appended to files, so that no pipe can fill up and stop
a broker. Its end is told by a pidfd. Its notes are a file of JSON lines that is read from where we were.

Limits. The exit code is known only while the harness that started the process lives.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec

from faults.levers import NodeState
from faults.mechanisms import faketime, pidfd
from harness.backends.backend import NodeSpec
from harness.errors import ClusterError

LAST_LINES = 20
LAST_BYTES = 16_384

Pipe = int | IO[bytes]
"""What ``Popen`` takes for a standard stream."""


class Life(Protocol):
    """A process from its start to its end, whoever started it."""

    @property
    def process(self) -> pidfd.ProcessId | None:
        """``None`` if it had ended before anybody could look."""

    def exit_code(self) -> int | None:
        """Negative: the signal; ``None`` while it runs."""


class ChildLife:
    """A process that is our child."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self.process: pidfd.ProcessId | None = pidfd.identify(child.pid)

    def exit_code(self) -> int | None:
        return self._child.poll()


class Node:
    """A server node and the process of its present life, if any."""

    def __init__(self, spec: NodeSpec, folder: Path, data: Path) -> None:
        self.spec, self.folder, self.data = spec, folder, data
        self.start_count = 0
        self.is_ending = False
        """Whether the next end of the process is our own doing."""
        self.last_cut_lost = 0
        self._life: Life | None = None
        self._notes = NoteReader(self.notes)
        for name in ("log", "config"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def notes(self) -> Path:
        """Where a reference node writes its notes; no file for other targets."""
        return self.folder / "log" / "notes.jsonl"

    @property
    def output(self) -> tuple[Path, Path]:
        """Files of standard output and standard error."""
        return self.folder / "log" / "stdout.log", self.folder / "log" / "stderr.log"

    @property
    def clock(self) -> Path:
        """How far its wall clock is ahead of the machine's, if it has one of its own."""
        file = self.folder / "config" / "clock"
        if not file.exists():
            faketime.set_ahead(file, 0)
        return file

    def clock_environment(self) -> Mapping[str, str]:
        """What gives a process of this node the node's own clock; nothing if it has none."""
        return faketime.environment(self.clock) if self.spec.has_own_clock else {}

    def spawn(self, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        """Begin a life as a child of ours; it runs on return. ``ClusterError`` if there is no such program."""
        out, err = self.output
        with out.open("ab") as stdout, err.open("ab") as stderr:
            self.begin(ChildLife(self.popen(argv, environment, subprocess.DEVNULL, stdout, stderr)))

    def popen(
        self, argv: Sequence[str], environment: Mapping[str, str], stdin: Pipe, stdout: Pipe, stderr: Pipe
    ) -> subprocess.Popen[bytes]:
        """A child in a session of its own."""
        try:
            return subprocess.Popen(
                argv,
                cwd=self.folder,
                env={**os.environ, **environment},
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise ClusterError(f"{self.name} cannot be started: {error}") from error

    def begin(self, life: Life) -> None:
        """A new life; the last one has ended."""
        self._life = life
        self.start_count += 1
        self.is_ending = False

    @property
    def process(self) -> pidfd.ProcessId | None:
        """The process of the present life, or of the last one."""
        return None if self._life is None else self._life.process

    def state(self) -> NodeState:
        return "dead" if self.process is None else pidfd.state(self.process)

    def reap(self) -> int | None:
        """Take the exit code of a process that has ended; ``None`` while it runs."""
        return None if self._life is None else self._life.exit_code()

    def new_notes(self) -> list[tuple[int, str, dict[str, Any]]]:
        """(monotonic ns, event, fields) written since the last call."""
        return self._notes.read()

    def last_words(self) -> list[str]:
        """The last lines of standard error, or of standard output if it said nothing there."""
        out, err = self.output
        return _last_lines(err) or _last_lines(out)


class NoteReader:
    """Reads whole lines of a growing file."""

    def __init__(self, path: Path) -> None:
        self._path, self._position = path, 0

    def read(self) -> list[tuple[int, str, dict[str, Any]]]:
        """What has come since the last call; an unfinished last line is left for the next."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        lines = [msgspec.json.decode(line) for line in whole.splitlines()]
        return [(line["ns"], line["event"], line["fields"]) for line in lines]


def _last_lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LAST_BYTES))
            return file.read().decode(errors="replace").splitlines()[-LAST_LINES:]
    except FileNotFoundError:
        return []
