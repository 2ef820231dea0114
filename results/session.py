"""One Spark session with settings that fit where it runs.

Locally (the default, ``local[*]``) a session that answers small questions must start fast: no UI, two shuffle
partitions, no adaptive planning, the parallel collector, the quick compiler only. On a cluster
(``MQCHAOS_SPARK_MASTER``) none of that is set: its administrators know better.

The Java to use is the machine's own 17+ or the trimmed runtime from PyPI (``harness.java``); Python workers must be
this interpreter, or Spark takes whatever ``python3`` is on the path. What the virtual machine says on standard error
goes to a log file in the cache folder, of which the end is shown if the session does not start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cache import cache_folder
from harness.errors import BackendUnavailable
from harness.java import find_java, spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC -XX:TieredStopAtLevel=1",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    # Python and the virtual machine talk over a socket file: a bare machine need not even know "localhost".
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.log.level": "ERROR",
}


@contextmanager
def spark_session(name: str) -> Iterator[SparkSession]:
    """A session that is stopped on leaving; ``BackendUnavailable`` where no Java 17+ is found or it does not start."""
    master = os.environ.get("MQCHAOS_SPARK_MASTER", "local[*]")
    _prepare_environment(local=master.startswith("local"))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name).master(master)
    if master.startswith("local"):
        for key, value in _LOCAL_SETTINGS.items():
            builder = builder.config(key, value)
    log = cache_folder() / "spark.log"
    try:
        with _standard_error_to(log):
            session = builder.getOrCreate()
    except Exception as problem:
        raise BackendUnavailable(f"Spark did not start: {problem}", place=str(log), hint=_end_of(log)) from problem
    try:
        yield session
    finally:
        session.stop()


def _prepare_environment(*, local: bool) -> None:
    cache_folder().mkdir(parents=True, exist_ok=True)
    os.environ["JAVA_HOME"] = str(spark_home(find_java(), cache_folder()))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if local:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


@contextmanager
def _standard_error_to(log: Path) -> Iterator[None]:
    """Processes started inside keep *log* as their standard error; ours is back afterwards."""
    sys.stderr.flush()
    ours = os.dup(2)
    try:
        with log.open("w") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def _end_of(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return " | ".join(lines[-3:]) or "the log is empty"
