"""The HA port: a slave that is none, and a master that is none (P30 to P42, P48, H2, H8, H9, W45, W49).

The fake slave is a connection to the master's HA port; it sends 8-byte reports and reads frames of 12 bytes of header
and a body. The fake master registers with the NameServer, so that a real slave learns its HA address and connects.
"""

from __future__ import annotations

from harness.targets.releases import row_of
from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.wire.bodies import DataVersion, TopicConfigTable
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command
from reference_impl.wire.message import body_crc
from reference_impl.wire.registration import write_registration
from suites.conformance.broker.lives import FILE_SIZE, LivingPeer
from suites.conformance.broker.peer import (
    PATIENCE_NS,
    answer,
    create_topic,
    drained,
    eventually,
    max_offset,
    pull,
    send,
)
from suites.conformance.broker.probes.layout import place, put
from suites.conformance.broker.probes.recovery import log_files, numbered
from suites.conformance.broker.probing import Start, life
from suites.quiet_role import QuietRole

OK, SLAVE_TIMEOUT, NO_SLAVE = 0, 12, 11
LONG = 12 * SECOND


def report(offset: int) -> bytes:
    return offset.to_bytes(8, "big", signed=True)


class FakeSlave:
    """One connection to the HA port and the frames that came."""

    def __init__(self, peer: LivingPeer, name: str = "one") -> None:
        self.peer, self.channel = peer, f"ha:{name}"
        self.frames: list[tuple[int, bytes]] = []
        self._data = bytearray()
        self.write(b"")

    def write(self, data: bytes) -> None:
        self.peer.write(self.channel, data)

    def hear(self, wait_ns: int) -> list[tuple[int, bytes]]:
        """Frames of the next *wait_ns*."""
        self._data += self.peer.read(self.channel, wait_ns).data
        new: list[tuple[int, bytes]] = []
        while len(self._data) >= 12:
            offset, size = int.from_bytes(self._data[:8], "big"), int.from_bytes(self._data[8:12], "big")
            if len(self._data) < 12 + size:
                break
            new.append((offset, bytes(self._data[12 : 12 + size])))
            del self._data[: 12 + size]
        self.frames += new
        return new

    def hear_until(self, end: int) -> bytes:
        """Everything from the first frame to *end*."""
        end_ns = self.peer.now_ns() + PATIENCE_NS
        while not (self.frames and self.frames[-1][0] + len(self.frames[-1][1]) >= end):
            assert self.peer.now_ns() < end_ns, f"{len(self.frames)} frames, none of them to {end}"
            self.hear(100 * MS)
        position = self.frames[0][0]
        for offset, body in self.frames:
            assert offset == position, (offset, position)
            position += len(body)
        assert position == end, (position, end)
        return b"".join(body for _, body in self.frames)

    @property
    def closed(self) -> bool:
        return self.peer.is_closed(self.channel)


def timed(peer: LivingPeer, body: bytes = b"00000", properties: str = "") -> tuple[int, float]:
    """(code, seconds) of a send."""
    begin = peer.backend.now()
    found = send(peer, "T", body, properties, timeout_ns=LONG)
    return found.code, (peer.backend.now() - begin) / SECOND


def log_bytes(peer: LivingPeer) -> bytes:
    return b"".join(peer.files.read(name) for name in log_files(peer.files))


@life("P42", "W45", "P45", "a sync master without a slave")
def no_slave(start: Start) -> None:
    peer = start(brokerRole="SYNC_MASTER")
    create_topic(peer, "T")
    numbered_code, seconds = timed(peer)
    assert seconds < 1 + peer.slack_ns / SECOND
    assert numbered_code == (NO_SLAVE if row_of(peer.release).is_4 else OK)
    found = send(peer, "T", b"00001", timeout_ns=LONG)
    assert {"msgId", "queueId", "queueOffset"} <= found.fields.keys()
    assert timed(peer, properties="WAIT\x01false")[0] == OK
    assert [message.body for message in drained(peer, "T", 3)][:2] == [b"00000", b"00001"]


@life("P31", "P32", "P34", "P35", "P36", "P37", "H2", "H8", "W49", "what a fake slave is sent and believed")
def fake_slave(start: Start) -> None:
    is_4 = row_of(start.release).is_4
    replicas = {} if is_4 else {"inSyncReplicas": "2", "totalReplicas": "2"}
    peer = start(brokerRole="SYNC_MASTER", haHousekeepingInterval="300000", **replicas)  # nobody is too silent here
    create_topic(peer, "T")
    while put_unheard(peer, 4000) < FILE_SIZE + 20_000:
        pass
    end = put_unheard(peer, 100, with_end=True)
    new = FakeSlave(peer, "new")
    new.write(report(0))  # P31: the last file
    assert new.hear_until(end) == log_bytes(peer)[FILE_SIZE:end]
    assert new.frames[0][0] == FILE_SIZE
    inside = FakeSlave(peer, "inside")
    inside.write(report(FILE_SIZE - 5000)[:3])
    inside.write(report(FILE_SIZE - 5000)[3:])
    inside.hear_until(end)  # P32: exactly there; P34: no frame beyond 32 KiB or over a file end
    assert inside.frames[0][0] == FILE_SIZE - 5000
    for offset, body in [*new.frames, *inside.frames]:
        assert len(body) <= 32_768
        assert offset // FILE_SIZE == (offset + max(1, len(body)) - 1) // FILE_SIZE
    new.write(report(1) + report(2) + report(end))  # P35: the last one counts
    peer.sleep(500 * MS)
    code, seconds = timed(peer)
    assert (code, seconds >= 2.9) == (SLAVE_TIMEOUT, True)  # nobody has reported what came after
    ahead = FakeSlave(peer, "ahead")
    ahead.write(report(end + 100_000))  # P36, H8: believed though nothing was sent
    peer.sleep(500 * MS)
    eventually(peer, lambda: timed(peer)[0] == OK or None)
    assert ahead.hear(100 * MS) == []
    ahead.write(report(end + 200_000))  # P37
    if is_4:
        eventually(peer, lambda: ahead.closed or None)
    else:
        peer.sleep(1500 * MS)
        assert not ahead.closed


def put_unheard(peer: LivingPeer, size: int, *, with_end: bool = False) -> int:
    """Store without waiting for a slave; where it lies, or ends."""
    sent = send(peer, "T", bytes(size), "UNIQ_KEY\x01K\x02WAIT\x01false")
    assert sent.code == 0, sent
    position, length = place(peer, sent)
    return position + length if with_end else position


@life("P30", "H9", "W49", "a silent slave counts for twenty seconds", is_slow=True)
def silent_slave(start: Start) -> None:
    is_4 = row_of(start.release).is_4
    peer = start(brokerRole="SYNC_MASTER", **({} if is_4 else {"inSyncReplicas": "2", "totalReplicas": "2"}))
    create_topic(peer, "T")
    silent = FakeSlave(peer, "silent")
    begin = peer.backend.now()
    peer.sleep(500 * MS)
    code, seconds = timed(peer)
    assert (code, 2.9 <= seconds <= 4.5 + peer.slack_ns / SECOND) == (SLAVE_TIMEOUT, True)
    assert silent.hear(100 * MS) == []
    while not silent.closed and peer.backend.now() - begin < 25 * SECOND + peer.slack_ns:
        silent.hear(100 * MS)
    assert 19.5 <= (peer.backend.now() - begin) / SECOND <= 22 + peer.slack_ns / SECOND
    assert silent.frames == []
    if is_4:
        assert timed(peer)[0] == NO_SLAVE


@life("P33", "H5", "a slave below the master's first byte waits for ever", is_slow=True)
def below_the_minimum(start: Start) -> None:
    """``haSlaveFallbehindMax`` (256 MiB) is small here: a sync master says that there is no slave."""
    is_4 = row_of(start.release).is_4
    more = {"haSlaveFallbehindMax": "1000"} if is_4 else {}
    peer = start(brokerRole="SYNC_MASTER", **more)
    create_topic(peer, "T")
    while put_unheard(peer, 8000) < FILE_SIZE:
        pass
    peer.again("stop", lambda files: files.delete(f"commitlog/{0:020d}"))
    old = FakeSlave(peer, "old")
    begin = peer.backend.now()
    old.write(report(5000))
    beats: list[float] = []
    while len(beats) < 2 and peer.backend.now() - begin < PATIENCE_NS:
        beats += [(peer.backend.now() - begin) / SECOND for offset, body in old.hear(100 * MS) if not body]
    assert [(offset, body) for offset, body in old.frames] == [(5000, b"")] * len(beats)
    assert len(beats) == 2
    assert beats[0] >= 4.8
    assert 4.8 <= beats[1] - beats[0] <= 6 + peer.slack_ns / SECOND
    assert not old.closed
    if is_4:
        assert timed(peer)[0] == NO_SLAVE


@life("P48", "flush and replication fail", needs="simulator")
def both_fail(start: Start) -> None:
    """The answer waits for both parts and says what the replication said."""
    peer = start(brokerRole="SYNC_MASTER", flushDiskType="SYNC_FLUSH", syncFlushTimeout="5000")
    create_topic(peer, "T")
    peer.sleep(SECOND)
    peer.backend.levers.delay_forces("broker-a-0", 0)
    code, seconds = timed(peer)
    assert (code, 4.9 <= seconds <= 5.5) == (NO_SLAVE, True)
    FakeSlave(peer, "idle").write(report(0))
    peer.sleep(500 * MS)
    code, seconds = timed(peer)
    assert (code, 4.9 <= seconds <= 5.5) == (SLAVE_TIMEOUT, True)


# A fake master --------------------------------------------------------------------------------------------------------


class FakeMaster(QuietRole):
    """A client role that listens where the NameServer says the master's HA port is; and keeps what slaves report."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.env: Environment | None = None
        self.links: list[Link] = []
        self.times: list[int] = []
        self.closes: list[int] = []
        self.reports: list[tuple[int, int]] = []
        """(ns, offset)."""
        self._data = bytearray()

    def on_start(self, env: Environment) -> None:
        env.listen(self.address)

    def on_connected(self, env: Environment, link: Link) -> None:
        if env.listener(link) is not None:
            self.env = env
            self.links.append(link)
            self.times.append(env.now())
            self._data.clear()

    def on_closed(self, env: Environment, link: Link) -> None:
        self.closes.append(env.now())

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self._data += data
        while len(self._data) >= 8:
            self.reports.append((env.now(), int.from_bytes(self._data[:8], "big", signed=True)))
            del self._data[:8]


def with_fake_master(start: Start) -> tuple[LivingPeer, FakeMaster]:
    """A slave alone, and a master that exists for the NameServer only."""
    peer: LivingPeer = start(brokerRole="SLAVE", brokerId="1", registerNameServerPeriod="10000")
    host = peer.backend.host("client-2")
    master = FakeMaster(f"{host}:20912")
    peer.backend.add_client("client-2", master)
    body = write_registration(TopicConfigTable(DataVersion(timestamp=1, counter=1), {}), compressed=False)
    fields = ext_fields(
        brokerName=peer.broker_name,
        brokerAddr=f"{host}:20911",
        clusterName=peer.cluster,
        haServerAddr=master.address,
        brokerId=0,
        compressed=False,
        bodyCrc32=body_crc(body),
    )
    found = peer.ask(Command(Code.REGISTER_BROKER, fields, body), "namesrv:master")
    assert found is not None
    assert found.code == 0
    eventually(peer, lambda: master.reports or None)
    return peer, master


def frame(offset: int, body: bytes = b"") -> bytes:
    return offset.to_bytes(8, "big") + len(body).to_bytes(4, "big") + body


def say(peer: LivingPeer, master: FakeMaster, data: bytes) -> None:
    peer.backend.step("client-2", lambda env: env.send(master.links[-1], data))


@life("P38", "P40", "P41", "what a slave makes of its master's frames", is_slow=True)
def fake_master(start: Start) -> None:
    is_4 = row_of(start.release).is_4
    source = start()
    create_topic(source, "T")
    numbered(source, 5)
    put(source, 3000)
    end = sum(numbered(source, 1)[0])
    log = log_bytes(source)[:end]
    source.end("stop")
    peer, master = with_fake_master(start)
    first_seconds = (master.reports[0][0] - master.times[-1]) / SECOND
    assert master.reports[0][1] == 0
    assert (4.5 if is_4 else 0) <= first_seconds <= 7 + peer.slack_ns / SECOND  # P40
    half = len(log) // 2 + 7  # within a record
    say(peer, master, frame(0, log[:half])[:20])
    peer.sleep(200 * MS)
    say(peer, master, frame(0, log[:half])[20:])
    eventually(peer, lambda: master.reports[-1][1] == half or None)
    eventually(peer, lambda: max_offset(peer, "T") == 5 or None)
    rest = frame(half, log[half:])
    for position in range(0, len(rest), 331):
        say(peer, master, rest[position : position + 331])
    eventually(peer, lambda: master.reports[-1][1] == end or None)
    assert log_bytes(peer)[:end] == log  # P41
    eventually(peer, lambda: max_offset(peer, "T") == 7 or None)
    links, closes, reports = len(master.links), len(master.closes), len(master.reports)
    said = peer.backend.now()
    say(peer, master, frame(end + 1))  # P38
    eventually(peer, lambda: len(master.closes) > closes or None)
    eventually(peer, lambda: len(master.links) > links or None)
    eventually(peer, lambda: len(master.reports) > reports or None)
    assert master.reports[-1][1] == end
    assert (peer.backend.now() - said) / SECOND >= 4


@life("P39", "a master that says nothing", is_slow=True)
def mute_master(start: Start) -> None:
    """4.9 counts its own reports as life; 5.x gives up after 20 s."""
    peer, master = with_fake_master(start)
    closes, links = len(master.closes), len(master.links)
    peer.sleep(26 * SECOND)
    is_4 = row_of(start.release).is_4
    assert (len(master.closes) == closes) is is_4
    assert (len(master.links) == links) is is_4
    assert len(master.reports) >= 4


@life("P51", "a slave's full disk", needs="power_cut", is_slow=True)
def full_slave(start: Start) -> None:
    """It goes on storing and reporting."""
    peer, master = with_fake_master(start)
    levers = peer.backend.levers
    _, total = levers.disk_space(peer.NODE)
    peer.backend.perform(lambda: levers.fill_disk(peer.NODE, total * 6 // 100))
    peer.sleep(12 * SECOND)
    say(peer, master, frame(0, bytes(1000)))
    eventually(peer, lambda: master.reports[-1][1] == 1000 or None)
    peer.backend.perform(lambda: levers.empty_disk(peer.NODE))


@life("P52", "P53", "P54", "W46", "W47", "what a slave refuses")
def slave_refuses(start: Start) -> None:
    """A topic that is not in its tables is unknown to 4.9; 5.x does not look."""
    is_4 = row_of(start.release).is_4
    peer = start(brokerRole="SLAVE", brokerId="1")
    found = send(peer, "T", b"no")
    assert found.code == (14 if is_4 else 2)
    assert is_4 or (found.remark or "").startswith("[REJECTREQUEST]")
    assert max_offset(peer, "T") == 0
    fields = {
        "producerGroup": "PG",
        "tranStateTableOffset": 0,
        "commitLogOffset": 0,
        "commitOrRollback": 8,
        "msgId": "K",
    }
    assert answer(peer, Code.END_TRANSACTION, **fields).code == NO_SLAVE
    assert pull(peer, "Unknown", 0).code == (17 if is_4 else 2)
