"""What this machine can run, what it lacks, and what dead runs have left on it.

Question: a person has just cloned this; which parts will work, and what must he type for the others?

Model. A list of findings, each *ok*, *missing* (an optional part cannot run, with the way to get it) or *trouble* (the
harness itself cannot run, or something is left behind). Looking changes nothing: ports are bound and released,
tools are looked up, capabilities are read.

Limits. A security module or a full disk may still refuse what looks possible.
"""

from __future__ import annotations

import errno
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

State = Literal["ok", "missing", "trouble"]

PACKAGES: Final = (
    "jinja2",
    "markupsafe",
    "msgspec",
    "numpy",
    "pyarrow",
    "pyyaml",
    "requests",
    "rich",
    "toxiproxy-python",
)
SPARK_PACKAGES: Final = ("pyspark", "pandas")
PORTS: Final = {9876: "NameServer", 10911: "broker", 10909: "broker, fast channel", 10912: "replication"}
OLDEST_PYTHON: Final = (3, 11)
DIGEST: Final = re.compile(r"[0-9a-f]{16}$")
"""Images of which each source tree has its own."""


@dataclass(frozen=True)
class Finding:
    """One line: *found* is what is there, *fix* what to do if it is not as it should be."""

    name: str
    state: State
    found: str
    fix: str = ""

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def examine() -> list[Finding]:
    """Everything, in the order in which it is needed."""
    return [finding for look in LOOKS for finding in look()]


def is_well(findings: list[Finding]) -> bool:
    """Nothing is in trouble; what is missing is optional."""
    return all(finding.state != "trouble" for finding in findings)


def _python() -> list[Finding]:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return [Finding("Python", "trouble", found, "install Python 3.11 or later")]
    return [Finding("Python", "ok", found)]


def _packages() -> list[Finding]:
    versions = {name: _version(name) for name in PACKAGES}
    missing = [name for name, version in versions.items() if not version]
    if missing:
        return [Finding("packages", "trouble", f"without {', '.join(missing)}", "pip install mqchaos")]
    return [Finding("packages", "ok", ", ".join(f"{name} {version}" for name, version in versions.items()))]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _spark() -> list[Finding]:
    missing = [name for name in SPARK_PACKAGES if not _version(name)]
    if missing:
        return [
            Finding("Spark", "missing", f"without {', '.join(missing)}", "pip install 'mqchaos[spark]' (for marts)")
        ]
    return [Finding("Spark", "ok", ", ".join(f"{name} {_version(name)}" for name in SPARK_PACKAGES))]


def _java() -> list[Finding]:
    from harness.errors import BackendUnavailable
    from harness.java import find_java

    try:
        java = find_java()
    except BackendUnavailable as error:
        return [Finding("Java", "missing", error.what, f"{error.hint} (for Apache RocketMQ and Spark)")]
    return [Finding("Java", "ok", f"{java.major} at {java.executable} ({java.origin})")]


def _apache() -> list[Finding]:
    from harness.targets.jars import fetched
    from harness.targets.releases import known

    maven = shutil.which("mvn")
    here = fetched()
    lacking = [version for version in known() if version not in here]
    found = f"{', '.join(here) or 'none'}{'; known and not fetched: ' if lacking else ''}{', '.join(lacking)}"
    fix = "mqchaos fetch VERSION, or the first run with it" if maven else "install Maven first"
    return [
        _there("Maven", maven or "", "apt-get install maven (to fetch Apache RocketMQ, once a version)"),
        Finding("Apache RocketMQ", "ok" if here else "missing", found, "" if here else fix),
    ]


def _there(name: str, found: str, fix: str) -> Finding:
    return Finding(name, "ok", found) if found else Finding(name, "missing", "none", fix)


def _capabilities() -> list[Finding]:
    """Each family of levers of each backend; those of one backend that nothing is missing for share a line."""
    from harness.backends.table import BACKENDS

    findings = []
    for row in BACKENDS.values():
        can, gains = row.capabilities(), row.gains()
        lacks = {family: lack for family, lack in can.lacks().items() if family not in gains}
        well = ", ".join(family for family in can.servers if family not in lacks and family not in gains)
        findings.append(
            Finding(f"backend {row.name}", "ok", f"can: {well}")
            if well
            else Finding(f"backend {row.name}", "missing", "can: nothing", "the next lines say what each part lacks")
        )
        findings += [
            Finding(f"{row.name}: {family}", "missing", lack, "until then its faults are refused, with this reason")
            for family, lack in lacks.items()
        ]
        again = f"{', '.join(sorted(gains))}: commands begin anew as root of a user namespace"
        findings += [Finding(f"backend {row.name}", "ok", again)] if gains else []
    return findings


def _engine() -> list[Finding]:
    """Which engine the backend ``docker`` would use, and what it has of ours."""
    try:
        from faults.mechanisms import engine
    except ImportError as error:
        return [Finding("Docker", "missing", f"without {error.name}", "pip install 'mqchaos[docker]'")]
    try:
        client = engine.connect(timeout_s=engine.LOOK_TIMEOUT_S)
    except engine.EngineUnavailable as error:
        return [Finding("Docker", "missing", error.what, error.hint)]
    tagged = {tag for image in client.images.list() for tag in image.tags if tag.startswith("mqchaos/")}
    images = sorted(tag for tag in tagged if not DIGEST.search(tag))
    version = client.version()["Version"]
    tags = {tag for tag, _ in engine.things_of_ours(client)}
    client.close()
    found = [Finding("Docker", "ok", f"{version} at {engine.address()}, images: {', '.join(images) or 'none yet'}")]
    return found + _dead_containers(tags)


def _dead_containers(tags: set[str]) -> list[Finding]:
    """Of runs that live no more and have no journal here; a dead run's journal heals its own."""
    from faults.journal import open_journals
    from faults.mechanisms.run_tags import held_tags, is_tag_of

    known = [journal.run for journal in open_journals()]
    strays = sorted(tag for tag in tags - set(held_tags()) if not any(is_tag_of(tag, run) for run in known))
    fix = "mqchaos doctor --clean"
    return [Finding("leftovers", "trouble", f"containers of no living run: {', '.join(strays)}", fix)] if strays else []


def _ports() -> list[Finding]:
    taken = [f"{port} ({use})" for port, use in PORTS.items() if not is_free(port)]
    if taken:
        return [Finding("ports", "missing", f"taken: {', '.join(taken)}", "end what listens there (ss -ltnp)")]
    return [Finding("ports", "ok", f"free: {', '.join(map(str, PORTS))}")]


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether *port* could be listened on now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True


def _leftovers() -> list[Finding]:
    from faults.journal import open_journals
    from faults.mechanisms.run_tags import held_tags, is_tag_of

    journals, tags = open_journals(), held_tags()
    living = [journal.run for journal in journals if journal.is_owned]
    elsewhere = [tag for tag in tags if not any(is_tag_of(tag, run) for run in living)]
    living += [f"{tag} (another state folder's)" for tag in elsewhere]
    dead = [journal.run for journal in journals if not journal.is_owned and not journal.damage]
    findings = [Finding("running now", "ok", ", ".join(living))] if living else []
    findings += [
        Finding("leftovers", "trouble", bad.damage, "look at it, then remove it") for bad in journals if bad.damage
    ]
    if dead:
        findings.append(Finding("leftovers", "trouble", f"journals of dead runs: {', '.join(dead)}", "mqchaos heal"))
    elif strays := _strays(tags):  # beside a dead run's journal they may be that run's
        fix = "mqchaos doctor --clean, when nobody else works here"
        findings.append(Finding("leftovers", "trouble", f"of no living run, in no journal: {', '.join(strays)}", fix))
    if not any(finding.name == "leftovers" for finding in findings):
        findings.append(Finding("leftovers", "ok", "none"))
    return findings


def _strays(tags: list[str]) -> list[str]:
    """Namespaces and folders of ours that belong to no run that has lived meanwhile: one with one of *tags*, or one
    that has begun since."""
    from faults.mechanisms.netns import PREFIX, list_namespaces
    from faults.mechanisms.run_tags import held_tags, is_part_of
    from faults.mechanisms.undo import FOLDER_PREFIX

    namespaces = list_namespaces()
    folders = sorted(path for path in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*") if path.is_dir())
    living = [*tags, *held_tags()]
    return [name for name in namespaces if not is_part_of(name, PREFIX, living)] + [
        str(folder) for folder in folders if not is_part_of(folder.name, FOLDER_PREFIX, living)
    ]


LOOKS: Final[tuple[Callable[[], list[Finding]], ...]] = (
    _python,
    _packages,
    _java,
    _apache,
    _spark,
    _capabilities,
    _engine,
    _ports,
    _leftovers,
)
