"""Spark starts where it is told to, and leaves nothing behind, however its command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.errors import BackendUnavailable, HarnessError
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


@pytest.mark.parametrize(("number", "delay_s"), [(signal.SIGTERM, 0.0), (signal.SIGINT, 0.0), (signal.SIGINT, 2.0)])
def test_an_interrupted_build_leaves_no_java_and_no_half_table(
    tmp_path: Path, number: signal.Signals, delay_s: float
) -> None:
    rng = Random(1)
    add([write_run(tmp_path / "runs", f"r-{n}", rng) for n in range(3)], Lake(tmp_path / "lake"))
    mark = f"MQCHAOS_TEST_MARK={tmp_path.name}"
    words = ["lake", "marts", "--lake", str(tmp_path / "lake"), "--out", str(tmp_path / "marts")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MQCHAOS_TEST_MARK": tmp_path.name}
    command = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", *words], env=environment, stderr=subprocess.PIPE, text=True
    )
    until(lambda: (tmp_path / "marts" / "_work").exists() or command.poll() is not None, "Spark never started")
    time.sleep(delay_s)  # into a query
    assert java_with(mark)
    command.send_signal(number)
    _, said = command.communicate(timeout=PATIENCE_S)
    assert (command.returncode, "interrupted" in said, "Traceback" in said) == (130, True, False), said
    until(lambda: not java_with(mark), "a Java process is left")
    assert not (tmp_path / "marts" / "_work").exists()
    assert list((tmp_path / "marts").glob("*.tmp")) == []


def test_a_java_that_does_not_start_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQCHAOS_SPARK_MASTER", "no-such-master://nowhere")
    with pytest.raises(BackendUnavailable, match="Spark did not start"), session.spark_session("test"):
        pass


def test_what_goes_wrong_in_java_is_told_when_java_is_gone() -> None:
    with pytest.raises(HarnessError, match=r"^Spark gave up: java\.io\.FileNotFoundException: /none"):  # noqa: SIM117
        with session.spark_session("test") as spark:
            spark.sparkContext._jvm.java.io.FileInputStream("/none")


def archives_in_use() -> set[Path]:
    """Of the virtual machine of the session that is open: a file that Java refused is not mapped."""
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    maps = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/maps").read_text()
    return {Path(line.split()[-1]) for line in maps.splitlines() if line.endswith(".jsa")}


@pytest.mark.slow
def test_the_second_session_of_an_installation_takes_its_classes_from_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with session.spark_session("first"):
        assert not [path for path in archives_in_use() if path.is_relative_to(tmp_path)]
    [archive] = (tmp_path / "mqchaos").glob("*.jsa")
    with session.spark_session("second"):
        assert archive in archives_in_use()


def installation(folder: Path) -> None:
    for jar in ("spark-core.jar", "spark-sql.jar"):
        (folder / "jars").mkdir(parents=True, exist_ok=True)
        (folder / "jars" / jar).write_bytes(b"classes")


def renewed(folder: Path) -> None:
    os.utime(folder / "jars" / "spark-sql.jar", ns=(1, 1))


def grown(folder: Path) -> None:
    with (folder / "jars" / "spark-sql.jar").open("ab") as jar:
        jar.write(b"!")


def larger(folder: Path) -> None:
    (folder / "jars" / "more.jar").write_bytes(b"")


@pytest.mark.parametrize("change", [renewed, grown, larger])
def test_an_installation_that_changed_makes_another_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    """Java would refuse the old one without a word, and every start would take twice as long for ever."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = []
    for home in ("one", "two"):
        installation(tmp_path / home)
        monkeypatch.setenv("SPARK_HOME", str(tmp_path / home))
        names += [session._archive_of_classes(), session._archive_of_classes()]
    change(tmp_path / "two")
    names.append(session._archive_of_classes())
    assert [names.index(name) for name in names] == [0, 0, 2, 2, 4]


def test_only_the_newest_archives_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    installation(tmp_path / "spark")
    cache = tmp_path / "cache" / "mqchaos"
    cache.mkdir(parents=True)
    for age in range(5):
        (cache / f"spark-{age}.jsa").touch()
        os.utime(cache / f"spark-{age}.jsa", ns=(10 - age, 10 - age))
    made = session._archive_of_classes()
    assert sorted(path.name for path in cache.iterdir()) == ["spark-0.jsa", "spark-1.jsa"]
    made.touch()
    assert session._archive_of_classes() == made
    assert len(list(cache.iterdir())) == 3
