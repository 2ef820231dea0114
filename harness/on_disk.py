"""What those who look at the disks of nodes have in common: how a place is named, and how a fault of form is told.

Question: how does a look at a broker's files (``broker_disks``) or at a member's log (``member_logs``) tell what it
found?

Model. A fault of form is a word and a sentence (:class:`Wrong`); of many, the first :data:`WRONG_MAX` are told.
"""

from __future__ import annotations

from typing import Final, NamedTuple

WRONG_MAX: Final = 20
"""Faults of form that are told one by one."""

Place = tuple[str, int, int]
"""Topic, queue id, number in the queue."""


class Wrong(NamedTuple):
    """*what* is not as it must be: a word of whoever looks, and a sentence."""

    what: str
    words: str
