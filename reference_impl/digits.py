"""Numbers in texts that come from outside: what ``str.isdigit`` lets through is more than ``int`` reads ("²", "٧")."""

from __future__ import annotations

from typing import Final

LENGTH_MAX: Final = 20
"""Longer than any 64-bit number."""


def is_number(text: str) -> bool:
    """Whether *text* is nothing but ASCII digits, and not more of them than a 64-bit number has."""
    return text.isascii() and text.isdigit() and len(text) <= LENGTH_MAX
