"""One store on one simulated disk: an ``Environment`` without a network, in virtual time.

Question: how does a test let a store live, die and come back, and look at what it left? The disk is the simulator's
(page cache, platter, journal of names); time is a heap; a *life* is one store object. A kill forgets the life, a power
cut also what the disk had not got.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from random import Random
from typing import Any

from harness.backends.sim.disk import SimDisk
from harness.backends.sim.disk_faults import DiskFaults
from harness.backends.sim.models import Budgets, DiskModel
from harness.backends.sim.scheduler import Scheduler
from reference_impl.defects import plant_in_store
from reference_impl.environment import SECOND, Address, Environment, Link
from reference_impl.store import GetResult, MessageStore, PutRequest, PutResult, PutStatus, StoreConfig

EPOCH_MS = 1_700_000_000_000
SMALL = {
    "mappedFileSizeCommitLog": "8192",
    "mappedFileSizeConsumeQueue": "400",
    "maxHashSlotNum": "50",
    "maxIndexNum": "200",
    "brokerClusterName": "C",
}
QUIET_DISK = DiskModel(writeback_age_ns=None, journal_age_ns=None)
"""Nothing reaches the platter by itself."""


class Life:
    """The environment of one store object."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.rng = Random(f"{world.seed}/{number}")
        self.is_over = False
        self._timers: dict[Hashable, int] = {}
        self._last_timer = 0

    def now(self) -> int:
        return self.world.scheduler.now + 5 * SECOND

    def wall(self) -> int:
        return self.world.wall()

    def set_timer(self, key: Hashable, delay_ns: int) -> None:
        self._last_timer += 1
        self._timers[key] = self._last_timer
        self.world.scheduler.at(self.world.scheduler.now + delay_ns, self._due, key, self._last_timer)

    def cancel_timer(self, key: Hashable) -> None:
        self._timers.pop(key, None)

    def _due(self, key: Hashable, number: int) -> None:
        if not self.is_over and self._timers.get(key) == number:
            del self._timers[key]
            assert self.world.store.on_timer(self, key), key

    @property
    def timers(self) -> list[Hashable]:
        """What is set."""
        return list(self._timers)

    def read(self, file: str, offset: int, size: int) -> bytes:
        return self.world.disk.read(file, offset, size)

    def size(self, file: str) -> int:
        return self.world.disk.size(file)

    def modified(self, file: str) -> int:
        return EPOCH_MS + self.world.disk.modified_ns(file) // 1_000_000

    def files(self, prefix: str) -> list[str]:
        return self.world.disk.files(prefix)

    def write(self, file: str, offset: int, data: bytes) -> None:
        self.world.disk.write(file, offset, data)

    def create(self, file: str, size: int) -> None:
        self.world.disk.create(file, size)

    def delete(self, file: str) -> None:
        self.world.disk.delete(file)

    def rename(self, old: str, new: str) -> None:
        self.world.disk.rename(old, new)

    def truncate(self, file: str, size: int) -> None:
        self.world.disk.truncate(file, size)

    def sync(self, file: str, token: Hashable) -> None:
        self.world.syncs.append(file)
        self.world.disk.sync(file, token, self._synced)

    def sync_dir(self, token: Hashable) -> None:
        self.world.syncs.append("")
        self.world.disk.sync_dir(token, self._synced)

    def _synced(self, file: str, outcome: tuple[Hashable, str]) -> None:
        token, error = outcome
        if self.is_over:
            return
        if error:
            assert self.world.store.on_disk_error(self, file, token, error)
        else:
            assert self.world.store.on_synced(self, file, token)

    def disk_usage(self, path: str = "") -> tuple[int, int]:
        return self.world.usages.get(path) or self.world.usage or self.world.disk.usage()

    def note(self, event: str, **fields: Any) -> None:
        self.world.notes.append((event, fields))

    # A store has no network and does not end its node.

    def listen(self, address: Address) -> None:
        raise AssertionError(address)

    def connect(self, address: Address) -> Link:
        raise AssertionError(address)

    def send(self, link: Link, data: bytes) -> None:
        raise AssertionError(link)

    def close(self, link: Link) -> None:
        raise AssertionError(link)

    def peer(self, link: Link) -> Address:
        raise AssertionError(link)

    def listener(self, link: Link) -> Address | None:
        raise AssertionError(link)

    def exit(self, code: int = 0, reason: str = "") -> None:
        raise AssertionError(code, reason)


class World:
    """A disk, a clock, and the store that lives on them now."""

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        defects: Collection[str] = (),
        seed: int = 0,
        model: DiskModel = QUIET_DISK,
    ) -> None:
        self.seed = seed
        self.config = StoreConfig.from_properties({**SMALL, **(properties or {})})
        self.defects = defects
        self.scheduler = Scheduler(Budgets())
        self.disk = SimDisk(self.scheduler, Random(f"{seed}/disk"), model)
        self.notes: list[tuple[str, dict[str, Any]]] = []
        self.syncs: list[str] = []
        self.usage: tuple[int, int] | None = None
        self.usages: dict[str, tuple[int, int]] = {}
        """Of single paths, which then have disks of their own."""
        self.wall_step_ms = 0
        self._lives = 0
        self.store: MessageStore
        self.env: Life

    # --- lives ------------------------------------------------------------------------------------------------------

    def start(self) -> World:
        """A new store object on the disk as it is."""
        self._lives += 1
        self.store = MessageStore(self.config)
        plant_in_store(self.store, self.defects)
        self.env = Life(self, self._lives)
        self.store.load(self.env)
        return self

    def kill(self) -> World:
        """The process is gone, the page cache is not."""
        self.env.is_over = True
        return self

    def cut_power(self) -> World:
        """Process and page cache are gone."""
        self.kill()
        self.disk.cut_power()
        return self

    def stop(self) -> World:
        """Orderly; runs until the store says that it is done."""
        done: list[bool] = []
        self.store.shutdown(self.env, lambda env: done.append(True))
        assert self.scheduler.run_until(lambda: bool(done), self.scheduler.now + 60 * SECOND)
        return self.kill()

    def wall(self) -> int:
        """The node's wall clock, ms; ``wall_step_ms`` sets it wrong."""
        return EPOCH_MS + self.scheduler.now // 1_000_000 + self.wall_step_ms

    def run(self, seconds: float = 0.0, *, ns: int = 0) -> World:
        """Let the world run on."""
        self.scheduler.run_until(lambda: False, self.scheduler.now + int(seconds * SECOND) + ns)
        return self

    def faults(self) -> DiskFaults:
        """The defects of the disk, to be changed."""
        if self.disk.faults is None:
            self.disk.faults = DiskFaults()
        return self.disk.faults

    def release(self) -> World:
        """A disk that hung goes on; the syncs that it held end in order."""
        faults = self.faults()
        faults.hanging = False
        held, faults.held = faults.held, []
        for end, sync in held:
            end(sync, None)
        return self

    # --- messages ---------------------------------------------------------------------------------------------------

    def put(self, body: bytes | str = b"x", topic: str = "T", queue_id: int = 0, **fields: Any) -> list[PutResult]:
        """Begin a put; the list gets its result, at once or later."""
        results: list[PutResult] = []
        data = body.encode() if isinstance(body, str) else body
        request = PutRequest(topic=topic, queue_id=queue_id, body=data, **{"born_timestamp": 1, **fields})
        self.store.put(self.env, request, lambda env, result: results.append(result))
        return results

    def send(self, body: bytes | str = b"x", topic: str = "T", queue_id: int = 0, **fields: Any) -> PutResult:
        """A put, and the world runs until it is answered (at most 20 s)."""
        results = self.put(body, topic, queue_id, **fields)
        assert self.scheduler.run_until(lambda: bool(results), self.scheduler.now + 20 * SECOND), "no answer"
        return results[0]

    def send_ok(self, *bodies: str, topic: str = "T", queue_id: int = 0) -> None:
        """Several puts that must be answered with PUT_OK; then dispatch catches up."""
        for body in bodies:
            result = self.send(body, topic, queue_id)
            assert result.status is PutStatus.PUT_OK, result
        self.run(0.002)

    def get(self, offset: int = 0, topic: str = "T", queue_id: int = 0, count: int = 32, **more: Any) -> GetResult:
        """One read; the store must be readable."""
        result = self.store.get(self.env, topic, queue_id, offset, count, **more)
        assert result is not None
        return result

    def bodies(self, topic: str = "T", queue_id: int = 0) -> list[str]:
        """Every readable body of a queue, in order."""
        found: list[str] = []
        offset = self.store.min_offset(topic, queue_id)
        while (result := self.get(offset, topic, queue_id)).records:
            found += [body_of(record).decode() for record in result.records]
            offset = result.next_offset
        return found

    # --- files ------------------------------------------------------------------------------------------------------

    def names(self, prefix: str = "store/") -> list[str]:
        """Files, without the prefix."""
        return [name.removeprefix(prefix) for name in self.disk.files(prefix)]

    def content(self, file: str) -> bytes:
        """Bytes of ``store/<file>``."""
        return self.disk.read(f"store/{file}", 0, self.disk.size(f"store/{file}"))

    def patch(self, file: str, offset: int, data: bytes) -> None:
        """Write behind the store's back, durably: what an operator with a hex editor does."""
        inode = self.disk.names[f"store/{file}"]
        inode.content.write(offset, data)
        inode.platter.write(offset, data)

    def noted(self, event: str) -> list[dict[str, Any]]:
        """The fields of every note of this name."""
        return [fields for name, fields in self.notes if name == event]


def body_of(record: bytes) -> bytes:
    """The body of a stored record with IPv4 hosts."""
    size = int.from_bytes(record[84:88], "big")
    return record[88 : 88 + size]


def is_environment(life: Life) -> Environment:
    """The type checker's proof that a life is an environment."""
    return life
