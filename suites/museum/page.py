"""``docs/museum.md``: the planted bugs as exhibits, each with its history, its checker and how soon it is found.

Question: which bugs can the reference be given, where were they seen before, and how are they found here?

Model. One page from three sources: the registry (:mod:`reference_impl.defects`), the exhibits with their scenarios, and
``suites/recorded/museum.jsonl``, which the hunt writes. Only the example is run, so that the page shows what it prints.

    python -m suites.museum.page
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill
from typing import Final

from harness.run import run_scenario
from harness.summary import lines_of
from reference_impl.defects import CONSUMERS, DEFECTS, GROUPS, OPERATORS, REPLICATION, ROUTING, STORE
from reference_impl.defects.defect import Defect
from scripts.markdown import WIDTH, wrapped
from suites.museum.exhibits import EXHIBITS, NOT_TO_BE_HAD, command, scenario_of
from suites.museum.hunt import Finding, Twin, read_findings, read_twins

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "museum.md"
EXAMPLE: Final = "offset-table-ignores-tail"
ROOMS: Final = (
    ("One broker and its files", STORE),
    ("A master and its slave", REPLICATION),
    ("Members that elect their leader", GROUPS),
    ("Who finds whom", ROUTING),
    ("What consumers are given", CONSUMERS),
    ("What operators order and are told", OPERATORS),
)

_HEAD = """\
# The museum of planted bugs

This page is made by `python -m suites.museum.page`; do not edit it. Its figures are those of
`python -m suites.museum.hunt`.

A checker that has never found anything proves nothing. So the reference can be made to break its guarantees, in {bugs}
ways, after bugs that replicated logs really had. Each is a *defect* with a name; each has a scenario
that reaches it, and a check that must find it and say what is wrong: FAIL alone does not count as found, the sentence
has to name the nodes, the fault and the mechanism. With the same seeds and without the defect every check must be
silent.

Letters of the exhibits: **B** RocketMQ's own code, **C** other logs and queues, **R** what operators of RocketMQ lost,
**A** its DLedger. A number after the name of a project is an issue or pull request of its tracker. A defect is the same
*mechanism* in our reference, not a copy of that code.

## One of them

    $ {command}

{output}

Without `--defect` the same seed is PASS. `mqchaos list defects` names all of them.
"""


def page() -> str:
    """The page."""
    findings, twins = read_findings(), read_twins()
    parts = [_head(findings[EXAMPLE])]
    for title, room in ROOMS:
        parts += [f"## {title}\n", _table([name for name in EXHIBITS if name in room], findings, twins)]
    parts += ["## Not to be had\n", *(f"* **{exhibit}** {why}" for exhibit, why in NOT_TO_BE_HAD.items()), ""]
    parts += ["## Exhibit by exhibit\n", *(_exhibit(name, findings[name]) for name in EXHIBITS)]
    return wrapped("\n".join(parts).rstrip() + "\n")


def _head(example: Finding) -> str:
    return _HEAD.format(
        bugs=len(DEFECTS),
        command=command(EXAMPLE, example.first[0]),
        output="\n".join(_code(line) for line in _said(example.first[0])),
    )


def _code(line: str) -> str:
    """*line* as a line of code, broken where the page ends."""
    margin = " " * (len(line) - len(line.lstrip()) + 4)
    return fill(line.strip(), WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False).rstrip()


def _said(seed: int) -> list[str]:
    result = run_scenario(scenario_of(EXHIBITS[EXAMPLE].path), seed=seed, keep="none", defects=(EXAMPLE,))
    return lines_of(result, replay=command(EXAMPLE, seed))


def _table(names: list[str], findings: dict[str, Finding], twins: dict[str, Twin]) -> str:
    rows = ["| defect | exhibits | check | found | first seed | silent without it |", "|---|---|---|---|---|---|"]
    for name in names:
        finding, twin = findings[name], twins[EXHIBITS[name].scenario]
        rows.append(
            f"| [`{name}`](#{name}) | {', '.join(DEFECTS[name].exhibits) or '–'} | `{DEFECTS[name].check}` | "
            f"{finding.found} of {finding.seeds} seeds | {finding.first[0]} | {_silence(twin)} |"
        )
    return "\n".join(rows) + "\n"


def _silence(twin: Twin) -> str:
    if twin.outcomes == {"PASS": twin.seeds}:
        return f"{twin.seeds} of {twin.seeds} seeds"
    return ", ".join(f"{count} {outcome}" for outcome, count in twin.outcomes.items())


def _exhibit(name: str, finding: Finding) -> str:
    defect, exhibit = DEFECTS[name], EXHIBITS[name]
    others = (
        f" Beside it: {', '.join(f'{kind} ({n})' for kind, n in finding.others.items())}." if finding.others else ""
    )
    return "\n".join(
        [
            f"### {name}\n",
            f"*{_upper(defect.what)}.*\n",
            *_seen_at(defect),
            f"* **How it is reached** {exhibit.reached_by}.",
            f"* **How it is found**: `{defect.check}` sees {defect.shows}; in {finding.found} of {finding.seeds} seeds."
            f"{others}",
            f"* **What is said**: {finding.sentence}",
            f"* **Again**: `{command(name, finding.first[0])}`",
            "",
        ]
    )


def _seen_at(defect: Defect) -> list[str]:
    """Where the bug was met before; nothing for one that we made up."""
    return [f"* **Where it was seen** ({', '.join(defect.exhibits)}): {defect.history}."] if defect.exhibits else []


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:] if not text.startswith("topics.json") else text


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
