"""What NameServers may list when: at once after an end, after 120 s of silence, never without a reason."""

from __future__ import annotations

import json

import pytest

from checkers.runs.routes import check_routes
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

BOTH = ("broker-a", "broker-b")


def asked(build: Build, times_s: range, brokers: tuple[str, ...], server: str = "namesrv-1") -> None:
    for second in times_s:
        detail = json.dumps({broker: {"ids": [0], "queues": [2, 2]} for broker in brokers})
        build.op("route", second * 1000, second * 1000 + 1, "OK", node=server, count=len(brokers), detail=detail)


def judge(build: Build) -> Verdict:
    return check_routes(build.history(), build.facts(mode="multi-master"))


def run_of(do: str, gone_s: int, end_s: int = 200, heal_s: int | None = None) -> Build:
    """broker-a is hit at 10 s; the NameServer lists it until *gone_s*, then not."""
    build = Build()
    build.fault(do, "broker-a-0", 10_000, 10_001, heal=None if heal_s is None else heal_s * 1000)
    asked(build, range(1, gone_s), BOTH)
    asked(build, range(gone_s, end_s), ("broker-b",))
    return build


@pytest.mark.parametrize(
    ("do", "gone_s", "kinds"),
    [
        ("kill", 11, []),
        ("kill", 14, []),
        ("kill", 30, ["stale-route"]),
        ("stop", 30, ["stale-route"]),
        ("pause", 135, []),
        ("pause", 110, []),
        ("pause", 60, ["dropped-early"]),
        ("pause", 160, ["stale-route"]),
        ("cut_power", 100, []),
        ("cut_power", 160, ["stale-route"]),
    ],
)
def test_a_broker_leaves_the_routes_in_time_and_not_before(do: str, gone_s: int, kinds: list[str]) -> None:
    verdict = judge(run_of(do, gone_s))
    assert [anomaly.kind for anomaly in verdict.anomalies] == kinds


def test_a_broker_that_is_well_stays_listed() -> None:
    build = Build()
    asked(build, range(1, 10), BOTH)
    asked(build, range(10, 12), ("broker-a",))
    verdict = judge(build)
    assert [anomaly.kind for anomaly in verdict.anomalies] == ["dropped-early"]
    assert verdict.anomalies[0].sentence.startswith("namesrv-1 no longer listed broker-b at 10.001 s (2 such answers)")


def test_a_nameserver_that_was_hit_learns_again_for_a_while() -> None:
    build = Build()
    build.fault("kill", "namesrv-1", 10_000, 10_001, heal=20_000)
    asked(build, range(1, 10), BOTH)
    asked(build, range(21, 40), ("broker-a",))
    assert judge(build).outcome is Outcome.PASS
    asked(build, range(60, 62), ("broker-a",))
    assert [anomaly.kind for anomaly in judge(build).anomalies] == ["dropped-early"]


def test_other_nameservers_are_not_excused() -> None:
    build = Build()
    build.fault("kill", "namesrv-2", 10_000, 10_001, heal=20_000)
    asked(build, range(1, 10), BOTH)
    asked(build, range(21, 40), ("broker-a",))
    assert [anomaly.details["server"] for anomaly in judge(build).anomalies] == ["namesrv-1"]


@pytest.mark.parametrize(
    ("server", "gone_s", "kinds"),
    [
        ("namesrv-1", 110, []),
        ("namesrv-1", 180, ["stale-route"]),
        ("namesrv-2", 200, []),
        ("namesrv-2", 120, ["dropped-early"]),
    ],
)
def test_a_cut_counts_only_for_the_nameserver_behind_it(server: str, gone_s: int, kinds: list[str]) -> None:
    build = Build()
    build.fault("partition", "broker-a-0", 10_000, 10_001, right=["namesrv-1"])
    asked(build, range(1, gone_s), BOTH, server)
    asked(build, range(gone_s, 200), ("broker-b",), server)
    assert [anomaly.kind for anomaly in judge(build).anomalies] == kinds


def test_how_long_a_broker_stayed_is_measured() -> None:
    assert judge(run_of("kill", 13)).measures["left_after_ms"] == {"f1/broker-a/namesrv-1": 3000}


def test_nobody_asked_is_unknown() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    assert judge(build).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("do", ["kill", "stop", "isolate"])
def test_a_nameserver_does_not_see_the_end_of_what_it_is_cut_off_from(do: str) -> None:
    """Whoever is ended while a partition stands closes no connection that the other side could see."""
    build = Build()
    build.fault("partition", "broker-a-0", 8_000, 8_001, heal=100_000, right=("namesrv-1",))
    others = ("namesrv-1", "client-1") if do == "isolate" else ()
    build.fault(do, "broker-a-0", 10_000, 10_001, heal=60_000, fault="f2", right=others)
    asked(build, range(1, 90), BOTH)
    assert judge(build).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("cut_s", "killed_s", "gone_s", "kinds"),
    [
        ((10, 30), 24, (45, 76), []),  # what was held for 20 s may come 20 s later, and 30 s go by until it registers
        ((10, 30), 24, (95, 97), ["dropped-early"]),
        ((10, 30), 35, (95, 97), ["dropped-early"]),
        ((10, 30), None, (45, 76), []),  # a call was given up after 6 s, and its connection closed
        ((26, 30), None, (45, 50), ["dropped-early"]),
    ],
)
def test_what_a_partition_held_back_may_end_a_registration_of_after_it(
    cut_s: tuple[int, int], killed_s: int | None, gone_s: tuple[int, int], kinds: list[str]
) -> None:
    build = Build()
    build.fault("partition", "broker-a-0", 1000 * cut_s[0], 1000 * cut_s[0] + 1, heal=1000 * cut_s[1],
                right=("namesrv-1",))  # fmt: skip
    if killed_s:
        build.fault("kill", "broker-a-0", 1000 * killed_s, 1000 * killed_s + 1, heal=1000 * killed_s + 2, fault="f2")
    asked(build, range(1, gone_s[0]), BOTH)
    asked(build, range(*gone_s), ("broker-b",))
    asked(build, range(gone_s[1], 120), BOTH)
    assert [anomaly.kind for anomaly in judge(build).anomalies] == kinds


@pytest.mark.parametrize("do", ["wipe", "flip_bits", "adopt_slave"])
def test_whatever_ended_it_a_broker_may_be_missing_until_it_has_registered_again(do: str) -> None:
    build = Build()
    build.fault(do, "broker-a-0", 10_000, 10_001, heal=20_000)
    asked(build, range(1, 11), BOTH)
    asked(build, range(11, 40), ("broker-b",))
    asked(build, range(40, 60), BOTH)
    assert judge(build).outcome is Outcome.PASS


def slowed(server: str) -> Build:
    """From 10 to 20 s everything between *server* and broker-a is late."""
    build = Build()
    sides = {"left": [server], "right": ["broker-a-0"], "effects": [{"does": "slows", "at": "act"}]}
    build.event(10_000, "fault", "resolve", server, "f1", 1, do="slow_link", **sides)
    for ms, step, effective in ((10_001, "inject", -1), (10_001, "probe", 1), (20_000, "heal", -1)):
        build.event(ms, "fault", step, server, "f1", effective)
    return build


@pytest.mark.parametrize(("gone_s", "kinds"), [(12, []), (20, []), (70, ["dropped-early"])])
def test_a_slow_link_resets_connections_when_it_comes_and_when_it_goes(gone_s: int, kinds: list[str]) -> None:
    """The broker registers again with its next turn, 30 s later."""
    build = slowed("namesrv-1")
    asked(build, range(gone_s), ("broker-a", "broker-b"))
    asked(build, range(gone_s, gone_s + 5), ("broker-b",))
    assert [anomaly.kind for anomaly in judge(build).anomalies] == kinds


def test_a_slow_link_to_another_excuses_nothing() -> None:
    build = slowed("namesrv-2")
    asked(build, range(12), ("broker-a", "broker-b"))
    asked(build, range(12, 17), ("broker-b",))
    assert [anomaly.kind for anomaly in judge(build).anomalies] == ["dropped-early"]


def test_a_machine_that_goes_dark_may_be_dropped_at_once() -> None:
    """Its kernel may outlive the broker, and close its connections."""
    assert judge(run_of("cut_power", 12)).anomalies == ()


MEMBERS = {
    f"broker-a-{member}": {"brokerName": "broker-a", "brokerId": str(member), "enableDLegerCommitLog": "true"}
    for member in range(3)
}


@pytest.mark.parametrize(
    ("do", "missing", "kinds"),
    [
        ("pause", range(21, 50), []),  # it had been the master, and took the id away with it
        ("pause", range(21, 70), ["dropped-early"]),  # the new leader registers every 30 s
        ("pause", range(80, 82), ["dropped-early"]),
        ("", range(21, 50), ["dropped-early"]),
    ],
)
def test_a_leader_that_comes_back_takes_the_masters_id_with_it(do: str, missing: range, kinds: list[str]) -> None:
    build = Build(["broker-a"])
    build.event(500, "role", "became_master", "broker-a-0")
    if do:
        build.fault(do, "broker-a-0", 10_000, 10_001, heal=20_000)
    build.event(18_000, "role", "became_master", "broker-a-1")
    for second in range(1, 100):
        asked(build, range(second, second + 1), () if second in missing else ("broker-a",))
    verdict = check_routes(build.history(), build.facts(mode="dledger", nodes=MEMBERS))
    assert [anomaly.kind for anomaly in verdict.anomalies] == kinds


@pytest.mark.parametrize(
    ("cut_s", "server", "missing", "kinds"),
    [
        ((16, 30), "namesrv-1", range(17, 60), []),  # elected out of the NameServer's reach, it registers every 30 s
        ((16, 30), "namesrv-1", range(17, 95), ["dropped-early"]),
        ((16, 30), "namesrv-2", range(21, 60), ["dropped-early"]),
        ((24, 30), "namesrv-1", range(24, 30), ["dropped-early"]),  # it was listed as the master before
    ],
)
def test_a_leader_elected_out_of_reach_is_not_listed_before_it_registers(
    cut_s: tuple[int, int], server: str, missing: range, kinds: list[str]
) -> None:
    build = Build(["broker-a"])
    build.event(500, "role", "became_master", "broker-a-0")
    build.fault("partition", "broker-a-1", 1000 * cut_s[0], 1000 * cut_s[0] + 1, heal=1000 * cut_s[1], right=(server,))
    build.event(18_000, "role", "became_master", "broker-a-1")
    for second in range(1, 100):
        asked(build, range(second, second + 1), () if second in missing else ("broker-a",))
    verdict = check_routes(build.history(), build.facts(mode="dledger", nodes=MEMBERS))
    assert [anomaly.kind for anomaly in verdict.anomalies] == kinds


def test_who_was_started_early_in_a_long_heal_serves_from_then_on() -> None:
    """A heal that stops a slave, copies its data and starts both is written down when all of it is over."""
    for at in ({"at_ns": 16_000_000_000}, {}):
        build = Build()
        build.fault("adopt_slave", "broker-b-0", 10_000, 10_001, heal=30_000)
        build.event(30_000, "node", "started", "broker-b-0", **at)
        asked(build, range(1, 10), BOTH)
        asked(build, range(10, 17), ("broker-a",))
        asked(build, range(17, 40), BOTH)
        assert [anomaly.kind for anomaly in judge(build).anomalies] == ([] if at else ["stale-route"])


@pytest.mark.parametrize(("effective", "kinds"), [(1, ["stale-route"]), (-1, [])])
def test_a_stop_that_did_not_come_about_while_the_harness_waited_accuses_nobody(
    effective: int, kinds: list[str]
) -> None:
    """A frozen process ends when it is let go on: nobody can tell when, and until then it stays listed."""
    build = Build()
    build.fault("stop", "broker-a-0", 10_000, 40_000, bit=effective)
    asked(build, range(1, 45), BOTH)
    assert [anomaly.kind for anomaly in judge(build).anomalies] == kinds
