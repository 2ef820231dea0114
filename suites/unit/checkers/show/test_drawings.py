"""The drawings of the documentation are what their examples make, and every page shows drawings that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checkers.show.drawing import COLOURS, FAULT
from scripts.draw_checkers import drawings

ROOT = Path(__file__).resolve().parents[4]
DOCS = ROOT / "docs" / "checkers"
STYLE = ROOT / "harness" / "pages" / "static" / "page.css"


def test_committed_drawings_are_up_to_date() -> None:
    made = drawings()
    assert {path.name for path in made} == {path.name for path in (DOCS / "drawings").iterdir()}
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, f"run scripts/draw_checkers.py: {path.name} differs"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_a_colour_means_the_same_in_a_drawing_and_on_the_page_of_a_run() -> None:
    light = STYLE.read_text(encoding="utf-8").partition('data-theme="light"')[2].partition("}")[0]
    page = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]+)", light))
    drawn = {"ok": COLOURS["ok"], "weak": COLOURS["weak"], "refused": COLOURS["fail"], "open": COLOURS["info"]}
    assert {name: page[name] for name in drawn} == drawn
    assert page["fault"] == FAULT
