"""The frames recorded from Apache's own NameServers, brokers and clients, as values (see golden/wire/README.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from reference_impl.wire.frame import Command, decode_frame

VERSIONS = ("4.9.7", "5.3.3")
_FOLDER = Path(__file__).parent / "golden" / "wire"


@dataclass(frozen=True)
class GoldenFrame:
    """One frame: ``name`` of the exchange, ``pair`` its number, ``sender`` and ``receiver`` of the direction."""

    name: str
    pair: int
    sender: str
    receiver: str
    request_code: int
    frame: bytes
    view: dict

    @property
    def command(self) -> Command:
        return decode_frame(self.frame)

    @property
    def is_by_java(self) -> bool:
        """Written by Apache code: servers, and the clients of recorded ``real_`` exchanges. The rest is scripted."""
        return self.sender in ("server", "namesrv", "broker", "slave-broker") or self.name.startswith("real_")

    def __str__(self) -> str:
        return f"{self.name}#{self.pair} {self.sender}->{self.receiver}"


@cache
def golden_frames(version: str) -> tuple[GoldenFrame, ...]:
    """All frames of a version, in the order of recording."""
    lines = (_FOLDER / f"wire-{version}.jsonl").read_text("utf-8").splitlines()
    return tuple(_frame(json.loads(line)) for line in lines)


def _frame(line: dict) -> GoldenFrame:
    sender, _, rest = line["direction"].partition("->")
    code = int(line["request"].rpartition("(")[2].rstrip(")"))
    return GoldenFrame(
        line["name"], line["pair"], sender, rest.split()[0], code, bytes.fromhex(line["hex"]), line["view"]
    )
