"""Brokers that a probe starts itself, and the files of their stores while they are dead.

Question: how does one text start a broker, end it, damage what it left, and start it again: in the simulator, in
processes, reference or Apache's?

    start = SimulatedStart(seed)  |  ProcessStart(target, folder)
    peer = start(flushDiskType="SYNC_FLUSH")      a BackendPeer with ``files``
    peer.end("kill"); peer.files.flip(...); peer.begin()

Names in ``files`` are relative to the store (``commitlog/00000000000000000000``). Bytes are changed in the page cache.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from faults.journal import HealJournal
from harness.backends.backend import Backend, Target
from harness.backends.process import Isolation, ProcessBackend
from harness.backends.sim.disk import SimDisk
from harness.backends.sim.world import SimBackend
from harness.targets.reference import ReferenceTarget
from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from suites.conformance.broker.backend_peer import BackendPeer
from suites.conformance.broker.peer import eventually

FILE_SIZE = 1 << 16
TINY_FILES = {
    "mappedFileSizeCommitLog": str(FILE_SIZE),
    "mappedFileSizeConsumeQueue": "2000",
    "maxHashSlotNum": "100",
    "maxIndexNum": "2000",
}
"""Files roll after a few messages."""


class StoreFiles(Protocol):
    """The store folder of a broker."""

    def names(self, below: str = "") -> list[str]:
        """Files below a folder, sorted; ``""``: all."""

    def read(self, name: str) -> bytes:
        """The whole file."""

    def size(self, name: str) -> int:
        """−1 where there is none."""

    def write(self, name: str, offset: int, data: bytes) -> None:
        """Overwrite, or make the file."""

    def truncate(self, name: str, size: int) -> None:
        """Truncate or extend with zeros."""

    def delete(self, name: str) -> None:
        """No error where there is none."""


class SimFiles:
    """Of a simulated node."""

    def __init__(self, disk: SimDisk) -> None:
        self._disk = disk

    def names(self, below: str = "") -> list[str]:
        return [name.removeprefix("store/") for name in self._disk.files(f"store/{below}")]

    def read(self, name: str) -> bytes:
        return self._disk.read(f"store/{name}", 0, self.size(name))

    def size(self, name: str) -> int:
        return self._disk.size(f"store/{name}")

    def write(self, name: str, offset: int, data: bytes) -> None:
        self._disk.write(f"store/{name}", offset, data)

    def truncate(self, name: str, size: int) -> None:
        if self.size(name) < 0:
            self._disk.create(f"store/{name}", size)
        self._disk.truncate(f"store/{name}", size)

    def delete(self, name: str) -> None:
        if self.size(name) >= 0:
            self._disk.delete(f"store/{name}")


class FolderFiles:
    """Of a process."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def names(self, below: str = "") -> list[str]:
        found = [path for path in (self._store / below).rglob("*") if path.is_file()]
        return sorted(path.relative_to(self._store).as_posix() for path in found)

    def read(self, name: str) -> bytes:
        return (self._store / name).read_bytes()

    def size(self, name: str) -> int:
        path = self._store / name
        return path.stat().st_size if path.exists() else -1

    def write(self, name: str, offset: int, data: bytes) -> None:
        path = self._store / name
        path.touch()
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def truncate(self, name: str, size: int) -> None:
        (self._store / name).touch()
        os.truncate(self._store / name, size)

    def delete(self, name: str) -> None:
        (self._store / name).unlink(missing_ok=True)

    def link(self, name: str, folder: Path) -> None:
        """*folder* by another name."""
        (self._store / name).symlink_to(folder)


class LivingPeer(BackendPeer):
    """A broker with several lives."""

    NODE = "broker-a-0"
    files: StoreFiles

    def _event(self, node: str, event: str, fields: dict[str, object]) -> None:
        """An end of the process is for the probe to judge."""
        self.events.append((node, event, fields))

    def is_registered(self) -> bool:
        """A slave brings no topics: ask for the brokers."""
        known = self.ask(Command(Code.GET_BROKER_CLUSTER_INFO), "namesrv:", SECOND)
        return known is not None and self.broker.encode() in known.body

    def end(self, how: str) -> None:
        """``stop``, ``kill`` or ``cut_power``; files hold still afterwards."""
        levers = self.backend.levers
        ends: dict[str, Callable[[], None]] = {
            "stop": lambda: levers.stop(self.NODE, 30 * SECOND),
            "kill": lambda: levers.kill(self.NODE),
            "cut_power": lambda: levers.cut_power(self.NODE),
        }
        self.backend.perform(ends[how])
        self.sleep(100 * MS)

    def begin(self) -> None:
        """Start it and wait until it answers."""
        self._start(self.NODE, lambda: self._answers("main", Code.GET_ALL_TOPIC_CONFIG))

    def again(self, how: str, damage: Callable[[StoreFiles], None] = lambda files: None) -> None:
        """End it, do *damage*, start it."""
        self.end(how)
        damage(self.files)
        self.begin()

    def second_process(self) -> tuple[int, str]:
        """Run the broker's own command once more beside it: (exit code, what it said)."""
        backend = self.backend
        assert isinstance(backend, ProcessBackend)
        return backend.perform(lambda: _run_again(backend, self.NODE))

    def refuses_to_start(self) -> int:
        """Start it: it must end by itself; its exit code."""
        before = len(self._ends())
        self.backend.perform(lambda: self.backend.levers.start(self.NODE))
        eventually(self, lambda: len(self._ends()) > before or None)
        assert self.backend.levers.state(self.NODE) == "dead"
        end = self._ends()[-1]
        return int(end.get("exit", end.get("code")))  # type: ignore[call-overload, no-any-return]

    def _ends(self) -> list[dict[str, object]]:
        """What was told of ends that nobody outside had asked for."""
        return [fields for node, event, fields in self.events if node == self.NODE and event in ("crashed", "exited")]


def _run_again(backend: ProcessBackend, name: str) -> tuple[int, str]:
    node = backend._nodes[name]
    argv, environment = backend._target.command(node.spec, node.folder)
    done = subprocess.run(
        argv, env={**os.environ, **environment}, capture_output=True, text=True, timeout=240, check=False
    )
    return done.returncode, done.stdout + done.stderr


class SimulatedStart:
    """The reference in the simulator."""

    release = "4.9.7"
    is_apache = False

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed

    def place(self, name: str) -> str:
        return f"store/{name}"

    def __call__(self, *, nameserver: Mapping[str, str] | None = None, **properties: str) -> LivingPeer:
        backend = SimBackend(ReferenceTarget(), self.seed)
        files = lambda: SimFiles(backend.node(LivingPeer.NODE).disk)  # noqa: E731
        return _peer(backend, self.release, files, properties, nameserver)

    def close(self) -> None:
        """Nothing outlives a simulated world."""


class ProcessStart:
    """The reference or Apache's broker in processes; one cluster at a time."""

    def __init__(self, target: Target, folder: Path, isolation: Isolation = "loopback") -> None:
        self._target, self._folder, self._isolation = target, folder, isolation
        self.release = target.name.partition(":")[2] or "4.9.7"
        self.is_apache = target.name != "reference"
        self._open: list[tuple[ProcessBackend, HealJournal]] = []
        self._count = 0

    def place(self, name: str) -> str:
        return str(self._store(self._count + 1) / name) if self.is_apache else f"store/{name}"

    def beside(self, name: str) -> Path:
        """A folder for the broker that is started next, on the disk of the test and not on that of the node."""
        folder = self._folder / f"beside-{self._count + 1}" / name
        folder.mkdir(parents=True)
        return folder

    def _store(self, number: int) -> Path:
        return self._folder / f"cluster-{number}" / "nodes" / LivingPeer.NODE / "data" / "store"

    def __call__(self, *, nameserver: Mapping[str, str] | None = None, **properties: str) -> LivingPeer:
        self.close()
        self._target.prepare()
        self._count += 1
        folder = self._folder / f"cluster-{self._count}"
        journal = HealJournal.open("lives", folder / "heal")
        backend = ProcessBackend("lives", folder, self._target, journal, isolation=self._isolation)
        self._open.append((backend, journal))
        store = self._store(self._count)
        return _peer(backend, self.release, lambda: FolderFiles(store), properties, nameserver)

    def close(self) -> None:
        """End what runs."""
        while self._open:
            backend, journal = self._open.pop()
            backend.close()
            journal.close()


def _peer(
    backend: Backend,
    release: str,
    files: Callable[[], StoreFiles],
    properties: dict[str, str],
    nameserver: Mapping[str, str] | None,
) -> LivingPeer:
    peer = LivingPeer(backend, release=release, properties=TINY_FILES | properties, nameserver=nameserver)
    peer.files = files()
    return peer
