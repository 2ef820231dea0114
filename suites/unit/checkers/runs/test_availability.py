"""Windows without service and the time until it returns, independent of how long clients wait."""

from __future__ import annotations

import json

import pytest

from checkers.contract import classify
from checkers.runs.availability import check_availability, lanes_of, windows_of
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import MS, Build


def outage(back: int | None = 600, timeout: int = 300, end: int = 1000) -> Build:
    """A send every 20 ms to queue 0; the broker is dead from 200 ms until *back*."""
    build = Build()
    build.fault("kill", "broker-a-0", 195, 200, heal=500)
    for index, at in enumerate(range(0, end, 20)):
        if at < 200 or (back is not None and at >= back):
            build.send(at, at + 1, index, index)
        else:
            build.send(at, at + timeout, index, status="CONNECT_FAILED")
    return build


def judge(build: Build, **facts: object) -> Verdict:
    return check_availability(build.history(), build.facts(**facts))


def windows(build: Build) -> list[tuple[int, int, int, bool]]:
    (lane,) = lanes_of(build.history())
    return [(w.begin_ns // MS, w.end_ns // MS, w.attempts, w.is_open) for w in windows_of(lane, 0)]


def test_a_window_runs_from_the_first_failure_to_the_next_success() -> None:
    assert windows(outage()) == [(200, 600, 20, False)]


def test_client_timeouts_do_not_move_a_window() -> None:
    assert windows(outage(timeout=5)) == windows(outage(timeout=3000))


def test_a_window_that_never_closes_is_open() -> None:
    assert windows(outage(back=None)) == [(200, 980, 40, True)]


def test_two_failures_with_a_success_between_are_two_windows() -> None:
    build = Build()
    for at, status in ((0, "SEND_OK"), (10, "TIMEOUT"), (20, "SEND_OK"), (30, "TIMEOUT"), (40, "SEND_OK")):
        build.send(at, at + 1, at, at // 20 if status == "SEND_OK" else -1, status=status)
    assert windows(build) == [(10, 20, 1, False), (30, 40, 1, False)]


def test_no_failure_no_window_however_long_nobody_asks() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.send(60_000, 60_001, 1, 1)
    assert windows(build) == []


def test_the_time_to_return_is_measured_from_the_fault() -> None:
    verdict = judge(outage())
    assert verdict.outcome is Outcome.PASS
    (returned,) = verdict.measures["returns"]
    assert [returned.pop(name) for name in ("restart_ns", "elect_ns", "route_ns")] == [-1, -1, -1]
    assert returned == {
        "fault": "f1",
        "kind": "send",
        "queue": "t/broker-a/0",
        "hit": True,
        "detect_ns": 5 * MS,
        "return_ns": 405 * MS,
    }
    assert verdict.measures["rto_max_ms"] == 405
    assert verdict.measures["resolution_ms"] == 20


def test_the_way_back_is_split_where_somebody_told_of_it() -> None:
    build = outage()
    build.event(500, "node", "started", "broker-a-0")
    build.event(530, "role", "became_master", "broker-a-0")
    build.event(540, "role", "broker_registered", "namesrv-1", broker="broker-b")
    build.event(560, "role", "broker_registered", "namesrv-1", broker="broker-a")
    (returned,) = judge(build).measures["returns"]
    assert [returned[name] // MS for name in ("restart_ns", "elect_ns", "route_ns", "return_ns")] == [
        305,
        335,
        365,
        405,
    ]


def test_a_route_that_comes_back_is_seen_by_clients_where_no_nameserver_tells() -> None:
    build = outage()
    for at, brokers in ((100, ("broker-a",)), (300, ()), (580, ("broker-a",))):
        detail = json.dumps({broker: {"ids": [0]} for broker in brokers})
        build.op("route", at, at + 1, "OK", node="namesrv-1", count=len(brokers), detail=detail)
    (returned,) = judge(build).measures["returns"]
    assert returned["route_ns"] == 386 * MS


def test_service_that_does_not_come_back_is_a_failure() -> None:
    build = outage(back=None, end=61_000)
    verdict = judge(build)
    assert [anomaly.kind for anomaly in verdict.anomalies] == ["not-recovered"]
    assert "was to be back within 60.000 s" in verdict.anomalies[0].sentence


@pytest.mark.parametrize(("status", "found"), [("SEND_OK", []), ("NO_ROUTE", ["not-recovered"])])
def test_a_producer_that_finds_no_queue_asks_nobody_and_yet_its_application_is_not_served(status, found) -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault("kill", "broker-a-0", 10, 11, heal=20)
    for ms in range(70_000, 70_100, 10):
        build.op("produce", ms, ms + 1, status, outcome=classify("send", status))
    verdict = judge(build)
    assert [anomaly.kind for anomaly in verdict.anomalies] == found
    if found:
        assert verdict.anomalies[0].sentence.startswith("No produce succeeded from 70.000 s on, 10 were tried")


def test_nobody_asked_after_the_deadline_is_no_failure() -> None:
    assert judge(outage(back=None)).outcome is Outcome.PASS


def other_broker(status: str) -> Build:
    """broker-a is dead for 2 s; broker-b (queue 2) is asked 40 times meanwhile."""
    build = outage(end=3000)
    build.fault("kill", "broker-a-0", 195, 200, heal=2200, fault="f2")
    for index, at in enumerate(range(210, 2190, 50)):
        offset = index if status == "SEND_OK" else -1
        build.send(at, at + 2, 1000 + index, offset, status=status, queue=2)
    return build


def test_a_broker_that_was_not_hit_must_go_on() -> None:
    assert judge(other_broker("SEND_OK"), mode="multi-master").outcome is Outcome.PASS
    verdict = judge(other_broker("TIMEOUT"), mode="multi-master")
    assert [anomaly.kind for anomaly in verdict.anomalies] == ["others-down"]


ILLEGAL = "request queueId[3] is illegal, TopicConfig [topicName=t, readQueueNums=2]"


@pytest.mark.parametrize(("remark", "found"), [(ILLEGAL, []), ("the broker's disk is full", ["others-down"])])
def test_who_asks_for_a_queue_that_the_topic_has_not_got_asks_for_no_service(remark, found) -> None:
    build = Build()
    build.fault("kill", "broker-a-0", 195, 200, heal=2500)
    for index, at in enumerate(range(0, 3000, 20)):
        build.send(at, at + 1, index, index, queue=2)
        build.send(at, at + 1, 1000 + index, status="SYSTEM_ERROR", queue=3, detail=remark)
    assert [anomaly.kind for anomaly in judge(build).anomalies if anomaly.kind == "others-down"] == found


def test_nothing_ever_served_is_unknown() -> None:
    build = Build()
    build.send(0, 1, 0, status="TIMEOUT")
    assert judge(build).outcome is Outcome.UNKNOWN


def test_latencies_are_of_sends_that_succeeded() -> None:
    build = Build()
    for index, took in enumerate((1, 2, 3, 400)):
        build.send(index * 500, index * 500 + took, index, index)
    build.send(3000, 6000, 4, status="TIMEOUT")
    measures = judge(build).measures
    assert (measures["send_p50_us"], measures["send_p99_us"]) == (2_000, 3_000)
    assert "send_p50_us" not in judge(Build()).measures


def test_a_refusal_while_the_fault_is_being_done_is_not_yet_the_outage() -> None:
    build = Build()
    build.fault("kill", "broker-a-0", 100, 200, heal=500)
    build.send(90, 91, 0, 0)
    build.send(120, 121, 1, status="SYSTEM_BUSY")
    build.send(140, 141, 2, 1)
    build.send(300, 301, 3, status="CONNECT_FAILED")
    build.send(600, 601, 4, 2)
    assert judge(build).measures["rto_max_ms"] == 500
