"""Bugs of the timer wheel: slots that begin instead of ending, and what a start makes of them."""

from __future__ import annotations

from typing import Final

from reference_impl.broker.timer_wheel import Mark, TimerWheel
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Environment


class FiresAtTheBegin(TimerWheel):
    """A slot is delivered when it begins."""

    def _is_over(self, env: Environment, slot_ms: int) -> bool:
        return slot_ms <= self._slot_ms(env.wall())


class BeginsNow(TimerWheel):
    """A start reads slots from now on."""

    def load(self, env: Environment) -> None:
        super().load(env)
        end = self._store.max_offset("rmq_sys_wheel_timer", 0)
        self.mark = Mark(self._slot_ms(env.wall()), end, end)


class BeginsAtTheBegin(TimerWheel):
    """A start reads all slots."""

    def load(self, env: Environment) -> None:
        self.mark = Mark()


TIMING: Final = {
    "timers-early": BrokerDefect(
        lambda broker: substitute(broker.state.timers, FiresAtTheBegin),
        "a slot of the timer wheel is delivered when it begins, not when it is over",
        "a listener that is given a message up to a second before its time",
        "delays",
    ),
    "timers-forgotten-at-start": BrokerDefect(
        lambda broker: substitute(broker.state.timers, BeginsNow),
        "a broker that starts begins with the slot of now: what came due while it was dead stays parked",
        "an acknowledged message with a time of its own that no listener is given",
        "delays",
        ("B07",),
        "rocketmq#7577, #8006: timers that came due while their master was away are never delivered",
    ),
    "timers-all-again": BrokerDefect(
        lambda broker: substitute(broker.state.timers, BeginsAtTheBegin),
        "a broker that starts does not look at the checkpoint of its timers",
        "messages that were delivered long before a kill and are delivered again after it",
        "delays",
        ("B06",),
        "rocketmq#7601, #5061: the checkpoint's last read time was not taken over, and timers were replayed",
    ),
}
