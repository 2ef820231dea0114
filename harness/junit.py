"""Runs as JUnit XML (``xunit1``, what pytest writes here too), for builds that show such files.

Question: which of these runs failed, and how is one repeated?

Model. One test case a run, named by its scenario and seed. FAIL is a ``failure``; UNKNOWN is an ``error``, because a
build must not take it for a success. Properties carry seed, backend, target, run_dir, history_sha256 and verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as Xml

from checkers.verdict import Outcome
from harness.errors import UsageError
from harness.seeds import text as seed_text
from harness.summary import headline, lines_of

if TYPE_CHECKING:
    from harness.run import RunResult

_ELEMENTS = {Outcome.FAIL: "failure", Outcome.UNKNOWN: "error"}


def check(path: Path) -> None:
    """``UsageError`` if *path* cannot be written, before anything is run; leaves what is there as it is."""
    was_there = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", hint="--junit FILE") from None
    if not was_there:
        path.unlink()


@dataclass(frozen=True)
class Case:
    """One run as such files want it. ``text``: what a person reads where it did not pass."""

    classname: str
    name: str
    outcome: Outcome
    headline: str
    text: str
    properties: Mapping[str, str]


def write(path: Path, results: Sequence[RunResult]) -> None:
    """Replace *path*; its folder is made."""
    write_cases(path, [_case_of(result) for result in results])


def write_cases(path: Path, cases: Sequence[Case]) -> None:
    """Replace *path*; its folder is made."""
    counts = {name: str(sum(_ELEMENTS.get(case.outcome) == name for case in cases)) for name in _ELEMENTS.values()}
    suite = Xml.Element(
        "testsuite",
        name="mqchaos",
        tests=str(len(cases)),
        failures=counts["failure"],
        errors=counts["error"],
        skipped="0",
    )
    for case in cases:
        suite.append(_element(case))
    root = Xml.Element("testsuites")
    root.append(suite)
    path.parent.mkdir(parents=True, exist_ok=True)
    Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _case_of(result: RunResult) -> Case:
    return Case(
        f"mqchaos.{result.backend}",
        f"{result.scenario}[{result.backend}-{result.target}-{seed_text(result.seed)}]",
        result.outcome,
        headline(result),
        "\n".join(lines_of(result, report=str(result.folder or ""), replay=result.replay_command)),
        _properties(result),
    )


def _element(case: Case) -> Xml.Element:
    element = Xml.Element("testcase", classname=case.classname, name=case.name)
    properties = Xml.SubElement(element, "properties")
    for key, value in case.properties.items():
        Xml.SubElement(properties, "property", name=key, value=value)
    if bad := _ELEMENTS.get(case.outcome):
        Xml.SubElement(element, bad, message=_printable(case.headline)).text = _printable(case.text)
    return element


def _properties(result: RunResult) -> dict[str, str]:
    return {
        "seed": seed_text(result.seed),
        "backend": result.backend,
        "target": result.target,
        "run_dir": str(result.folder or ""),
        "history_sha256": result.history_sha256,
        "verdict": result.outcome.name,
    }


def _printable(text: str) -> str:
    """XML 1.0 has no place for control characters, which a broker's remark may contain."""
    return "".join(c if c in "\n\t" or (ord(c) >= 32 and c not in "\ufffe\uffff") else "�" for c in text)
