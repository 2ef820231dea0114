"""The page of conformance: made of the catalogue and of what ran, up to date, and of tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from faults.errors import InjectionFailed
from harness.errors import BackendUnavailable
from reference_impl.wire.frame import RemoteWireError
from scripts.conformance_page import COLUMNS, PAGE, page, read_catalogue, read_results
from suites.conformance.broker.probes import LIVES, PROBES
from suites.conformance.official.comparison import chapter
from suites.conformance.verdicts import decides

HERE = Path(__file__).parent


def entry(*rows: str, lane: str = "simulated", outcome: str = "passed", test: str = "f.py::t") -> dict[str, object]:
    return {"test": test, "rows": list(rows), "lane": lane, "outcome": outcome}


def test_the_committed_page_is_what_its_sources_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read_catalogue(), read_results(), chapter()), (
        "run scripts/conformance_page.py"
    )


def test_every_recorded_test_is_still_there() -> None:
    probes = {str(probe) for probe in PROBES + LIVES}
    for found in read_results():
        file, _, rest = found["test"].partition("::")
        name, _, parameter = rest.partition("[")
        name = name.rpartition("::")[2]  # within its class
        assert f"def {name}(" in (HERE / file).read_text(encoding="utf-8"), found["test"]
        if "test_probes_" in file and parameter:
            assert parameter.rstrip("]") in probes, found["test"]


def test_every_probe_of_the_tables_is_a_row_and_was_recorded_in_the_simulator() -> None:
    recorded = {row for found in read_results() if found["lane"] == "simulated" for row in found["rows"]}
    named = {row for probe in PROBES + LIVES for row in probe.ids}
    assert named <= set(read_catalogue())
    assert {row for p in PROBES + LIVES if p.needs not in ("processes", "two_disks") for row in p.ids} <= recorded


def test_a_column_without_a_result_says_why_or_that_it_was_not_put() -> None:
    catalogue = {"P01": {"act": "a", "see": "s", "not_run": {"processes": "no clock"}}}
    (row,) = [line for line in page(catalogue, [entry("P01")]).splitlines() if line.startswith("| P01")]
    assert row == "| P01 | a | s | holds | – no clock | not put | not put | not put |  |"


def test_several_tests_are_counted_and_a_failed_one_is_named() -> None:
    catalogue = {"P01": {"act": "a", "see": "s"}}
    text = page(catalogue, [entry("P01", test="f.py::one"), entry("P01", test="f.py::two")])
    assert "| holds ×2 |" in text
    text = page(catalogue, [entry("P01"), entry("P01", outcome="failed", test="f.py::test_that")])
    assert "**differs**: test_that" in text
    assert re.search(r"\| reference, simulated \| 0 of 1 \| 0 \| 2 \|", text)


def test_every_probe_of_the_catalogue_has_one_row_in_one_chapter() -> None:
    text = page(read_catalogue(), [])
    assert {row: text.count(f"\n| {row} |") for row in read_catalogue()} == dict.fromkeys(read_catalogue(), 1)


@pytest.mark.parametrize(
    ("error", "is_decided"),
    [
        (AssertionError("code 1"), True),
        (KeyError("queueOffset"), True),
        (RemoteWireError("no frame"), True),
        (BackendUnavailable("no Java"), False),
        (InjectionFailed("no tracer"), False),
        (OSError("port taken"), False),
    ],
)
def test_an_answer_that_breaks_a_test_is_written_down_and_a_question_that_was_not_put_is_not(
    error: Exception, is_decided: bool
) -> None:
    with pytest.raises(type(error)) as caught:
        raise error
    assert decides("call", caught) is is_decided
    assert not decides("setup", caught)
    with pytest.raises(pytest.skip.Exception) as skipped:
        pytest.skip("not here")
    assert not decides("call", skipped)
    assert (decides("call", None), decides("teardown", None)) == (True, False)


def test_every_lane_of_a_result_is_a_column() -> None:
    assert {found["lane"] for found in read_results()} <= {lane for lane, _ in COLUMNS}
