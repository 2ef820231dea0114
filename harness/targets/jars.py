"""Apache RocketMQ's jars: fetched once a release, by Maven, into the cache.

    $XDG_CACHE_HOME/mqchaos/rocketmq-4.9.7/lib/*.jar      (~/.cache by default)

Question: where are the jars of a release, and how does somebody who waits for them see that they are coming?

Model. The NameServer's and the broker's artifacts and all that they depend on, copied by Maven into a folder that gets
its name when it is whole. Two processes that want the same release wait for one another. What Maven says of each
download becomes one line of progress.

Limits. Needs Maven, the first time. A release of which the servers are not published as a whole is refused: its jars
beside those of another release would be no release at all.
"""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Timer
from typing import Final, TextIO

from harness.cache import cache_folder
from harness.errors import BackendUnavailable
from harness.targets.releases import incomplete, known

COMPLAINT_MAX: Final = 240
MAVEN_TIMEOUT_S: Final = 900.0

Say = Callable[[str], None]
"""Takes a line for a person."""

POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqchaos</groupId><artifactId>rocketmq</artifactId><version>{version}</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-namesrv</artifactId><version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-broker</artifactId><version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


def jar_folder(version: str) -> Path:
    """Where the jars of a version lie, or would."""
    return cache_folder() / f"rocketmq-{version}" / "lib"


def fetched() -> list[str]:
    """The versions whose jars are here."""
    return sorted(path.parent.name.removeprefix("rocketmq-") for path in cache_folder().glob("rocketmq-*/lib"))


def _silent(line: str) -> None:
    """Says nothing."""


def fetch_jars(version: str, say: Say = _silent, on_progress: Say = _silent) -> Path:
    """The folder with all jars; fetched by Maven if it is not there. ``BackendUnavailable`` with Maven's complaint.

    *say* is told what is begun, *on_progress* how far it is, at every line of Maven's.
    """
    jars = jar_folder(version)
    if jars.is_dir():
        return jars
    if version in incomplete():
        what = f"RocketMQ {version} is not published as a whole: {incomplete()[version]}"
        raise BackendUnavailable(what, hint=f"known: {', '.join(known())}")
    jars.parent.mkdir(parents=True, exist_ok=True)
    with (jars.parent / "lock").open("w") as lock:
        _wait_for(lock, lambda: say(f"rocketmq {version}: another process is fetching it, waiting"))
        if not jars.is_dir():
            say(f"rocketmq {version}: fetching its jars with Maven, once")
            _fetch(version, jars, on_progress)
    return jars


def _wait_for(lock: TextIO, on_wait: Callable[[], None]) -> None:
    """Of two processes the second waits, and finds what the first has fetched."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        on_wait()
        fcntl.flock(lock, fcntl.LOCK_EX)


def _fetch(version: str, jars: Path, on_progress: Say) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise BackendUnavailable(
            f"the jars of RocketMQ {version} are not in {jars} and Maven is not installed",
            hint="apt-get install maven (needed once a version)",
        )
    unfinished = jars.with_name("lib.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    pom = jars.parent / "pom.xml"
    pom.write_text(POM.format(version=version))
    argv = [maven, "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"]
    code, said = _run(argv, lambda lines: on_progress(f"rocketmq {version}: {_sum(lines)}"))
    if code is None:
        raise BackendUnavailable(f"Maven did not fetch RocketMQ {version} within {MAVEN_TIMEOUT_S:g} s")
    if code != 0:
        raise BackendUnavailable(
            f"Maven could not fetch RocketMQ {version}: {_complaint(said)}",
            hint=f"not every release has both server artifacts; known: {', '.join(known())}",
        )
    unfinished.rename(jars)


def _run(argv: list[str], on_line: Callable[[list[str]], None]) -> tuple[int | None, list[str]]:
    """Exit code (``None``: it took too long) and what was said, line by line; nothing is left running."""
    said: list[str] = []
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    too_long = Timer(MAVEN_TIMEOUT_S, process.kill)
    too_long.start()
    try:
        for line in process.stdout or ():
            said.append(line.rstrip("\n"))
            on_line(said)
        process.wait()
        return (process.returncode if too_long.is_alive() else None), said
    finally:
        too_long.cancel()
        if process.poll() is None:
            process.kill()
            process.wait()


_DOWNLOADED: Final = re.compile(r"Downloaded from .*\(([0-9.]+) (B|kB|MB)\b")
_BYTES: Final = {"B": 1, "kB": 1_000, "MB": 1_000_000}


def _sum(said: Iterable[str]) -> str:
    """``87 files, 12.3 MB; 40 jars copied``."""
    sizes, copied = [], 0
    for line in said:
        if found := _DOWNLOADED.search(line):
            sizes.append(float(found[1]) * _BYTES[found[2]])
        copied += "Copying " in line
    return f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB; {copied} jars copied"


def _complaint(said: Iterable[str]) -> str:
    """Maven's first sentence, shortened to a line or two; even in batch mode it may begin with an escape code."""
    lines = list(said)
    errors = [line.partition("[ERROR] ")[2].strip() for line in lines]
    complaint = next((error for error in errors if error), " ".join(lines).strip()[-COMPLAINT_MAX:])
    return complaint if len(complaint) <= COMPLAINT_MAX else f"{complaint[:COMPLAINT_MAX]} …"
