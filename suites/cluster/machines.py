"""A standalone Spark cluster on loopback: a master, a worker and a Spark Connect server, each a process of its own.

They start in a folder of their own, without our code on their path: nothing but what a session ships is there.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from harness.cache import cache_folder
from harness.java import find_java, spark_home

SPARK: Final = Path(pyspark.__file__).parent
PATIENCE_S: Final = 240.0
EXECUTOR: Final = b"CoarseGrainedExecutorBackend"
LOOPBACK: Final = ("--host", "127.0.0.1", "--webui-port", "0")

Said = Callable[[str], str]
"""Waits until a process has said what fits a pattern; the first group of it."""


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Of a machine that has Spark, Java and this interpreter, and not our code."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "JAVA_HOME": str(spark_home(find_java(), cache_folder())),
        "SPARK_HOME": str(SPARK),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "HOME": os.environ.get("HOME", "/"),
        **more,
    }


@contextmanager
def standalone(folder: Path, cores: int = 2) -> Iterator[str]:
    """``spark://…`` of a master with one worker; both are gone on leaving."""
    java = [str(SPARK / "bin" / "spark-class")]
    master_words = [*java, "org.apache.spark.deploy.master.Master", *LOOPBACK, "--port", "0"]
    with _process(folder / "master", master_words, {}) as said:
        master = said(r"Starting Spark master at (spark://\S+)")
        size = ["--cores", str(cores), "--memory", "2g", "--work-dir", str(folder / "work")]
        words = [*java, "org.apache.spark.deploy.worker.Worker", *LOOPBACK, *size, master]
        with _process(folder / "worker", words, {}) as also_said:
            also_said(r"(Successfully registered with master)")
            yield master


@contextmanager
def connect_server(folder: Path, code: Path) -> Iterator[str]:
    """``sc://…`` of a Spark Connect server on this machine; *code* is what is installed for its workers."""
    words = [str(SPARK / "bin" / "spark-submit"), "--master", "local[2]",
             "--conf", "spark.connect.grpc.binding.address=127.0.0.1", "--conf", "spark.connect.grpc.binding.port=0",
             "--conf", "spark.ui.enabled=false",
             "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]  # fmt: skip
    with _process(folder, words, {"PYTHONPATH": str(code), "PYSPARK_PYTHON": sys.executable}) as said:
        yield f"sc://127.0.0.1:{said(r'Spark Connect server started at: .*?:([0-9]+)')}"


@contextmanager
def _process(folder: Path, words: list[str], more: Mapping[str, str]) -> Iterator[Said]:
    """It is ended, and waited for, on leaving."""
    folder.mkdir(parents=True)
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(words, cwd=folder, env=environment(more), stdout=out, stderr=out)
    try:
        yield lambda pattern: _waited_for(pattern, log, process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _waited_for(pattern: str, log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while (found := re.search(pattern, log.read_text(errors="replace"))) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"it never said {pattern}:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.05)
    return found[1]


def at_work() -> list[int]:
    """Executors that have a Python worker now."""
    parents = set()
    for folder, words in _processes():
        if b"pyspark.daemon" in words:
            try:
                parents.add(int((folder / "stat").read_text().rpartition(")")[2].split()[1]))
            except OSError:
                continue  # it has ended
    return [executor for executor in executors() if executor in parents]


def _processes() -> Iterator[tuple[Path, bytes]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield folder, (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended


def executors() -> list[int]:
    """Processes of this machine that are executors of a worker."""
    found = []
    for folder, words in _processes():
        if EXECUTOR in words and b"--worker-url" in words and b"java" in words.split(b"\0")[0]:
            found.append(int(folder.name))
    return found
