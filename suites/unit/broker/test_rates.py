"""Windows of a minute, an hour and a day: figures that 4.9.7 gave for the same traffic, second by second."""

from __future__ import annotations

from collections.abc import Hashable

from reference_impl.broker.rates import RATES_TIMER, Figures, Rates
from reference_impl.environment import SECOND
from suites.fake_environment import FakeEnvironment


class Clock:
    """A broker that does nothing but sample."""

    def __init__(self) -> None:
        self.rates = Rates("DefaultCluster")
        self.env = FakeEnvironment(self)  # type: ignore[arg-type]
        self.rates.start(self.env)

    def on_timer(self, env: FakeEnvironment, key: Hashable) -> None:
        assert key == RATES_TIMER
        self.rates.on_tick(env)

    def samples(self, count: int) -> None:
        """Ten seconds each."""
        self.env.advance(count * 10 * SECOND)


def minute(rates: Rates, name: str, key: str) -> Figures:
    rate = rates.find(name, key)
    assert rate is not None
    return rate.figures(0)


def test_five_sends_one_pull_and_a_later_message() -> None:
    clock = Clock()
    rates = clock.rates
    for _ in range(5):
        rates.put("T1", 1, 121)
    rates.got("CG", "T1", 5, 605)
    assert minute(rates, "TOPIC_PUT_NUMS", "T1") == Figures(0.0, 0, 0.0)
    clock.samples(1)
    assert minute(rates, "TOPIC_PUT_NUMS", "T1") == Figures(1.0, 5, 0.5)
    assert minute(rates, "TOPIC_PUT_SIZE", "T1") == Figures(121.0, 605, 60.5)
    assert minute(rates, "GROUP_GET_NUMS", "T1@CG") == Figures(5.0, 5, 0.5)
    assert minute(rates, "BROKER_PUT_NUMS", "DefaultCluster") == Figures(0.0, 5, 0.5)
    rates.put("T1", 1, 120)
    rates.got("CG", "T1", 6, 725)
    clock.samples(1)
    assert minute(rates, "TOPIC_PUT_SIZE", "T1") == Figures(725 / 6, 725, 36.25)
    assert minute(rates, "GROUP_GET_NUMS", "T1@CG") == Figures(5.5, 11, 0.55)
    assert rates.taken_each_second("CG", "T1") == 0.55
    assert rates.taken_each_second("none", "T1") == 0.0


def test_a_minute_is_seven_samples_and_an_hour_begins_with_its_first() -> None:
    clock = Clock()
    rates = clock.rates
    rates.sent_back("CG", "T1")
    clock.samples(6)
    assert minute(rates, "SNDBCK_PUT_NUMS", "T1@CG").sum == 1
    clock.samples(1)
    assert minute(rates, "SNDBCK_PUT_NUMS", "T1@CG").sum == 0
    rate = rates.find("SNDBCK_PUT_NUMS", "T1@CG")
    assert rate is not None
    assert rate.figures(1).sum == 0
    clock.samples(53)
    assert (rate.figures(1).sum, rate.figures(2).sum) == (1, 0)
    clock.samples(300)
    assert (rate.figures(1).sum, rate.figures(2).sum) == (1, 1)
    clock.samples(60)
    assert (rate.figures(1).sum, rate.figures(2).sum) == (0, 1)
