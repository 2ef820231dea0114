"""A wall clock that jumps for one process only: what the file says, and what a process with that clock sees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults.errors import InjectionFailed
from faults.mechanisms import faketime, pidfd

LOOK = "import time; print(time.time_ns() // 10**6, time.monotonic_ns() // 10**6, flush=True); input()"


@pytest.mark.parametrize("ms", [0, 1, -1, 999, -999, 1000, 150_000, -150_000, -3_600_500])
def test_the_file_says_what_was_set(tmp_path: Path, ms: int) -> None:
    file = tmp_path / "clock"
    faketime.set_ahead(file, ms)
    assert faketime.ahead(file) == ms
    assert list(tmp_path.iterdir()) == [file]


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(faketime, "FOLDERS", (str(tmp_path),))
    assert faketime.lack() == "needs libfaketime: apt-get install faketime"


@pytest.mark.requires("process:clock")
@pytest.mark.parametrize("ms", [150_000, -150_000])
def test_a_process_sees_the_jump_in_its_wall_clock_and_not_in_the_other(tmp_path: Path, ms: int) -> None:
    file = tmp_path / "clock"
    faketime.set_ahead(file, ms)
    with subprocess.Popen(
        [sys.executable, "-c", LOOK],
        env={**os.environ, **faketime.environment(file)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        wall_ms, monotonic_ms = map(int, child.stdout.readline().split())
        assert faketime.is_fooled(pidfd.identify(child.pid))
        child.communicate("\n")
    ours_ms = [int(word) for word in subprocess.check_output([sys.executable, "-c", LOOK], input=b"\n").split()]
    assert abs(ours_ms[0] - (wall_ms - ms)) < 60_000
    assert 0 <= ours_ms[1] - monotonic_ms < 60_000
    faketime.check_shown(file)


@pytest.mark.requires("process:clock")
@pytest.mark.parametrize("ms", [150_000, -150_000, -500])
def test_a_witness_that_sees_something_else_is_told(ms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "clock"
    faketime.set_ahead(file, ms)
    monkeypatch.setattr(faketime, "environment", lambda file: {})
    with pytest.raises(InjectionFailed, match=f"not {ms} ms"):
        faketime.check_shown(file)


def test_a_process_without_the_library_is_not_fooled() -> None:
    assert not faketime.is_fooled(pidfd.identify(os.getpid()))


@pytest.mark.parametrize(("later", "expected"), [(faketime.LIBRARY, True), ("/usr/lib/libc.so.6", False)])
def test_a_process_that_is_still_being_loaded_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, later: str, expected: bool
) -> None:
    maps = iter(["", "/usr/bin/java\n/usr/lib/libcrypto.so.3", later])
    monkeypatch.setattr(Path, "read_text", lambda path: next(maps))
    assert faketime.is_fooled(pidfd.ProcessId(1, 1)) is expected
    assert next(maps, None) is None
