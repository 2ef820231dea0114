"""Clients by name: how an adapter is built, and the command that starts it.

Question: ``client: java:4.9.8``: which program is that, and is what it needs here?

    java:VERSION    the official Java client of that release; jars by Maven, compiled once a version (a JDK)
    go:VERSION      the official Go client v2; its module by the Go proxy, built once a version (Go)
    python          the reference's own client behind the same protocol: the example of docs/clients.md
    anything else   a command line that starts an adapter

Model. Sources are in ``suites/clients``; what is built lies in the cache, beside the brokers' jars, in a folder named
after the version and the sources' checksum. A build is made under another name and renamed when it is whole; two runs
at once take turns.

Limits. Versions are those of the registries: Java 4.9.8 and 5.3.3 and Go 2.1.2 were run.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from harness.cache import cache_folder
from harness.errors import BackendUnavailable, UsageError
from harness.java import find_java

SOURCES: Final = Path(__file__).resolve().parents[2] / "suites" / "clients"
BUILD_TIMEOUT_S: Final = 900.0
_RECIPE: Final = b"2"
"""Of the steps below: another number builds anew."""
GO_MODULE: Final = "github.com/apache/rocketmq-client-go/v2"
JVM_OPTIONS: Final = ("-Xms64m", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_REPOSITORY: Final = "run it from the repository, or name the command line of an adapter"
NEWEST: Final = {"java": "5.3.3", "go": "2.1.2"}


@dataclass(frozen=True)
class Command:
    """How a client process is started."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


def client_command(name: str) -> Command:
    """Build the adapter if need be. ``BackendUnavailable`` with what is missing, ``UsageError`` for no command."""
    kind, _, version = name.partition(":")
    if kind in (*NEWEST, "python") and not SOURCES.is_dir():
        raise BackendUnavailable(f"the adapter {name} is built from sources that are not installed", hint=_REPOSITORY)
    if kind == "java" and " " not in name:
        return _java(version or NEWEST["java"])
    if kind == "go" and " " not in name:
        return _go(version or NEWEST["go"])
    if name == "python":
        root = SOURCES.parents[1]
        return Command((sys.executable, str(SOURCES / "python" / "adapter.py")), {"PYTHONPATH": str(root)})
    argv = shlex.split(name)
    if not argv or shutil.which(argv[0]) is None:
        raise UsageError(f"{name!r} is no client", hint="java:VERSION, go:VERSION, python, or a command line")
    return Command(tuple(argv), {})


def java_folder(version: str) -> Path:
    """The folder with ``classes``, ``lib`` and ``conf`` (a ROCKETMQ_HOME) of that release, built if it is not there."""
    sources = SOURCES / "java"
    return _built(f"java-{version}", sources, lambda into: _build_java(version, sources, into))


def _java(version: str) -> Command:
    folder = java_folder(version)
    path = f"{folder / 'classes'}{os.pathsep}{folder / 'lib'}/*"
    home = {"JAVA_TOOL_OPTIONS": "", "ROCKETMQ_CLIENT_LOGLEVEL": "WARN"}
    quiet = ("-Drocketmq.client.logUseSlf4j=true", "-Drocketmq.client.logLevel=WARN")
    return Command((str(find_java().executable), *JVM_OPTIONS, *quiet, "-cp", path, "mqchaos.Adapter"), home)


def _build_java(version: str, sources: Path, into: Path) -> None:
    compiler = find_java().home / "bin" / "javac"
    if not compiler.exists():
        raise BackendUnavailable("the Java adapter needs a compiler", hint="apt-get install openjdk-17-jdk-headless")
    maven = ["-q", "-B", "-f", str(sources / "pom.xml"), f"-Dclient={version}", "dependency:copy-dependencies"]
    _run([_tool("mvn", "maven"), *maven, f"-DoutputDirectory={into / 'lib'}"], sources)
    files = [str(file) for file in sorted((sources / "src").rglob("*.java"))]
    (into / "classes").mkdir()
    (into / "classes" / "logback.xml").write_text(_LOGBACK)
    (into / "classes" / "rmq.client.logback.xml").write_text(_LOGBACK)
    (into / "conf").mkdir()
    (into / "conf" / "logback_tools.xml").write_text(_LOGBACK)  # mqadmin of 4.9 does nothing without
    _run([str(compiler), "-nowarn", "-d", str(into / "classes"), "-cp", f"{into / 'lib'}/*", *files], sources)


_LOGBACK: Final = """<configuration>
  <appender name="error" class="ch.qos.logback.core.ConsoleAppender">
    <target>System.err</target>
    <encoder><pattern>%d{HH:mm:ss.SSS} %-5level %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="error"/></root>
</configuration>
"""


def _go(version: str) -> Command:
    sources = SOURCES / "go"
    folder = _built(f"go-{version}", sources, lambda into: _build_go(version, sources, into))
    return Command((str(folder / "adapter"),), {"ROCKETMQ_GO_LOG_LEVEL": "warn"})


def _build_go(version: str, sources: Path, into: Path) -> None:
    for file in sources.iterdir():
        shutil.copy(file, into / file.name)
    go = _tool("go", "golang-go")
    _run([go, "get", f"{GO_MODULE}@v{version}"], into)
    _run([go, "mod", "tidy"], into)
    _run([go, "build", "-o", "adapter", "."], into)


def _built(name: str, sources: Path, build: Callable[[Path], None]) -> Path:
    """The folder of a build, made once for these sources."""
    folder = cache_folder() / "clients" / f"{name}-{_checksum(sources)}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            unfinished = folder.with_name(f"{folder.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            build(unfinished)
            unfinished.rename(folder)
    return folder


def _checksum(sources: Path) -> str:
    digest = sha256(_RECIPE)
    for file in sorted(path for path in sources.rglob("*") if path.is_file()):
        digest.update(file.relative_to(sources).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def _tool(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise BackendUnavailable(
            f"this client is built with {name}, which is not installed", hint=f"apt-get install {package}"
        )
    return found


def _run(argv: Sequence[str], folder: Path) -> None:
    """Run a step of a build; ``BackendUnavailable`` with its last words if it fails."""
    try:
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise BackendUnavailable(f"{argv[0]} did not end within {BUILD_TIMEOUT_S:g} s") from None
    if done.returncode != 0:
        words = (done.stdout + done.stderr).strip().splitlines()[-8:]
        raise BackendUnavailable(f"{Path(argv[0]).name} failed: " + " / ".join(words))
