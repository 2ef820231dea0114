"""The table of client promises: every kind is one of its check, every excuse a harm, and checks ask it."""

from __future__ import annotations

import pytest

from checkers.client_promises import client_promises
from checkers.contract import known_modes
from checkers.runs.checks import CHECKS
from checkers.runs.kinds import KINDS
from checkers.runs.transactions import check_transactions
from checkers.verdict import Outcome
from suites.unit.checkers.runs.test_listeners import judged
from suites.unit.checkers.runs.test_transactions import committed


@pytest.mark.parametrize("promise", client_promises().values(), ids=lambda promise: promise.kind)
def test_a_promise_is_of_a_check_that_can_fail_so(promise) -> None:
    assert promise.kind in KINDS[promise.check]
    assert promise.check in CHECKS
    assert set(promise.modes) <= set(known_modes())
    assert promise.words.endswith(".")
    assert promise.source


@pytest.mark.parametrize(
    ("verb", "node", "outcome"),
    [
        ("kill", "broker-a-0", Outcome.FAIL),
        ("cut_power", "broker-a-0", Outcome.PASS),
        ("kill", "client-2", Outcome.FAIL),
    ],
)
def test_only_a_harm_of_the_table_excuses_and_only_of_servers(verb: str, node: str, outcome: Outcome) -> None:
    run = committed()
    run.half(30, 3)
    run.fault(verb, node, 50, 51, heal=1_000)
    assert judged(check_transactions, run).outcome is outcome
