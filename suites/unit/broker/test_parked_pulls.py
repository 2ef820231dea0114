"""Long polling: what wakes a parked pull, and what does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_impl.broker.parking import Parked, ParkedPulls

A, B = frozenset({1}), frozenset({2})


def parked(
    offset: int, codes: frozenset[int] | None = None, *, link: int = 1, at_ms: int = 0, name: str = "p"
) -> Parked:
    return Parked(link, name, offset, codes, at_ms, 15_000)


def test_a_message_wakes_those_who_want_it() -> None:
    pulls: ParkedPulls[str] = ParkedPulls()
    for name, codes in [("any", None), ("a", A), ("b", B)]:
        pulls.park("T", 0, parked(5, codes, name=name))
    pulls.park("T", 1, parked(5, name="other queue"))
    assert [pull.request for pull in pulls.arrived("T", 0, 6, 1)] == ["any", "a"]
    assert pulls.arrived("T", 0, 6, 1) == []
    assert len(pulls) == 2


def test_a_message_below_the_offset_asked_for_wakes_nobody() -> None:
    pulls: ParkedPulls[str] = ParkedPulls()
    pulls.park("T", 0, parked(5))
    assert pulls.arrived("T", 0, 5, 1) == []
    assert len(pulls.arrived("T", 0, 6, 1)) == 1


def test_the_sweep_takes_what_is_over_or_has_grown() -> None:
    pulls: ParkedPulls[str] = ParkedPulls()
    pulls.park("T", 0, parked(5, A, name="grown"))
    pulls.park("T", 1, parked(5, at_ms=0, name="over"))
    pulls.park("T", 2, parked(5, at_ms=1, name="waits"))
    ends = {("T", 0): 6, ("T", 1): 5, ("T", 2): 5}
    assert [pull.request for pull in pulls.sweep(15_000, lambda *queue: ends[queue])] == ["grown", "over"]
    assert len(pulls) == 1


def test_a_connection_that_ended_is_forgotten() -> None:
    pulls: ParkedPulls[str] = ParkedPulls()
    pulls.park("T", 0, parked(5, link=1, name="gone"))
    pulls.park("T", 0, parked(5, link=2, name="here"))
    assert [pull.request for pull in pulls.forget(1)] == ["gone"]
    assert [pull.request for pull in pulls.arrived("T", 0, 6, 0)] == ["here"]


def test_too_many_cost_the_connection_that_has_them() -> None:
    pulls: ParkedPulls[str] = ParkedPulls(bytes_max=100)
    assert pulls.park("T", 0, parked(5, link=2, name="one of another")) == []
    given_up = [pull for number in range(100) for pull in pulls.park("T", number % 3, parked(5, name=str(number)))]
    assert [pull.request for pull in given_up] == [str(number) for number in range(100)]
    assert [pull.request for pull in pulls.arrived("T", 0, 6, 0)] == ["one of another"]
    assert len(pulls) == 0


@given(st.lists(st.tuples(st.sampled_from(["park", "arrive", "sweep"]), st.integers(0, 3), st.sampled_from([1, 2]))))
def test_every_parked_pull_ends_exactly_once(steps: list[tuple[str, int, int]]) -> None:
    pulls: ParkedPulls[int] = ParkedPulls()
    ends, woken, count = dict.fromkeys(range(4), 0), [], 0
    for what, queue, code in steps:
        if what == "park":
            pulls.park("T", queue, Parked(1, count, ends[queue], frozenset({code}), 0, 15_000))
            count += 1
        elif what == "arrive":
            ends[queue] += 1
            woken += pulls.arrived("T", queue, ends[queue], code)
        else:
            woken += pulls.sweep(0, lambda _topic, queue: ends[queue])
    woken += pulls.sweep(15_000, lambda _topic, queue: ends[queue])
    assert sorted(pull.request for pull in woken) == list(range(count))
    assert len(pulls) == 0
