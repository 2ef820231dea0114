"""The catalogue: what each kind of violation means, in one clause, by the theorem that finds it.

Question: a verdict says ``zone-inside-zone``; what is wrong with the register?

Model. A clause is a template. ``{first}`` and ``{second}`` are the values that a violation concerns, by the names that
the caller gives them, ``{values}`` all of them; ``{queue}``, ``{low}`` and ``{high}`` a log and two offsets of it,
``{needed}`` and ``{available}`` numbers of sends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checkers.objects.result import Found

_LOG: Final = {
    "two-values-one-offset": "{queue} @{low} holds two different messages, {first} and {second}",
    "value-at-two-offsets": "{first} stands at two offsets of {queue}, @{low} and @{high}, and was sent once",
    "phantom": "{queue} @{low} holds a message that nobody sent",
    "failed-append-visible": "{first} was certainly refused, and yet it stands at {queue} @{low}",
    "resurrected": "{first} was cut off with the end of the log, and now it stands at {queue} @{low} again",
    "wrong-queue": "{first} stands at {queue} @{low}, and was sent to another queue",
    "skipped-in-read": "a poll of {queue} left out @{low}",
    "hole-without-writer": (
        "{queue} @{low} exists, since @{high} does, and no message can be there: {needed} are needed up to there, "
        "only {available} unanswered sends had begun"
    ),
    "real-time-order": "{queue} @{low} was given to a message whose send began after @{high} had been acknowledged",
    "read-from-future": "{queue} @{high} was seen before the message at @{low} was sent",
    "stale-or-lost": "{queue} @{high} was acknowledged, and a later answer says that the queue ends at @{low}",
    "went-backwards": "{queue} @{high} was seen, and a later answer says that the queue ends at @{low}",
    "torn-batch": "{queue} @{low} parts one batch: half of it was there without the rest",
    "read-of-trimmed": "{queue} @{low} was read after the start had passed it",
    "circle": "no order keeps the order of each process: each of these operations comes after the one before it",
}
_QUEUE: Final = {
    "VFresh": "{first} came out, and it was never put in, or not yet",
    "VRepet": "{first} came out more often than it was put in",
    "VOrd": "{first} was put in before {second}, and {second} came out before it",
    "VWit": "the queue was said to be empty while {values} cannot have been out of it",
    "lost-overtaken": "{first} never came out, and {second}, which was put in later, did",
    "lost-empty": "{values} never came out, and yet the queue was said to be empty",
}
_REGISTER: Final = {
    "phantom": "{first} was read or swapped away, and nobody wrote it",
    "failed-write-visible": "{first} was read, and every write of it was certainly refused",
    "two-cas-one-value": "{first} was swapped away twice, and it was written once",
    "order-in-block": (
        "nothing can come between {first} and {second}, since swaps lead from one to the other, and the operation on "
        "{second} had returned before the one on {first} began"
    ),
    "swaps-in-a-circle": "each of {values} was swapped in for the next, so none of them can have been the first",
    "read-from-future": "{first} was read, and the read had returned before any write of it began",
    "stale-read": "{first} was read, and another value had been written over it before the read began",
    "zones-overlap": (
        "{first} and {second}, or what was swapped in for them, both were the value all through one span of time: each "
        "was written or read before it and again after it"
    ),
    "zone-inside-zone": (
        "{first}, or what was swapped in for it, was the value all through a span of time, since it was written or "
        "read before it and again after it, and {second} was written or read inside that span"
    ),
}
_MAX_REGISTER: Final = {
    "phantom": "{first} was fetched, and nobody committed it",
    "went-backwards": "{second} was fetched, and a later fetch answered less than {first}",
    "stale": "{second} was acknowledged, and a later fetch answered less than {first}",
    "read-from-future": "{second} was fetched before any commit of {first} or more began",
    "real-time-order": "{second} was acknowledged before any commit of {first} began, and {first} was fetched",
}
_LOCK: Final = {
    "double-hold": "two held it at once",
    "token-order": "a later hold has a fencing token that is not greater: {first}, then {second}",
    "busy-while-free": "it was refused while nobody can have held it",
    "too-many-holds": "more than the permitted number of holds lasted at once",
}
_SET: Final = {
    "phantom": "{first} was read, and nobody added it",
    "failed-append-visible": "{first} was certainly refused, and yet it was read",
    "duplicated-in-read": "{first} stands twice in one read",
    "reads-disagree": "one read has {first} and not {second}, another one {second} and not {first}",
    "stale-or-lost": "{values} had been acknowledged before a read began that does not show it",
    "went-backwards": "a read does not show what an earlier one had shown",
    "read-from-future": "{values} was read before it was added",
    "real-time-order": "a read shows {first} and not {second}, which was acknowledged before {first} was added",
}
_SESSIONS: Final = {
    "monotonic-reads": "a process had seen {queue} up to {low}, and then it was told that it ends at {high}",
    "read-your-writes": "a process had appended to {queue} up to {low}, and then it was told that it ends at {high}",
    "monotonic-writes": "a process had appended to {queue} up to {low}, and then its append was put at {high}",
    "writes-follow-reads": "a process had seen {queue} up to {low}, and then its append was put at {high}",
}
_DELIVERIES: Final = {
    "inversion": "{queue} @{high} was delivered after @{low}, in one assignment",
    "repeat": "{queue} @{low} was delivered twice, in one assignment",
    "skip": "{queue} @{left_out} was left out between @{low} and @{high}, in one assignment",
}
_COMMITTED: Final = _MAX_REGISTER | {
    "went-backwards": "{first} was fetched, and a later fetch answered {second}",
    "commit-ahead": "{second} was committed before the message at {first} had been delivered",
    "no-order": "no order of the commits agrees with the fetches",
}

CLAUSES: Final[Mapping[str, Mapping[str, str]]] = {
    "log": _LOG,
    "sequential": _LOG,
    "sessions": _SESSIONS,
    "deliveries": _DELIVERIES,
    "queue": _QUEUE,
    "bag": _QUEUE,
    "register": _REGISTER,
    "max-register": _MAX_REGISTER,
    "mutex": _LOCK,
    "semaphore": _LOCK,
    "set": _SET,
    "committed-offset": _COMMITTED,
}
"""By theorem, then by kind."""


def clause(check: str, violation: Found, name: Callable[[int], str], queue: str | None = None) -> str:
    """What *violation* means; *name* names a value, *queue* the log, if it has a better name than its number."""
    where: dict[str, Any] = {"low": -1, "high": -1, **violation.where()}
    where["queue"] = queue if queue is not None else f"queue {where.get('queue', 0)}"
    names = [name(value) for value in violation.values]
    numbers = (*violation.values, 0, 0)
    return CLAUSES[check][violation.kind].format(
        first=names[0] if names else "a value",
        second=names[1] if len(names) > 1 else "another one",
        values=_listed(names),
        needed=numbers[0],
        available=numbers[1],
        **where,
    )


_LISTED_MAX: Final = 6


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_LISTED_MAX])
    return f"{shown} and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else shown or "a value"
