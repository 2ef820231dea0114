"""What a master does with whoever connects to its HA port: the probes P30 to P37 with a slave made of bytes."""

from __future__ import annotations

import pytest

from reference_impl.environment import MS, SECOND
from reference_impl.replication.frames import encode_report
from suites.unit.broker.broker_by_hand import BrokerByHand
from suites.unit.replication.ends_by_hand import FakeSlave, Frame, end_of, log_of, master

FILE = 4096


def filled(messages: int = 12, **properties: str) -> BrokerByHand:
    """A master with small files and some of them full."""
    made = master(**({"mappedFileSizeCommitLog": str(FILE)} | properties))
    for number in range(messages):
        made.send("T", b"%03d" % number * 200)
    return made


def test_p30_who_says_nothing_hears_nothing_and_is_closed_after_20_s() -> None:
    made = filled()
    slave = FakeSlave(made)
    made.env.advance(20 * SECOND)
    assert (slave.frames(), slave.is_closed) == ([], False)
    made.env.advance(10 * MS)
    assert slave.is_closed


def test_p31_a_report_of_0_begins_with_the_last_file() -> None:
    made = filled()
    slave = FakeSlave(made)
    slave.report(0)
    start = end_of(made) - end_of(made) % FILE
    assert start > 0
    assert slave.frames() == [Frame(start, log_of(made)[start:])]


def test_p31_an_empty_log_begins_at_0() -> None:
    made = master()
    slave = FakeSlave(made)
    slave.report(0)
    assert slave.frames() == []
    made.send("T")
    made.env.advance(100 * MS)
    assert slave.frames() == [Frame(0, log_of(made))]


@pytest.mark.parametrize("offset", [1, 100, 4000, FILE - 1, FILE, FILE + 17])
def test_p32_any_offset_inside_the_log_begins_exactly_there(offset: int) -> None:
    made = filled()
    slave = FakeSlave(made)
    slave.report(offset)
    frames = slave.frames()
    assert frames[0].offset == offset
    assert b"".join(frame.data for frame in frames) == log_of(made)[offset:]


@pytest.mark.parametrize("offset", [1 << 40, -7])
def test_p33_an_offset_that_the_log_does_not_hold_gets_heartbeats_only(offset: int) -> None:
    made = filled()
    slave = FakeSlave(made)
    slave.report(offset)
    for _ in range(3):
        made.env.advance(5 * SECOND + 2 * MS)
        slave.report(offset) if offset < 0 else None
        assert slave.frames() == [Frame(offset, b"")]
    assert not slave.is_closed


def test_p33_where_the_log_grows_to_the_offset_data_follows_from_there() -> None:
    made = master()
    slave = FakeSlave(made)
    made.send("T", b"first")
    inside = end_of(made) + 30
    slave.report(inside)
    made.send("T", b"second")
    made.send("T", b"third")
    made.env.advance(100 * MS)
    assert slave.frames() == [Frame(inside, log_of(made)[inside:])]  # from the middle of a record


def test_p34_no_frame_is_larger_than_a_batch_or_crosses_a_file() -> None:
    made = filled(40, haTransferBatchSize="1000")
    slave = FakeSlave(made)
    slave.report(1)
    frames = slave.frames()
    assert max(frame.size for frame in frames) == 1000
    assert all(frame.offset // FILE == (frame.offset + frame.size - 1) // FILE for frame in frames)
    assert b"".join(frame.data for frame in frames) == log_of(made)[1:]


def test_p35_of_several_reports_in_one_segment_the_last_counts() -> None:
    made = filled()
    slave = FakeSlave(made)
    slave.report(10, 20, 30)
    assert slave.frames()[0].offset == 30


def test_p35_a_report_may_come_in_pieces() -> None:
    made = filled()
    slave = FakeSlave(made)
    for byte in encode_report(30):
        assert slave.frames() == []
        slave.write(bytes([byte]))
    assert slave.frames()[0].offset == 30


def test_later_reports_never_move_what_is_sent_next() -> None:
    made = filled()
    slave = FakeSlave(made)
    slave.report(FILE)
    slave.frames()
    slave.report(10)
    made.send("T", b"more")
    made.env.advance(100 * MS)
    (frame,) = slave.frames()
    assert frame.offset + frame.size == end_of(made)


def test_a_first_report_of_minus_1_counts_as_none() -> None:
    made = filled()
    slave = FakeSlave(made)
    slave.report(-1)
    made.env.advance(6 * SECOND)
    assert slave.frames() == []
    slave.report(50)
    assert [frame.offset for frame in slave.frames()][:2] == [50, 50]  # a heartbeat that was due, then data


def test_p36_a_first_report_beyond_the_end_is_believed() -> None:
    made = master(brokerRole="SYNC_MASTER")
    slave = FakeSlave(made)
    slave.report(1 << 30)
    assert made.send("T").code == 0
    assert slave.frames() == []
    assert not slave.is_closed


@pytest.mark.parametrize(("release", "closes"), [("4.9.7", True), ("5.3.3", False)])
def test_p37_a_second_report_beyond_the_end_closes_in_4_9(release: str, closes: bool) -> None:
    made = filled(release=release)
    slave = FakeSlave(made)
    slave.report(end_of(made))
    slave.report(end_of(made) + 1)
    assert slave.is_closed is closes
    assert made.role.replication.master.push2_slave_max_offset == end_of(made) + (not closes)


def test_a_heartbeat_follows_5_s_without_a_frame_and_names_what_comes_next() -> None:
    made = filled()
    slave = FakeSlave(made)
    slave.report(end_of(made))
    made.env.advance(3 * SECOND)
    made.send("T")
    made.env.advance(100 * MS)
    assert [frame.size > 0 for frame in slave.frames()] == [True]
    made.env.advance(4900 * MS)
    assert slave.frames() == []
    made.env.advance(200 * MS)
    assert slave.frames() == [Frame(end_of(made), b"")]


def test_a_first_report_after_5_s_is_answered_with_a_heartbeat_and_then_data() -> None:
    """As captured from Apache's pair: 4.9.7's slave reports for the first time after more than 5 s."""
    made = filled()
    slave = FakeSlave(made)
    made.env.advance(5 * SECOND + 5 * MS)
    slave.report(0)
    first, second = slave.frames()
    assert (first.size, first.offset) == (0, second.offset)


def test_an_async_master_looks_every_100_ms() -> None:
    made = filled()
    slave = FakeSlave(made)
    slave.report(end_of(made))
    made.env.advance(30 * MS)
    made.send("T")  # takes 2 ms
    made.env.advance(67 * MS)
    assert slave.frames() == []
    made.env.advance(MS)
    assert len(slave.frames()) == 1


def test_no_more_than_a_window_is_sent_ahead_of_what_the_slave_has() -> None:
    made = master(mappedFileSizeCommitLog=str(8 << 20))
    for _ in range(6):
        made.send("T", bytes(1 << 20))
    slave = FakeSlave(made)
    slave.report(1)
    first = slave.frames()
    assert (4 << 20) <= sum(frame.size for frame in first) < (4 << 20) + (32 << 10)
    slave.report(first[-1].offset + first[-1].size)
    rest = slave.frames()
    assert rest[-1].offset + rest[-1].size == end_of(made)


def test_every_broker_listens_also_a_slave() -> None:
    made = BrokerByHand(brokerRole="SLAVE", brokerId="1")
    slave = FakeSlave(made)
    slave.report(0)
    assert not slave.is_closed


def test_stopping_ends_every_connection() -> None:
    made = master()
    slaves = [FakeSlave(made, f"10.0.0.9:{port}") for port in (1, 2)]
    made.role.on_stop(made.env)
    assert [slave.is_closed for slave in slaves] == [True, True]
