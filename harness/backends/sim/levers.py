"""Everything that can be done to the simulated world: the levers of every backend, and those that only it has.

Question: which faults can a plan ask of the simulator, and what exactly do they do?

Model. Acts take effect at the present virtual instant. ``stop`` and ``reaches`` let the world run, bounded, until they
know. Names of network faults (``LinkSet.name``) are unique per kind; healing goes by them and never fails.

Limits. A client's process is the harness's own: it can be killed, stopped and started only where the harness knows how
its next life begins, and has no power to cut. Nothing here is drawn but which bits rot (``decay/<node>``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from faults.levers import HealStep, LeverRefused, LinkSet, NodeState, PortClass
from faults.mechanisms.decay import SECTOR, end_of_log, is_of_log, sector_before_end
from harness.backends.sim.disk import SimDisk
from harness.backends.sim.disk_faults import DiskFaults
from harness.backends.sim.node import Node
from harness.backends.sim.sparse import Sparse
from harness.backends.sim.starving import Starving
from harness.backends.sim.weather import OTHER, PORT_CLASS_BITS
from harness.errors import FaultError
from reference_impl.environment import MS, SECOND

if TYPE_CHECKING:
    from harness.backends.sim.world import SimBackend

PROBE_BOUND_NS = SECOND
FILES_MAX = 65_536
"""As many a process can open that nobody keeps from it."""
TABLES = "store/config/"
"""Where a broker keeps its tables (RocketMQ: BrokerPathConfigHelper)."""


_Probe = Callable[[str, str, int, Callable[[bool], None]], None]
"""(source, target, bit of the port class, tell)."""


class SimLevers:
    """``faults.levers.Levers`` and more."""

    def __init__(self, world: SimBackend) -> None:
        self._world = world
        self._kept: dict[str, dict[str, Sparse]] = {}
        self._starving: dict[str, Starving] = {}
        self._memory_kills: dict[str, int] = {}

    # -- processes ---------------------------------------------------------------------------------------------------

    def nodes(self) -> Sequence[str]:
        return tuple(self._world.nodes)

    def state(self, node: str) -> NodeState:
        life = self._world.node(node).life
        return "dead" if life is None else life.state

    def kill(self, node: str) -> None:
        self._mortal(node, "kill").kill()

    def stop(self, node: str, timeout_ns: int) -> None:
        life = self._mortal(node, "stop").life
        if life is None or life.state == "dead":
            return
        life.take_stop()
        deadline_ns = self._world.now() + timeout_ns
        if not self._world.run_until(lambda: life.state == "dead", deadline_ns):
            raise TimeoutError(f"{node} did not end within {timeout_ns / SECOND:g} s of being asked to")

    def start(self, node: str) -> None:
        home = self._mortal(node, "start")
        if self.state(node) == "dead":
            self.mend_forces(node)  # they failed for the process that died, which lacked processor time, too
            self.feed_cpu(node)
            self._world.boot(home)

    def pause(self, node: str) -> None:
        life = self._world.node(node).life
        if life is None or life.state == "dead":
            raise FaultError(f"{node} cannot be paused: it is not running")
        life.pause()

    def resume(self, node: str) -> None:
        life = self._world.node(node).life
        if life is not None:
            life.resume()

    def starve_cpu(self, node: str, percent: int) -> None:
        self._running(node, "starve")
        self.feed_cpu(node)
        life = self._world.node(node).life
        assert life is not None
        self._starving[node] = Starving(self._world.scheduler, life, percent)

    def feed_cpu(self, node: str) -> None:
        if (starving := self._starving.pop(node, None)) is not None:
            starving.end()

    def cpu_share(self, node: str) -> int:
        starving = self._starving.get(node)
        return starving.percent if starving is not None and starving.is_in_force else 100

    def cpu_held_up(self, node: str, patience_ns: int = 0) -> int:
        if (starving := self._starving.get(node)) is None:
            return 0
        self._world.run_until(lambda: starving.held_up > 0, self._world.now() + patience_ns)
        return starving.held_up

    def exhaust_files(self, node: str, left: int) -> None:
        """No new connection of the node comes about, and no new file. All or none: nothing is counted here. It is a
        limit of the process, and ends with it."""
        life = self._running(node, "exhaust the files of").life
        if left:
            raise LeverRefused("the simulator counts no descriptors", "leave none")
        others = tuple(name for name in self._world.nodes if name != node)
        self._world.weather.partition(LinkSet(_no_files(node), (node,), others, only_new=True))
        self._faults(node).nameless = True
        assert life is not None
        life.at_end(lambda: self.free_files(node))

    def free_files(self, node: str) -> None:
        self._world.weather.heal_partition(_no_files(node))
        if (faults := self._world.node(node).disk.faults) is not None:
            faults.nameless = False

    def files_left(self, node: str) -> int:
        faults = self._world.node(node).disk.faults
        return 0 if faults is not None and faults.nameless else FILES_MAX

    def run_out_of_memory(self, node: str) -> None:
        self._running(node, "take the memory of").kill()
        self._memory_kills[node] = 1

    def memory_kills(self, node: str) -> int:
        return self._memory_kills.get(node, 0)

    def cut_power(self, node: str) -> None:
        self._world.lose_power(self._server(node, "cut the power of"))

    def power_cut_lost(self, node: str) -> int:
        report = self._world.node(node).last_cut
        return 0 if report is None else report.lost_bytes

    def die_in_step(self, node: str, changes: int, *, power_cut: bool = False) -> None:
        """The process dies inside the *changes*-th write, create, rename … from now, which then has not happened."""
        home = self._server(node, "kill")
        home.fate = (lambda: self._world.lose_power(home)) if power_cut else home.kill
        self._faults(node).fuse = _positive(changes)

    # -- network -----------------------------------------------------------------------------------------------------

    def partition(self, links: LinkSet) -> None:
        self._check(links)
        self._world.weather.partition(links)

    def heal_partition(self, name: str) -> None:
        self._world.weather.heal_partition(name)

    def leaked_bytes(self, name: str) -> int:
        """No packet has a way around the weather, and nobody counts."""
        return -1

    def jam(self, links: LinkSet) -> None:
        """Hold what is sent between the two groups; deliver it later, in order."""
        self._check(links)
        self._world.weather.jam(links)

    def unjam(self, name: str) -> None:
        """Deliver what was held; no error if there is no such jam."""
        self._world.net.unjam(name)

    def slow_link(self, links: LinkSet, factor: int, extra_ns: int = 0) -> None:
        """Latencies between the two groups times *factor* plus *extra_ns* (all port classes)."""
        self._check(links)
        self._world.weather.slow(links, _positive(factor), extra_ns)

    def unslow_link(self, name: str) -> None:
        """As fast as before; no error if it was not slowed."""
        self._world.weather.unslow(name)

    def connections(self, between: LinkSet) -> frozenset[str]:
        self._check(between)
        return frozenset(map(str, self._world.net.connections(between)))

    def reset_connections(self, between: LinkSet) -> None:
        """Reset the live connections between the two groups at both ends."""
        self._check(between)
        self._world.net.reset(between)

    def reaches(self, source: str, target: str, port_class: PortClass) -> bool:
        """One datagram through the same path, partitions and jams as everything else; *one way*, so it tells those of
        one way.

        ``any`` is a port of no class, which only faults of ``any`` hit. A lost datagram is told at the moment of its
        arrival: a world that knows need not wait for a second to pass.
        """
        return self._told_of(self._world.net.probe, source, target, port_class)

    def connects(self, source: str, target: str, port_class: PortClass) -> bool:
        """One attempt there, and its answer back; told as ``reaches`` is."""
        return self._told_of(self._world.net.knock, source, target, port_class)

    def _told_of(self, send: _Probe, source: str, target: str, port_class: PortClass) -> bool:
        told: list[bool] = []
        self._check(LinkSet("probe", (source,), (target,)))
        bit = OTHER if port_class == "any" else PORT_CLASS_BITS[port_class]
        send(source, target, bit, told.append)
        return self._world.run_until(lambda: bool(told), self._world.now() + PROBE_BOUND_NS) and told[0]

    def heal_steps(self, state: str, node_or_partition: str) -> list[HealStep]:
        """Nothing of this world outlives the process."""
        return []

    # -- clocks ------------------------------------------------------------------------------------------------------

    def step_clock(self, node: str, by_ms: int) -> None:
        """The wall clock jumps by *by_ms* (negative: back)."""
        self._world.node(node).clock.step(self._world.now(), by_ms)

    def clock_ahead(self, node: str) -> int:
        return self._world.node(node).clock.stepped_ms

    def drift_clock(self, node: str, ppb: int) -> None:
        """Both clocks gain *ppb* nanoseconds a second; 0 heals the rate. Timers already set stay as they are."""
        self._world.node(node).clock.drift(self._world.now(), ppb)

    # -- disks -------------------------------------------------------------------------------------------------------

    def fill_disk(self, node: str, free_bytes: int) -> None:
        """Something else occupies the disk but for *free_bytes*."""
        disk = self._world.node(node).disk
        disk.set_ballast(0)
        disk.set_ballast(max(0, disk.free_bytes - free_bytes))

    def empty_disk(self, node: str) -> None:
        """Undo ``fill_disk``."""
        self._world.node(node).disk.set_ballast(0)

    def fail_syncs(self, node: str, *calls: int) -> None:
        """Fail the *calls[0]*-th sync from now with EIO, then the *calls[1]*-th after it, and so on."""
        self._faults(node).sync_failures = [_positive(call) for call in calls]

    def fail_forces(self, node: str) -> None:
        faults = self._faults(self._running(node, "fail the forces of").name)
        faults.forceless, faults.hit_syncs = True, 0

    def mend_forces(self, node: str) -> None:
        if (faults := self._world.node(node).disk.faults) is not None:
            faults.forceless = False
            for end, sync in faults.release():
                self._world.scheduler.at(self._world.now(), end, sync)

    def delay_forces(self, node: str, by_ms: int) -> None:
        faults = self._faults(self._running(node, "delay the forces of").name)
        faults.late_ns, faults.hanging, faults.hit_syncs = by_ms * MS, by_ms == 0, 0

    def forces_hit(self, node: str) -> bool:
        faults = self._world.node(node).disk.faults
        is_hit = faults is not None and (faults.forceless or faults.hanging or faults.late_ns > 0)
        return is_hit and self.state(node) != "dead"

    def count_forces_hit(self, node: str, patience_ns: int = 0) -> int:
        faults = self._faults(node)
        self._world.run_until(lambda: faults.hit_syncs > 0, self._world.now() + patience_ns)
        return faults.hit_syncs

    def lie(self, node: str, lying: bool = True) -> None:
        """Syncs say yes and do nothing."""
        self._faults(node).lying = lying

    def kill_disk(self, node: str) -> None:
        """Every change and sync fails with EIO; reads go on."""
        self._faults(self._server(node, "kill the disk of").name).dead = True

    def make_disk_read_only(self, node: str) -> None:
        """Every change and sync fails with EROFS; reads go on."""
        self._faults(self._server(node, "make the disk read-only of").name).read_only = True

    def mend_disk(self, node: str) -> None:
        """Refused while the process runs."""
        home = self._dead(node, "mend the disk of")
        if home.disk.faults is not None and (home.disk.faults.dead or home.disk.faults.read_only):
            home.disk.faults.dead = home.disk.faults.read_only = False
            home.disk.lose_cache()

    def write_error(self, node: str) -> str:
        return self._server(node, "write to the disk of").disk.write_error()

    def repair_disk(self, node: str) -> None:
        """Undo every defect but a full disk; syncs that hang end."""
        self.mend_forces(node)
        self._world.node(node).disk.faults = None

    def flip_bits(self, node: str, prefix: str, count: int) -> list[tuple[str, int, int]]:
        """Flip *count* drawn bits of non-zero bytes of files under *prefix*; returns (file, offset, bit) of each."""
        disk = self._world.node(node).disk
        rng = self._world.seeds.child(f"decay/{node}")
        flipped: list[tuple[str, int, int]] = []
        for _ in range(count):
            places = _written_chunks(disk, prefix)
            if not places:
                break
            file, start, data = rng.choice(places)
            offset = rng.choice([index for index, byte in enumerate(data) if byte])
            flipped.append((file, start + offset, rng.randrange(8)))
            disk.flip_bit(*flipped[-1])
        return flipped

    def flip_log(self, node: str, back_bytes: int) -> int:
        disk = self._dead(node, "flip bits of").disk
        if (place := sector_before_end(_log_ends(disk), back_bytes)) is None:
            return -1
        file, offset = place
        disk.invert(file, offset, SECTOR)
        return int(file.rpartition("/")[2]) + offset

    def find_files(self, node: str, pattern: str) -> Mapping[str, tuple[int, int]]:
        disk = self._server(node, "look at the disk of").disk
        fitting = [file for file in disk.files("") if re.fullmatch(pattern, file)]
        return {file: (disk.size(file), _written_end(disk, file)) for file in fitting}

    def file_part(self, node: str, file: str, offset: int, size: int) -> bytes:
        disk = self._server(node, "look at the disk of").disk
        return disk.read(file, offset, size) if disk.size(file) >= 0 else b""

    def change_file(self, node: str, file: str, offset: int, data: bytes) -> None:
        self._dead(node, "change a file of").disk.overwrite(file, offset, data)

    def cut_file(self, node: str, file: str, size: int) -> None:
        self._dead(node, "cut a file of").disk.cut(file, size)

    def disk_files(self, node: str) -> int:
        return len(self._server(node, "look at the disk of").disk.names)

    def wipe(self, node: str) -> None:
        """The node's disk is empty; refused while its process runs."""
        self._dead(node, "wipe").disk.wipe()

    def disk_space(self, node: str) -> tuple[int, int]:
        disk = self._server(node, "look at the disk of").disk
        return disk.free_bytes, disk.model.capacity_bytes

    def remove_tables(self, node: str) -> None:
        """Refused while the process runs."""
        disk = self._dead(node, "remove tables of").disk
        for file in disk.files(TABLES):
            disk.delete(file)

    def properties(self, node: str) -> Mapping[str, str]:
        spec = self._server(node, "look at the configuration of").spec
        return {} if spec is None else spec.properties

    def reconfigure(self, node: str, properties: Mapping[str, str]) -> None:
        """Refused while the process runs."""
        home = self._dead(node, "reconfigure")
        if home.spec is not None:
            self._world.set_spec(home, replace(home.spec, properties=dict(properties)))

    def keep_disk(self, node: str) -> None:
        self._kept[node] = self._dead(node, "keep the disk of").disk.kept()

    def put_disk_back(self, node: str) -> None:
        self._dead(node, "put back the disk of").disk.become(self._kept[node])

    def log_end(self, node: str, beyond: int = -1, patience_ns: int = 0) -> int:
        disk = self._server(node, "look at the disk of").disk
        self._world.run_until(lambda: _log_end(disk) > beyond, self._world.now() + patience_ns)
        return _log_end(disk)

    def copy_disk(self, source: str, target: str) -> None:
        """Durable at the target; refused while either process runs."""
        self._dead(target, "replace the disk of").disk.become(self._dead(source, "copy the disk of").disk.kept())

    def _running(self, node: str, verb: str) -> Node:
        home = self._server(node, verb)
        if self.state(node) == "dead":
            raise FaultError(f"cannot {verb} {node}: it is dead")
        return home

    def _dead(self, node: str, verb: str) -> Node:
        home = self._server(node, verb)
        if self.state(node) != "dead":
            raise FaultError(f"cannot {verb} {node} while it runs", hint="end it first")
        return home

    # -- inside ------------------------------------------------------------------------------------------------------

    def _mortal(self, node: str, verb: str) -> Node:
        """A node that can begin again."""
        home = self._world.node(node)
        return home if home.again is not None else self._server(node, verb)

    def _server(self, node: str, verb: str) -> Node:
        home = self._world.node(node)
        if home.spec is None:
            hint = "pause it or isolate it"
            raise LeverRefused(f"cannot {verb} {node}: a client lives in the harness's own process", hint)
        return home

    def _check(self, links: LinkSet) -> None:
        for name in (*links.left, *links.right):
            self._world.node(name)

    def _faults(self, node: str) -> DiskFaults:
        disk = self._world.node(node).disk
        if disk.faults is None:
            disk.faults = DiskFaults()
        return disk.faults


def _no_files(node: str) -> str:
    """What keeps connections of a node from coming about that can open none."""
    return f"no files of {node}"


def _positive(number: int) -> int:
    if number < 1:
        raise ValueError(f"{number} is not a count: it starts at 1")
    return number


def _written_chunks(disk: SimDisk, prefix: str) -> list[tuple[str, int, bytes]]:
    return [(file, at, data) for file in disk.files(prefix) for at, data in disk.names[file].content.extents()]


def _log_ends(disk: SimDisk) -> dict[str, int]:
    return {file: _written_end(disk, file) for file in disk.files("") if is_of_log(file)}


def _log_end(disk: SimDisk) -> int:
    return end_of_log(_log_ends(disk))


def _written_end(disk: SimDisk, file: str) -> int:
    """One more than the place of the last byte that is not zero."""
    extents = [(at, data.rstrip(b"\0")) for at, data in disk.names[file].content.extents()]
    return max((at + len(data) for at, data in extents if data), default=0)
