"""Bugs of a broker among its NameServers: with the wrong id, or with only some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_impl.broker.registration import OnAnswered, Registration
from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import Address, Environment
from reference_impl.wire.bodies import TopicConfigTable
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Answer, CallFailed


class RegistersAsMaster(Registration):
    """The first registration goes out before the broker knows its id."""

    _is_starting = False

    def start(self, env: Environment) -> None:
        self._is_starting = True
        super().start(env)
        self._is_starting = False

    def _request(self, table: TopicConfigTable) -> Command:
        request = super()._request(table)
        if self._is_starting:
            request.fields = {**request.fields, "brokerId": "0"}
        return request


class AsksInTurn(Registration):
    """Nobody else is told before the first has answered, nobody at all if it does not."""

    def _ask_all(self, env: Environment, request: Command, answered: OnAnswered) -> None:
        self._ask_in_turn(env, request, self.config.nameservers, answered)

    def _ask_in_turn(
        self, env: Environment, request: Command, servers: Sequence[Address], answered: OnAnswered
    ) -> None:
        def then(env: Environment, server: Address, answer: Answer) -> None:
            answered(env, server, answer)
            if not isinstance(answer, CallFailed):
                self._ask_in_turn(env, request, servers[1:], answered)

        if servers:
            self._ask(env, request, servers[0], then)


REGISTERING: Final = {
    "registers-before-role": BrokerDefect(
        lambda broker: substitute(broker.registration, RegistersAsMaster),
        "a slave registers with brokerId 0 when it starts, and with its own ten seconds later",
        "a slave that NameServers list as master although nobody had made it one",
        "masters",
        ("B01",),
        "rocketmq#1464: a broker that comes back registers as master before it knows its role, and hides the real one",
    ),
    "registration-in-turn": BrokerDefect(
        lambda broker: substitute(broker.registration, AsksInTurn),
        "a broker registers with one NameServer after the other, and with none behind one that does not answer",
        "a broker that is well and missing in the routes of a NameServer that is well",
        "routes",
        ("C43",),
        "bookkeeper#1067: one node that does not answer blocks what the others could do",
    ),
}
