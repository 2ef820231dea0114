"""The disk of a process, read from outside."""

from __future__ import annotations

from pathlib import Path

from harness.backends.backend import Store
from harness.backends.process.folder_store import FolderStore


def test_a_folder_is_a_store(tmp_path: Path) -> None:
    (tmp_path / "store/data").mkdir(parents=True)
    (tmp_path / "store/data/b").write_bytes(b"0123456789")
    (tmp_path / "store/a").write_bytes(b"")
    store: Store = FolderStore(tmp_path)
    assert store.files("") == ["store/a", "store/data/b"]
    assert store.files("store/data/") == ["store/data/b"]
    assert (store.size("store/data/b"), store.size("store/data"), store.size("x")) == (10, -1, -1)
    assert (store.read("store/data/b", 7, 9), store.read("store/data/b", 20, 1)) == (b"789", b"")
    assert store.unforced("store/data/b") is None, "nobody can tell from outside"
