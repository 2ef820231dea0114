"""The operator ``made-up-slave``: a slave of nobody's, which shows what a master says on a replication connection.

Question: what is sent to a slave that reports as it should, to one that says nothing, and to one that comes back?

Model (RocketMQ: HAClient, HAConnection). Two connections to the HA port of the first master, one beside the other:

    follows   reports where it is with each frame that brings something, and once a second; leaves after twelve seconds,
              and comes back with the end that it has reached
    silent    reports once, says nothing more, and stays until it is thrown out

Each connection leaves notes of the client, step ``ha_line``: ``{"line", "what", ...}``, where *what* is ``connected``,
``report`` (``offset``), ``frame`` (``offset``, ``size``), ``ended`` (by the master) or ``left``. What must have come of
them, :mod:`checkers.runs.replication_links` says.

Limits. It counts as a slave: a synchronous master takes its word for a copy, and nobody can get that back. So it is for
masters that wait for nobody.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from checkers.runs.replication_links import STEP
from harness.cluster import HA_PORT
from harness.workloads.parts import PartHost, Stranger
from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.replication.frames import FrameReader, encode_report

NAME: Final = "made-up-slave"
TICK_NS: Final = SECOND
TICKS: Final = 12
"""After so many one that follows leaves."""
AGAIN_NS: Final = 500 * MS


class MadeUpSlave:
    """Operator ``made-up-slave`` (``Part``)."""

    def __init__(self, host: PartHost) -> None:
        self.host = host
        self.node = host.stage.queues[0].node
        self._address = f"{host.stage.queues[0].address.rpartition(':')[0]}:{HA_PORT}"
        self._lines = 0
        self._ways: dict[str, _Line] = {}

    def on_start(self, env: Environment) -> None:
        for way in (_Follows, _Silent):
            self._open(env, way(self, 0))

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if not (isinstance(key, tuple) and key[0] == NAME):
            return False
        line, what = self._ways[key[1]], key[2]
        if what == "again":
            self._open(env, line.next())
        elif self.host.stopped:
            line.leave(env)
        else:
            line.on_tick(env)
        return True

    def _open(self, env: Environment, line: _Line) -> None:
        if self.host.stopped:
            return
        self._lines += 1
        line.number, self._ways[line.way] = self._lines, line
        line.link = env.connect(self._address)
        self.host.strangers[line.link] = line

    def tell(self, line: _Line, what: str, **more: int) -> None:
        """A note."""
        detail = {"line": line.number, "to": self.node, "way": line.way, "what": what, **more}
        self.host.recorder.event("note", node=self.host.name, step=STEP, detail=detail)


class _Line(Stranger):
    """One connection; *begin*: the end of the log that it reports first."""

    way = ""

    def __init__(self, slave: MadeUpSlave, begin: int) -> None:
        self._slave, self._end = slave, begin
        self.number, self.link = 0, Link(0)
        self._frames = FrameReader()

    def next(self) -> _Line:
        """Of the same way, going on where this one ends."""
        return type(self)(self._slave, self._end)

    def on_connected(self, env: Environment, link: Link) -> None:
        self._slave.tell(self, "connected")
        self._report(env)
        self._again(env, "tick", TICK_NS)

    def on_closed(self, env: Environment, link: Link) -> None:
        self._slave.tell(self, "ended")
        env.cancel_timer(self._key("tick"))
        self._again(env, "again", AGAIN_NS)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self._frames.feed(data)
        while (head := self._frames.header()) is not None and self._frames.body(head.size) is not None:
            self._slave.tell(self, "frame", offset=head.offset, size=head.size)
            self._end = head.offset + head.size
            self.on_frame(env, head.size)

    def on_frame(self, env: Environment, size: int) -> None:
        """The end is where it has led to."""

    def on_tick(self, env: Environment) -> None:
        """A second is over."""
        self._again(env, "tick", TICK_NS)

    def leave(self, env: Environment) -> None:
        """End it from here."""
        self._slave.tell(self, "left")
        self._slave.host.strangers.pop(self.link)
        env.close(self.link)
        self._again(env, "again", AGAIN_NS)

    def _report(self, env: Environment) -> None:
        self._slave.tell(self, "report", offset=self._end)
        env.send(self.link, encode_report(self._end))

    def _again(self, env: Environment, what: str, delay_ns: int) -> None:
        env.set_timer(self._key(what), delay_ns)

    def _key(self, what: str) -> tuple[str, str, str]:
        return NAME, self.way, what


class _Follows(_Line):
    way = "follows"

    def __init__(self, slave: MadeUpSlave, begin: int) -> None:
        super().__init__(slave, begin)
        self._left = TICKS

    def on_frame(self, env: Environment, size: int) -> None:
        if size:
            self._report(env)

    def on_tick(self, env: Environment) -> None:
        self._left -= 1
        if not self._left:
            self.leave(env)
            return
        self._report(env)
        super().on_tick(env)


class _Silent(_Line):
    way = "silent"
