"""What was recorded of findings, by release: ``suites/recorded/findings.jsonl``, the source of a table of the page.

Question: what is known of a release, and since which commit?

Model. One line a finding and target. What is undecided is not recorded: it would hide what was decided before.
"""

from __future__ import annotations

import fcntl
from typing import Final

from suites import recorded
from suites.findings.asking import Answer

RESULTS: Final = recorded.FOLDER / "findings.jsonl"


def states(target: str) -> dict[int, str]:
    """Finding → what was recorded of it on *target*."""
    return {entry["finding"]: entry["state"] for entry in recorded.read(RESULTS) if entry["target"] == target}


def keep(answer: Answer, at: str) -> None:
    """Replace what is recorded of the same finding and target; two that record at once wait for each other.

    *at*: the commit at which it was asked. What was kept of the finding before this one has changed a file since."""
    if not answer.seen.is_decided:
        return
    new = {"finding": answer.finding.number, "target": answer.target, "state": answer.seen.state}
    new |= {"seen": answer.seen.sentence, "commit": at}
    with RESULTS.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        about = (answer.finding.number, answer.target)
        kept = [entry for entry in recorded.read(RESULTS) if (entry["finding"], entry["target"]) != about]
        recorded.write(RESULTS, [*kept, new], lambda entry: (f"{entry['finding']:03}", entry["target"]))
