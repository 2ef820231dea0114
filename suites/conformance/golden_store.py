"""The captured stores of real brokers, unpacked: files by name, sent messages by their place in the log.

The packing is described in ``golden/store/README.md``.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness.backends.sim.disk import SimDisk
from reference_impl.wire.message import Message, RemoteWireError, decode_record

GOLDEN = Path(__file__).parent / "golden" / "store"
FILE_SIZE = 65536
PROPERTIES = {
    "mappedFileSizeCommitLog": str(FILE_SIZE),
    "mappedFileSizeConsumeQueue": "2000",
    "maxHashSlotNum": "500",
    "maxIndexNum": "2000",
    "brokerClusterName": "C",
}

SNAPSHOTS = [
    f"{version}/{name}"
    for version in ("4.9.7", "5.3.3")
    for name in (
        "single/1-running",
        "single/2-killed",
        "single/3-stopped",
        "single/4-torn-properties-before-start",
        "single/5-torn-properties-recovered",
        "single/6-torn-body-before-start",
        "single/7-torn-body-recovered",
        "pair/master",
        "pair/slave",
    )
]


@cache
def unpack(snapshot: str) -> dict[str, bytes]:
    """Every file of one snapshot, by its path below the store."""
    folder = GOLDEN / snapshot
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    files = {}
    for entry in manifest:
        path, size = entry["path"], entry["size"]
        if size is None:
            continue
        if entry.get("all_zero"):
            files[path] = bytes(size)
        elif (folder / f"{path}.gz").exists():
            files[path] = gzip.decompress((folder / f"{path}.gz").read_bytes())
        else:
            files[path] = (folder / path).read_bytes()
        assert len(files[path]) == size, path
    return files


def place(disk: SimDisk, files: dict[str, bytes]) -> None:
    """Put the files onto a disk, durably, below ``store/``."""
    for path, data in files.items():
        disk.write(f"store/{path}", 0, data)
        disk.names[f"store/{path}"].platter.write(0, data)


@dataclass(frozen=True)
class Sent:
    """One line of ``messages.json`` that was answered with places in the log."""

    entry: dict[str, Any]
    places: tuple[int, ...]


@cache
def lines(run: str) -> list[dict[str, Any]]:
    """``messages.json`` of a run (``4.9.7/single``)."""
    return json.loads((GOLDEN / run / "messages.json").read_text())  # type: ignore[no-any-return]


def sent(entries: list[dict[str, Any]]) -> list[Sent]:
    """Those lines that stored something, with the places that the message ids tell."""
    return [
        Sent(entry, tuple(int(text[16:], 16) for text in entry["msgId"].split(",")))
        for entry in entries
        if entry.get("msgId") and entry["code"] in (0, 10, 11, 12)
    ]


def records(files: dict[str, bytes]) -> list[Message]:
    """Every record of a commit log, decoded, up to the first place where none is."""
    found: list[Message] = []
    for path in sorted(path for path in files if path.startswith("commitlog/")):
        data, position = files[path], 0
        while True:
            try:
                record = decode_record(data, position)
            except RemoteWireError:
                break
            found.append(record)
            position += record.size
    return found
