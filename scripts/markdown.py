"""Markdown as this repository keeps it: text wrapped at 120 columns, table cells that hold a phrase.

Question: how do pages that are made and pages that are written come out alike?

    python -m scripts.markdown FILE …        wrap these files

Model. Blocks of code, tables, headings, quotes, HTML and lines that end in a forced break stay as they are. What is
left are paragraphs and list items: the lines of each are joined and broken anew, never within `code`, a link's target,
or a word. Wrapped text is wrapped already: a second pass changes nothing.

Limits. The Markdown of this repository, not all of it: no nested quotes, no reference links.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

WIDTH: Final = 120
CELL: Final = 300
"""Characters of a table cell."""

_KEPT: Final = re.compile(r"\||#+ |>|<|!\[|---|.*(  |\\)$")
_ITEM: Final = re.compile(r"(\s*)([*+-]|\d+\.) +")
_UNBROKEN: Final = re.compile(r"`[^`]*`|\]\([^)]*\)")
_MARK: Final = re.compile(r" (?=([*+-]|\d+\.|#+)( |$)|[|><]|---|!\[)")
"""A space before what at the beginning of a line would begin something else."""
_STAND_IN: Final = "\0"
"""For a space at which a line may not be broken."""


def wrapped(text: str) -> str:
    """*text* with its paragraphs and list items broken at :data:`WIDTH` columns."""
    return "\n".join(
        line for is_text, block in _blocks(text.split("\n")) for line in (_wrap(block) if is_text else block)
    )


def _blocks(lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
    """(whether it is text, lines): paragraphs and list items whole, every other line alone."""
    block: list[str] = []
    fenced = False
    for line in lines:
        is_fence = line.lstrip().startswith("```")
        is_text = not (fenced or is_fence) and _is_text(line, bool(block))
        if block and (not is_text or _ITEM.match(line)):
            yield True, block
            block = []
        if is_text:
            block.append(line)
        else:
            yield False, [line]
        fenced ^= is_fence
    if block:
        yield True, block


def _is_text(line: str, goes_on: bool) -> bool:
    """Whether *line* is part of a paragraph or of a list item; four spaces make code, unless it *goes_on* with one."""
    if not line.strip() or _KEPT.match(line.lstrip()):
        return False
    return goes_on or not line.startswith("    ") or _ITEM.match(line) is not None


def _wrap(block: list[str]) -> list[str]:
    item = _ITEM.match(block[0])
    margin = " " * (len(item[0]) if item else len(block[0]) - len(block[0].lstrip()))
    text = _MARK.sub(_STAND_IN, " ".join(line.strip() for line in block))
    text = _UNBROKEN.sub(lambda found: found[0].replace(" ", _STAND_IN), text)
    first = item[1] if item else margin
    lines = textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(_STAND_IN, " ") for line in lines]


def too_wide(text: str) -> list[tuple[int, str]]:
    """(line, what is wrong with it) of lines that are wider than they may be, and cells that are no phrase."""
    found = []
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        if fenced:
            continue
        if line.lstrip().startswith("|"):
            longest = max(len(cell.strip()) for cell in re.split(r"(?<!\\)\|", line))
            if longest > CELL:
                found.append((number, f"a cell of {longest} characters"))
        elif len(line) > WIDTH and " " in _UNBROKEN.sub("", line).strip():
            found.append((number, f"{len(line)} columns"))
    return found


def main(names: list[str]) -> int:
    for name in names:
        path = Path(name)
        path.write_text(wrapped(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
