"""A slave's report beyond the end of the log: believed as by RocketMQ, or, with ``strictHaReport``, its last."""

from __future__ import annotations

import pytest

from suites.unit.broker.broker_by_hand import HOST, BrokerByHand

BEYOND = (1 << 62).to_bytes(8, "big")


def reported(report: bytes, **properties: str) -> tuple[BrokerByHand, int]:
    """A SYNC_MASTER at whose HA port somebody has said *report*, and that link."""
    master = BrokerByHand(brokerRole="SYNC_MASTER", **properties)
    master.create_topic("T")
    link = master.env.accept("10.0.0.66:6666", f"{HOST}:10912")
    master.env.deliver(link, report)
    return master, link


@pytest.mark.parametrize(("release", "more"), [("4.9.7", {}), ("5.3.3", {"inSyncReplicas": "2"})])
def test_eight_bytes_of_anybody_stand_for_a_slave(release: str, more: dict[str, str]) -> None:
    master, link = reported(BEYOND, release=release, **more)
    assert link not in master.env.closed_by_role
    assert master.send("T").code == 0


@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
@pytest.mark.parametrize("pieces", [1, 8])
def test_a_strict_master_closes_and_forgets_the_report(release: str, pieces: int) -> None:
    strict = {"release": release, "inSyncReplicas": "2", "strictHaReport": "true"}
    master, link = reported(BEYOND[: 8 // pieces], **strict)
    for at in range(8 // pieces, 8):
        master.env.deliver(link, BEYOND[at : at + 1])
    assert link in master.env.closed_by_role
    assert master.role.replication.master.push2_slave_max_offset == 0


@pytest.mark.parametrize("report", [0, 1])
def test_a_strict_master_serves_a_slave_that_is_not_ahead(report: int) -> None:
    master = BrokerByHand(brokerRole="SYNC_MASTER", strictHaReport="true")
    master.create_topic("T")
    assert master.send("T").code == 11
    link = master.env.accept("10.0.0.66:6666", f"{HOST}:10912")
    end = master.role.state.store.log_end if report else 0
    master.env.deliver(link, end.to_bytes(8, "big"))
    assert link not in master.env.closed_by_role
