"""``docs/conformance.md``: every probe, what it does, and what came of it on whom.

Question: which statements about RocketMQ's behaviour were asked of which broker, and did it behave so?

Model. ``suites/conformance/catalogue.yaml`` has the probes; ``suites/recorded/conformance.jsonl`` has what each test
that answers one came to when it ran (written by the conformance tests themselves, see their ``conftest.py``). A cell
says how many tests hold, or names those that do not; an empty cell has its reason from the catalogue. A page never runs
anything.

    python scripts/conformance_page.py           write the page again
    python scripts/conformance_page.py --check   exit 1 if the page is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from scripts.markdown import wrapped
from suites import recorded

ROOT: Final = Path(__file__).resolve().parent.parent
CATALOGUE: Final = ROOT / "suites" / "conformance" / "catalogue.yaml"
RESULTS: Final = recorded.FOLDER / "conformance.jsonl"
PAGE: Final = ROOT / "docs" / "conformance.md"
COLUMNS: Final = (
    ("simulated", "reference, simulated"),
    ("processes", "reference, real processes"),
    ("rocketmq:4.9.7", "Apache 4.9.7"),
    ("rocketmq:5.3.3", "Apache 5.3.3"),
    ("rocketmq:5.5.0", "Apache 5.5.0"),
)
CHAPTERS: Final = (
    ("Groups that elect their leader (DLedger)", "D01", "D99"),
    ("Layout and append", "P01", "P09"),
    ("Recovery", "P10", "P22"),
    ("Flush", "P23", "P29"),
    ("Replication", "P30", "P51"),
    ("Slaves, reads, offsets", "P52", "P67"),
    ("Delay, transactions, overload, disk, NameServers", "P68", "P78"),
    ("Hazards of replication", "H1", "H9"),
    ("Frames, connections, NameServers", "W01", "W20"),
    ("Sends, pulls, offsets", "W21", "W36"),
    ("Groups, retries, transactions, slaves, ports", "W37", "W55"),
    ("Administration", "W56", "W68"),
    ("Acting masters of 5.x, commit logs in several folders", "W69", "W99"),
)

Entry = Mapping[str, Any]


def read_catalogue() -> dict[str, dict[str, Any]]:
    """Row id → ``act``, ``see`` and, where there are any, ``differs`` and ``not_run`` by lane."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(CATALOGUE.read_text(encoding="utf-8"))
    return found


def read_results() -> list[Entry]:
    """What ran, one entry a test and lane; none if nothing was ever recorded."""
    return recorded.read(RESULTS)


def page(catalogue: Mapping[str, Mapping[str, Any]], results: Sequence[Entry], clients: str = "") -> str:
    """The whole document; *clients* is the chapter of the official clients."""
    cells = _cells(results)
    parts = [
        "# Conformance",
        "This page is made by `python scripts/conformance_page.py`; do not edit it.",
        "Each row is a probe: one act, and what Apache's brokers were seen to do by hand, before there was a test. A "
        "column says how many tests put it to that broker and hold (a test allows for what is known to differ between "
        "releases, see *expected* and *difference*). *recorded* figures are of the run at the commit in "
        "`suites/recorded/conformance.jsonl`; to put them again:",
        "    MQCHAOS_RECORD_CONFORMANCE=1 pytest suites/conformance\n"
        "    MQCHAOS_RECORD_CONFORMANCE=1 pytest suites/conformance --target rocketmq:4.9.7",
        _summary(catalogue, cells),
        *(_chapter(title, first, last, catalogue, cells) for title, first, last in CHAPTERS),
        *([clients] if clients else []),
    ]
    return wrapped("\n\n".join(parts) + "\n")


def _cells(results: Sequence[Entry]) -> dict[tuple[str, str], list[Entry]]:
    cells: dict[tuple[str, str], list[Entry]] = {}
    for entry in results:
        for row in entry["rows"]:
            cells.setdefault((row, entry["lane"]), []).append(entry)
    return cells


def _summary(catalogue: Mapping[str, Any], cells: Mapping[tuple[str, str], Sequence[Entry]]) -> str:
    rows = []
    for lane, title in COLUMNS:
        asked = [row for row in catalogue if (row, lane) in cells]
        held = [row for row in asked if all(entry["outcome"] == "passed" for entry in cells[row, lane])]
        tests = {entry["test"] for row in asked for entry in cells[row, lane]}
        rows.append([title, f"{len(held)} of {len(asked)}", str(len(catalogue) - len(asked)), str(len(tests))])
    return _table(["asked", "probes that hold", "not run against it", "tests"], rows)


def _chapter(
    title: str,
    first: str,
    last: str,
    catalogue: Mapping[str, Mapping[str, Any]],
    cells: Mapping[tuple[str, str], Sequence[Entry]],
) -> str:
    rows = [_row(row, text, cells) for row, text in sorted(catalogue.items()) if first <= row <= last]
    head = ["", "act", "expected", *(name for _, name in COLUMNS), "difference"]
    return f"## {title}\n\n{_table(head, rows)}"


def _row(row: str, text: Mapping[str, Any], cells: Mapping[tuple[str, str], Sequence[Entry]]) -> list[str]:
    not_run = text.get("not_run", {})
    answers = [_cell(cells.get((row, lane), ()), not_run.get(lane, "")) for lane, _ in COLUMNS]
    return [row, text["act"], text["see"], *answers, text.get("differs", "")]


def _cell(entries: Sequence[Entry], why_not: str) -> str:
    if not entries:
        return f"– {why_not}" if why_not else "not put"
    failed = sorted(entry["test"].rpartition("::")[2] for entry in entries if entry["outcome"] != "passed")
    if failed:
        return f"**differs**: {', '.join(failed)}"
    return "holds" if len(entries) == 1 else f"holds ×{len(entries)}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def main(arguments: Sequence[str]) -> int:
    """The command line above."""
    sys.path.insert(0, str(ROOT))
    from suites.conformance.official.comparison import chapter

    text = page(read_catalogue(), read_results(), chapter())
    if "--check" in arguments:
        return 0 if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
