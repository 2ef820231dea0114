"""Bugs of producers that should leave slow brokers alone: they forget at once, or never come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.client import Attempt, Client, Producer
from reference_impl.defects.defect import ClientDefect, Defect, substitute
from reference_impl.environment import Environment
from reference_impl.wire.remoting import Answer

FOR_EVER_MS: Final = 10**9


class LearnsNothing(Producer):
    """What an attempt has shown of its broker is forgotten."""

    def _learn(self, env: Environment, attempt: Attempt, answer: Answer) -> None:
        """Nothing."""


class RestsForEver(Producer):
    """A rest that has begun never ends."""

    def _learn(self, env: Environment, attempt: Attempt, answer: Answer) -> None:
        super()._learn(env, attempt, answer)
        assert self._faults is not None
        measured = self._faults._faults[attempt.queue.broker_name]
        if measured.rested_until_ms > env.wall():
            measured.rested_until_ms += FOR_EVER_MS


def _in_producers(wrong: type[Producer]) -> Callable[[Client], None]:
    def in_client(client: Client) -> None:
        for part in client.parts:
            if isinstance(part, Producer):
                substitute(part, wrong)

    return in_client


AVOIDING: Final[dict[str, Defect]] = {
    "uses-whom-it-should-rest": ClientDefect(
        _in_producers(LearnsNothing),
        "a producer goes on sending to a broker that was slow or failed, although it should avoid it",
        "an attempt at a broker that had to rest, while others were there",
        "avoidance",
    ),
    "rests-for-ever": ClientDefect(
        _in_producers(RestsForEver),
        "a producer never sends again to a broker that was slow or failed once",
        "a broker that answers well and is passed over for good",
        "avoidance",
    ),
}
