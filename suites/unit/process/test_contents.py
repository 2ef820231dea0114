"""A node's disk as files: counted, taken away, copied."""

from __future__ import annotations

from pathlib import Path

from harness.backends.process.contents import change, copy_forced, cut, empty, files_of, find, part_of


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


def test_files_are_found_by_their_whole_path_with_the_end_of_what_is_written(tmp_path: Path) -> None:
    (filled(tmp_path) / "top").write_bytes(b"ab\0c" + bytes(5000))
    assert find(tmp_path, "top|store/abort") == {"store/abort": (0, 0), "top": (5004, 4)}
    assert find(tmp_path, "abort") == {}


def test_one_file_is_changed_cut_and_taken_away_and_no_other(tmp_path: Path) -> None:
    path = filled(tmp_path) / "store" / "commitlog" / "0"
    others = {name: data for name, data in listed(tmp_path).items() if not name.endswith("/0")}
    change(path, 3, b"LOG")
    assert (part_of(path, 0, 9), path.stat().st_size) == (b"logLOGlog", 15_000)
    cut(path, 5)
    assert part_of(path, 0, 100) == b"logLO"
    cut(path, -1)
    assert part_of(path, 0, 100) == b""
    assert listed(tmp_path) == others
