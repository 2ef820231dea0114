"""``docs/coverage.md``: what the scenarios and cells exercise, and what none of them ever does.

    python scripts/coverage_page.py          write the page again, of suites/recorded/exercised.jsonl
    python -m suites.exercise.record         run all units first (a quarter of an hour on two cores)

Question: which requests, answers, notable branches and faults has nobody ever seen in a run?
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from scripts.markdown import wrapped
from suites import recorded
from suites.exercise.points import declared
from suites.exercise.record import PATH, RUN, STATUS

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "coverage.md"
ROLES: Final = ("master", "slave", "nameserver", "client")
FEW: Final = 2
NAMED: Final = 3

_HEAD: Final = """\
# What the units exercise

This page is made by `scripts/coverage_page.py` of what `make coverage` saw; do not edit it.

Every scenario and every cell of the matrix ({units} units) was run once in the simulator. What did they make the
reference do? A request that no unit sends, an answer that none gets, or a branch that none takes can be broken without
anybody noticing: these come first. A request that the reference refuses by name counts as served. Lines of code are on
the page [detection](detection.md).

| | exercised | by one or two units only | never |
|---|---|---|---|
"""

_KINDS: Final[Mapping[str, str]] = {
    "request": "requests that a role serves",
    "answer": "answers that it can give",
    "branch": "notable branches",
    "fault": "verbs",
}


def page(entries: Sequence[recorded.Entry]) -> str:
    """The page of what is recorded."""
    text = _HEAD.format(units=next(entry["units"] for entry in entries if entry["kind"] == RUN))
    points = [entry for entry in entries if entry["kind"] in _KINDS]
    for kind, words in _KINDS.items():
        counts = [entry["units"] for entry in points if entry["kind"] == kind]
        text += (
            f"| {words} | {sum(n > 0 for n in counts)} | {sum(0 < n <= FEW for n in counts)} | {counts.count(0)} |\n"
        )
    text += "\n## Never\n\n"
    for kind, words in _KINDS.items():
        missing = [entry["name"] for entry in points if entry["kind"] == kind and not entry["units"]]
        text += f"* **{words}**: {', '.join(f'`{name}`' for name in missing) or 'none'}\n"
    text += "\n## Faults by the role that they hit\n\nUnits in which the fault was seen to take effect.\n\n"
    text += _faults([entry for entry in points if entry["kind"] == "fault"])
    for kind, title in (("branch", "Notable branches"), ("request", "Requests"), ("answer", "Answers")):
        text += f"\n## {title}\n\n{_table([entry for entry in points if entry['kind'] == kind])}"
    text += "\n## What clients saw\n\nOperations of the history, and the statuses that each was ever answered with.\n\n"
    text += _statuses(entry for entry in entries if entry["kind"] == STATUS)
    return wrapped(text)


def _faults(entries: Iterable[recorded.Entry]) -> str:
    by_verb: dict[str, dict[str, int]] = defaultdict(dict)
    for entry in entries:
        verb, _, role = entry["name"].partition(" of ")
        by_verb[verb][role] = entry["units"]
    rows = [
        f"| {verb} | {' | '.join(str(of.get(role, '')) for role in ROLES)} |" for verb, of in sorted(by_verb.items())
    ]
    return "\n".join([f"| fault | {' | '.join(ROLES)} |", f"|---|{'---|' * len(ROLES)}", *rows, ""])


def _table(entries: Iterable[recorded.Entry]) -> str:
    where = {(point.kind, point.name): point.where for point in declared()}
    rows = [
        f"| `{entry['name']}` | {_places(where.get((entry['kind'], entry['name']), ('the simulator',)))} "
        f"| {entry['units']} | {entry['first']} |"
        for entry in sorted(entries, key=lambda entry: (entry["units"], entry["name"]))
        if entry["units"]
    ]
    return "\n".join(["| | in | units | for instance |", "|---|---|---|---|", *rows, ""])


def _places(modules: Sequence[str]) -> str:
    more = f" and {len(modules) - NAMED} more" if len(modules) > NAMED else ""
    return ", ".join(modules[:NAMED]) + more


def _statuses(entries: Iterable[recorded.Entry]) -> str:
    by_operation: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        operation, _, status = entry["name"].partition(" ")
        by_operation[operation].append(f"{status} ({entry['units']})")
    return "".join(f"* `{name}`: {', '.join(statuses)}\n" for name, statuses in sorted(by_operation.items()))


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(recorded.read(PATH)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
