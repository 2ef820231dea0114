"""Messages a second over three windows, and counts at midnight."""

from __future__ import annotations

from reference_impl.broker.mornings import DAY_MS, Mornings
from reference_impl.broker.throughput import Throughput, Totals
from reference_impl.environment import SECOND


def test_nothing_sampled_yet_is_zero() -> None:
    assert Throughput().table()["putTps"] == "0.0 0.0 0.0"


def test_windows_of_ten_seconds_a_minute_and_ten_minutes() -> None:
    throughput = Throughput()
    for tick in range(100):  # 100 messages in each ten seconds, then 500
        put = tick * 100 if tick < 99 else 98 * 100 + 500
        throughput.sample(tick * 10 * SECOND, Totals(put, tick * 10, tick * 5, tick * 20))
    table = throughput.table()
    last_minute = (98 * 100 + 500 - 93 * 100) / 60
    last_ten = (98 * 100 + 500 - 39 * 100) / 600
    assert table["putTps"] == f"50.0 {last_minute} {last_ten}"
    assert table["getTotalTps"] == "1.5 1.5 1.5"


def test_a_window_that_is_not_full_spans_what_there_is() -> None:
    throughput = Throughput()
    throughput.sample(0, Totals())
    throughput.sample(10 * SECOND, Totals(put=40))
    assert throughput.table()["putTps"] == "4.0 4.0 4.0"


def test_mornings_are_taken_at_midnight() -> None:
    mornings = Mornings()
    noon = 20_000 * DAY_MS + DAY_MS // 2
    mornings.look(noon, 5, 1)
    assert set(mornings.table().values()) == {0}
    mornings.look(noon + DAY_MS, 9, 2)
    mornings.look(noon + DAY_MS + 10_000, 10, 3)
    mornings.look(noon + 2 * DAY_MS, 20, 6)
    assert mornings.table() == {
        "msgPutTotalYesterdayMorning": 9,
        "msgPutTotalTodayMorning": 20,
        "msgGetTotalYesterdayMorning": 2,
        "msgGetTotalTodayMorning": 6,
    }
