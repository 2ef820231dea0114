"""The table of client guarantees: every kind is one of its check, every excuse a harm, and checks ask it."""

from __future__ import annotations

import pytest

from checkers.client_guarantees import client_guarantees
from checkers.contract import known_modes
from checkers.runs.checks import CHECKS
from checkers.runs.kinds import KINDS
from checkers.runs.transactions import check_transactions
from checkers.verdict import Outcome
from suites.unit.checkers.runs.test_listeners import judged
from suites.unit.checkers.runs.test_transactions import committed


@pytest.mark.parametrize("guarantee", client_guarantees().values(), ids=lambda guarantee: guarantee.kind)
def test_a_guarantee_is_of_a_check_that_can_fail_so(guarantee) -> None:
    assert guarantee.kind in KINDS[guarantee.check]
    assert guarantee.check in CHECKS
    assert set(guarantee.modes) <= set(known_modes())
    assert guarantee.words.endswith(".")
    assert guarantee.source


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
