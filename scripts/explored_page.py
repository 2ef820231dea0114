"""``docs/explored.md``: how many states of a small group were looked at, and what that says.

Question: which orders of events of three members were tried, all of them, and is every invariant kept in each?

Model. Figures are those of the last ``make explore`` (``suites/recorded/explored.jsonl``); what a state is, which
events there are and where the bounds lie are the words of the search itself (``suites/unit/dledger/exploration.py``),
what is asked of every state those of ``suites/unit/dledger/invariants.py``.

    python -m scripts.explored_page
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from scripts.markdown import wrapped
from suites import recorded
from suites.unit.dledger import exploration, invariants

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "explored.md"
RESULTS: Final = recorded.FOLDER / "explored.jsonl"

_HEAD: Final = """\
# States of a small group

This page is made by `python -m scripts.explored_page` of what `make explore` found; do not edit it.

The protocol of a group is one pure function ([core.py](../reference_impl/dledger/core.py)), so that all orders of
events of three members can be tried up to a bound, without a clock and without chance.

| | |
|---|---|
| states | {states:,} |
| transitions | {transitions:,} |
| every order of so many events, from each start | {wide} |
| every run to its end with so many deviations, from each start | {deep} |
| leaders in one run, at most | {leaders} terms |
| entries committed in one run, at most | {committed} |
| a state that breaks an invariant | none |
| took | {seconds} s, at commit {commit} |

`make explore STATES={budget}` finds the same again; a slice of it runs with the unit tests, and a rule of voters that
was broken on purpose is found there.

## What was asked

"""


def page(found: recorded.Entry) -> str:
    """The page of one search."""
    figures = {**found, "wide": _each(found["wide"]), "deep": _each(found["deep"])}
    return wrapped(
        _HEAD.format(**figures)
        + _words(exploration)
        + "\n\n## Invariants of every state\n\n"
        + _words(invariants)
        + "\n"
    )


def _each(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _words(module: object) -> str:
    """What a module says of itself, its examples and tables as code."""
    paragraphs = (module.__doc__ or "").replace("``", "`").strip().split("\n\n")[1:]
    return "\n\n".join(paragraphs)


def main() -> int:
    PAGE.write_text(page(recorded.read(RESULTS)[-1]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
