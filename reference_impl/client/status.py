"""How a call ended, in one word.

Question: which text stands for this answer in a history? ``OK`` (``SEND_OK`` for a send), RocketMQ's name of any other
code, or what became of a call without an answer: ``CONNECT_FAILED`` (certainly not sent), ``TIMEOUT`` and
``CONNECTION_CLOSED`` (perhaps carried out). Two words are ours: ``NO_ROUTE`` (nobody was asked because no route was
known) and ``DAMAGED_ANSWER`` (a pull brought records that cannot be read).
"""

from __future__ import annotations

from typing import Final

from reference_impl.wire.codes import response_name
from reference_impl.wire.remoting import Answer, CallFailed

OK: Final = "OK"
SEND_OK: Final = "SEND_OK"
CONNECT_FAILED: Final = "CONNECT_FAILED"
TIMEOUT: Final = "TIMEOUT"
CONNECTION_CLOSED: Final = "CONNECTION_CLOSED"
NO_ROUTE: Final = "NO_ROUTE"
DAMAGED_ANSWER: Final = "DAMAGED_ANSWER"

STORED: Final = frozenset({SEND_OK, "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"})
"""The message is in a log; only SEND_OK promises anything."""

UNCERTAIN: Final = (TIMEOUT, CONNECTION_CLOSED, "SYSTEM_ERROR")
"""The message may be in a log all the same, the least certain first."""

_FAILURES: Final = {"connect": CONNECT_FAILED, "timeout": TIMEOUT, "closed": CONNECTION_CLOSED}


def status_of(answer: Answer) -> str:
    """The word for any call."""
    if isinstance(answer, CallFailed):
        return _FAILURES[answer.kind]
    return OK if answer.code == 0 else response_name(answer.code)


def send_status_of(answer: Answer) -> str:
    """The word for a send."""
    status = status_of(answer)
    return SEND_OK if status == OK else status


def remark_of(answer: Answer) -> str:
    """The broker's free text, empty where there is none."""
    return "" if isinstance(answer, CallFailed) else answer.remark or ""


def summary(statuses: list[str]) -> str:
    """One word for several tries that all failed: the first that leaves it open whether the message is stored, else
    the last."""
    return next((status for status in statuses if status in UNCERTAIN), statuses[-1] if statuses else NO_ROUTE)
