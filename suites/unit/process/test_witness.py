"""The witness of a power cut counts exactly the bytes that differ."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faults.mechanisms import witness

CASES = [
    ("nothing", {}, {}, (), 0),
    ("the same", {"a": b"xyz"}, {"a": b"xyz"}, (), 0),
    ("a lost tail", {"a": b"xyz123"}, {"a": b"xyz"}, ("a",), 3),
    ("a lost tail of zeros", {"a": b"xyz\0\0"}, {"a": b"xyz"}, ("a",), 2),
    ("zeros instead of data", {"a": b"xyz12"}, {"a": b"xyz\0\0"}, ("a",), 2),
    ("a lost file", {"a": b"x", "b": b"12345"}, {"a": b"x"}, ("b",), 5),
    ("a lost empty file", {"a": b""}, {}, ("a",), 0),
    ("a file that came back", {}, {"a": b"123"}, ("a",), 3),
    ("bytes in two blocks", {"a": b"1" * 5000}, {"a": b"1" * 4000 + b"2" * 1000}, ("a",), 1000),
]


@pytest.mark.parametrize(
    ("before", "after", "files", "byte_count"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_lost_between(
    tmp_path: Path, before: dict[str, bytes], after: dict[str, bytes], files: tuple[str, ...], byte_count: int
) -> None:
    assert witness.lost_between(snapshot(tmp_path / "x", before), snapshot(tmp_path / "y", after)) == witness.Loss(
        files, byte_count
    )


def snapshot(folder: Path, files: dict[str, bytes]) -> witness.Snapshot:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return witness.take_snapshot(folder)


def test_holes_cost_nothing_and_are_zeros(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
        file.seek(1 << 30)
        file.write(b"x")
    (size, blocks) = witness.take_snapshot(tmp_path).files["sparse"]
    assert size == 1 << 40
    assert list(blocks) == [(1 << 30) // witness.BLOCK_BYTES]


def test_links_are_not_followed(tmp_path: Path) -> None:
    os.symlink("/etc/hosts", tmp_path / "link")
    assert dict(witness.take_snapshot(tmp_path).files) == {}
