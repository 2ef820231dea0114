"""What a probe is: one act and what must be seen, run against a broker that it knows nothing else about.

Question: how do the same few lines ask the reference in the simulator, the reference in a process, and Apache's broker?

Model. A probe is a function with the ids of the rows that it answers (``catalogue.yaml``). Two kinds:

    probe      gets a :class:`Peer`: a broker that runs. All of them can share one broker, in any order, once, since
               their topics and groups carry the probe's number.
    life       gets a :class:`Start`: it starts brokers of its own, with the settings it needs, and may stop, kill and
               damage them.

What 4.9.7 and 5.3.3 do differently the probe asks ``peer.release`` about. ``is_slow``: takes more than a few seconds of
real time. What cannot be asked of some world, the catalogue says why, and the page quotes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from suites.conformance.broker.peer import Peer


class Start(Protocol):
    """Start a NameServer (*nameserver* are its properties) and a broker with these properties; ended when the probe is
    over."""

    release: str
    is_apache: bool

    def place(self, name: str) -> str:
        """How the broker that is started next must be told of ``name`` in its store's folder."""

    def __call__(self, *, nameserver: Mapping[str, str] | None = None, **properties: str) -> Any: ...


@dataclass(frozen=True)
class Probe:
    """One function and the rows that it answers."""

    ids: tuple[str, ...]
    what: str
    run: Callable[[Any], None]
    is_slow: bool = False
    needs: str = ""
    """``processes`` or ``simulator``: the only world that can do it; ``power_cut``: disks that can lose their power;
    ``two_disks``: processes, one of whose disks can be filled."""

    def __str__(self) -> str:
        return f"{'+'.join(self.ids)}-{self.what.replace(' ', '-')}"


PROBES: list[Probe] = []
LIVES: list[Probe] = []


def probe(*ids_and_what: str, is_slow: bool = False) -> Callable[[Callable[[Peer], None]], Callable[[Peer], None]]:
    """Add a function of a running broker to the table: ``@probe("W35", "P59", "offset of a new group")``."""
    *ids, what = ids_and_what

    def add(run: Callable[[Peer], None]) -> Callable[[Peer], None]:
        PROBES.append(Probe(tuple(ids), what, run, is_slow))
        return run

    return add


def life(
    *ids_and_what: str, is_slow: bool = False, needs: str = ""
) -> Callable[[Callable[[Start], None]], Callable[[Start], None]]:
    """Add a function that starts brokers itself."""
    *ids, what = ids_and_what

    def add(run: Callable[[Start], None]) -> Callable[[Start], None]:
        LIVES.append(Probe(tuple(ids), what, run, is_slow, needs))
        return run

    return add
