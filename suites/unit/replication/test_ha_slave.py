"""What a slave does with its master: the probes P38 to P41 with a master made of bytes, and what each release does."""

from __future__ import annotations

import pytest

from reference_impl.environment import MS, SECOND
from reference_impl.replication.frames import encode_frame
from suites.unit.broker.broker_by_hand import BrokerByHand
from suites.unit.replication.ends_by_hand import (
    FIRST_REPORT_NS,
    MASTER_HA,
    FakeSlave,
    SlaveByHand,
    end_of,
    log_of,
    master,
)

FILE = 4096


def connected(**properties: str) -> SlaveByHand:
    made = SlaveByHand(**({"mappedFileSizeCommitLog": str(FILE)} | properties))
    made.accept()
    return made


def learned(**properties: str) -> SlaveByHand:
    """A 5.3.3 slave that was told by a NameServer, 7 s after its start, and connects when it looks again."""
    made = SlaveByHand(**({"release": "5.3.3", "haMasterAddress": ""} | properties))
    made.env.advance(7 * SECOND)
    made.broker.role.replication.master_learned(made.env, "10.0.0.2:10911", MASTER_HA)
    made.env.advance(3 * SECOND)
    made.accept()
    return made


def source(messages: int = 12) -> BrokerByHand:
    """A master whose log is copied by hand."""
    made = master(mappedFileSizeCommitLog=str(FILE))
    for number in range(messages):
        made.send("T", b"%03d" % number * 200)
    return made


# --- when it reports --------------------------------------------------------------------------------------------------


def test_p40_a_4_9_slave_reports_5_s_after_it_has_connected() -> None:
    made = connected()
    made.env.advance(5 * SECOND)
    assert made.reports() == []
    made.env.advance(10 * MS)
    assert made.reports() == [0]


def test_p40_a_5x_slave_reports_at_once() -> None:
    assert learned().reports() == [0]


def test_it_reports_again_after_5_s_of_its_own_silence() -> None:
    made = connected()
    made.env.advance(FIRST_REPORT_NS)
    made.reports()
    made.env.advance(FIRST_REPORT_NS)
    assert made.reports() == [0]


def test_what_it_has_written_it_reports_at_once_flushed_or_not() -> None:
    """P50: nothing here is ever forced."""
    made, data = connected(flushDiskType="SYNC_FLUSH"), log_of(source(3))
    made.deliver(0, data[:700])
    made.deliver(700, data[700:1500])
    assert made.reports() == [700, 1500]
    assert made.log == data[:1500]


def test_a_heartbeat_is_not_answered() -> None:
    made = connected()
    made.deliver(0, log_of(source(1)))
    made.reports()
    made.deliver(made.log_end)
    assert made.reports() == []


# --- what it takes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 7, 12, 100, 5000])
def test_p41_frames_and_records_may_be_cut_anywhere(piece: int) -> None:
    made, original = connected(), source()
    data = log_of(original)
    wire = b"".join(encode_frame(at, data[at : min(at + 333, at - at % FILE + FILE)]) for at in _starts(len(data), 333))
    for at in range(0, len(wire), piece):
        made.env.deliver(made.links[-1], wire[at : at + piece])
    assert made.log == data
    made.env.advance(2 * MS)
    store = made.broker.role.state.store
    assert store.max_offset("T", 0) == original.role.state.store.max_offset("T", 0) == 12


def _starts(size: int, step: int) -> list[int]:
    """Frame starts that never cross a file."""
    starts, at = [], 0
    while at < size:
        starts.append(at)
        at = min(at + step, at - at % FILE + FILE)
    return starts


def test_a_partial_record_waits_and_counts_as_received() -> None:
    made, data = connected(), log_of(source(2))
    made.deliver(0, data[:1000])
    made.env.advance(2 * MS)
    assert made.broker.role.state.store.max_offset("T", 0) == 1
    assert made.reports() == [1000]


def test_p38_a_frame_for_another_place_ends_the_connection_and_4_9_comes_back_at_once() -> None:
    made, data = connected(), log_of(source(3))
    made.deliver(0, data[:700])
    made.deliver(701)
    assert made.links[0] in made.env.closed_by_role
    assert len(made.links) == 2
    made.accept()
    made.env.advance(5 * SECOND)
    assert made.reports() == []
    made.env.advance(10 * MS)
    assert made.reports() == [700]


def test_p38_a_5x_slave_waits_5_s_and_reports_at_once() -> None:
    made, data = learned(mappedFileSizeCommitLog=str(FILE)), log_of(source(3))
    made.deliver(0, data[:700])
    made.deliver(701)
    made.env.advance(4990 * MS)
    assert len(made.links) == 1
    made.env.advance(20 * MS)
    made.accept()
    assert made.reports() == [700]


def test_an_empty_slave_takes_any_place_and_its_file_begins_with_it() -> None:
    made, data = connected(), log_of(source())
    made.deliver(2 * FILE, data[2 * FILE : 2 * FILE + 900])
    assert made.reports() == [2 * FILE + 900]
    assert made.broker.role.state.store.log_start == 2 * FILE


def test_an_empty_slave_gets_it_wrong_where_the_first_frame_is_no_file_start() -> None:
    made = connected()
    made.deliver(FILE + 100, b"x" * 10)
    assert made.log_end == FILE + 10
    made.deliver(FILE + 110, b"y")
    assert len(made.links) == 2


def test_a_heartbeat_makes_the_first_file_of_an_empty_slave() -> None:
    made = connected()
    made.deliver(3 * FILE)
    assert (made.log_end, made.reports()) == (3 * FILE, [3 * FILE])


@pytest.mark.parametrize("size", [-1, 4 * 1024 * 1024])
def test_a_frame_that_can_never_be_complete_ends_the_connection(size: int) -> None:
    made = connected()
    made.env.deliver(made.links[-1], (0).to_bytes(8, "big") + size.to_bytes(4, "big", signed=True))
    assert len(made.links) == 2


# --- connections ------------------------------------------------------------------------------------------------------


def test_a_failed_connect_is_tried_again_after_5_s() -> None:
    made = SlaveByHand()
    made.env.hang_up(made.links[-1])
    made.env.advance(4990 * MS)
    assert len(made.links) == 1
    made.env.advance(20 * MS)
    assert len(made.links) == 2


def test_a_connect_that_takes_5_s_is_given_up() -> None:
    made = SlaveByHand()
    made.env.advance(5 * SECOND)
    assert made.links[0] in made.env.closed_by_role
    made.env.advance(5 * SECOND)
    assert len(made.links) == 2


@pytest.mark.parametrize(("make", "after"), [(connected, 2), (learned, 1)])
def test_a_master_that_closes_is_called_again(make: object, after: int) -> None:
    made = make()  # type: ignore[operator]
    made.env.hang_up(made.links[-1])
    assert len(made.links) == after
    made.env.advance(5 * SECOND)
    assert len(made.links) == 2


def test_p39_a_silent_master_is_never_noticed_by_4_9() -> None:
    made = connected()
    made.env.advance(60 * SECOND)
    assert made.links[0] not in made.env.closed_by_role


def test_p39_and_left_after_20_s_by_5x() -> None:
    made = learned()
    made.env.advance(20 * SECOND)
    assert made.links[0] not in made.env.closed_by_role
    made.env.advance(1100 * MS)
    assert made.links[0] in made.env.closed_by_role
    assert len(made.links) == 2


def test_without_an_address_it_looks_every_5_s() -> None:
    made = SlaveByHand(haMasterAddress="")
    made.env.advance(7 * SECOND)
    assert made.links == []
    made.broker.role.replication.master_learned(made.env, "10.0.0.2:10911", MASTER_HA)
    made.env.advance(2990 * MS)
    assert made.links == []
    made.env.advance(20 * MS)
    assert len(made.links) == 1


def test_a_configured_address_stays() -> None:
    made = connected()
    made.broker.role.replication.master_learned(made.env, "10.0.0.3:10911", "10.0.0.3:10912")
    made.env.hang_up(made.links[-1])
    assert made.env.connects[-1][1] == MASTER_HA


def test_with_a_configured_address_a_5x_slave_never_connects() -> None:
    made = SlaveByHand(release="5.3.3")
    made.broker.role.replication.master_learned(made.env, "10.0.0.3:10911", "10.0.0.3:10912")
    made.env.advance(20 * SECOND)
    assert {address for _, address in made.env.connects} == {"10.0.0.3:10911"}, "for the checkpoint of timers alone"


def test_a_new_address_is_used_for_the_next_connection_only() -> None:
    made = SlaveByHand(haMasterAddress="")
    tell = made.broker.role.replication.master_learned
    tell(made.env, "10.0.0.2:10911", MASTER_HA)
    made.env.advance(5 * SECOND)
    made.accept()
    tell(made.env, "10.0.0.3:10911", "10.0.0.3:10912")
    made.env.advance(10 * SECOND)
    assert made.links[0] not in made.env.closed_by_role
    made.env.hang_up(made.links[-1])
    assert made.env.connects[-1][1] == "10.0.0.3:10912"


def test_no_master_keeps_the_ha_address() -> None:
    made = SlaveByHand(haMasterAddress="")
    tell = made.broker.role.replication.master_learned
    tell(made.env, "10.0.0.2:10911", MASTER_HA)
    tell(made.env, None, None)
    made.env.advance(5 * SECOND)
    assert len(made.links) == 1
    assert made.broker.role.replication.metadata.master is None


# --- from slave to slave ----------------------------------------------------------------------------------------------


def test_a_slave_hands_on_what_it_gets() -> None:
    made, data = connected(), log_of(source(3))
    second = FakeSlave(made.broker)
    second.report(0)
    made.deliver(0, data[:700])
    made.env.advance(100 * MS)
    assert [frame.data for frame in second.frames()] == [data[:700]]


def test_what_a_slave_has_taken_it_serves() -> None:
    made, original = connected(), source(3)
    made.deliver(0, log_of(original))
    made.env.advance(2 * MS)
    store = made.broker.role.state.store
    found = store.get(made.env, "T", 0, 0, 32)
    assert found is not None
    assert (len(found.records), store.log_end) == (3, end_of(original))
