"""The comparison as a page: the judgement, each figure with its interval, then every cell."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

from harness.pages import put, render
from results.compare.pairs import CONFIDENCE, PAIRS_MIN, Comparison, Difference

WORST_FIRST: Final = ("worse", "better", "cannot tell", "same")
WORDS: Final = {"worse": "FAIL", "cannot tell": "UNKNOWN", "better": "PASS", "same": "PASS"}
"""Judgement → the verdict that a build takes it for."""


def write_page(comparison: Comparison, out: Path) -> Path:
    """One HTML file."""
    cells = {cell: list(map(row_of, differences)) for cell, differences in comparison.cells.items()}
    text = render(
        str(__package__), "compare.html", scripts=("compare.js",),
        title=f"{comparison.judgement} · {comparison.second}",
        data={"comparison": {"whole": list(map(row_of, comparison.whole)), "cells": cells}},
        comparison=comparison, verdict=WORDS[comparison.judgement], whole=list(map(row_of, comparison.whole)),
        shown=_most_telling(comparison).figure.name, words=WORDS, confidence=round(100 * CONFIDENCE),
        pairs_min=PAIRS_MIN,
    )  # fmt: skip
    return put(out, text)


def _most_telling(comparison: Comparison) -> Difference:
    """The figure whose cells are shown first: one that got worse, else one that is different or may be."""
    return min(comparison.whole, key=lambda found: WORST_FIRST.index(found.judgement))


def row_of(difference: Difference) -> dict[str, Any]:
    figures = ("first", "second", "middle", "low", "high", "margin")
    return {
        "name": difference.figure.name,
        "words": difference.figure.words,
        "unit": difference.figure.unit,
        "pairs": difference.pairs,
        "judgement": difference.judgement,
        **{name: _plain(getattr(difference, name)) for name in figures},
    }


def _plain(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None
