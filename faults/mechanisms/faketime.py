"""A wall clock of its own for a process: libfaketime, preloaded, adds to each look at it what a file says.

Question: one node's wall clock jumps by minutes, while everybody else on the machine keeps the right time. How? The
library stands between a process and its C library. The file is read at every look, so a jump is there at once, and is
replaced as a whole, so that nobody reads half of one. Monotonic clocks are left alone, as a jump leaves them.

The witness is a look at the clock by a process of its own with the same library and the same file; and that the
library is mapped into the node.

Limits. Linux; programs that ask the kernel without the C library are not fooled. Dates of files are those of the
machine. Every look costs a read of the file: only nodes whose clock may jump get one. Waiting of a JVM breaks with the
library's own mending of monotonic waits (and with its variant for threads): both are off.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

from faults.errors import InjectionFailed
from faults.mechanisms import pidfd
from faults.mechanisms.command import call

LIBRARY = "libfaketime.so.1"
C_LIBRARY = re.compile(r"/libc[.-]")
LOADING_LOOKS = 400
LOADING_LOOK_S = 0.005
FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
MS_NS = 1_000_000
AGREE_NS = MS_NS
"""The witness looks between two looks of ours; thousandths are all that the file tells."""


def library() -> Path | None:
    """Where the library is; ``None`` if it is not installed."""
    found = (path for folder in FOLDERS for path in sorted(Path(folder).glob(f"**/faketime/{LIBRARY}")))
    return next(found, None)


def lack() -> str:
    """Why no process can have a clock of its own here, and how to get it; empty if it can."""
    return "" if library() is not None else "needs libfaketime: apt-get install faketime"


def environment(file: Path) -> Mapping[str, str]:
    """For a process whose clock *file* moves; it must exist."""
    return {
        "LD_PRELOAD": str(library()),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        "NO_FAKE_STAT": "1",
    }


def set_ahead(file: Path, ms: int) -> None:
    """Let the clock be so far ahead (negative: behind) of the machine's from now on."""
    new = file.with_suffix(".new")
    new.write_text(f"{'-' if ms < 0 else '+'}{abs(ms) // 1000}.{abs(ms) % 1000:03d}\n")
    os.replace(new, file)


def ahead(file: Path) -> int:
    """What *file* says, ms."""
    whole, _, thousandths = file.read_text().strip().partition(".")
    ms = abs(int(whole)) * 1000 + int(thousandths)
    return -ms if whole.startswith("-") else ms


def is_fooled(process: pidfd.ProcessId) -> bool:
    """Whether the library is in the process. One that was started a moment ago is waited for: what is preloaded comes
    before the C library."""
    for _ in range(LOADING_LOOKS):
        try:
            mapped = Path(f"/proc/{process.pid}/maps").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        if LIBRARY in mapped or C_LIBRARY.search(mapped):
            return LIBRARY in mapped
        time.sleep(LOADING_LOOK_S)
    return False


def check_shown(file: Path) -> None:
    """``InjectionFailed`` unless a process with that clock sees what *file* says."""
    words = [f"{name}={value}" for name, value in environment(file).items()]
    before_ns, wanted_ns = time.time_ns(), ahead(file) * MS_NS
    off_ns = int(call(["env", *words, "date", "+%s%N"])) - before_ns
    if not wanted_ns - AGREE_NS <= off_ns <= wanted_ns + (time.time_ns() - before_ns) + AGREE_NS:
        raise InjectionFailed(
            f"a process with the clock in {file} sees it {off_ns // MS_NS} ms ahead, not {ahead(file)} ms"
        )
