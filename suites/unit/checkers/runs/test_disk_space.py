"""Disks that fill up: which sends may be taken, which refused, and whether files must be gone."""

from __future__ import annotations

import pytest

from checkers.runs.disk_space import check_disk_space, has_disk_space
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

SECOND = 1_000
FILE = 1_000
PASS = Outcome.PASS


class Filled:
    """The disk of broker-a-0 is filled from second 100 on, for so long."""

    def __init__(self, free: str, lasts_s: int = 60, **settings: str) -> None:
        self.build = Build()
        self.settings = {"mappedFileSizeCommitLog": str(FILE), **settings}
        self.build.event(0, "node", "started", "broker-a-0")
        effects = [{"does": "fills-disk", "value": free, "at": "act"}]
        at = 100 * SECOND
        self.build.event(
            at, "fault", "resolve", "broker-a-0", "f1", 1, do="fill_disk", left=["broker-a-0"], effects=effects
        )
        self.build.event(at, "fault", "inject", "broker-a-0", "f1")
        self.build.event(at, "fault", "probe", "broker-a-0", "f1", 1)
        self.build.event(at + lasts_s * SECOND, "fault", "heal", "broker-a-0", "f1")
        self.build.event(at + lasts_s * SECOND, "fault", "heal_probe", "broker-a-0", "f1", 1)
        self.messages = 0

    def sends(self, second: float, *, stored: bool = True) -> Filled:
        message, self.messages = self.messages, self.messages + 1
        status = "SEND_OK" if stored else "SERVICE_NOT_AVAILABLE"
        ms = int(second * SECOND)
        self.build.send(
            ms, ms + 1, message, message if stored else -1, status, position=FILE * message if stored else None
        )
        return self

    def begins(self, offset: int, second: int = 170) -> Filled:
        self.build.query_min(second * SECOND, second * SECOND + 1, offset)
        return self

    def verdict(self) -> Verdict:
        history, facts = self.build.history(), self.build.facts(nodes={"broker-a-0": self.settings, "broker-b-0": {}})
        assert has_disk_space(history, facts)
        return check_disk_space(history, facts)

    def kinds(self) -> list[str]:
        return [anomaly.kind for anomaly in self.verdict().anomalies]


@pytest.mark.parametrize(
    ("free", "second", "stored", "kinds"),
    [
        ("5%", 111.2, True, []),
        ("5%", 111.3, True, ["taken-when-full"]),
        ("5%", 159.9, True, ["taken-when-full"]),
        ("5%", 160.1, True, []),
        ("5%", 111.3, False, []),
        ("9%", 130, True, ["taken-when-full"]),
        ("10%", 130, True, []),
        ("10%", 130, False, ["refused-with-space"]),
        ("10%", 105, False, []),
        ("10%", 165, False, []),
    ],
)
def test_sends_are_refused_above_ninety_per_cent_and_only_there(
    free: str, second: float, stored: bool, kinds: list[str]
) -> None:
    filled = Filled(free).sends(second, stored=stored).sends(140, stored=free != "5%" and free != "9%")
    assert filled.kinds() == kinds


@pytest.mark.parametrize(
    ("free", "files", "begin", "kinds"),
    [
        ("12%", 3, 0, ["kept-when-full"]),
        ("12%", 3, 1, []),
        ("12%", 2, 0, []),
        ("14%", 3, 0, ["kept-when-full"]),
        ("15%", 3, 0, []),
    ],
)
def test_oldest_files_are_deleted_above_eighty_five_per_cent(
    free: str, files: int, begin: int, kinds: list[str]
) -> None:
    filled = Filled(free)
    for number in range(files):
        filled.sends(number + 1)
    assert filled.sends(130).begins(begin).kinds() == kinds


@pytest.mark.parametrize(("files", "outcome"), [(3, Outcome.UNKNOWN), (2, PASS)])
def test_where_files_had_to_go_somebody_must_ask_where_queues_begin(files: int, outcome: Outcome) -> None:
    filled = Filled("12%")
    for number in range(files):
        filled.sends(number + 1)
    assert filled.sends(130).begins(1, second=90).verdict().outcome is outcome


@pytest.mark.parametrize("name", ["diskMaxUsedSpaceRatio", "diskSpaceCleanForciblyRatio"])
def test_other_marks_of_the_broker_are_not_judged_by_ours(name: str) -> None:
    filled = Filled("12%", **{name: "95"})
    for number in range(4):
        filled.sends(number + 1)
    filled.sends(130).begins(0)
    history, facts = filled.build.history(), filled.build.facts(nodes={"broker-a-0": filled.settings})
    assert not has_disk_space(history, facts) or not check_disk_space(history, facts).anomalies


def test_a_fault_that_is_over_before_a_broker_looks_is_not_judged() -> None:
    filled = Filled("5%", lasts_s=11).sends(105)
    assert not has_disk_space(filled.build.history(), filled.build.facts())


def test_another_fault_of_that_time_excuses() -> None:
    filled = Filled("5%").sends(130)
    filled.build.fault("kill", "broker-a-0", 120 * SECOND, 121 * SECOND, heal=125 * SECOND, fault="f2")
    assert not has_disk_space(filled.build.history(), filled.build.facts(nodes={"broker-a-0": filled.settings}))


def test_nobody_who_sent_while_it_was_full_shows_anything() -> None:
    filled = Filled("5%").sends(50)
    assert not has_disk_space(filled.build.history(), filled.build.facts(nodes={"broker-a-0": filled.settings}))
    assert Filled("5%").sends(130, stored=False).verdict().outcome is PASS
