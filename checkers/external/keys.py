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


def with_keys(calls: Sequence[Call], place: str, *, may_lack_key: bool = False) -> list[Call]:
    """*calls* with the key that each value has within it as the key of the call. *may_lack_key*: answers of this model
    are lists, and some clients give them by themselves."""
    asking = next((call for call in calls if _asks_with_key(call)), None)
    if asking is None:
        return list(calls)
    return list(_split(calls, asking, place, may_lack_key))


def _asks_with_key(call: Call) -> bool:
    asked = call.asked
    if call.key is not None or not isinstance(asked, list) or len(asked) != 2 or isinstance(asked[0], list):
        return False
    return asked[1] is None if call.f in ASKS else call.f == "poll" and type(asked[1]) is int


def _split(calls: Sequence[Call], asking: Call, place: str, may_lack_key: bool) -> Iterator[Call]:
    for call in calls:
        if not isinstance(call.asked, list) or len(call.asked) != 2 or call.key is not None:
            reason = f"no pair [key value], as {asking.unit} {asking.line} asks for"
            raise malformed(place, call, reason)
        key, asked = call.asked
        yield replace(call, key=frozen(key), asked=asked, answered=_answer(call, key, place, may_lack_key))


def _answer(call: Call, key: Any, place: str, may_lack_key: bool) -> Any:
    """What was answered, without its key. Nothing is an answer, too; a set may be given by itself."""
    answered = call.answered
    if answered is None:
        return None
    if isinstance(answered, list) and len(answered) == 2 and frozen(answered[0]) == frozen(key):
        return answered[1]
    if isinstance(answered, frozenset | dict) or (may_lack_key and isinstance(answered, list)):
        return answered
    raise malformed(place, call, "the answer is no pair with the key that was asked for")
