"""A node's disk as files: counted, taken away, copied."""

from __future__ import annotations

from pathlib import Path

from harness.backends.process.contents import copy_forced, empty, files_of


def filled(folder: Path) -> Path:
    for name, data in (("store/commitlog/0", b"log" * 5000), ("store/abort", b""), ("top", b"x")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "lost+found").mkdir()
    return folder


def listed(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_files_are_counted_at_any_depth(tmp_path: Path) -> None:
    assert files_of(tmp_path) == 0
    assert files_of(filled(tmp_path)) == 3


def test_an_emptied_folder_stays_and_so_does_what_is_ext4s(tmp_path: Path) -> None:
    empty(filled(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["lost+found"]


def test_a_copy_has_every_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    source = filled(tmp_path / "a")
    copy_forced(source, tmp_path / "b")
    assert listed(tmp_path / "b") == listed(source)
    assert (tmp_path / "b" / "top").stat().st_mtime_ns == (source / "top").stat().st_mtime_ns
