"""One Spark session with settings that fit where it runs.

Locally (the default, ``local[*]``) a session that answers small questions must start fast: no UI, two shuffle
partitions, no adaptive planning, the parallel collector, and a class-data archive that halves the JVM's start. On a
cluster (``MQCHAOS_SPARK_MASTER``) none of that is set: its administrators know better.

The Java to use is the machine's own 17+ or the trimmed runtime from PyPI (``harness.java``); Python workers must be
this interpreter, or Spark takes whatever ``python3`` is on the path.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.java import find_java

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
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.log.level": "ERROR",
}


@contextmanager
def spark_session(name: str) -> Iterator[SparkSession]:
    """A session that is stopped on leaving; ``BackendUnavailable`` where no Java 17+ is found."""
    master = os.environ.get("MQCHAOS_SPARK_MASTER", "local[*]")
    _prepare_environment(local=master.startswith("local"))
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name).master(master)
    if master.startswith("local"):
        for key, value in {**_LOCAL_SETTINGS, "spark.driver.extraJavaOptions": _jvm_options()}.items():
            builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _prepare_environment(*, local: bool) -> None:
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if local:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def _jvm_options() -> str:
    """Parallel collector, and the class archive: written at the end of the first session, used by later ones."""
    archive = _archive()
    share = f"-XX:SharedArchiveFile={archive}" if archive.exists() else f"-XX:ArchiveClassesAtExit={archive}"
    return f"-XX:+UseParallelGC -Xlog:cds=off -Xlog:cds+dynamic=off -Xshare:auto {share}"


def _archive() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mqchaos"
    cache.mkdir(parents=True, exist_ok=True)
    import pyspark

    return cache / f"spark-{pyspark.__version__}-java-{find_java().version}.jsa"
