"""A node's folder: what is written is seen at once, a sync covers what came before it, names are forced by folder."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faults.mechanisms import descriptors, pidfd
from reference_impl.runtime import disk as disk_module
from reference_impl.runtime.disk import Disk


class Hands:
    """The owner's thread in a test: callbacks wait here until the test takes them."""

    def __init__(self) -> None:
        self.callbacks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def take(self, count: int) -> None:
        for _ in range(count):
            self.callbacks.get(timeout=60)()


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def disk(tmp_path: Path, hands: Hands) -> Iterator[Disk]:
    made = Disk(tmp_path / "home", hands.callbacks.put)
    yield made
    made.close()


def test_files_are_made_with_their_folders_and_listed_by_prefix(disk: Disk) -> None:
    disk.write("commitlog/00", 3, b"abc")
    disk.create("consumequeue/T/0/00", 20)
    disk.write("lock", 0, b"")
    assert disk.read("commitlog/00", 0, 100) == b"\0\0\0abc"
    assert disk.files("") == ["commitlog/00", "consumequeue/T/0/00", "lock"]
    assert disk.files("consumequeue/T") == ["consumequeue/T/0/00"]
    assert disk.files("nothing/here") == []


@pytest.mark.parametrize(("size_before", "created", "expected"), [(0, 10, 10), (4, 10, 10), (10, 4, 10)])
def test_create_never_shortens(disk: Disk, size_before: int, created: int, expected: int) -> None:
    disk.write("f", 0, b"x" * size_before)
    disk.create("f", created)
    assert disk.size("f") == expected
    assert disk.read("f", 0, size_before) == b"x" * size_before


def test_an_absent_file(disk: Disk) -> None:
    assert disk.size("absent") == -1
    disk.delete("absent")
    with pytest.raises(FileNotFoundError):
        disk.read("absent", 0, 1)


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../outside", "a/../../b"])
def test_a_name_outside_the_home_is_refused(disk: Disk, name: str) -> None:
    with pytest.raises(ValueError, match="relative path"):
        disk.write(name, 0, b"x")


def test_a_rename_replaces_and_an_open_descriptor_does_not_outlive_its_name(disk: Disk) -> None:
    disk.write("new", 0, b"old content")
    disk.write("temporary", 0, b"fresh")
    disk.rename("temporary", "new")
    assert disk.read("new", 0, 100) == b"fresh"
    assert disk.size("temporary") == -1
    disk.delete("new")
    disk.write("new", 0, b"again")
    assert disk.read("new", 0, 100) == b"again"


def test_more_files_than_descriptors_are_kept(tmp_path: Path, hands: Hands) -> None:
    disk = Disk(tmp_path, hands.callbacks.put, kept_files=3)
    for number in range(10):
        disk.write(f"f{number}", 0, str(number).encode())
    open_files = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if _is_open(fd)]
    assert len([name for name in open_files if name.startswith(str(tmp_path))]) == 3
    assert [disk.read(f"f{number}", 0, 9) for number in range(10)] == [str(n).encode() for n in range(10)]
    disk.close()


def _is_open(descriptor: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


# -- forcing -----------------------------------------------------------------------------------------------------------


class HeldForce:
    """Stands in for ``fdatasync``: counts, remembers what the file held, waits until the test lets it go."""

    def __init__(self) -> None:
        self.may_go = threading.Semaphore(0)
        self.begun = threading.Semaphore(0)
        self.seen: list[int] = []

    def __call__(self, descriptor: int) -> None:
        self.seen.append(os.fstat(descriptor).st_size)
        self.begun.release()
        assert self.may_go.acquire(timeout=60)

    def wait_begun(self) -> None:
        assert self.begun.acquire(timeout=60)


@pytest.fixture
def force(monkeypatch: pytest.MonkeyPatch) -> HeldForce:
    held = HeldForce()
    monkeypatch.setattr(disk_module, "force_data", held)
    return held


def test_syncs_that_wait_for_one_under_way_share_the_next_one(disk: Disk, hands: Hands, force: HeldForce) -> None:
    ended: list[int] = []
    for token in range(5):
        disk.write("log", token * 10, b"x" * 10)
        disk.sync("log", lambda error, token=token: ended.append(token))
        if token == 0:
            force.wait_begun()
    force.may_go.release()
    hands.take(1)
    assert ended == [0], "the first sync must not speak for writes that came after it began"
    force.wait_begun()
    force.may_go.release()
    hands.take(1)
    assert ended == [0, 1, 2, 3, 4]
    assert force.seen == [10, 50], "the second fdatasync begins after the last write that it covers"


def test_different_files_are_forced_side_by_side(disk: Disk, hands: Hands, force: HeldForce) -> None:
    for name in ("a", "b"):
        disk.write(name, 0, b"x")
        disk.sync(name, lambda error: None)
    force.wait_begun()
    force.wait_begun()  # both are under way although none has ended
    force.may_go.release(2)
    hands.take(2)


def test_a_sync_outlives_the_eviction_and_deletion_of_its_file(tmp_path: Path, hands: Hands, force: HeldForce) -> None:
    disk = Disk(tmp_path, hands.callbacks.put, kept_files=1)
    ends: list[str | None] = []
    disk.write("a", 0, b"x")
    disk.sync("a", ends.append)
    force.wait_begun()
    disk.write("b", 0, b"x")
    disk.delete("a")
    force.may_go.release()
    hands.take(1)
    assert ends == [None]
    disk.close()


def test_a_descriptor_is_closed_when_its_force_has_ended_and_not_before(
    tmp_path: Path, hands: Hands, force: HeldForce
) -> None:
    """Evicted while it is forced; opened again meanwhile, its file has two, and one afterwards."""
    disk = Disk(tmp_path / "home", hands.callbacks.put, kept_files=1)
    disk.write("a", 0, b"x")
    disk.sync("a", lambda error: None)
    force.wait_begun()
    disk.write("b", 0, b"x")
    assert open_files(tmp_path) == ["a", "b"]
    disk.write("a", 1, b"y")
    assert open_files(tmp_path) == ["a", "a"]
    force.may_go.release()
    hands.take(1)
    assert open_files(tmp_path) == ["a"]
    disk.close()
    assert open_files(tmp_path) == []


def open_files(folder: Path) -> list[str]:
    """Names of the files in *folder* that this process has open, once a descriptor."""
    links = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
    return sorted(os.path.basename(link) for link in links if link.startswith(f"{folder}/home/"))


def test_a_file_is_forced_by_a_process_that_can_open_no_more(disk: Disk, hands: Hands) -> None:
    ends: list[str | None] = []
    disk.write("log", 0, b"x")
    ours = pidfd.identify(os.getpid())
    before = descriptors.limits(ours)
    descriptors.exhaust(ours, 0)
    try:
        disk.sync("log", ends.append)
    finally:
        descriptors.set_limits(ours, before)
    hands.take(1)
    assert ends == [None]


def test_folders_that_could_not_be_forced_are_forced_the_next_time(
    disk: Disk, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[str] = []

    def force_folder(descriptor: int) -> None:
        if not ends:
            raise OSError(5, "Input/output error")
        forced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))

    monkeypatch.setattr(disk_module.os, "fsync", force_folder)
    ends: list[str | None] = []
    disk.write("config/topics.json", 0, b"{}")
    for _ in range(3):
        disk.sync_names(ends.append)
        hands.take(1)
    assert ends == ["EIO", None, None]
    assert sorted(forced) == ["config", "home"], "once, and not again"


def test_a_failed_sync_tells_the_errno(disk: Disk, hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(disk_module, "force_data", fail)
    ends: list[str | None] = []
    disk.write("log", 0, b"x")
    disk.sync("log", ends.append)
    disk.sync("absent", ends.append)
    hands.take(2)
    assert sorted(ends, key=str) == ["EIO", "ENOENT"]


def test_names_are_forced_once_in_every_folder_that_changed(
    disk: Disk, hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[str] = []
    monkeypatch.setattr(disk_module.os, "fsync", lambda fd: forced.append(os.readlink(f"/proc/self/fd/{fd}")))
    disk.write("config/topics.json.tmp", 0, b"{}")
    disk.rename("config/topics.json.tmp", "config/topics.json")
    disk.write("config/topics.json", 0, b"{ }")
    disk.create("consumequeue/T/0/00", 20)
    ends: list[str | None] = []
    disk.sync_names(ends.append)
    hands.take(1)
    disk.sync_names(ends.append)
    hands.take(1)
    folders = [".", "config", "consumequeue", "consumequeue/T", "consumequeue/T/0"]
    assert sorted(os.path.relpath(folder, tmp_path / "home") for folder in forced) == folders
    assert ends == [None, None]


# -- against a model ---------------------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "d/a", "d/e/c"])
steps = st.one_of(
    st.tuples(st.just("write"), names, st.integers(0, 50), st.binary(max_size=20)),
    st.tuples(st.just("create"), names, st.integers(0, 60)),
    st.tuples(st.just("truncate"), names, st.integers(0, 60)),
    st.tuples(st.just("delete"), names),
    st.tuples(st.just("rename"), names, names),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=25))
def test_a_disk_is_a_map_from_names_to_bytes(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple]) -> None:
    disk = Disk(tmp_path_factory.mktemp("home"), lambda callback: None, kept_files=2)
    model: dict[str, bytes] = {}
    for step in steps:
        if step[0] == "rename" and step[1] not in model:
            continue
        getattr(disk, step[0])(*step[1:])
        apply(model, *step)
    assert {name: disk.read(name, 0, 1000) for name in disk.files("")} == model
    assert all(disk.size(name) == len(content) for name, content in model.items())
    disk.close()


def apply(model: dict[str, bytes], act: str, name: str, *rest: object) -> None:
    old = model.get(name, b"")
    match act, *rest:
        case "write", int(offset), bytes(data):
            padded = old.ljust(offset, b"\0") if data else old
            model[name] = padded[:offset] + data + padded[offset + len(data) :] if data else old
        case "create", int(size):
            model[name] = old.ljust(size, b"\0")
        case "truncate", int(size):
            model[name] = old[:size].ljust(size, b"\0")
        case ("delete",):
            model.pop(name, None)
        case "rename", str(new):
            model[new] = model.pop(name)
