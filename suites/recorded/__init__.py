"""What came out of long recordings, one file a page: the pages of ``docs`` are made of it.

    promises.jsonl       claims, by scenario, backend and target     conformance.jsonl    probes, by test and lane
    museum.jsonl         planted bugs and their twins                mutants.jsonl        small changes, by mutant
    detection.jsonl      scores of whole measurements                executed.jsonl       what units execute, by module
    exercised.jsonl      requests, answers, branches, faults         fault_table.jsonl    faults by backend, probed
    container_grid.jsonl modes in containers, broken in five ways
    client_grid.jsonl    loads of clients under faults, by load, mode and fault
    explored.jsonl       states of the small model of a group

Question: how does a recording that changed one outcome make a diff of one line?

Model. A file has one entry a line, sorted by what the entry is about. An entry that says what the old one said, but for
the commit it ran at, leaves the old line as it is: the commit is the first one at which it came out so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent

Entry = dict[str, Any]


def read(path: Path) -> list[Entry]:
    """The entries of a file; none if nothing was ever recorded."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def write(path: Path, entries: Iterable[Entry], about: Callable[[Entry], tuple[str, ...]]) -> None:
    """Replace what *path* has by *entries*, in the order of what they are *about*."""
    old = {about(entry): entry for entry in read(path)}
    lines = [_line(_kept(old.get(about(entry)), entry)) for entry in sorted(entries, key=about)]
    path.write_text("".join(lines), encoding="utf-8")


def _kept(old: Entry | None, new: Entry) -> Entry:
    return old if old is not None and old | {"commit": ""} == new | {"commit": ""} else new


def _line(entry: Entry) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"
