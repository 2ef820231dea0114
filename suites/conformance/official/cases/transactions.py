"""Transactions: commit, rollback, and what a broker asks when nobody says."""

from __future__ import annotations

from suites.conformance.official.case import BOTH, Observation, case
from suites.conformance.official.cases.sending import listener, message
from suites.conformance.official.place import SECOND, OfficialClient, Place

CHECK_NS = 40 * SECOND
QUIET_NS = 3 * SECOND


def sent(place: Place, client: OfficialClient, transaction: str) -> list[str]:
    topic = place.topic()
    opened = client.open("transaction", group=place.unique("T"), timeout_ms=10_000)
    listener(client, place, topic)
    place.wait(lambda: bool(client.assigned))
    done = client.do("send", **{"from": opened}, transaction=transaction, message=message(topic, b"half"))
    return [done.status, done.transaction_id and "id"]


@case(BOTH)
def transaction_commit(place: Place, client: OfficialClient) -> Observation:
    """Committed at once: delivered."""
    status = sent(place, client, "commit")
    client.wait_given(1)
    return [*status, client.bodies()]


@case(BOTH)
def transaction_rollback(place: Place, client: OfficialClient) -> Observation:
    """Rolled back: not delivered."""
    status = sent(place, client, "rollback")
    place.pass_time(QUIET_NS)
    return [*status, client.bodies()]


@case(BOTH)
def transaction_checked_and_committed(place: Place, client: OfficialClient) -> Observation:
    """Nobody says: the broker asks, and the answer is commit."""
    client.state = lambda line: "commit"
    status = sent(place, client, "unknown")
    client.wait_given(1, CHECK_NS)
    return [*status, client.bodies(), bool(client.checked)]


@case(BOTH)
def transaction_checked_and_rolled_back(place: Place, client: OfficialClient) -> Observation:
    """Nobody says: the broker asks, and the answer is rollback."""
    client.state = lambda line: "rollback"
    status = sent(place, client, "unknown")
    place.wait(lambda: bool(client.checked), CHECK_NS)
    place.pass_time(QUIET_NS)
    return [*status, client.bodies(), bool(client.checked)]


@case(BOTH)
def transaction_checked_twice(place: Place, client: OfficialClient) -> Observation:
    """The first check learns nothing, the second one the commit."""
    client.state = lambda line: "unknown" if len(client.checked) == 1 else "commit"
    status = sent(place, client, "unknown")
    client.wait_given(1, CHECK_NS)
    return [*status, client.bodies(), len(client.checked) >= 2]
