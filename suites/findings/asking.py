"""All findings, or some, asked of one target.

Question: ``mqchaos findings --target rocketmq:5.5.0``: what is there on this release?

Model. Runs first or last, as the table has them; each answer is handed on as soon as it is there, so that whoever waits
sees it and a record has it. What an act runs into (a broker that does not answer, an exception) is *undecided*, with
its words.

Limits. One after the other: findings are about real processes, which need the machine for themselves.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from checkers.history.releases import numbers_of
from harness.errors import HarnessError
from harness.worlds import open_target, versions_in
from suites.conformance.broker.lives import ProcessStart
from suites.findings.scenarios import Runs, ask_runs
from suites.findings.seen import Seen
from suites.findings.table import Finding

PAIRS: Final = "pairs"
"""The module whose functions start their own cluster."""


@dataclass(frozen=True)
class Answer:
    """One finding, asked of one target."""

    finding: Finding
    target: str
    seen: Seen


def ask_all(target: str, chosen: Sequence[Finding], out: Path, *, resume: bool = False) -> Iterator[Answer]:
    """One answer a finding, in order; run folders go to *out*. *resume*: with what an earlier asking left there."""
    runs = Runs(target, out, resume=resume)
    for finding in chosen:
        yield Answer(finding, target, _ask(finding, target, runs))


def _ask(finding: Finding, target: str, runs: Runs) -> Seen:
    versions = versions_in(target)
    if finding.since and any(numbers_of(version) < numbers_of(finding.since) for version in versions):
        return Seen("does not apply", f"it is about what came with {finding.since}")
    if missing := [name for name in finding.needs if shutil.which(name) is None]:
        return Seen("undecided", f"{', '.join(missing)} is not installed")
    if finding.run:
        return ask_runs(finding, runs.of)
    try:
        return _ask_nodes(finding.ask, target)
    except (AssertionError, HarnessError, TimeoutError) as error:
        return Seen("undecided", f"{type(error).__name__}: {error}".splitlines()[0])


def _ask_nodes(name: str, target: str) -> Seen:
    module, _, function = name.partition(".")
    act: Callable[..., Seen] = getattr(import_module(f"suites.findings.{module}"), function)
    with TemporaryDirectory(prefix="mqchaos-finding-") as folder:
        if module == PAIRS:
            return act(target, Path(folder))
        start = ProcessStart(open_target(target), Path(folder), "auto")
        try:
            return act(start)
        finally:
            start.close()
