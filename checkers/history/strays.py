"""How a history writes down that somebody who asked one queue got a message of another one.

Question: a record was read that belongs elsewhere. Whose is it?

Model. In ``reads`` such a message has the number −1, since nobody may have got it there, and ``detail`` names it:
``message 281 of chaos/1`` (topic/queue id, as the record itself says).
"""

from __future__ import annotations

import re
from typing import Final

_FORM: Final = re.compile(r"message (\d+) of .+/-?\d+")


def in_words(message: int, topic: str, queue_id: int) -> str:
    """The cell ``detail`` for message number *message*, whose record says that it is of *topic* and *queue_id*."""
    return f"message {message} of {topic}/{queue_id}"


def stray(detail: str) -> int:
    """The number of the message that *detail* names; −1 if it tells of something else."""
    found = _FORM.fullmatch(detail)
    return int(found[1]) if found else -1
