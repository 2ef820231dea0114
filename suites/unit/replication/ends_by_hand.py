"""The other end of replication, in the hand: a slave made of bytes, a master made of bytes, and the logs they see.

A fake slave connects to a broker's HA port and reports; a fake master accepts the connection of a slave broker and
sends frames. Time moves when the test says so.
"""

from __future__ import annotations

from typing import NamedTuple

from reference_impl.environment import MS, SECOND, Link
from reference_impl.replication.frames import FrameReader, encode_frame, encode_report
from suites.unit.broker.broker_by_hand import HOST, BrokerByHand

MASTER_HA = "10.0.0.2:10912"
FIRST_REPORT_NS = 5 * SECOND + 10 * MS
"""A 4.9.7 slave's first report has left by then."""


class Frame(NamedTuple):
    """``size`` 0: a heartbeat."""

    offset: int
    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)


def frames(data: bytes) -> list[Frame]:
    """All frames of *data*, which must hold whole ones only."""
    reader = FrameReader()
    reader.feed(data)
    found = []
    while (header := reader.header()) is not None:
        body = reader.body(header.size)
        assert body is not None, f"{header} is cut"
        found.append(Frame(header.offset, body))
    return found


class FakeSlave:
    """One connection to the HA port of *broker*."""

    def __init__(self, broker: BrokerByHand, peer: str = "10.0.0.9:50000") -> None:
        self.env = broker.env
        self.link: Link = broker.env.accept(peer, listener=f"{HOST}:10912")

    def report(self, *offsets: int) -> None:
        """All of them in one segment."""
        self.env.deliver(self.link, b"".join(map(encode_report, offsets)))

    def write(self, data: bytes) -> None:
        """Bytes as they are."""
        self.env.deliver(self.link, data)

    def frames(self) -> list[Frame]:
        """What has come since the last look."""
        return frames(self.env.take(self.link))

    @property
    def is_closed(self) -> bool:
        """Whether the broker has closed the connection."""
        return self.link in self.env.closed_by_role


def master(**properties: str) -> BrokerByHand:
    """A broker with a topic ``T``."""
    made = BrokerByHand(**properties)
    made.create_topic("T")
    return made


class SlaveByHand:
    """A slave broker whose master is the test, found by ``haMasterAddress``."""

    def __init__(self, **properties: str) -> None:
        given = {"brokerRole": "SLAVE", "brokerId": "1", "haMasterAddress": MASTER_HA}
        self.broker = BrokerByHand(**(given | properties))
        self.env = self.broker.env

    @property
    def links(self) -> list[Link]:
        """Every connection that it has opened to the master, in order."""
        return [link for link, address in self.env.connects if address == MASTER_HA]

    def accept(self) -> None:
        """The master accepts the newest connection."""
        self.env.establish(self.links[-1])

    def reports(self) -> list[int]:
        """What it has reported on the newest connection since the last look."""
        data = self.env.take(self.links[-1])
        assert len(data) % 8 == 0
        return [int.from_bytes(data[at : at + 8], "big", signed=True) for at in range(0, len(data), 8)]

    def deliver(self, offset: int, data: bytes = b"") -> None:
        """One frame."""
        self.env.deliver(self.links[-1], encode_frame(offset, data))

    @property
    def log(self) -> bytes:
        """The written part of its log, file after file."""
        store = self.broker.role.state.store
        files = [(name, data) for name, data in self.env.disk.items() if "/commitlog/" in name]
        return b"".join(bytes(data) for _, data in sorted(files))[: store.log_end - store.log_start]

    @property
    def log_end(self) -> int:
        return self.broker.role.state.store.log_end


def log_of(broker: BrokerByHand) -> bytes:
    """The written part of a broker's log that begins at 0."""
    store = broker.role.state.store
    files = [(name, data) for name, data in broker.env.disk.items() if "/commitlog/" in name]
    return b"".join(bytes(data) for _, data in sorted(files))[: store.log_end]


def end_of(broker: BrokerByHand) -> int:
    """The end of a broker's log."""
    return broker.role.state.store.log_end
