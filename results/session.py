"""One Spark session with settings that fit where it runs, and no Java process left behind.

Question: embedded in this process, on a cluster, or on a Spark Connect server: which settings, and who ends what?

Model. Where it runs is configuration: ``MQCHAOS_SPARK_MASTER`` (``local[*, 4]`` by default, ``spark://host:7077``,
``yarn``, ``k8s://…``) or ``MQCHAOS_SPARK_REMOTE`` (``sc://host:15002``); started by ``spark-submit`` it takes what
that gives. A local session must start fast: no UI, the parallel collector, and the classes of Spark from an archive
that the first session of an installation leaves in the cache folder (it halves the start). On a cluster none of that is
set: its administrators know better.

Python workers on this machine are this interpreter, or Spark takes whatever ``python3`` is on the path; on a cluster
``PYSPARK_PYTHON`` says where it is if not at the same path. Our own code goes to a cluster with the session, as an
archive that every executor unpacks (:mod:`results.shipping`); what it imports must be installed there. What the virtual
machine says on standard error goes to a log file in the cache folder, of which the end is shown if it does not start.
Ctrl-C and SIGTERM raise ``KeyboardInterrupt`` in the main thread; on leaving, whatever the reason, the Java process is
stopped and waited for.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from harness.cache import cache_folder
from harness.errors import BackendUnavailable, HarnessError
from harness.java import find_java, spark_home
from results.shipping import archive, settings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT: Final = Path(__file__).resolve().parent.parent
LOCAL: Final = "local[*, 4]"
"""All cores; a task whose worker dies is tried again, as on a cluster."""

LAUNCHER: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""For the virtual machine that only prints the command of the next one (bin/spark-class)."""

SMALL: Final = 8
"""Parts of a shuffle of a small job on a cluster."""

ARCHIVES: Final = 3
"""Of classes, in the cache folder."""

INTERRUPTING: Final = (signal.SIGINT, signal.SIGTERM)

STOP_S: Final = 30.0
"""How long the virtual machine may take to end; the first one of a machine writes its archive of classes then."""

_LOCAL_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    # Python and the virtual machine talk over a socket file: a bare machine need not even know "localhost".
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.log.level": "ERROR",
}


_THOROUGH_LATE: Final = (
    "-XX:Tier4InvocationThreshold=100000",
    "-XX:Tier4MinInvocationThreshold=50000",
    "-XX:Tier4CompileThreshold=200000",
    "-XX:Tier4BackEdgeThreshold=2000000",
)

_SMALL_PLANS: Final = {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"}
_SMALL_SETTINGS: Final = {**_SMALL_PLANS, "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}


@contextmanager
def small_plans(session: SparkSession) -> Iterator[None]:
    """Inside, queries are planned as those of a small job, whatever the session is for; on a cluster nothing is."""
    plans = _SMALL_PLANS if is_local() else {}
    before = {name: session.conf.get(name) or "" for name in plans}
    try:
        for name, value in plans.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


@contextmanager
def spark_session(name: str, *, partitions: int = 0) -> Iterator[SparkSession]:
    """A session that is stopped on leaving; ``BackendUnavailable`` where no Java 17+ is found or it does not start.

    *partitions* of a shuffle: 0 for a small job, where planning costs more than it saves.
    """
    _prepare_environment()
    log = cache_folder() / "spark.log"
    with _quiet_gateway(), _interrupts() as interrupts, archive() as code:
        try:
            with _standard_error_to(log):
                session = _builder(name, partitions, code).getOrCreate()
            interrupts.handle()  # PySpark has put a handler of its own in the place of ours
        except Exception as problem:
            said = f"Spark did not start: {problem}"  # while there is a Java to ask what it was
            stop_java()
            raise BackendUnavailable(said, place=str(log), hint=_end_of(log)) from problem
        try:
            yield session
        except Exception as problem:
            if interrupts.are_seen:  # PySpark waits for the query all the same, and tells how that ended
                raise KeyboardInterrupt from problem
            if told := _told(problem):
                raise told from problem
            raise
        finally:
            session.stop()
            stop_java()


def _told(problem: Exception) -> HarnessError | None:
    """An error of the virtual machine says what it is only while that runs: so it is asked now."""
    cause: Any = getattr(problem, "java_exception", None)  # of PySpark's gateway
    if cause is None:
        return None
    while cause.getCause() is not None:
        cause = cause.getCause()
    return HarnessError(f"Spark gave up: {cause.toString()}")


def where() -> str:
    """:data:`LOCAL`, a master, or the address of a Spark Connect server."""
    return os.environ.get("MQCHAOS_SPARK_REMOTE") or os.environ.get("MQCHAOS_SPARK_MASTER", LOCAL)


def is_local() -> bool:
    return where().startswith("local") and "SPARK_ENV_LOADED" not in os.environ


def _builder(name: str, partitions: int, code: Path) -> Any:
    from pyspark.sql import SparkSession

    # What goes wrong in a query comes back as an exception; PySpark prints it a second time, with the stack of both.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    builder: Any = SparkSession.builder
    if not is_local():
        # Adaptive execution decides how many parts are read; what it begins with is what each task of a shuffle writes.
        builder = builder.config("spark.sql.adaptive.coalescePartitions.initialPartitionNum", partitions or SMALL)
    if where().startswith("sc://"):
        return builder.remote(where())
    builder = builder.appName(name)
    if "SPARK_ENV_LOADED" not in os.environ:  # under spark-submit the master is given there
        builder = builder.master(where())
    if not is_local():
        for key, value in settings_of(code).items():
            builder = builder.config(key, value)
        return builder
    sized = {"spark.sql.shuffle.partitions": str(partitions)} if partitions else _SMALL_SETTINGS
    memory = {"spark.driver.memory": _memory(), "spark.driver.extraJavaOptions": _java_options(bool(partitions))}
    for key, value in {**_LOCAL_SETTINGS, **sized, **memory}.items():
        builder = builder.config(key, value)
    return builder


def _memory() -> str:
    """A quarter of the machine, between 1 and 8 GiB; ``MQCHAOS_SPARK_MEMORY`` says otherwise."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return os.environ.get("MQCHAOS_SPARK_MEMORY") or f"{min(max(whole // 2**30 // 4, 1), 8)}g"


def _java_options(is_long: bool) -> str:
    """For a short job the quick compiler only, for a long one the thorough one, of what is really hot: on two cores it
    takes half of the first ten seconds otherwise. Classes from the archive, or an archive made at the end."""
    archive = _archive_of_classes()
    shared = f"-XX:SharedArchiveFile={archive}" if archive.exists() else f"-XX:ArchiveClassesAtExit={archive}"
    return " ".join(
        [
            "-XX:+UseParallelGC",
            shared,
            "-Xlog:cds=off",
            "-Xlog:cds+dynamic=off",
            *(_THOROUGH_LATE if is_long else ["-XX:TieredStopAtLevel=1"]),
        ]
    )


def _archive_of_classes() -> Path:
    """Java takes an archive only beside the very files that it was made from, and is silent where it does not: so each
    installation of Spark has its own, named by them."""
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    jars = sorted((home / "jars").glob("*.jar"))
    files = [find_java().executable.resolve(), *jars]
    known = [(str(file), stat.st_size, stat.st_mtime_ns) for file in files for stat in [file.stat()]]
    digest = sha256(repr(known).encode()).hexdigest()[:12]
    archive = cache_folder() / f"spark-{pyspark.__version__}-java{find_java().major}-{digest}.jsa"
    if not archive.exists():
        _make_room()
    return archive


def _make_room() -> None:
    """Of the archives that other installations left (200 MB each), the newest stay."""
    old = sorted(cache_folder().glob("spark-*.jsa"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in old[ARCHIVES - 1 :]:
        path.unlink(missing_ok=True)


def _prepare_environment() -> None:
    cache_folder().mkdir(parents=True, exist_ok=True)
    os.environ["JAVA_HOME"] = str(spark_home(find_java(), cache_folder()))
    if is_local():
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LAUNCHER_OPTS", LAUNCHER)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(ROOT) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, paths)])
    if is_local():
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def stop_java() -> None:
    """End the virtual machine that this process started, if it did; it is gone when this returns."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    if gateway is None:
        return
    process: subprocess.Popen[bytes] | None = gateway.proc
    gateway.shutdown()
    if process is None:  # that of spark-submit ends when we do
        return
    if process.stdin is not None:
        process.stdin.close()  # PySpark's gateway ends when its standard input does
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    # So that the next session of this process starts a machine of its own.
    SparkContext._gateway = SparkContext._jvm = None


@contextmanager
def _quiet_gateway() -> Iterator[None]:
    """What breaks off a call to the virtual machine is raised; its gateway prints that as well, with two stacks."""
    root, gateway, nowhere = logging.getLogger(), logging.getLogger("py4j"), logging.NullHandler()
    root.addFilter(_is_not_of_the_gateway)  # some of it says so by the root logger itself
    before, gateway.propagate = gateway.propagate, False
    gateway.addHandler(nowhere)
    try:
        yield
    finally:
        root.removeFilter(_is_not_of_the_gateway)
        gateway.removeHandler(nowhere)
        gateway.propagate = before


def _is_not_of_the_gateway(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


class _Interrupts:
    """SIGTERM like Ctrl-C; only a main thread can say so."""

    def __init__(self) -> None:
        self.are_seen = False

    def handle(self) -> None:
        """From now on, whoever handled them before."""
        if threading.current_thread() is threading.main_thread():
            for number in INTERRUPTING:
                signal.signal(number, self._raise)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        self.are_seen = True
        raise KeyboardInterrupt


@contextmanager
def _interrupts() -> Iterator[_Interrupts]:
    """Whoever handled interrupts before does so afterwards."""
    ours, before = _Interrupts(), {number: signal.getsignal(number) for number in INTERRUPTING}
    ours.handle()
    try:
        yield ours
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)


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
