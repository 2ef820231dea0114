"""The state of the network between hosts: what passes, how slowly, what is held.

Question: does a packet from this host to that one, on this class of port, get through now?

Model. A path is a directed pair of nodes. A *partition* drops what arrives while it lasts, both ways or one way, on
some port classes; a *jam* holds it; a *slowdown* multiplies latencies; a host without power answers nothing. Each is
named, so that healing one leaves the others. From these every path derives two bit masks, ``lost`` and ``held``, and
their union with the lost mask of the way back, ``trouble``: the one thing that the hot path of a healthy segment looks
at.

Limits. Nothing is lost, duplicated or reordered at random: TCP hides that from the roles, and what it leaves visible
(delay) is in the latencies. A node always reaches itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING

from faults.levers import LinkSet, PortClass
from harness.backends.sim.models import LATENCY_STEPS, NetModel, latency_table
from harness.backends.sim.seeds import Seeds

if TYPE_CHECKING:
    from harness.backends.sim.net import Flow

OTHER = 8
EVERY = 15
PORT_CLASS_BITS: dict[PortClass, int] = {"broker": 1, "namesrv": 2, "ha": 4, "any": EVERY}


class Path:
    """From one host to another."""

    __slots__ = (
        "back", "closed", "draw", "flows", "held", "latencies", "loss_count", "lost", "normal", "rng", "source",
        "target", "trouble",
    )  # fmt: skip

    def __init__(self, source: str, target: str, rng: Random, latencies: list[int]) -> None:
        self.source, self.target = source, target
        self.rng = rng
        self.draw = rng.getrandbits
        self.normal = self.latencies = latencies
        self.lost = self.held = self.trouble = 0
        self.closed = 0
        """On which port classes nothing gets through that opens a connection."""
        self.loss_count = 0
        """How often ``lost`` has changed; tells one partition from the next."""
        self.back: Path = self
        self.flows: dict[int, Flow] = {}
        """Live directions of connections, by number, in the order of their making."""

    def latency(self) -> int:
        """One draw, ns."""
        return self.latencies[self.draw(10)]


class Weather:
    """All paths, and all that is wrong with them."""

    def __init__(self, model: NetModel, seeds: Seeds) -> None:
        self.model = model
        self._seeds = seeds
        self._paths: dict[tuple[str, str], Path] = {}
        self._partitions: dict[str, LinkSet] = {}
        self._jams: dict[str, LinkSet] = {}
        self._slow: dict[str, tuple[LinkSet, int, int]] = {}
        self._dark: dict[str, None] = {}
        self._near = latency_table(model.loopback_min_ns, model.loopback_spread_ns)
        self._far = latency_table(model.latency_min_ns, model.latency_spread_ns)

    def path(self, source: str, target: str) -> Path:
        """The path, made when first asked for."""
        path = self._paths.get((source, target))
        if path is None:
            path = self._make(source, target)
            path.back = path if source == target else self._make(target, source)
            path.back.back = path
            self._derive(path, path.back)
        return path

    def paths(self, links: LinkSet) -> list[Path]:
        """Every path between *links*, in order of making."""
        return [path for path in self._paths.values() if _bits(links, path)]

    def partition(self, links: LinkSet) -> None:
        """Drop; replaces a partition of the same name."""
        self._partitions[links.name] = links
        self._derive(*self._paths.values())

    def heal_partition(self, name: str) -> None:
        """Let pass again."""
        if self._partitions.pop(name, None) is not None:
            self._derive(*self._paths.values())

    def jam(self, links: LinkSet) -> None:
        """Hold."""
        self._jams[links.name] = links
        self._derive(*self._paths.values())

    def unjam(self, name: str) -> list[Path]:
        """Stop holding; returns the paths that may now have something to release."""
        jam = self._jams.pop(name, None)
        self._derive(*self._paths.values())
        return [] if jam is None else self.paths(jam)

    def slow(self, links: LinkSet, factor: int, extra_ns: int) -> None:
        """Latency times *factor* plus *extra_ns*, on all port classes of the paths between *links*."""
        self._slow[links.name] = (links, factor, extra_ns)
        self._derive(*self._paths.values())

    def unslow(self, name: str) -> None:
        """As fast as before."""
        if self._slow.pop(name, None) is not None:
            self._derive(*self._paths.values())

    def set_power(self, node: str, on: bool) -> None:
        """A host without power neither sends nor answers."""
        if on:
            self._dark.pop(node, None)
        else:
            self._dark[node] = None
        self._derive(*self._paths.values())

    def _make(self, source: str, target: str) -> Path:
        rng = self._seeds.child(f"net/{source}>{target}")
        path = Path(source, target, rng, self._near if source == target else self._far)
        self._paths[source, target] = path
        return path

    def _derive(self, *paths: Path) -> None:
        """Bring the masks and latencies of *paths* up to date."""
        for path in paths:
            dark = EVERY if path.source in self._dark or path.target in self._dark else 0
            lost = dark | _union((links for links in self._partitions.values() if not links.only_new), path)
            path.closed = _union((links for links in self._partitions.values() if links.only_new), path)
            path.loss_count += lost != path.lost
            path.lost, path.held = lost, _union(self._jams.values(), path)
            path.latencies = self._slowed(path)
        for path in paths:
            path.trouble = path.lost | path.held | path.back.lost

    def _slowed(self, path: Path) -> list[int]:
        latencies = path.normal
        for links, factor, extra_ns in self._slow.values():
            if _bits(links, path):
                latencies = [latencies[step] * factor + extra_ns for step in range(LATENCY_STEPS)]
        return latencies


def _union(faults: Iterable[LinkSet], path: Path) -> int:
    mask = 0
    for links in faults:
        mask |= _bits(links, path)
    return mask


def _bits(links: LinkSet, path: Path) -> int:
    """The port classes on which a fault between *links* works on *path*."""
    if path.source == path.target:
        return 0
    forward = path.source in links.left and path.target in links.right
    backward = not links.one_way and path.source in links.right and path.target in links.left
    return PORT_CLASS_BITS[links.port_class] if forward or backward else 0
