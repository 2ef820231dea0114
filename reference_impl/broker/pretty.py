"""The text of RocketMQ's JSON files, as fastjson pretty-prints them.

Question: which text does a RocketMQ 4.9 broker write into consumerOffset.json and its siblings?

Model. Members with a text key stand on lines of their own, indented by tabs; members with a number key do not, and the
number stays bare, so that the text is not JSON. A map ends on a line of its own unless it is empty.

    {
    <tab>"offsetTable":{
    <tab><tab>"T1@G":{0:3,1:4
    <tab><tab>}
    <tab>}
    }

A table is written whole at each change, and most of its entries are as they were: the text of an entry (a struct) is
made once for its content.

Limits. Values are dicts, structs, texts, numbers, booleans and lists of those, as they come out of a broker's tables.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec

from reference_impl.wire.dialect import write_dialect


def pretty(value: Any, depth: int = 0) -> str:
    """The text of *value* as it stands in a file of RocketMQ."""
    if isinstance(value, msgspec.Struct):
        return _entry(_encode(value), depth)
    if not isinstance(value, dict):
        return write_dialect(value).decode()
    if not value:
        return "{}"
    inner = "\n" + "\t" * (depth + 1)
    members = (_member(key, item, inner, depth) for key, item in value.items())
    return "{" + ",".join(members) + "\n" + "\t" * depth + "}"


@lru_cache(maxsize=65_536)
def _entry(content: bytes, depth: int) -> str:
    return pretty(msgspec.json.decode(content), depth)


def _member(key: Any, item: Any, inner: str, depth: int) -> str:
    if isinstance(key, int):
        return f"{key}:{pretty(item, depth + 1)}"
    return f"{inner}{write_dialect(key).decode()}:{pretty(item, depth + 1)}"


_encode: Final = msgspec.json.Encoder().encode
