"""Jepsen's independent keys: one history of many objects, whose values are pairs ``[key value]``.

Question: does this history mean pairs, or values of many objects?

Model. Who asks for something has nothing to say: a plain read asks with nil, one of many objects with ``[key nil]``
(a poll: an offset, or ``[key offset]``). One such question makes the history one of many objects, and then every
operation has to be a pair, with the key that was asked for in its answer: what is not is refused with its line. Where
nobody asks, or a file gives keys as ``:key``, values are what they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from checkers.external.calls import Call, malformed
from checkers.external.values import frozen

ASKS: Final = ("read", "dequeue", "drain", "get", "end", "acquire", "release")
"""Operations that are invoked without a value."""


def with_keys(calls: Sequence[Call], place: str) -> list[Call]:
    """*calls* with the key that each value has within it as the key of the call."""
    asking = next((call for call in calls if _asks_with_key(call)), None)
    if asking is None:
        return list(calls)
    return list(_split(calls, asking, place))


def _asks_with_key(call: Call) -> bool:
    its = call.asked
    if call.key is not None or not isinstance(its, list) or len(its) != 2 or isinstance(its[0], list):
        return False
    return its[1] is None if call.f in ASKS else call.f == "poll" and type(its[1]) is int


def _split(calls: Sequence[Call], asking: Call, place: str) -> Iterator[Call]:
    for call in calls:
        if not isinstance(call.asked, list) or len(call.asked) != 2 or call.key is not None:
            reason = f"no pair [key value], as {asking.unit} {asking.line} asks for"
            raise malformed(place, call, reason)
        key, asked = call.asked
        yield replace(call, key=frozen(key), asked=asked, answered=_answer(call, key, place))


def _answer(call: Call, key: Any, place: str) -> Any:
    """What was answered, without its key. Nothing is an answer, too; a set may be given by itself."""
    answered = call.answered
    if answered is None:
        return None
    if isinstance(answered, list) and len(answered) == 2 and frozen(answered[0]) == frozen(key):
        return answered[1]
    if isinstance(answered, frozenset | dict):
        return answered
    raise malformed(place, call, "the answer is no pair with the key that was asked for")
