"""Effects of acts, masters by nobody's hand, slaves that do not follow, sends that were not promised."""

from __future__ import annotations

import json

import pytest

from checkers.runs.acknowledged import check_promised
from checkers.runs.masters import check_masters
from checkers.runs.propagation import check_propagation
from checkers.runs.slave_lag import check_slave_lag
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

PERMISSION = "permission of broker-a for chaos"
SYNC, ASYNC = "multi-master-multi-slave-sync", "multi-master-multi-slave-async"


TOPICS, ORDERED = "topics of broker-a", "ordered topics of broker-a"


def act(build: Build, ms: int, name: str, shows: dict, status: str = "OK", **more: object) -> None:
    detail = json.dumps({"act": name, "shows": shows, **more})
    build.op("act", ms, ms + 5, status, node="broker-a-0", detail=detail)


def observe(build: Build, f: str, node: str, begin: int, end: int, shown: dict) -> None:
    for ms in range(begin, end, 500):
        build.op(f, ms, ms + 1, "OK", node=node, detail=json.dumps(shown))


def kinds(verdict: Verdict) -> list[str]:
    return [anomaly.kind for anomaly in verdict.anomalies if not anomaly.allowed]


# Effects --------------------------------------------------------------------------------------------------------------


def changed(shown_ms: int, again_ms: int = 60_000) -> Verdict:
    """Write permission is taken at 10 s, shown from *shown_ms* on, and not any more from *again_ms* on."""
    build = Build()
    act(build, 10_000, "wipe_write_permission", {"namesrv-1": {PERMISSION: "r-"}})
    observe(build, "look", "namesrv-1", 0, shown_ms, {PERMISSION: "rw"})
    observe(build, "look", "namesrv-1", shown_ms, again_ms, {PERMISSION: "r-"})
    observe(build, "look", "namesrv-1", again_ms, 61_000, {PERMISSION: "rw"})
    return check_propagation(build.history(), build.facts(mode="multi-master"))


@pytest.mark.parametrize(
    ("shown_ms", "again_ms", "found"),
    [
        (10_500, 61_000, []),
        (14_000, 61_000, []),
        (15_000, 61_000, ["not-shown"]),
        (61_000, 61_000, ["not-shown"]),
        (10_500, 30_000, ["gone-again"]),
    ],
)
def test_an_act_shows_in_time_and_stays(shown_ms: int, again_ms: int, found: list[str]) -> None:
    verdict = changed(shown_ms, again_ms)
    assert kinds(verdict) == found
    assert (verdict.outcome is Outcome.PASS) == (not found)


def undone(again_ms: int, *, to: str, subject: str, changed_ms: int, seen_ms: int = 10_500) -> Verdict:
    """Write permission is taken at 10 s, shown from *seen_ms* until *again_ms*, and then *to*; what the broker tells of
    *subject* changes at *changed_ms*."""
    build = Build()
    act(
        build,
        10_000,
        "wipe_write_permission",
        {"namesrv-1": {PERMISSION: "r-"}},
        undone={"by": [TOPICS, ORDERED], "to": "rw"},
    )
    observe(build, "look", "namesrv-1", 0, min(seen_ms, again_ms), {PERMISSION: "rw"})
    observe(build, "look", "namesrv-1", seen_ms, again_ms, {PERMISSION: "r-"})
    observe(build, "look", "namesrv-1", again_ms, 61_000, {PERMISSION: to})
    observe(build, "look", "broker-a-0", 0, changed_ms, {subject: "17"})
    observe(build, "look", "broker-a-0", changed_ms, 61_000, {subject: "18"})
    return check_propagation(build.history(), build.facts(mode="multi-master"))


@pytest.mark.parametrize(
    ("subject", "changed_ms", "again_ms", "to", "found"),
    [
        (TOPICS, 29_900, 30_000, "rw", []),
        (TOPICS, 30_400, 30_000, "rw", []),  # looks are half a second apart: the change was before this one
        (TOPICS, 28_000, 30_000, "rw", []),
        (TOPICS, 25_000, 30_000, "rw", ["gone-again"]),  # told at once, and it would have been seen at once
        (TOPICS, 31_500, 30_000, "rw", ["gone-again"]),
        (TOPICS, 29_900, 30_000, "-w", ["gone-again"]),  # nobody had told that
        (TOPICS, 70_000, 30_000, "rw", ["gone-again"]),
        (ORDERED, 5_000, 30_000, "rw", []),  # told with the next registration
        (ORDERED, 5_000, 45_000, "rw", ["gone-again"]),
    ],
)
def test_a_changed_table_of_topics_undoes_what_a_nameserver_was_told(subject, changed_ms, again_ms, to, found) -> None:
    assert kinds(undone(again_ms, to=to, subject=subject, changed_ms=changed_ms)) == found


@pytest.mark.parametrize(("changed_ms", "found"), [(10_100, []), (12_000, []), (20_000, ["not-shown"])])
def test_what_was_undone_at_once_is_never_seen(changed_ms: int, found: list[str]) -> None:
    assert kinds(undone(10_000, to="rw", subject=TOPICS, changed_ms=changed_ms, seen_ms=10_000)) == found


@pytest.mark.parametrize(
    ("begin_ms", "heal_ms", "found"),
    [
        (40_000, 42_000, ["not-shown"]),  # long after the bound: it explains nothing
        (10_100, 12_000, ["not-shown"]),  # it explains a delay, not that it was never shown in 40 s of health
        (10_100, 55_000, []),
        (5_000, 9_990, ["not-shown"]),
        (-40_000, -30_000, ["not-shown"]),
    ],
)
def test_a_fault_excuses_only_while_it_lasts_and_as_long_again_as_the_bound(begin_ms, heal_ms, found) -> None:
    build = Build()
    act(build, 10_000, "wipe_write_permission", {"namesrv-1": {PERMISSION: "r-"}})
    observe(build, "look", "namesrv-1", 0, 58_000, {PERMISSION: "rw"})
    build.fault("kill", "broker-a-0", begin_ms, begin_ms + 1, heal=heal_ms)
    assert kinds(check_propagation(build.history(), build.facts(mode="multi-master"))) == found


def test_what_a_lost_disk_took_along_need_not_be_shown_later() -> None:
    build = Build()
    act(build, 10_000, "change_offset", {"broker-a-1": {"offset": 7}})
    observe(build, "look", "broker-a-1", 0, 60_000, {"offset": 6})
    build.fault("adopt_slave", "broker-a-0", 12_000, 12_001, heal=14_000)
    assert kinds(check_propagation(build.history(), build.facts(mode=ASYNC))) == []


def test_a_node_that_never_tells_of_what_it_must_show_proves_nothing() -> None:
    build = Build()
    act(build, 10_000, "change_delay", {"broker-a-0": {"delay": 1}, "broker-a-1": {"delay in the file": 1}})
    observe(build, "look", "broker-a-0", 0, 60_000, {"delay": 1})
    verdict = check_propagation(build.history(), build.facts(mode=ASYNC))
    assert (verdict.outcome, verdict.reasons) == (Outcome.UNKNOWN, ("broker-a-1 never told of delay in the file",))


@pytest.mark.parametrize(("shown_ms", "found"), [(105_000, []), (112_000, ["not-shown"])])
def test_a_slave_finds_its_master_again_with_its_next_registration(shown_ms: int, found: list[str]) -> None:
    build = Build()
    act(build, 10_000, "change_delay", {"broker-a-1": {"delay in the file": 1}})
    observe(build, "look", "broker-a-1", 0, shown_ms, {"delay in the file": 0})
    observe(build, "look", "broker-a-1", shown_ms, 120_000, {"delay in the file": 1})
    build.fault("kill", "broker-a-0", 12_000, 12_001, heal=50_000)
    assert kinds(check_propagation(build.history(), build.facts(mode=ASYNC))) == found


def test_the_delay_is_that_of_the_first_look_which_shows_it() -> None:
    assert changed(12_000).measures["shown_after_ms"] == {"wipe_write_permission/nameserver": 1996}


def test_a_refused_act_proves_nothing() -> None:
    build = Build()
    act(build, 10_000, "wipe_write_permission", {"namesrv-1": {PERMISSION: "r-"}}, status="SYSTEM_ERROR")
    observe(build, "look", "namesrv-1", 0, 20_000, {PERMISSION: "rw"})
    verdict = check_propagation(build.history(), build.facts(mode="multi-master"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "never obeyed: SYSTEM_ERROR" in verdict.reasons[0]


def copied(after_ms: int, *, lost_since_ms: int = 0, replaced: bool = True, target: str = "reference") -> Verdict:
    """One more of a table every second; the slave shows each *after_ms* later. At 90 s the master's disk is lost, and
    its table then ends with what was told before *lost_since_ms*."""
    build = Build()
    for number in range(1, 80):
        act(build, number * 1000, "change_offset", {node: {"offset": number} for node in ("broker-a-0", "broker-a-1")})
        observe(build, "look", "broker-a-0", number * 1000 + 10, number * 1000 + 11, {"offset": number})
        observe(build, "look", "broker-a-1", number * 1000 + after_ms, number * 1000 + after_ms + 1, {"offset": number})
    if lost_since_ms:
        build.fault("adopt_slave" if replaced else "kill", "broker-a-0", 80_000, 80_001, heal=82_000)
        observe(build, "look", "broker-a-0", 95_000, 96_000, {"offset": lost_since_ms // 1000 - 1})
    return check_propagation(build.history(), build.facts(mode=ASYNC, target=target))


@pytest.mark.parametrize(
    ("after_ms", "target", "found"),
    [
        (10_000, "reference", False),
        (16_000, "reference", True),
        (63_000, "rocketmq:5.3.3", False),
        (16_000, "rocketmq:4.9.7", True),
    ],
)
def test_a_slave_has_a_table_within_the_period_of_its_release(after_ms: int, target: str, found: bool) -> None:
    assert ("not-shown" in kinds(copied(after_ms, target=target))) == found


@pytest.mark.parametrize(
    ("since_ms", "replaced", "found"), [(75_000, True, False), (60_000, True, True), (75_000, False, True)]
)
def test_a_lost_master_takes_along_what_its_slave_could_not_have(since_ms: int, replaced: bool, found: bool) -> None:
    verdict = copied(5_000, lost_since_ms=since_ms, replaced=replaced)
    assert ("table-lost" in kinds(verdict)) == found
    assert verdict.measures["forgotten"] == {"offset": 80 - since_ms // 1000}


@pytest.mark.parametrize(
    ("target", "later", "found"),
    [
        ("rocketmq:4.9.7", "no", []),
        ("rocketmq:4.9.7", "yes", ["not-shown"]),
        ("rocketmq:5.3.3", "yes", []),
        ("rocketmq:5.3.3", "no", ["gone-again"]),
    ],
)
def test_only_4_9_takes_the_mark_of_an_ordered_topic_away(target: str, later: str, found: list[str]) -> None:
    build = Build()
    act(build, 10_000, "delete_order", {"broker-a-0": {"topic is ordered": "no"}})
    observe(build, "look", "broker-a-0", 0, 20_000, {"topic is ordered": "yes"})
    observe(build, "look", "broker-a-0", 20_000, 61_000, {"topic is ordered": later})
    assert kinds(check_propagation(build.history(), build.facts(mode="multi-master", target=target))) == found


# Masters --------------------------------------------------------------------------------------------------------------


def listed(*spans: tuple[int, int, str], promoted_ms: int = -1) -> Verdict:
    build = Build()
    build.fault("kill", "broker-a-0", 10_000, 10_001, heal=80_000)
    if promoted_ms >= 0:
        build.fault("promote", "broker-a-1", promoted_ms, promoted_ms + 2_000, heal=70_000, fault="f2")
    for begin, end, node in spans:
        observe(build, "master", "namesrv-1", begin, end, {"broker-a": node})
    return check_masters(build.history(), build.facts(mode=ASYNC))


def test_a_slave_that_becomes_master_by_itself_is_found() -> None:
    verdict = listed((0, 10_500, "broker-a-0"), (10_500, 30_000, "nobody"), (30_000, 60_000, "broker-a-1"))
    assert kinds(verdict) == ["self-promoted"]
    assert verdict.measures["without_ms"] == {"broker-a": 19_000}


def test_one_that_an_operator_promoted_is_not_and_its_outage_is_measured() -> None:
    verdict = listed(
        (0, 10_500, "broker-a-0"), (10_500, 25_000, "nobody"), (25_000, 60_000, "broker-a-1"), promoted_ms=20_000
    )
    assert (verdict.outcome, verdict.measures["changes"]) == (Outcome.PASS, 1)


@pytest.mark.parametrize(
    ("listed_ms", "serves", "found"),
    [
        (17_000, [18_000], []),
        (14_000, [18_000], ["self-promoted"]),
        (17_000, [], ["self-promoted"]),
    ],
)
def test_a_member_that_was_elected_may_be_listed_a_little_before_it_is_known_to_serve(
    listed_ms: int, serves: list[int], found: list[str]
) -> None:
    build = Build()
    build.event(0, "note", "serves", "broker-a-0")
    build.fault("kill", "broker-a-0", 10_000, 10_001, heal=80_000)
    for ms in serves:
        build.event(ms, "note", "serves", "broker-a-1")
    observe(build, "master", "namesrv-1", 0, listed_ms, {"broker-a": "broker-a-0"})
    observe(build, "master", "namesrv-1", listed_ms, 30_000, {"broker-a": "broker-a-1"})
    member = {"brokerName": "broker-a", "enableDLegerCommitLog": "true"}
    nodes = {f"broker-a-{number}": {**member, "brokerId": str(number)} for number in range(3)}
    assert kinds(check_masters(build.history(), build.facts(mode="dledger", nodes=nodes))) == found


def test_nobody_asked_proves_nothing() -> None:
    assert check_masters(Build().history(), Build().facts(mode=ASYNC)).outcome is Outcome.UNKNOWN


# Following ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("do", "bit", "found"),
    [
        ("pause", 1, []),
        ("pause", 0, ["slave-behind"]),
        ("flip_bits", 1, []),
        ("flip_bits", 0, []),  # nothing was harmed, but the process ended for it
    ],
)
def test_a_fault_that_did_nothing_keeps_no_slave_behind(do: str, bit: int, found: list[str]) -> None:
    assert kinds(followed(10_000, 50_000, fault_ms=10_000, do=do, bit=bit)) == found


def followed(
    stuck_ms: int, until_ms: int, fault_ms: int = -1, fixed: bool = False, do: str = "reconfigure", bit: int = 1
) -> Verdict:
    """The master gains one every half second, the slave has it at once but from *stuck_ms* to *until_ms*."""
    build = Build()
    if fault_ms >= 0:
        build.fault(do, "broker-a-0", fault_ms, fault_ms + 1_000, heal=fault_ms + 60_000, bit=bit)
    for ms in range(0, 120_000, 500):
        build.op("end", ms, ms + 1, "OK", node="broker-a-0", detail=json.dumps({"broker-a": ms // 500}))
        has = stuck_ms if stuck_ms <= ms < until_ms else ms
        build.op("end", ms + 2, ms + 3, "OK", node="broker-a-1", detail=json.dumps({"broker-a": has // 500}))
    nodes = {"broker-a-1": {"haMasterAddress": "10.0.0.1:10912"} if fixed else {}}
    return check_slave_lag(build.history(), build.facts(mode=ASYNC, nodes=nodes))


@pytest.mark.parametrize(
    ("stuck_ms", "until_ms", "fault_ms", "fixed", "found"),
    [
        (0, 0, -1, False, []),
        (10_000, 11_500, -1, False, []),
        (10_000, 15_000, -1, False, ["slave-behind"]),
        (10_000, 50_000, 10_000, False, []),
        (10_000, 65_000, 10_000, False, ["slave-behind"]),
        (10_000, 75_000, 10_000, True, []),
        (10_000, 40_000, 10_000, True, ["reconnected-unexpectedly"]),
    ],
)
def test_a_slave_follows_unless_something_is_in_the_way(stuck_ms, until_ms, fault_ms, fixed, found) -> None:
    assert kinds(followed(stuck_ms, until_ms, fault_ms, fixed)) == found


# Promised -------------------------------------------------------------------------------------------------------------


def test_a_status_that_promises_nothing_is_found_but_not_before_the_load() -> None:
    build = Build()
    build.send(5, 6, message=0, offset=0, status="SLAVE_NOT_AVAILABLE")
    build.event(10, "phase", "steady")
    build.send(15, 16, message=1, offset=1)
    assert check_promised(build.history(), build.facts(mode=SYNC)).outcome is Outcome.PASS
    build.send(20, 21, message=2, offset=2, status="FLUSH_SLAVE_TIMEOUT")
    assert kinds(check_promised(build.history(), build.facts(mode=SYNC))) == ["not-promised"]
