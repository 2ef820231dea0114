"""Bugs of puts that wait: for a force, or for a slave, with nobody to end it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from reference_impl.defects.defect import BrokerDefect, Defect, StoreDefect, substitute
from reference_impl.environment import Environment
from reference_impl.replication.group_transfer import GroupTransfer
from reference_impl.store.accepting import Acceptance, Accepted, Refused
from reference_impl.store.flush import GroupCommit
from reference_impl.store.request import PutRequest


class WaitsForTheForce(GroupCommit):
    """However long it takes."""

    def _expire(self, env: Environment) -> None:
        """Nothing: who waits goes on."""


class WaitsForAll(Acceptance):
    """WAIT=false is not looked at."""

    def accept(self, request: PutRequest) -> Accepted | Refused:
        accepted = super().accept(request)
        if isinstance(accepted, Refused):
            return accepted
        return accepted._replace(waits=request.wait)


class WaitsForTheSlave(GroupTransfer):
    """However long it takes."""

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        return isinstance(key, tuple) and key[:1] == ("ha-wait",)


WAITING: Final[dict[str, Defect]] = {
    "waits-for-what-need-not": StoreDefect(
        lambda store: substitute(store._acceptance, WaitsForAll),
        "a message that is sent with WAIT=false waits for its force all the same",
        "an answer that comes when forces go on again, to a send that waits for nothing",
        "answers",
    ),
    "waits-for-the-force": StoreDefect(
        lambda store: substitute(store.flush, WaitsForTheForce),
        "a put of a synchronously flushing broker waits for its force without an end",
        "sends that nobody answers while a disk hangs",
        "store-waits",
    ),
    "waits-for-the-slave": BrokerDefect(
        lambda broker: substitute(broker.replication.transfer, WaitsForTheSlave),
        "a put of a synchronous master waits for a slave that says nothing without an end",
        "sends that nobody answers while a slave is frozen",
        "store-waits",
    ),
}
