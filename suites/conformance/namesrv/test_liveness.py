"""When a NameServer forgets a broker: silence, a closed connection, a clock that jumps (probes 17, 18, 51)."""

from __future__ import annotations

import pytest

from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import DataVersion
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import write_json
from suites.conformance.namesrv.cluster_by_hand import VERSION_1, VERSION_2, NameServerByHand, topics


@pytest.mark.conformance("W17")
def test_probe_17_a_closed_connection_takes_its_master_and_leaves_the_slave() -> None:
    server = NameServerByHand()
    master = server.broker()
    server.register(master, topics("T1", "T2"))
    server.register(server.broker("10.0.0.2"), topics("T1", "T2"), id=1, host="10.0.0.2")
    server.env.hang_up(master)
    assert server.addresses("T1") == {"b-a": {1: "10.0.0.2:10911"}}
    assert server.permissions("T1") == {"b-a": 6}
    assert server.env.noted("broker_removed") == [{"address": "10.0.0.1:10911", "why": "closed"}]


def test_the_connection_of_the_last_registration_counts() -> None:
    server = NameServerByHand()
    old, new = server.broker(), server.broker()
    server.register(old, topics("T1", "T2"))
    server.register(new, topics("T1", "T2"))
    server.env.hang_up(old)
    assert server.route("T1")
    server.env.hang_up(new)
    assert server.route("T1") is None


@pytest.mark.conformance("W18")
@pytest.mark.parametrize(
    ("release", "seconds"),
    [("4.9.7", 125), ("5.3.3", 125)],
)
def test_probe_18_a_silent_broker_is_dropped_and_its_connection_closed(release: str, seconds: int) -> None:
    """The scan comes at 5 s and then every 10 s (5.x: 5 s): the first one beyond 120 s is at 125 s."""
    server = NameServerByHand(release=release)
    link = server.broker()
    server.register(link, topics("T1", "T2"))
    _advance_with_traffic(server, link, seconds * SECOND - MS)
    assert server.route("T1")
    server.env.advance(MS)
    assert server.route("T1") is None
    assert server.env.closed_by_role == [link]
    assert server.env.noted("broker_removed") == [{"address": "10.0.0.1:10911", "why": "expired"}]


def _advance_with_traffic(server: NameServerByHand, link: int, duration_ns: int) -> None:
    """Time passes; other requests keep the connection from being closed for idleness."""
    left = duration_ns
    while left > 0:
        server.env.advance(min(left, 30 * SECOND))
        left -= 30 * SECOND
        server.ask(Code.GET_BROKER_CLUSTER_INFO, link=link)
        server.ask(Code.GET_BROKER_CLUSTER_INFO)


def test_a_broker_that_registers_every_30_seconds_stays() -> None:
    server = NameServerByHand()
    link = server.broker()
    for _ in range(20):
        server.register(link, topics("T1", "T2"))
        server.env.advance(30 * SECOND)
        server.ask(Code.GET_BROKER_CLUSTER_INFO)
    assert server.route("T1")


@pytest.mark.parametrize(("release", "version", "stays"), [
    ("4.9.7", VERSION_1, True), ("4.9.7", VERSION_2, False), ("5.3.3", VERSION_1, True), ("5.3.3", VERSION_2, True),
])  # fmt: skip
def test_a_version_query_is_a_sign_of_life(release: str, version: DataVersion, stays: bool) -> None:
    server = NameServerByHand(release=release)
    link = server.broker()
    server.register(link, topics("T1", "T2"))
    for _ in range(5):
        server.env.advance(30 * SECOND)
        server.ask(
            Code.QUERY_DATA_VERSION, write_json(version), link=link, brokerName="b-a", brokerAddr="10.0.0.1:10911",
            clusterName="C1", brokerId=0,
        )  # fmt: skip
        server.ask(Code.GET_BROKER_CLUSTER_INFO)
    assert bool(server.route("T1")) == stays


def test_5_x_brokers_choose_their_own_time_and_beat_without_registering() -> None:
    server = NameServerByHand(release="5.3.3")
    link = server.broker()
    server.register(link, topics("T1", "T2"), heartbeatTimeoutMillis=10_000)
    beat = {"clusterName": "C1", "brokerAddr": "10.0.0.1:10911", "brokerName": "b-a"}
    for _ in range(30):
        server.env.advance(SECOND)
        assert server.answer(Code.BROKER_HEARTBEAT, link=link, **beat).code == 0
    assert server.route("T1")
    server.env.advance(15 * SECOND)
    assert server.route("T1") is None


def test_4_9_ignores_a_time_of_the_brokers_choosing() -> None:
    server = NameServerByHand()
    server.register(server.broker(), topics("T1", "T2"), heartbeatTimeoutMillis=10_000)
    server.env.advance(60 * SECOND)
    assert server.route("T1")


def test_a_wall_clock_that_jumps_ahead_expires_everybody_at_the_next_scan() -> None:
    """RocketMQ judges liveness by System.currentTimeMillis; so does the reference."""
    server = NameServerByHand()
    server.register(server.broker(), topics("T1", "T2"))
    server.register(server.broker("10.0.0.2"), topics("T1", "T2"), name="b-b", host="10.0.0.2")
    server.env.wall_offset_ms += 121_000
    server.env.advance(5 * SECOND)
    assert server.addresses("T1") == {}


def test_scan_and_expiry_are_settings() -> None:
    server = NameServerByHand(scan_not_active_broker_interval=100, broker_channel_expired_time=1_000)
    server.register(server.broker(), topics("T1", "T2"))
    server.env.advance(5 * SECOND + 50 * MS)
    assert server.route("T1") is None
    server.register(server.broker(), topics("T1", "T2"))
    server.env.advance(1_000 * MS)
    assert server.route("T1")
    server.env.advance(150 * MS)
    assert server.route("T1") is None


@pytest.mark.conformance("W51")
def test_probe_51_an_idle_connection_is_closed_and_takes_its_broker() -> None:
    server = NameServerByHand(broker_channel_expired_time=1_000_000)
    link = server.broker()
    server.register(link, topics("T1", "T2"))
    server.env.advance(60 * SECOND)
    server.ask(Code.GET_BROKER_CLUSTER_INFO)
    server.env.advance(60 * SECOND)
    assert server.env.closed_by_role == [link]
    assert server.route("T1") is None


def test_a_bad_frame_on_a_brokers_connection_takes_it_out_of_the_routes() -> None:
    server = NameServerByHand()
    link = server.broker()
    server.register(link, topics("T1", "T2"))
    server.env.deliver(link, b"\x7f")
    assert server.route("T1") is None


@pytest.mark.parametrize("end", ["close", "silence"])
def test_the_planted_bug_keeps_dead_brokers_in_the_routes(end: str) -> None:
    server = NameServerByHand(defects=("namesrv-never-expires",))
    link = server.broker()
    server.register(link, topics("T1", "T2"))
    if end == "close":
        server.env.hang_up(link)
    for _ in range(20):
        server.env.advance(30 * SECOND)
        server.ask(Code.GET_BROKER_CLUSTER_INFO)
    assert server.route("T1")
    server.unregister()
    assert server.route("T1") is None


def test_a_stopped_name_server_closes_its_connections_and_exits() -> None:
    server = NameServerByHand()
    link = server.broker()
    server.role.on_stop(server.env)
    assert (server.env.closed_by_role, server.env.exit_code) == ([server.client, link], 0)
