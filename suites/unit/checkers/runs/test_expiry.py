"""What a broker may delete because it was time: ten messages, of which the drain finds the last."""

from __future__ import annotations

import pytest

from checkers.runs.accounting import check_accounting
from checkers.runs.log import check_logs
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

PASS, FAIL = Outcome.PASS, Outcome.FAIL
MASTER = "broker-a-0"
HOUR = 3_600_000
SMALL_FILES = {"mappedFileSizeCommitLog": "4000"}  # four messages a file: 0-3, 4-7, 8 and 9


def drained_from(
    start: int,
    *,
    at: int = 100,
    told: bool = True,
    fill: bool | None = None,
    kept: dict[str, str] = SMALL_FILES,
    sent: int = 0,
) -> Verdict:
    """Messages 0 to 9 are *sent* one after the other; the drain *at* that millisecond finds those from *start* on."""
    run = Build()
    for message in range(10):
        run.send(sent + message, sent + message + 1, message=message, offset=message)
    if fill is not None:
        run.fault("fill_disk", MASTER, 20, 21, heal=90, bit=int(fill))
    if told:
        run.query_min(at, at + 1, start=start)
    run.drain(at + 2, at + 3, at=start, got=list(range(start, 10)))
    run.drained(at + 4, at=10)
    return check_accounting(run.history(), run.facts(nodes={MASTER: kept, "broker-b-0": {}}))


def outcome_of(verdict: Verdict) -> tuple[Outcome, int, int]:
    """(outcome, how many expired, how many were lost)"""
    return verdict.outcome, verdict.measures["expired"], verdict.measures["lost"]


@pytest.mark.parametrize(
    ("hours", "at", "expected"),
    [
        ("0", 100, (PASS, 8, 0)),
        ("72", 100, (FAIL, 0, 8)),
        (None, 100, (FAIL, 0, 8)),
        ("1", HOUR - 10, (FAIL, 0, 8)),
        ("1", HOUR + 10, (PASS, 8, 0)),
        ("1", HOUR + 2, (FAIL, 4, 4)),
    ],
    ids=["kept not at all", "too young", "too young for the default", "nearly old enough", "old enough", "not all old"],
)
def test_age(hours: str | None, at: int, expected: tuple[Outcome, int, int]) -> None:
    kept = SMALL_FILES if hours is None else SMALL_FILES | {"fileReservedTime": hours}
    assert outcome_of(drained_from(8, at=at, kept=kept)) == expected


@pytest.mark.parametrize(("fill", "expected"), [(True, (PASS, 8, 0)), (False, (FAIL, 0, 8)), (None, (FAIL, 0, 8))])
def test_a_full_disk_lets_the_oldest_go(fill: bool | None, expected: tuple[Outcome, int, int]) -> None:
    assert outcome_of(drained_from(8, fill=fill)) == expected


def test_what_was_sent_after_a_disk_had_room_again_did_not_go_for_it() -> None:
    assert outcome_of(drained_from(8, fill=True, sent=20_000, at=30_000)) == (FAIL, 0, 8)


def test_a_file_of_which_a_message_is_read_afterwards_is_not_gone() -> None:
    assert outcome_of(drained_from(6, kept=SMALL_FILES | {"fileReservedTime": "0"})) == (FAIL, 4, 2)


def test_a_beginning_told_before_a_message_was_sent_is_that_of_another_log() -> None:
    run = Build()
    for message in range(10):
        run.send(message, message + 1, message=message, offset=message)
    run.fault("fill_disk", MASTER, 15, 16, heal=900)
    run.query_min(20, 21, start=8)
    run.fault("wipe", MASTER, 30, 31, heal=40, fault="f2")
    run.send(50, 51, message=10, offset=0, position=0)
    run.send(52, 53, message=11, offset=1, position=5000)
    run.drain(60, 61, at=1, got=[11])
    run.drained(62, at=10)
    verdict = check_accounting(run.history(), run.facts(nodes={MASTER: SMALL_FILES, "broker-b-0": {}}))
    by_kind = {(anomaly.kind, anomaly.allowed): anomaly.details["messages"] for anomaly in verdict.anomalies}
    assert by_kind == {("lost", True): [8, 9], ("lost", False): [10], ("expired", True): list(range(8))}


@pytest.mark.parametrize(
    ("told_at", "expected"),
    [((HOUR - 10,), (FAIL, 0, 8)), ((HOUR - 10, HOUR + 20), (FAIL, 0, 8)), ((HOUR + 20, HOUR + 30), (PASS, 8, 0))],
    ids=["too early", "too early, and again", "in time, twice"],
)
def test_the_first_word_of_it_counts(told_at: tuple[int, ...], expected: tuple[Outcome, int, int]) -> None:
    run = Build()
    for message in range(10):
        run.send(message, message + 1, message=message, offset=message)
    for ms in told_at:
        run.query_min(ms, ms + 1, start=8)
    run.drain(HOUR + 50, HOUR + 51, at=8, got=[8, 9])
    run.drained(HOUR + 52, at=10)
    kept = SMALL_FILES | {"fileReservedTime": "1"}
    assert outcome_of(check_accounting(run.history(), run.facts(nodes={MASTER: kept, "broker-b-0": {}}))) == expected


def test_the_last_file_never_goes() -> None:
    kept = SMALL_FILES | {"fileReservedTime": "0"}
    assert outcome_of(drained_from(9, kept=kept)) == (FAIL, 8, 1)
    assert outcome_of(drained_from(8, kept={"fileReservedTime": "0"})) == (FAIL, 0, 8)  # one file of a gigabyte


def test_without_a_word_of_the_broker_it_is_a_loss() -> None:
    assert outcome_of(drained_from(8, told=False, kept=SMALL_FILES | {"fileReservedTime": "0"})) == (FAIL, 0, 8)


def test_a_hole_behind_the_beginning_is_a_loss() -> None:
    run = Build()
    for message in range(10):
        run.send(message, message + 1, message=message, offset=message)
    run.query_min(100, 101, start=4)
    run.drain(102, 103, at=4, got=[4, 5])
    run.drain(104, 105, at=7, got=[7, 8, 9])
    run.drained(106, at=10)
    verdict = check_accounting(
        run.history(), run.facts(nodes={MASTER: SMALL_FILES | {"fileReservedTime": "0"}, "broker-b-0": {}})
    )
    assert outcome_of(verdict) == (FAIL, 4, 1)
    assert [anomaly.details["messages"] for anomaly in verdict.anomalies] == [[6], [0, 1, 2, 3]]


def test_what_a_person_is_told() -> None:
    (anomaly,) = drained_from(8, kept=SMALL_FILES | {"fileReservedTime": "0"}).anomalies
    assert (anomaly.kind, anomaly.allowed, anomaly.details["count"]) == ("expired", True, 8)
    assert anomaly.sentence.startswith("8 acknowledged messages of broker-a deleted with whole log files")


# Files go before the minimum is corrected -----------------------------------------------------------------------------


@pytest.mark.parametrize(("hours", "expected"), [("0", (PASS, 4, 0)), ("1", (FAIL, 0, 4))])
@pytest.mark.parametrize("told", [0, 4])
def test_an_answer_that_begins_behind_what_was_asked_for(
    hours: str, expected: tuple[Outcome, int, int], told: int
) -> None:
    """The drain asks at 0 and gets 4 and what follows; the minimum that is told then is the old one, or the new."""
    run = Build()
    for message in range(10):
        run.send(message, message + 1, message=message, offset=message)
    run.drain(100, 101, at=0, got=list(range(4, 10)), first=4)
    run.query_min(110, 111, start=told)
    run.drained(112, at=10)
    kept = SMALL_FILES | {"fileReservedTime": hours}
    history, facts = run.history(), run.facts(nodes={MASTER: kept, "broker-b-0": {}})
    assert outcome_of(check_accounting(history, facts)) == expected
    log = check_logs(history, facts)
    assert log.outcome is expected[0]
    assert {anomaly.kind for anomaly in log.anomalies} == ({"skipped-in-read"} if hours == "1" else set())


@pytest.mark.parametrize(("hours", "expected"), [("0", PASS), ("72", FAIL)])
@pytest.mark.parametrize("others", [(0, 1, 2, 4, 5, 6, 7, 8, 9), (4, 5, 6, 7, 8, 9)], ids=["all others", "later ones"])
def test_what_nobody_acknowledged_is_left_out_only_when_it_is_time(
    hours: str, expected: Outcome, others: tuple[int, ...]
) -> None:
    """Message 3 had no answer, but was read at @3; then a reader asks for it, and gets 4 and what follows."""
    run = Build()
    for message in range(10):
        told = message in others
        run.send(message, message + 1 if told else None, message=message, offset=message if told else -1)
    run.pull(20, 21, at=0, got=[0, 1, 2, 3])
    run.drain(100, 101, at=3, got=list(range(4, 10)), first=4)
    kept = SMALL_FILES | {"fileReservedTime": hours}
    log = check_logs(run.history(), run.facts(nodes={MASTER: kept, "broker-b-0": {}}))
    assert log.outcome is expected
    assert {anomaly.kind for anomaly in log.anomalies} == ({"skipped-in-read"} if expected is FAIL else set())


def test_a_beginning_that_lags_may_be_told_over_a_power_cut() -> None:
    """It was asked for before the cut, and told when there was more than there had been before."""
    run = Build()
    for message in range(10):
        run.send(message, message + 1, message=message, offset=message)
    run.pull(30, 31, at=0, got=[4, 5], first=4)
    run.query_min(50, 95, start=12)
    run.fault("cut_power", MASTER, 60, 61, heal=65)
    for message in range(10, 16):
        run.send(60 + message, 61 + message, message=message, offset=message)
    run.drain(100, 101, at=12, got=[12, 13, 14, 15])
    run.drained(102, at=16)
    kept = SMALL_FILES | {"fileReservedTime": "0"}
    verdict = check_logs(run.history(), run.facts(nodes={MASTER: kept, "broker-b-0": {}}))
    assert (verdict.outcome, verdict.anomalies) == (PASS, ())


def test_an_answer_that_leaves_out_what_is_in_the_file_that_it_reads() -> None:
    """Messages 5 and 6 are gone, and 7 is there: one file."""
    run = Build()
    for message in range(10):
        run.send(message, message + 1, message=message, offset=message)
    run.drain(100, 101, at=0, got=[0, 1, 2, 3, 4])
    run.drain(102, 103, at=5, got=[7, 8, 9], first=7)
    run.drained(104, at=10)
    kept = SMALL_FILES | {"fileReservedTime": "0"}
    history, facts = run.history(), run.facts(nodes={MASTER: kept, "broker-b-0": {}})
    assert outcome_of(check_accounting(history, facts)) == (FAIL, 0, 2)
    assert {anomaly.kind for anomaly in check_logs(history, facts).anomalies} == {"skipped-in-read"}


def test_who_read_below_the_beginning_afterwards_contradicts_it() -> None:
    run = Build()
    for message in range(10):
        run.send(message, message + 1, message=message, offset=message)
    run.pull(100, 101, at=0, got=[4, 5], first=4)
    run.pull(110, 111, at=3, got=[3])
    kept = SMALL_FILES | {"fileReservedTime": "0"}
    verdict = check_logs(run.history(), run.facts(nodes={MASTER: kept, "broker-b-0": {}}))
    assert {anomaly.kind for anomaly in verdict.anomalies} == {"read-of-trimmed"}


# Which answers that begin later retention explains --------------------------------------------------------------------

GONE, THERE = (PASS, set[str]()), (FAIL, {"skipped-in-read"})


def skipped(run: Build, **kept: str) -> tuple[Outcome, set[str]]:
    """What the check of the logs finds: files are kept not at all unless it is said in *kept*."""
    kept = SMALL_FILES | {"fileReservedTime": "0"} | kept
    verdict = check_logs(run.history(), run.facts(nodes={MASTER: kept, "broker-b-0": {}}))
    return verdict.outcome, {anomaly.kind for anomaly in verdict.anomalies}


@pytest.mark.parametrize(("first_file", "expected"), [(0, THERE), (1, GONE)], ids=["the same file", "the file before"])
@pytest.mark.parametrize("shown", [[1], [1, 2]], ids=["nobody knows where", "the next one"])
def test_what_nobody_acknowledged_lies_between_its_neighbours(
    first_file: int, shown: list[int], expected: tuple[Outcome, set[str]]
) -> None:
    """Nobody knows where 0 and 1 are, but 2 is in the first file, or is not: so 0 is in it, too, or need not be."""
    run = Build()
    run.send(0, None, message=0)
    run.send(2, None, message=1)
    run.send(4, 5, message=2, offset=2, position=1000 + 4000 * first_file)
    run.send(6, 7, message=3, offset=3, position=9000)
    run.pull(20, 21, at=0, got=shown, first=1)
    assert skipped(run) == expected


@pytest.mark.parametrize(("position", "expected"), [(2000, THERE), (4000, GONE)], ids=["the same file", "the next one"])
def test_what_nobody_acknowledged_lies_behind_the_one_before_it(
    position: int, expected: tuple[Outcome, set[str]]
) -> None:
    """Nobody knows where 1 is, but 0 is in the first file, and 2 as well, or not."""
    run = Build()
    run.send(0, 1, message=0, offset=0)
    run.send(2, None, message=1)
    run.send(4, 5, message=2, offset=2, position=position)
    run.send(6, 7, message=3, offset=3, position=9000)
    run.pull(20, 21, at=1, got=[2, 3], first=2)
    assert skipped(run) == expected


@pytest.mark.parametrize(
    ("asked_ms", "expected"), [(HOUR - 10, THERE), (HOUR + 10, GONE)], ids=["too young", "old enough"]
)
def test_an_old_message_that_nobody_acknowledged_may_go_where_the_first_acknowledged_one_may_not(
    asked_ms: int, expected: tuple[Outcome, set[str]]
) -> None:
    """Message 1 is the oldest that anybody knows of, and is in the last file."""
    run = Build()
    run.send(0, None, message=0)
    run.send(HOUR - 30, HOUR - 29, message=1, offset=1, position=9000)
    run.pull(asked_ms, asked_ms + 1, at=0, got=[1], first=1)
    assert skipped(run, fileReservedTime="1") == expected


def test_a_later_message_of_which_all_is_known_does_not_make_an_earlier_one_old() -> None:
    """Message 1 began to be sent an hour ago, but 0 can only be what was sent just now."""
    run = Build()
    run.send(0, HOUR + 5, message=1, offset=1, position=9000)
    run.send(HOUR, None, message=0)
    run.pull(HOUR + 10, HOUR + 11, at=0, got=[1], first=1)
    assert skipped(run, fileReservedTime="1") == THERE


def test_what_is_left_out_includes_what_lies_before_what_was_asked_for() -> None:
    """Nobody asked for 0 here; but it is too young to be gone, and 1 lies behind it in the same file."""
    run = Build()
    run.send(20, 30, message=0, offset=0)
    run.send(0, 31, message=1, offset=1)
    run.send(40, 41, message=2, offset=2, position=4000)
    run.send(42, 43, message=3, offset=3, position=9000)
    run.pull(HOUR + 10, HOUR + 11, at=1, got=[2], first=2)
    assert skipped(run, fileReservedTime="1") == THERE


@pytest.mark.parametrize("again_ms", [None, HOUR + 30])
def test_what_takes_a_freed_offset_after_a_power_cut_was_not_left_out_before(again_ms: int | None) -> None:
    run = Build()
    for message in range(10):
        run.send(message, message + 1, message=message, offset=message)
    run.pull(HOUR + 10, HOUR + 11, at=0, got=[4, 5, 6], first=4)
    run.fault("cut_power", MASTER, HOUR + 20, HOUR + 21, heal=HOUR + 22)
    if again_ms is not None:
        run.send(again_ms, again_ms + 1, message=10, offset=2, position=2000)
        run.pull(again_ms + 2, again_ms + 3, at=2, got=[10])
    assert skipped(run, fileReservedTime="1") == GONE


def test_what_a_power_cut_took_was_not_left_out_afterwards() -> None:
    """Message 1 was in the last file when it was lost; what took its offset is in the first one."""
    run = Build()
    run.send(0, 1, message=0, offset=0)
    run.send(2, 3, message=1, offset=1, position=8000)
    run.fault("cut_power", MASTER, 10, 11, heal=12)
    run.send(20, 21, message=2, offset=1, position=1000)
    run.send(22, 23, message=3, offset=2, position=4000)
    run.pull(30, 31, at=0, got=[3], first=2)
    assert skipped(run) == GONE


@pytest.mark.parametrize(("position", "expected"), [(3000, THERE), (4000, GONE)], ids=["the same file", "the next one"])
def test_what_lies_before_a_message_that_survived_a_power_cut_survived_it_too(
    position: int, expected: tuple[Outcome, set[str]]
) -> None:
    """Offset 2 was used again in between, so that it takes the message to know which log is meant."""
    run = Build()
    run.send(0, 1, message=0, offset=0)
    run.send(2, 3, message=1, offset=1)
    run.send(4, 5, message=2, offset=2, position=9000)
    run.fault("cut_power", MASTER, 10, 11, heal=12)
    run.send(20, 21, message=3, offset=1, position=1000)
    run.send(22, 23, message=4, offset=2, position=position)
    run.fault("cut_power", MASTER, 30, 31, heal=32, fault="f2")
    run.pull(40, 41, at=1, got=[4], first=2)
    assert skipped(run) == expected


@pytest.mark.parametrize(("unanswered", "expected"), [(2, THERE), (3, GONE)])
def test_what_nothing_can_have_replaced_has_not_been_lost(unanswered: int, expected: tuple[Outcome, set[str]]) -> None:
    """Messages 0 to 2 are too young, and 3 was sent after a power cut: they may have been lost in it if three other
    messages came before that."""
    run = Build()
    run.send(0, 1, message=20, offset=0, queue=1, position=0)
    for message in range(3):
        run.send(HOUR + message, HOUR + 1 + message, message=message, offset=message, position=1000 + message)
    run.fault("cut_power", MASTER, HOUR + 10, HOUR + 11, heal=HOUR + 12)
    for message in range(10, 10 + unanswered):
        run.send(5, None, message=message)
    run.send(HOUR + 20, HOUR + 21, message=3, offset=3, position=9000)
    run.pull(HOUR + 30, HOUR + 31, at=0, got=[3], first=3)
    assert skipped(run, fileReservedTime="1") == expected
