"""What is hidden: acknowledged, in the log, and its queue points past it; apart from what is lost."""

from __future__ import annotations

import pytest

from checkers.history.strays import in_words, stray
from checkers.runs.accounting import check_accounting
from checkers.runs.mechanisms import unexplained
from checkers.runs.stale_units import DAMAGED_ANSWER
from checkers.verdict import Verdict
from suites.unit.checkers.build import Build


def judged(build: Build, flush: str = "sync") -> Verdict:
    return check_accounting(build.history(), build.facts(flush=flush))


def bad(verdict: Verdict) -> list[tuple[str, int, str]]:
    return [
        (a.kind, a.details.get("count", 1), a.details.get("mechanism", "")) for a in verdict.anomalies if not a.allowed
    ]


def drained(build: Build, answers: dict[int, int | None], end: int) -> Build:
    """The drain: offset → message, ``None`` for bytes that are no record; it first asks for all of them at once."""
    build.op("drain", 900, 901, DAMAGED_ANSWER, queue=0, offset=0, outcome="fail")
    for at, (offset, message) in enumerate(answers.items()):
        if message is None:
            build.op("drain", 902 + 2 * at, 903 + 2 * at, DAMAGED_ANSWER, queue=0, offset=offset, outcome="fail")
        else:
            build.drain(902 + 2 * at, 903 + 2 * at, offset, [message])
    build.drained(990, end)
    return build


def cut_then(end: str, *, first_cut: str = "flip_bits") -> Build:
    """Messages 0 to 3; a fault leaves message 0; messages 4 to 6 take the places of 1 to 3; the process ends once more,
    and message 7 is stored behind."""
    build = Build()
    for message in range(4):
        build.send(10 * message, 10 * message + 1, message, message, position=1000 * message)
    build.fault(first_cut, "broker-a-0", 50, 51, heal=60)
    for offset, message in enumerate((4, 5, 6), start=1):
        build.send(60 + 10 * offset, 61 + 10 * offset, message, offset, position=400 + 600 * offset)
    if end:
        build.fault(end, "broker-a-0", 120, 121, heal=130, fault="f2")
    build.send(140, 141, 7, 4, position=3000)
    return build


ALL_BUT_5: dict[int, int | None] = {0: 0, 1: 4, 2: None, 3: 6, 4: 7}


@pytest.mark.parametrize("end", ["cut_power", "kill", "stop", "restart"])
def test_a_unit_that_was_left_behind_the_recovered_end_hides_a_newer_message(end: str) -> None:
    verdict = judged(drained(cut_then(end), ALL_BUT_5, 5))
    assert bad(verdict) == [("hidden", 1, "stale-units")]
    (anomaly,) = [a for a in verdict.anomalies if a.kind == "hidden"]
    assert "send m5" in anomaly.sentence
    assert (
        "RocketMQ leaves the units behind the recovered end of a queue where they are: the start after"
        in anomaly.sentence
    )
    assert verdict.measures["hidden"] == 1
    assert verdict.measures["lost"] == 3, "what the first fault cut off is lost by it, whatever stands there now"


def test_asynchronous_flush_allows_no_hidden_message_either() -> None:
    assert bad(judged(drained(cut_then("cut_power"), ALL_BUT_5, 5), flush="async")) == [("hidden", 1, "stale-units")]


@pytest.mark.parametrize(("first_cut", "end"), [("flip_bits", ""), ("kill", "cut_power"), ("pause", "kill")])
def test_without_a_cut_before_and_an_end_after_it_no_reason_is_known(first_cut: str, end: str) -> None:
    build = Build()
    if first_cut:
        build.fault(first_cut, "broker-a-0", 1, 2, heal=3)
    build.send(10, 11, 0, 0, position=1000)
    build.send(20, 21, 1, 1, position=2000)
    if end:
        build.fault(end, "broker-a-0", 120, 121, heal=130, fault="f2")
    build.send(140, 141, 2, 2, position=3000)
    assert bad(judged(drained(build, {0: 0, 1: None, 2: 2}, 3))) == [("hidden", 1, "")]


def test_what_has_no_place_behind_a_hidden_one_is_hidden_too_if_the_log_went_on() -> None:
    """The queue is recovered to @3, and 7 gets the place of 6, whose record lies before it in the log."""
    build = cut_then("cut_power")
    build.ops[-1]["offset"] = 3
    assert bad(judged(drained(build, {0: 0, 1: 4, 2: None, 3: 7}, 4))) == [("hidden", 2, "stale-units")]


def test_one_damaged_answer_for_many_offsets_hides_nothing_that_is_found_alone() -> None:
    assert bad(judged(drained(cut_then("kill"), {**ALL_BUT_5, 2: 5}, 5))) == []


def test_what_is_sent_after_the_last_end_may_get_a_place_that_an_old_unit_holds() -> None:
    build = cut_then("cut_power")
    assert bad(judged(drained(build, {0: 0, 1: 4, 2: 5, 3: 6, 4: None}, 5))) == [("hidden", 1, "stale-units")]


def test_a_damaged_answer_for_many_that_is_not_looked_into_hides_nothing() -> None:
    """As an older drain did: it went on behind all that it had asked for."""
    build = cut_then("kill")
    build.op("drain", 900, 901, DAMAGED_ANSWER, queue=0, offset=0, outcome="fail")
    build.drain(902, 903, 4, [7])
    build.drained(990, 5)
    assert "hidden" not in [kind for kind, *_ in bad(judged(build))]


MESSAGE: dict[str, object] = {"process": 0, "sequence": 0, "sharding_key": "", "tags": "", "kind": "", "due_ns": -1}


def sector_at(byte: int, size: int, second: int) -> list[tuple[str, int, str]]:
    """Message 0 at 0, 1 at 1000, 2 at *second*; a sector goes bad; the log has grown by what nobody was told of, when
    message 3 is stored at 5000. The places of 1 and 2 hold no records."""
    build = Build()
    for message in range(4):
        build.messages.append({**MESSAGE, "message": message, "size": size})
    for message, position in enumerate((0, 1000, second)):
        build.send(10 * message, 10 * message + 1, message, message, position=position)
    build.fault("flip_bits", "broker-a-0", 50, 51, heal=60)
    next(e for e in build.events if e["step"] == "probe")["detail"] = f'{{"position": {byte}}}'
    build.send(140, 141, 3, 3, position=5000)
    return bad(judged(drained(build, {0: 0, 1: None, 2: None, 3: 3}, 4)))


@pytest.mark.parametrize(
    ("byte", "size", "second", "hidden"),
    [
        (1600, 700, 3000, 0),  # the body of 1 reaches so far
        (1500, 200, 1400, 1),  # in 2, so nothing is told of 1
        (1350, 200, 1380, 0),  # no other record fits between 1 and 2
        (1600, 200, 3000, 1),  # 1 is not that long, as far as is known
        (4000, 200, 3000, 2),  # behind both, as far as is known
    ],
)
def test_what_held_the_bad_sector_or_lay_behind_it_is_lost_and_not_hidden(
    byte: int, size: int, second: int, hidden: int
) -> None:
    assert sum(count for kind, count, _ in sector_at(byte, size, second) if kind == "hidden") == hidden


def test_an_old_unit_may_point_at_a_record_of_another_queue_where_all_are_of_one_length() -> None:
    """Message 5 is in the log, and whoever asks another queue gets it."""
    build = drained(cut_then("kill"), {0: 0, 1: 4, 3: 6, 4: 7}, 5)
    op = build.op("drain", 980, 981, "FOUND", queue=0, offset=2, count=1)
    build.reads.append({"op": op, "position": 0, "offset": 2, "message": -1, "detail": "message 5 of t/1"})
    verdict = judged(build)
    assert ("hidden", 1, "stale-units") in bad(verdict)
    phantom = next(a for a in verdict.anomalies if a.kind == "phantom")
    assert "got message 5 of t/1" in phantom.sentence
    assert phantom.details["mechanism"] == "stale-units"
    assert unexplained(verdict.anomalies) == []


@pytest.mark.parametrize("detail", ["message 5", "5 of t/1", "damaged: message 5 of t/1", ""])
def test_only_what_says_whose_it_is_counts_as_a_stray(detail: str) -> None:
    assert stray(detail) == -1
    assert stray(in_words(5, "t", 1)) == 5


def test_a_place_that_shows_a_message_of_another_queue_hides_its_own() -> None:
    """Message 5 was stored at @2; whoever asks gets a record of another queue, which is there in its own, too."""
    build = drained(cut_then("kill"), {0: 0, 1: 4, 3: 6, 4: 7}, 5)
    op = build.op("drain", 980, 981, "FOUND", queue=0, offset=2, count=1)
    build.reads.append({"op": op, "position": 0, "offset": 9, "message": -1, "detail": "message 6 of t/1"})
    verdict = judged(build)
    assert ("hidden", 1, "stale-units") in bad(verdict)
    assert "send m5" in next(a for a in verdict.anomalies if a.kind == "hidden").sentence


@pytest.mark.parametrize(("shown", "is_hidden"), [(1, True), (3, False)])
def test_a_place_that_shows_an_earlier_message_of_its_own_queue_hides_its_own(shown: int, is_hidden: bool) -> None:
    """Where @2 shows the record of @1 once more, message 5 is hidden. A record of behind it may stand there because the
    answer left message 5 out: that is for the check ``log``, and message 5 is lost without a known reason."""
    build = drained(cut_then("kill"), {0: 0, 1: 4, 3: 6, 4: 7}, 5)
    message = {1: 4, 3: 6}[shown]
    op = build.op("drain", 980, 981, "FOUND", queue=0, offset=2, count=1)
    build.reads.append({"op": op, "position": 0, "offset": shown, "message": message, "detail": ""})
    assert (("hidden", 1, "stale-units") in bad(judged(build))) is is_hidden
