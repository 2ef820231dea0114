"""Which NameServer a client asks, and whom it asks next when that one is gone.

Question: one of several NameServers has died, or hangs. Which one answers the next question?

Model (RocketMQ: NettyRemotingClient#getAndCreateNameserverChannel). One of them is chosen, beginning anywhere, and kept
while its connection stands. Without a standing connection the next ones are tried in turn, each at most once a
question. A question that times out closes the connection, so the question after it goes to the next one.

Limits. Answers are not compared: two NameServers that know different things are asked by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from reference_impl.environment import Address, Environment
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Answer, CallFailed, Remoting

OnNameServerAnswer = Callable[[Environment, Address, Answer], None]


class NameServers:
    """The NameServers of one client."""

    def __init__(self, remoting: Remoting, addresses: tuple[Address, ...]) -> None:
        self._remoting = remoting
        self._addresses = list(addresses)
        self._turn = -1
        self.chosen: Address | None = None

    def shuffle(self, rng: Random) -> None:
        """Bring them into the client's own order (once, at the start)."""
        rng.shuffle(self._addresses)
        self._turn = rng.randrange(len(self._addresses)) if self._addresses else -1

    def ask(
        self, env: Environment, make: Callable[[], Command], timeout_ns: int, on_answer: OnNameServerAnswer
    ) -> None:
        """Ask one that can be reached. *make* gives a fresh request a try; the last failure is handed on."""
        if self.chosen is not None and self._remoting.is_connected(self.chosen):
            self._try(env, self.chosen, make, env.now() + timeout_ns, 0, on_answer)
        else:
            self._try_next(env, make, env.now() + timeout_ns, len(self._addresses), on_answer)

    def _try_next(
        self,
        env: Environment,
        make: Callable[[], Command],
        deadline_ns: int,
        tries_left: int,
        on_answer: OnNameServerAnswer,
    ) -> None:
        self._turn += 1
        self.chosen = self._addresses[self._turn % len(self._addresses)]
        self._try(env, self.chosen, make, deadline_ns, tries_left - 1, on_answer)

    def _try(
        self,
        env: Environment,
        address: Address,
        make: Callable[[], Command],
        deadline_ns: int,
        tries_left: int,
        on_answer: OnNameServerAnswer,
    ) -> None:
        def answered(env: Environment, answer: Answer) -> None:
            unreachable = isinstance(answer, CallFailed) and answer.kind == "connect"
            if unreachable and tries_left > 0 and env.now() < deadline_ns:
                self._try_next(env, make, deadline_ns, tries_left, on_answer)
            else:
                on_answer(env, address, answer)

        self._remoting.call(env, address, make(), max(1, deadline_ns - env.now()), answered, close_on_timeout=True)
