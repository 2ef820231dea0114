"""Hostile values: texts, numbers and bytes at the edges of what a field may hold, drawn by a seed.

Question: what would somebody put into a field who wants to break its reader? Edges of Java's and Python's types,
characters with a meaning in paths and property texts, lengths beside every limit, and a few names that exist.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

NUMBERS = [
    *("-1", "0", "1", "2", "3", "16", "32", "48", "127", "128", "255", "1024", "65535"),
    *("2147483647", "2147483648", "-2147483648", "-2147483649", "4294967296"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" * 40, "1e3", "0x10", "²", " 1", "1_0"),
    *("", "-", "+5", "null", "true", "NaN", "١"),
]

TEXTS = [
    *(
        "",
        " ",
        ".",
        "..",
        "/",
        "a/b",
        "../../evil",
        "a\0b",
        "\n",
        "a b",
        "%",
        "|",
        "a=b",
        "x\1y\2z",
        "{}",
        "[]",
        "null",
    ),
    *("é" * 50, "é" * 100, "\U0001f600" * 40, "\ufffe", "x" * 127, "x" * 128, "x" * 300, "x" * 40_000),
    *("%RETRY%", "%DLQ%", "%RETRY%CG", "%DLQ%CG/0/00000000000000000000", "TBW102", "SCHEDULE_TOPIC_XXXX", "broker-a"),
    *(
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "OFFSET_MOVED_EVENT",
        "DefaultCluster",
        "CG",
        "PG",
        "T",
    ),
]

PROPERTY_NAMES = [
    *("DELAY", "TAGS", "KEYS", "UNIQ_KEY", "WAIT", "TRAN_MSG", "PGROUP", "REAL_TOPIC", "REAL_QID", "RETRY_TOPIC"),
    *("ORIGIN_MESSAGE_ID", "TRANSACTION_CHECK_TIMES", "CHECK_IMMUNITY_TIME_IN_SECONDS", "CLUSTER", "INNER_NUM", "x"),
]


def number(rng: Random) -> str:
    """A text where a number belongs."""
    return rng.choice(NUMBERS) if rng.random() < 0.8 else str(rng.getrandbits(rng.choice([8, 16, 33, 64, 70])))


def text(rng: Random) -> str:
    """A text where a name belongs."""
    return rng.choice(TEXTS) if rng.random() < 0.9 else number(rng)


def properties(rng: Random) -> str:
    """The property text of a message."""
    pairs = [f"{rng.choice(PROPERTY_NAMES)}\1{rng.choice([text, number])(rng)}" for _ in range(rng.randrange(5))]
    return "\2".join(pairs) + rng.choice(["", "\2", "\1", "\2\2"])


def json_value(rng: Random, depth: int = 0) -> Any:
    """Any JSON."""
    kind = rng.randrange(8 if depth < 3 else 6)
    if kind < 2:
        return text(rng)
    if kind < 4:
        return rng.choice([0, -1, 1, 2**31, 2**63, 2**70, 1.5, 1e300])
    if kind < 6:
        return rng.choice([None, True, False])
    if kind == 6:
        return [json_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {text(rng): json_value(rng, depth + 1) for _ in range(rng.randrange(4))}


def disturbed(rng: Random, value: Any, share: float = 0.15) -> Any:
    """*value* with some of its parts replaced, left out or doubled."""
    if rng.random() < share:
        return json_value(rng)
    if isinstance(value, dict):
        return {key: disturbed(rng, member, share) for key, member in value.items() if rng.random() > share / 3}
    if isinstance(value, list):
        return [disturbed(rng, member, share) for member in value for _ in range(rng.choice([1, 1, 1, 2, 0]))]
    return value


def damaged(rng: Random, data: bytes) -> bytes:
    """*data* with bits flipped, cut, grown, or with a part moved."""
    copy = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(5)
        at = rng.randrange(len(copy) + 1)
        if kind == 0 and at < len(copy):
            copy[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del copy[at:]
        elif kind == 2:
            copy[at:at] = rng.randbytes(rng.randrange(1, 20))
        elif kind == 3:
            copy[at : at + 4] = rng.choice([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\x80\0\0\0"])
        else:
            copy[at:at] = copy[: rng.randrange(len(copy) + 1)][:4096]
    return bytes(copy)


def json_text(rng: Random, value: Any) -> bytes:
    """*value* as JSON, sometimes in fastjson's dialect, deep, doubled or torn."""
    data = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    kind = rng.randrange(10)
    if kind == 0:
        return damaged(rng, data)
    if kind == 1:
        return b"[" * rng.choice([10, 1000, 100_000]) + data
    return data.replace(b'"0"', b"0") if kind == 2 else data
