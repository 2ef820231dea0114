"""The pages: links lead somewhere, and what wraps their text changes nothing else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.markdown import CELL, WIDTH, too_wide, wrapped

ROOT = Path(__file__).resolve().parents[2]


def pages() -> list[Path]:
    """Every page of ours; licences are as their authors wrote them."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return [ROOT / name for name in names.stdout.splitlines() if not name.endswith("LICENSE.md")]


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", path.read_text(encoding="utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


WORD = st.sampled_from(
    ["a", "broker", "`code with spaces`", "[text](a/target.md)", "-", "1.", "#", "|", "<b>", "x" * 130, "end."]
)


@given(st.lists(WORD, min_size=1, max_size=60).map(" ".join), st.sampled_from(["", "* ", "  - ", "12. "]))
def test_wrapping_changes_no_word_and_ends(text: str, mark: str) -> None:
    """The words stay, no line is wider than it must be, and a second pass changes nothing."""
    once = wrapped(mark + "Text " + text)
    assert once.split() == (mark + "Text " + text).split()
    assert wrapped(once) == once
    assert all(len(line) <= WIDTH or "x" * 130 in line or "`" in line or "](" in line for line in once.split("\n"))
    assert not any(re.match(r"\s*([*+-]|\d+\.|#) ", line) for line in once.split("\n")[1:]), (
        "a line that begins an item"
    )


@pytest.mark.parametrize(
    "block",
    [
        "    code " + "x " * 80,
        "```\n" + "x " * 80 + "\n```",
        "| " + "x " * 80 + "|",
        "# " + "x " * 80,
        "> " + "x " * 80,
    ],
)
def test_code_tables_and_headings_stay(block: str) -> None:
    text = f"before\n\n{block}\n\nafter\n"
    assert wrapped(text) == text


def test_what_is_too_wide_is_told_with_its_line() -> None:
    text = "# Title\n\n" + "word " * 40 + "\n\n| a | " + "x" * (CELL + 1) + " |\n"
    assert too_wide(text) == [(3, "200 columns"), (5, f"a cell of {CELL + 1} characters")]
