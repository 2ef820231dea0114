"""When bytes are forced and who waits (P23 to P29), a full disk (P74, P75), clocks (P70)."""

from __future__ import annotations

from harness.targets.releases import row_of
from reference_impl.environment import SECOND
from suites.conformance.broker.lives import FILE_SIZE, LivingPeer
from suites.conformance.broker.peer import (
    PATIENCE_NS,
    create_topic,
    drained,
    eventually,
    max_offset,
    messages,
    offsets,
    pull,
    send,
    stored,
)
from suites.conformance.broker.probes.layout import KEY, put
from suites.conformance.broker.probes.recovery import log_files, numbered
from suites.conformance.broker.probes.replication import timed
from suites.conformance.broker.probing import Start, life

OK, FLUSH_TIMEOUT, NOT_AVAILABLE = 0, 10, 14
NODE = LivingPeer.NODE


@life("P23", "P25", "P28", "a force that does not come back", needs="simulator")
def blocked_force(start: Start) -> None:
    peer = start(flushDiskType="SYNC_FLUSH")
    create_topic(peer, "T")
    stored(peer, "T", b"00000", KEY)
    peer.backend.levers.delay_forces(NODE, 0)
    code, seconds = timed(peer, properties="WAIT\x01false")
    assert (code, seconds < 0.1) == (OK, True)
    code, seconds = timed(peer)
    assert (code, 4.9 <= seconds <= 5.2) == (FLUSH_TIMEOUT, True)
    assert len(messages(pull(peer, "T", 0))) == 3  # visible before it is flushed
    peer.backend.levers.mend_forces(NODE)
    assert timed(peer)[0] == OK
    assert [message.body for message in drained(peer, "T", 4)] == [b"00000"] * 4


@life("P24", "a force that fails", needs="power_cut")
def failed_force(start: Start) -> None:
    """Up to 5.3 they say SEND_OK."""
    peer = start(flushDiskType="SYNC_FLUSH")
    create_topic(peer, "T")
    stored(peer, "T", b"00000", KEY)
    levers = peer.backend.levers
    peer.backend.perform(lambda: levers.fail_forces(NODE))
    assert timed(peer)[0] == (OK if row_of(peer.release).failed_force_counts else FLUSH_TIMEOUT)
    assert levers.count_forces_hit(NODE, PATIENCE_NS) > 0
    peer.backend.perform(lambda: levers.mend_forces(NODE))


@life("P26", "P27", "what a power cut takes of unforced messages", needs="power_cut", is_slow=True)
def unforced(start: Start) -> None:
    """12 s old: kept, the thorough flush has had it; what is younger than that may be gone, as a suffix."""
    peer = start(flushDiskType="ASYNC_FLUSH")
    create_topic(peer, "T")
    numbered(peer, 3)
    peer.sleep(12 * SECOND)
    numbered(peer, 3, begin=3)
    peer.again("cut_power")
    create_topic(peer, "T")
    kept = eventually(peer, lambda: max_offset(peer, "T") or None)
    assert 3 <= kept <= 6
    assert [int(message.body) for message in drained(peer, "T", kept)] == list(range(kept))


@life("P29", "a clock set back stops the thorough flush", needs="simulator")
def clock_set_back(start: Start) -> None:
    """Without the step the same messages are on the disk."""
    kept = []
    for step_ms in (0, -3_600_000):
        lost = False
        for seed in range(1, 6):
            world = type(start)(seed)
            peer = world(flushDiskType="ASYNC_FLUSH")
            create_topic(peer, "T")
            peer.sleep(11 * SECOND)
            peer.backend.levers.step_clock(NODE, step_ms)
            numbered(peer, 2)
            peer.sleep(25 * SECOND)
            peer.again("cut_power")
            create_topic(peer, "T")
            lost = lost or max_offset(peer, "T") < 2
        kept.append(not lost)
    assert kept == [True, False]


@life("P70", "a clock set back delivers delayed messages at once", needs="simulator")
def early_delivery(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    for number in range(3):
        assert send(peer, "T", b"%05d" % number, "DELAY\x015").code == 0
    peer.sleep(5 * SECOND)
    assert max_offset(peer, "T") == 0
    peer.backend.levers.step_clock(NODE, -3_600_000)
    eventually(peer, lambda: max_offset(peer, "T") == 3 or None, 2 * SECOND)


@life("P74", "a disk above its warning level takes no messages", needs="power_cut", is_slow=True)
def full_disk(start: Start) -> None:
    peer = start()
    create_topic(peer, "T")
    numbered(peer, 3)
    levers = peer.backend.levers
    _, total = levers.disk_space(NODE)
    peer.backend.perform(lambda: levers.fill_disk(NODE, total * 7 // 100))
    eventually(peer, lambda: send(peer, "T", b"00009", KEY).code == NOT_AVAILABLE or None)
    eventually(peer, lambda: readable(peer) or None)
    peer.backend.perform(lambda: levers.empty_disk(NODE))
    eventually(peer, lambda: send(peer, "T", b"00010", KEY).code == OK or None)


def readable(peer: LivingPeer) -> bool:
    """What is there can be read; on a busy machine the first file may have been taken for room meanwhile."""
    found = pull(peer, "T", 0)
    return OK in (found.code, pull(peer, "T", offsets(found)["minOffset"]).code)


@life("P75", "a disk above its clean level loses its oldest files", needs="simulator")
def forced_cleaning(start: Start) -> None:
    """Unread and fresh as they are; the last file is kept, readers are sent to the first message left."""
    peer = start()
    create_topic(peer, "T")
    while put(peer, 8000)[0] < 3 * FILE_SIZE:
        pass
    levers = peer.backend.levers
    _, total = levers.disk_space(NODE)
    peer.backend.perform(lambda: levers.fill_disk(NODE, total * 13 // 100))
    peer.sleep(85 * SECOND)
    assert log_files(peer.files)[0] == f"commitlog/{3 * FILE_SIZE:020d}"
    found = pull(peer, "T", 0)
    assert found.code == 21
    assert int(found.fields["nextBeginOffset"]) == int(found.fields["minOffset"]) > 0
