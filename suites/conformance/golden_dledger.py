"""The captured frames and folders of real DLedger brokers, unpacked. The packing: ``golden/dledger/README.md``."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

GOLDEN = Path(__file__).parent / "golden" / "dledger"
DATA_FILE_SIZE = 1 << 20
INDEX_FILE_SIZE = 32 * 1024

FOLDERS = sorted(str(path.parent.relative_to(GOLDEN)) for path in GOLDEN.rglob("currterm.txt"))
CAPTURES = sorted(str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*.jsonl"))


class Frame(NamedTuple):
    """One captured frame, length word included; *sender*: the member that wrote it, ``None`` if the capturing script
    did."""

    name: str
    code: int
    is_answer: bool
    sender: str | None
    data: bytes


def lines(capture: str) -> list[dict[str, Any]]:
    """The lines of one capture."""
    return [json.loads(line) for line in (GOLDEN / capture).read_text().splitlines()]


def frames(capture: str) -> Iterator[Frame]:
    """Every frame that was kept whole."""
    by_hand = {"fake_member_asks": {"request"}, "real_member_asks": {"answer"}, "stale_tail": {"request"}}
    for line in lines(capture):
        for side, sender in (("request", line.get("from")), ("answer", line.get("to"))):
            if not line.get(f"{side}_hex") or f"{side}_hex_cut" in line:
                continue
            is_by_hand = side in by_hand.get(Path(capture).stem, set()) or sender == "admin"
            data = bytes.fromhex(line[f"{side}_hex"])
            yield Frame(line["name"], line["code"], side == "answer", None if is_by_hand else sender, data)


def folder_files(folder: str) -> dict[str, bytes]:
    """The files of one member's folder by path below it, index files filled up to ``INDEX_FILE_SIZE``."""
    files = {}
    for path in sorted((GOLDEN / folder).iterdir()):
        if path.suffix == ".txt":
            files[path.stem] = path.read_bytes()
        elif path.suffix == ".gz":
            kind, _, name = path.stem.partition("-")
            data = gzip.decompress(path.read_bytes())
            files[f"{kind}/{name}"] = data if kind == "data" else data.ljust(INDEX_FILE_SIZE, b"\0")
    return files


def listing(folder: str) -> list[dict[str, Any]]:
    """The records of one folder as the capture's own reader saw them."""
    store, _, name = folder.rpartition("/")
    if not (GOLDEN / store / "listing.jsonl").exists():
        store, _, parent = store.rpartition("/")
        name = f"{parent}/{name}"
    return [line for line in lines(f"{store}/listing.jsonl") if line["folder"] == name and line["kind"] == "record"]
