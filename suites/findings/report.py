"""What came of asking, for a person and for a build.

Question: which findings does this release show, is that news, and what does a build make of it?

Model. One line a finding, worst news first in the sum: what differs from the record of that release (there again, or
gone at last), then what is undecided. Exit codes as everywhere: 0 all decided and as recorded, 1 something differs, 2
something is undecided. A release without a record differs from nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as Xml

from harness.errors import EXIT_FAIL, EXIT_PASS, EXIT_UNKNOWN
from suites.findings.asking import Answer

COLOURS: Final = {"there": "red", "gone": "green", "changed": "yellow", "undecided": "yellow", "does not apply": "dim"}


def differs(answer: Answer, recorded: Mapping[int, str]) -> bool:
    """Whether it is news."""
    known = recorded.get(answer.finding.number, answer.seen.state)
    return answer.seen.is_decided and known not in (answer.seen.state, "undecided")


def exit_code(answers: Sequence[Answer], recorded: Mapping[int, str]) -> int:
    """News before doubt."""
    if any(differs(answer, recorded) for answer in answers):
        return EXIT_FAIL
    return EXIT_PASS if all(answer.seen.is_decided for answer in answers) else EXIT_UNKNOWN


def line(answer: Answer, recorded: Mapping[int, str]) -> tuple[str, str]:
    """(state, the rest of the line)."""
    was = f"  (recorded: {recorded[answer.finding.number]})" if differs(answer, recorded) else ""
    return answer.seen.state, f"{answer.finding.number:>3}  {answer.finding.title}{was}\n{'':20}{answer.seen.sentence}"


def summary(answers: Sequence[Answer]) -> str:
    """``14 there, 10 gone, 1 undecided``."""
    counts = {state: sum(answer.seen.state == state for answer in answers) for state in COLOURS}
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count)


def document(target: str, answers: Sequence[Answer], recorded: Mapping[int, str]) -> dict[str, Any]:
    """For ``--json``."""
    return {
        "target": target,
        "findings": [
            {
                "finding": answer.finding.number,
                "title": answer.finding.title,
                "state": answer.seen.state,
                "seen": answer.seen.sentence,
                "is_news": differs(answer, recorded),
            }
            for answer in answers
        ],
    }


def write_junit(path: Path, target: str, answers: Sequence[Answer], recorded: Mapping[int, str]) -> None:
    """A failure for what is news, an error for what is undecided."""
    kinds = {answer.finding.number: _kind(answer, recorded) for answer in answers}
    counts = {f"{kind}s": str(list(kinds.values()).count(kind)) for kind in ("failure", "error")}
    suite = Xml.Element("testsuite", name="mqchaos findings", tests=str(len(answers)), skipped="0", **counts)
    for answer in answers:
        name = f"finding {answer.finding.number}: {answer.finding.title}[{target}]"
        case = Xml.SubElement(suite, "testcase", classname="mqchaos.findings", name=name)
        if kind := kinds[answer.finding.number]:
            Xml.SubElement(case, kind, message=f"{answer.seen.state}: {answer.seen.sentence}")
    root = Xml.Element("testsuites")
    root.append(suite)
    Xml.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _kind(answer: Answer, recorded: Mapping[int, str]) -> str:
    if differs(answer, recorded):
        return "failure"
    return "" if answer.seen.is_decided else "error"
