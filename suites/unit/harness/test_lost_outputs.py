"""Closed and full outputs, a terminal that is gone: exit code 1 means a broken guarantee, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import junit
from harness.commands.run import interruptible
from harness.errors import EXIT_ERROR, EXIT_PASS, EXIT_USAGE, UsageError
from harness.runfolder import check_space
from harness.terminal import Terminal

SHORT = "{name: short, mode: single-master, workload: {producers: 1, consumers: 1, queues: 1, rate: 20/s, for: 1s}}"


def shell(command: str, folder: Path) -> tuple[int, str]:
    """Exit code and standard error of a command line."""
    (folder / "short.yaml").write_text(SHORT)
    typed = command.replace("mqchaos", f"{sys.executable} -m harness.cli")
    path = {"PYTHONPATH": str(Path(junit.__file__).parent.parent)}
    done = subprocess.run(["bash", "-c", typed], cwd=folder, capture_output=True, text=True, env={**os.environ, **path})
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        (">/dev/full", EXIT_ERROR, "results could not be written: No space left on device"),
        (">&-", EXIT_PASS, ""),
        ("2>/dev/full", EXIT_PASS, ""),
        (">&- 2>&-", EXIT_PASS, ""),
        ("--json >/dev/full", EXIT_ERROR, "results could not be written"),
    ],
)
def test_a_run_that_passes_says_so_or_says_that_it_could_not(redirected, code, said, tmp_path: Path) -> None:
    found, told = shell(f"mqchaos run short.yaml --seed 1 --keep none {redirected}", tmp_path)
    assert (found, "Traceback" in told) == (code, False), told
    assert said in told


def test_a_junit_file_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, told = shell("mqchaos run short.yaml --junit file/out.xml --keep none", tmp_path)
    assert (code, "cannot write file/out.xml" in told, "steady" in told) == (EXIT_USAGE, True, False)
    (tmp_path / "old.xml").write_text("old")
    junit.check(tmp_path / "old.xml")
    junit.check(tmp_path / "below" / "new.xml")
    assert (tmp_path / "old.xml").read_text() == "old"
    assert not (tmp_path / "below" / "new.xml").exists()


@pytest.mark.parametrize(("handled", "presses"), [(signal.SIG_DFL, 1), (signal.SIG_IGN, 0)])
def test_a_terminal_that_is_closed_is_like_ctrl_c_but_under_nohup(handled: signal.Handlers, presses: int) -> None:
    """Whoever started the tests may have used nohup, too."""
    before = signal.signal(signal.SIGHUP, handled)
    try:
        with interruptible(Terminal()) as interrupt:
            os.kill(os.getpid(), signal.SIGHUP)
            assert interrupt.presses == presses
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_disk_with_too_little_space_is_told_before_the_run(tmp_path: Path) -> None:
    check_space(tmp_path / "not" / "yet", 1, "run folders")
    with pytest.raises(UsageError, match=r"run folders need 1099511627776 MiB, .* free"):
        check_space(tmp_path, 1 << 60, "run folders")
