"""Spark starts where it is told to, and leaves nothing behind, however its command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from harness.errors import BackendUnavailable
from results import session
from results.lake import Lake
from results.lake.ingest import add
from suites.unit.results.random_runs import write_run

pytestmark = [pytest.mark.requires("java")]
PATIENCE_S = 120.0
ROOT = Path(__file__).resolve().parents[3]


def java_with(mark: str) -> list[int]:
    """Processes of ours that run Java, known by a variable of their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes() and b"java" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended, or is somebody else's
    return found


def until(holds: object, what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_build_leaves_no_java_and_no_half_table(tmp_path: Path, number: signal.Signals) -> None:
    rng = Random(1)
    add([write_run(tmp_path / "runs", f"r-{n}", rng) for n in range(3)], Lake(tmp_path / "lake"))
    mark = f"MQCHAOS_TEST_MARK={tmp_path.name}"
    words = ["lake", "marts", "--lake", str(tmp_path / "lake"), "--out", str(tmp_path / "marts")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MQCHAOS_TEST_MARK": tmp_path.name}
    command = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", *words], env=environment, stderr=subprocess.PIPE, text=True
    )
    until(lambda: (tmp_path / "marts" / "_work").exists() or command.poll() is not None, "Spark never started")
    assert java_with(mark)
    command.send_signal(number)
    _, said = command.communicate(timeout=PATIENCE_S)
    assert (command.returncode, "interrupted" in said) == (130, True)
    until(lambda: not java_with(mark), "a Java process is left")
    assert not (tmp_path / "marts" / "_work").exists()
    assert list((tmp_path / "marts").glob("*.tmp")) == []


def test_a_java_that_does_not_start_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQCHAOS_SPARK_MASTER", "no-such-master://nowhere")
    with pytest.raises(BackendUnavailable, match="Spark did not start"), session.spark_session("test"):
        pass
