"""A disk that others fill must not look like a broker's that fails."""

from __future__ import annotations

from errno import ENOSPC
from pathlib import Path

import pytest

from faults.mechanisms import loopfs
from harness.backends.process import disks
from harness.backends.process.capabilities import scan
from harness.recorder import _write_all


def test_the_disk_of_the_folders_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_disks = disks.FolderDisks(tmp_path, "no images here")
    folder_disks.check_room()
    monkeypatch.setattr(disks, "space_of", lambda folder: (disks.ROOM_BYTES - 1, 1 << 30))
    with pytest.raises(OSError, match="no room for the files of nodes") as caught:
        folder_disks.check_room()
    assert (caught.value.errno, caught.value.filename) == (ENOSPC, str(tmp_path))


def test_an_image_is_reserved_whole(tmp_path: Path) -> None:
    if lack := scan().power_cut:
        pytest.skip(lack)
    loopfs.make_image(tmp_path / "image", 16)
    assert (tmp_path / "image").stat().st_blocks * 512 >= 16 << 20


def test_a_journal_that_cannot_be_written_names_its_file() -> None:
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(OSError, match="No space left") as caught:
        _write_all(full, b"x")
    assert caught.value.filename == "/dev/full"
