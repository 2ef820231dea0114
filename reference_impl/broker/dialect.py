"""fastjson's two ways of writing a map: the dialect of RocketMQ's JSON files and of some of its answers.

Question: which text does a RocketMQ 4.9 broker write for this value?

Model. Keys that are numbers stay bare (``{0:3,1:4}``), so the text is not JSON; keys that are objects are written as
objects. ``pretty`` is the form of the files: members with a text key stand on lines of their own, indented by tabs,
members with a number key do not. ``compact`` is the form of answers.

    {                                     {"offsetTable":{"T1@G":{0:3,1:4}}}
    <tab>"offsetTable":{
    <tab><tab>"T1@G":{0:3,1:4
    <tab><tab>}
    <tab>}
    }

Limits. Values are dicts, lists, texts, numbers, booleans and None, as they come out of a broker's tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

_encode = msgspec.json.encode


def compact(value: Any) -> str:
    """The text of *value* without blanks; keys may be texts, numbers or (as in RocketMQ's statistics) JSON objects."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_key(key)}:{compact(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(compact(item) for item in value) + "]"
    return _encode(value).decode()


def pretty(value: Any, depth: int = 0) -> str:
    """The text of *value* as it stands in a file of RocketMQ."""
    if not isinstance(value, Mapping):
        return compact(value)
    if not value:
        return "{}"
    inner = "\n" + "\t" * (depth + 1)
    members = (_member(key, item, inner, depth) for key, item in value.items())
    return "{" + ",".join(members) + "\n" + "\t" * depth + "}"


def _member(key: Any, item: Any, inner: str, depth: int) -> str:
    start = "" if isinstance(key, int) else inner
    return f"{start}{_key(key)}:{pretty(item, depth + 1)}"


def _key(key: Any) -> str:
    """A text is quoted; a number is bare; anything else is written as the object it is."""
    return str(key) if isinstance(key, int) else _encode(key).decode()
