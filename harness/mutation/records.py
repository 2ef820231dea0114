"""Records that outlive their process: one JSON line each, appended when it is known.

Question: a measurement of hours is killed at any moment. What of it is there, and may it be used for this source?

Model. A file is only ever appended to. Every line carries the digest of the source it is about; lines of other sources
are read by nobody. A last line that was torn is no record. Later lines about the same thing replace earlier ones.

Limits. One writer at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from harness.mutation.population import ROOT

JUDGES: Final = ("reference_impl", "harness", "checkers", "faults")
"""All that a run's outcome depends on."""
TOOL: Final = "mutation"
DIGEST_LENGTH: Final = 12


def source_digest(root: Path = ROOT) -> str:
    """Of every file of the rooms that make a run, without this one."""
    digest = sha256()
    for room in JUDGES:
        for path in sorted((root / room).rglob("*")):
            is_source = path.suffix in (".py", ".yaml", ".txt") and TOOL not in path.relative_to(root).parts
            if is_source:
                digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:DIGEST_LENGTH]


class Records:
    """The records of one file that are about one source."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = path, source

    def read(self) -> Iterator[dict[str, Any]]:
        """In the order they were written."""
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.is_file() else ():
            record = _whole(line)
            if record is not None and record.pop("source", "") == self.source:
                yield record

    def append(self, record: dict[str, Any]) -> None:
        """On a line of its own, also where the last one is torn."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            line = json.dumps({"source": self.source, **record}, separators=(",", ":"), ensure_ascii=False)
            file.write(b"" if _ends_whole(self.path) else b"\n")
            file.write(line.encode() + b"\n")


def _ends_whole(path: Path) -> bool:
    content = path.read_bytes() if path.is_file() else b""
    return not content or content.endswith(b"\n")


def _whole(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
