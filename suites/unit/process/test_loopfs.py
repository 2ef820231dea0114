"""A disk that lost its power, while somebody else's mount namespace holds it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.errors import FaultTrouble
from faults.mechanisms import loopfs

pytestmark = pytest.mark.requires("process:power")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    image, folder = tmp_path / "disk.ext4", tmp_path / "disk"
    loopfs.make_image(image, 16)
    device = loopfs.attach(image)
    loopfs.mount_device(device, folder)
    yield device, folder
    loopfs.unmount(folder)
    loopfs.detach(image)


def holder(seconds: int, folder: Path) -> subprocess.Popen[bytes]:
    """A process with a copy of all mounts, as a container has while it starts; it says so when it has them."""
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f"echo held; exec sleep {seconds}"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    assert str(folder) in Path(f"/proc/{process.pid}/mountinfo").read_text()
    return process


def test_who_holds_it_for_a_moment_is_waited_for(disk: tuple[str, Path]) -> None:
    device, folder = disk
    with holder(1, folder):
        loopfs.cut_power(folder)
        loopfs.unmount(folder)
        loopfs.mount_device(device, folder)
        (folder / "file").write_text("it takes writes")


def test_who_holds_it_for_ever_is_named(disk: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    device, folder = disk
    monkeypatch.setattr(loopfs, "HELD_TIMEOUT_S", 0.3)
    with holder(60, folder) as process:
        loopfs.cut_power(folder)
        loopfs.unmount(folder)
        with pytest.raises(FaultTrouble, match="does not take writes after mounting: EIO"):
            loopfs.mount_device(device, folder)
        assert not loopfs.is_mounted(folder)
        process.kill()
