"""All checks of a run in one call.

Question: did this run keep the contract of its mode?

Model. Every check is guarded: an exception in it is UNKNOWN with its traceback. The verdict of the run is the worst of
the list (:func:`checkers.verdict.worst`). The order of the list is the order of the report: what may be believed first
(``faults``), then what was lost (``accounting``), what contradicts itself (``log``), what slaves hold (``replicas``),
who was not served (``availability``), what groups were told and given, and by whom.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from checkers.history.facts import RunFacts
from checkers.history.groups import groups_of, lanes_of
from checkers.history.history import History
from checkers.history.listeners import has_listeners
from checkers.history.observations import acts_of
from checkers.runs.accounting import check_accounting
from checkers.runs.acknowledged import check_promised
from checkers.runs.answers import check_answers, has_answers
from checkers.runs.availability import check_availability
from checkers.runs.avoidance import check_avoidance, has_avoidance
from checkers.runs.broadcasts import check_broadcasts, has_broadcasts
from checkers.runs.broker_disks import check_broker_disks, has_broker_disks
from checkers.runs.delays import check_delays, has_delays
from checkers.runs.disk_space import check_disk_space, has_disk_space
from checkers.runs.elections import check_elections, has_elections
from checkers.runs.fault_efficacy import check_faults
from checkers.runs.filters import check_filters, has_filters
from checkers.runs.group_deliveries import check_deliveries
from checkers.runs.group_offsets import check_offsets
from checkers.runs.key_order import check_order, has_keys
from checkers.runs.listener_deliveries import check_listeners
from checkers.runs.locks import check_locks, has_locks
from checkers.runs.log import check_logs
from checkers.runs.masters import check_masters
from checkers.runs.member_logs import check_member_logs, has_member_logs
from checkers.runs.minimum_offset import check_minimum, has_minimum
from checkers.runs.owners import check_owners, has_owners
from checkers.runs.propagation import check_propagation
from checkers.runs.quorum_waits import check_quorum_waits, has_quorum_waits
from checkers.runs.redelivery import check_redelivery
from checkers.runs.replicas import check_replicas
from checkers.runs.replication_links import check_replication_links, has_replication_links
from checkers.runs.replies import check_replies, has_requests
from checkers.runs.retries import check_retries, has_dead_letters
from checkers.runs.routes import check_routes
from checkers.runs.slave_lag import check_slave_lag
from checkers.runs.slave_reads import check_freshness, has_slave_reads
from checkers.runs.slave_refusals import check_slaves
from checkers.runs.store_waits import check_store_waits, has_store_waits
from checkers.runs.suggestions import check_suggestions, has_suggestions
from checkers.runs.transactions import check_transactions, has_transactions
from checkers.verdict import Outcome, Verdict, guarded

Check = Callable[[History, RunFacts], Verdict]

CHECKS: Final[dict[str, Check]] = {
    "faults": lambda history, facts: check_faults(facts),
    "accounting": check_accounting,
    "log": check_logs,
    "replicas": check_replicas,
    "availability": check_availability,
    "routes": check_routes,
    "avoidance": check_avoidance,
    "elections": check_elections,
    "member-logs": check_member_logs,
    "broker-disks": check_broker_disks,
    "quorum-waits": check_quorum_waits,
    "store-waits": check_store_waits,
    "disk-space": check_disk_space,
    "masters": check_masters,
    "slave-lag": check_slave_lag,
    "replication-links": check_replication_links,
    "propagation": check_propagation,
    "answers": check_answers,
    "promised": check_promised,
    "offsets": check_offsets,
    "deliveries": check_deliveries,
    "listeners": check_listeners,
    "order": check_order,
    "delays": check_delays,
    "filters": check_filters,
    "owners": check_owners,
    "redelivery": check_redelivery,
    "retries": check_retries,
    "transactions": check_transactions,
    "replies": check_replies,
    "broadcasts": check_broadcasts,
    "locks": check_locks,
    "freshness": check_freshness,
    "suggestions": check_suggestions,
    "minimum": check_minimum,
    "slaves": check_slaves,
}
"""Every check by name, in the order of the report."""

NEEDS: Final[dict[str, Callable[[History, RunFacts], bool]]] = {
    "masters": lambda history, _: "master" in history.ops.f.values,
    "slave-lag": lambda history, _: "end" in history.ops.f.values,
    "propagation": lambda history, _: any(act.shows or not act.name for act in acts_of(history)),
    "answers": has_answers,
    "avoidance": has_avoidance,
    "elections": has_elections,
    "member-logs": has_member_logs,
    "broker-disks": has_broker_disks,
    "quorum-waits": has_quorum_waits,
    "store-waits": has_store_waits,
    "disk-space": has_disk_space,
    "replication-links": has_replication_links,
    "routes": lambda history, _: "route" in history.ops.f.values,
    "replicas": lambda history, _: "replica" in history.ops.f.values,
    "offsets": lambda history, _: bool(groups_of(history)),
    "deliveries": lambda history, _: any(len(lane.pulls) for lane in lanes_of(history)),
    "listeners": lambda history, _: has_listeners(history),
    "order": has_keys,
    "delays": has_delays,
    "filters": has_filters,
    "owners": has_owners,
    "redelivery": lambda history, _: has_listeners(history),
    "retries": has_dead_letters,
    "transactions": has_transactions,
    "replies": has_requests,
    "broadcasts": has_broadcasts,
    "locks": has_locks,
    "freshness": has_slave_reads,
    "suggestions": has_suggestions,
    "minimum": has_minimum,
    "slaves": lambda history, _: "stray_send" in history.ops.f.values,
}
"""Checks that apply only where the history tells of such things."""


def check_all(history: History, facts: RunFacts) -> list[Verdict]:
    """Every check of *history* under *facts*; never empty. An empty history is UNKNOWN, not checked at all."""
    if not len(history.ops):
        return [Verdict("history", Outcome.UNKNOWN, reasons=("the history is empty: nothing happened",))]
    asked = [name for name in CHECKS if name not in NEEDS or NEEDS[name](history, facts)]
    asked = [name for name in asked if name != "promised" or facts.expect.get("sends")]
    return [guarded(name, lambda check=CHECKS[name]: check(history, facts)) for name in asked]  # type: ignore[misc]
