"""What can be asked of a proxy: toxics as data, with toxiproxy's names, attributes and defaults, and two of ours.

    latency      latency, jitter (ms)                          data comes later
    bandwidth    rate (kB/s)                                   data comes slowly
    slow_close   delay (ms)                                    the end comes later
    timeout      timeout (ms)                                  nothing comes; closed after so long a silence (0: never)
    reset_peer   timeout (ms)                                  the connection is reset so long after the next data
    slicer       average_size, size_variation (B), delay (µs)  data comes in small pieces
    limit_data   bytes                                         closed after so many bytes
    jam          –                                             nothing comes until the toxic is gone; then all of it
    frames       see ``faulting.py``                           chosen requests or answers are dropped, delayed …

A toxic hits one direction (``stream``: upstream is towards the server) of each connection with the probability
``toxicity``. Ours, and only ours, can be narrowed to connections from some hosts: ``sources``, with commas.

Limits. Values are whole numbers, as toxiproxy's; what is not given is 0, as there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

Stream = Literal["upstream", "downstream"]
STREAMS: Final[tuple[Stream, ...]] = ("upstream", "downstream")

ATTRIBUTES: Final[dict[str, dict[str, int | str]]] = {
    "latency": {"latency": 0, "jitter": 0},
    "bandwidth": {"rate": 0},
    "slow_close": {"delay": 0},
    "timeout": {"timeout": 0},
    "reset_peer": {"timeout": 0},
    "slicer": {"average_size": 0, "size_variation": 0, "delay": 0},
    "limit_data": {"bytes": 0},
    "jam": {},
    "frames": {"action": "drop", "kind": "any", "code": -1, "opaque": -1, "skip": 0, "count": 0, "delay": 0},
}
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "action": ("drop", "delay", "duplicate", "reorder", "corrupt", "replay"),
    "kind": ("any", "request", "response"),
}
SOURCES: Final = "sources"


class ToxicError(ValueError):
    """Not to be had, with toxiproxy's sentence for it."""


@dataclass(eq=False)
class Toxic:
    """One toxic in force. Identity counts: an updated toxic is a new one."""

    name: str
    type: str
    stream: Stream
    toxicity: float = 1.0
    attributes: dict[str, int | str] = field(default_factory=dict)
    seen: int = 0
    """Frames that the rule fits, of all connections."""
    done: int = 0
    """Frames that it has acted on."""

    def number(self, name: str) -> int:
        return int(self.attributes[name])

    def concerns(self, host: str) -> bool:
        """Whether connections from *host* are meant."""
        sources = str(self.attributes.get(SOURCES, ""))
        return not sources or host in sources.split(",")

    def to_json(self) -> dict[str, Any]:
        counts = {"seen": self.seen, "done": self.done} if self.type == "frames" else {}
        return {
            "attributes": {**self.attributes, **counts},
            "name": self.name,
            "type": self.type,
            "stream": self.stream,
            "toxicity": self.toxicity,
        }


def make(document: dict[str, Any]) -> Toxic:
    """A toxic from what a client sent; ``ToxicError``."""
    kind, stream = document.get("type", ""), document.get("stream") or "downstream"
    if stream not in STREAMS:
        raise ToxicError("stream was invalid, can be either upstream or downstream")
    if kind not in ATTRIBUTES:
        raise ToxicError("invalid toxic type")
    toxicity = document.get("toxicity", 1.0)
    name = document.get("name") or f"{kind}_{stream}"
    return Toxic(name, kind, stream, float(toxicity), _attributes(kind, {}, document.get("attributes") or {}))


def updated(old: Toxic, document: dict[str, Any]) -> Toxic:
    """*old* with new attributes or another toxicity; all else stays."""
    attributes = _attributes(old.type, old.attributes, document.get("attributes") or {})
    toxicity = float(document.get("toxicity", old.toxicity))
    return Toxic(old.name, old.type, old.stream, toxicity, attributes, old.seen, old.done)


def _attributes(kind: str, old: dict[str, int | str], given: dict[str, Any]) -> dict[str, int | str]:
    known = {**ATTRIBUTES[kind], SOURCES: ""}
    values: dict[str, int | str] = {**ATTRIBUTES[kind], **old}
    for name, value in given.items():
        if name not in known:
            continue  # as toxiproxy, which reads what it knows
        if not isinstance(value, type(known[name])) or isinstance(value, bool):
            raise ToxicError(
                f"bad request body: {name} must be {'a number' if known[name] != str(known[name]) else 'a text'}"
            )
        if name in CHOICES and value not in CHOICES[name]:
            raise ToxicError(f"bad request body: {name} must be one of {', '.join(CHOICES[name])}")
        values[name] = value
    return values
