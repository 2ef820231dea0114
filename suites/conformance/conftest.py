"""What the conformance tests came to, written down: the source of ``docs/conformance.md``.

Question: which probe was answered by whom, when it really ran?

Model. A test says which rows of ``catalogue.yaml`` it answers, and who is asked:

    @pytest.mark.conformance("P43", "W49", lane="simulated")

*lane* is a column of the page; ``"target"`` means what ``--target`` names, on real processes. With
``MQCHAOS_RECORD_CONFORMANCE=1`` in the environment every such test that ran replaces its own entry in
``suites/recorded/conformance.jsonl``; a skip never replaces what once ran. ``test_page.py`` sees to it that the tests
are still there, and that ``scripts/conformance_page.py`` has made the page of it.
"""

from __future__ import annotations

import json
import os

import pytest

from harness.runfolder import commit
from harness.worlds import versions_in
from suites import recorded
from suites.conformance.verdicts import decides

RECORD = "MQCHAOS_RECORD_CONFORMANCE"
RESULTS = recorded.FOLDER / "conformance.jsonl"
LANES = ("simulated", "processes")
"""And every release of RocketMQ, as ``--target`` names it."""

pytest.register_assert_rewrite(
    "suites.conformance.broker.probes", "suites.conformance.broker.peer", "suites.conformance.replication.pair"
)

_entries = pytest.StashKey[list[dict[str, object]]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_entries] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Write rows and lane of a test where they reach the process that reports (also under xdist)."""
    for item in items:
        for mark in item.iter_markers("conformance"):
            lane = mark.kwargs.get("lane", "simulated")
            if lane == "target":
                target = config.getoption("--target")
                lane = "processes" if target == "reference" else target
            assert lane in LANES or versions_in(lane), f"{item.nodeid}: no lane {lane!r}"
            item.user_properties.append(("conformance", json.dumps([mark.args, lane])))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    """One entry a test and lane."""
    report = yield
    for name, value in report.user_properties:
        if name == "conformance" and decides(call.when, call.excinfo):
            rows, lane = json.loads(value)
            test = report.nodeid.removeprefix("suites/conformance/")
            item.config.stash[_entries].append({"test": test, "rows": rows, "lane": lane, "outcome": report.outcome})
    return report


def _is_there(test: str) -> bool:
    """False for a probe that has been renamed."""
    from suites.conformance.broker.probes import LIVES, PROBES

    name, _, parameter = test.partition("[")
    in_table = name.endswith(("::test_probe", "::test_life")) and parameter
    return not in_table or parameter.rstrip("]") in {str(probe) for probe in PROBES + LIVES}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Merge what ran into the file."""
    fresh = session.config.stash[_entries]
    if os.environ.get(RECORD) != "1" or not fresh:
        return
    old = recorded.read(RESULTS)
    ran = {(entry["test"], entry["lane"]) for entry in fresh}
    kept = [entry for entry in old if (entry["test"], entry["lane"]) not in ran and _is_there(entry["test"])]
    now = [entry | {"commit": commit()} for entry in fresh]
    recorded.write(RESULTS, kept + now, lambda entry: (entry["test"], entry["lane"]))
