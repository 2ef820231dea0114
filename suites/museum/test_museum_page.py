"""The page of the museum: what was measured covers every planted bug, and the page is what its sources make."""

from __future__ import annotations

from suites.museum.exhibits import EXHIBITS
from suites.museum.hunt import SEEDS_MAX, read_findings, read_twins
from suites.museum.page import PAGE, page


def test_every_bug_was_found_within_the_seeds_that_its_twin_passed():
    findings, twins = read_findings(), read_twins()
    assert set(findings) == set(EXHIBITS)
    for name, finding in findings.items():
        twin = twins[EXHIBITS[name].scenario]
        assert finding.found, name
        assert finding.first[0] <= SEEDS_MAX
        assert twin.outcomes == {"PASS": twin.seeds}, name
        assert twin.seeds >= max(finding.seeds, *finding.first)


def test_the_page_is_what_its_sources_make():
    assert PAGE.read_text(encoding="utf-8") == page()
