"""Bugs of a slave's reports: more than it has, or not at all."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from reference_impl.defects.defect import BrokerDefect, substitute
from reference_impl.environment import MS, Environment
from reference_impl.replication.slave import HaClient

WRITE_NS: Final = 500 * MS
_WRITE: Final = ("ha-client", "write")


class WritesLater(HaClient):
    """What is received is reported at once, and written up to half a second later."""

    unwritten: list[tuple[int, bytes]]

    def stop(self, env: Environment) -> None:
        env.cancel_timer(_WRITE)
        super().stop(env)

    @property
    def _received_to(self) -> int:
        if self.unwritten:
            offset, body = self.unwritten[-1]
            return offset + len(body)
        return super()._received_to

    def _write(self, env: Environment, offset: int, body: bytes) -> None:
        self.unwritten.append((offset, body))
        env.set_timer(_WRITE, WRITE_NS)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if key != _WRITE:
            return super().on_timer(env, key)
        for offset, body in self.unwritten:
            super()._write(env, offset, body)
        self.unwritten.clear()
        return True


class ReportsOnlyProgress(HaClient):
    """Who has followed once has nothing to say until something new comes."""

    _has_followed = False

    def _take(self, env: Environment, offset: int, body: bytes) -> None:
        self._has_followed = True
        super()._take(env, offset, body)

    def _is_report_due(self, now: int) -> bool:
        return not self._has_followed and super()._is_report_due(now)


REPORTING: Final = {
    "slave-acks-in-memory": BrokerDefect(
        lambda broker: substitute(broker.replication.client, WritesLater, unwritten=[]),
        "a slave reports what it has received, and writes it into its log up to half a second later",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("R4", "A26"),
        "rocketmq#3015: a slave reports an offset ahead of its log",
    ),
    "slave-reports-only-progress": BrokerDefect(
        lambda broker: substitute(broker.replication.client, ReportsOnlyProgress),
        "a slave that has followed once does not say where it is when it connects again",
        "a slave that never follows again after its master was away",
        "replicas",
        ("B25",),
        "rocketmq#6306: the state of a connection is taken from the one before; it stays in its handshake and the "
        "slave falls behind",
    ),
}
