"""Call a system tool: bounded in time, its whole complaint in one error, nothing through a shell.

Limits. Output is kept in memory (tools here print kilobytes). A tool that outlives its timeout is killed and is an
error; what it had done by then is unknown, which is why undo steps are written so that they can be repeated.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence

from faults.errors import FaultTrouble

SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where nft, ip and mkfs live; not on an ordinary user's PATH on Debian."""


class ToolFailed(FaultTrouble):
    """A tool is missing, took too long or returned an error. ``code`` is −1 where it did not end by itself."""

    def __init__(self, argv: Sequence[str], code: int, why: str, hint: str = "") -> None:
        super().__init__(f"{shlex.join(argv)}: {why}", hint)
        self.argv, self.code, self.why = tuple(argv), code, why


def find_tool(name: str) -> str | None:
    """The path of a tool, also in the folders that only root has on its PATH; ``None`` if there is none."""
    return shutil.which(name) or shutil.which(name, path=SYSTEM_PATH)


def call(argv: Sequence[str], *, text: str = "", timeout_s: float = 10.0) -> str:
    """Run *argv* with *text* on its standard input and return its standard output; ``ToolFailed`` otherwise."""
    path = find_tool(argv[0])
    if path is None:
        raise ToolFailed(argv, -1, f"{argv[0]} is not installed")
    try:
        done = subprocess.run(
            [path, *argv[1:]],
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            start_new_session=True,  # a Ctrl-C in the terminal must not end a tool half way
        )
    except subprocess.TimeoutExpired:
        raise ToolFailed(argv, -1, f"did not end within {timeout_s:g} s") from None
    if done.returncode != 0:
        raise ToolFailed(argv, done.returncode, done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}")
    return done.stdout
