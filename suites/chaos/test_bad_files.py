"""Files that go bad while a broker is down: what is made from the log is made anew, and the promise holds."""

from __future__ import annotations

import pytest

from suites.chaos.came_out import came_out

pytestmark = pytest.mark.chaos


def test_queues_and_offsets_that_went_bad_take_no_message_away(chaos_run) -> None:
    result, _, facts = came_out(chaos_run("damaged-queues-are-made-anew"))
    assert [fault.harm for fault in facts.faults] == ["derived-damaged", "derived-damaged", "tables-damaged"]
    assert [fault.effective for fault in facts.faults] == [1, 1, 1]
    assert next(v.measures["lost"] for v in result.verdicts if v.check == "accounting") == 0


def test_a_slave_that_comes_back_from_an_older_copy_gets_the_rest_again(chaos_run) -> None:
    _, _, facts = came_out(chaos_run("slave-returns-from-an-older-copy"))
    (stale,) = facts.faults
    assert stale.harm == "damaged"
    assert stale.position["broker-a-1"] > 0


@pytest.mark.parametrize("scenario", ["disk-dies-under-its-broker", "disk-turns-read-only"])
def test_what_a_disk_that_takes_nothing_loses_it_loses_when_it_is_back(chaos_run, scenario: str) -> None:
    result, _, facts = came_out(chaos_run(scenario))
    dies, comes_back = facts.faults
    assert (dies.harm, dies.takes(), comes_back.harm, comes_back.takes()) == ("disk-dead", "", "power-cut", "unforced")
    assert comes_back.begin_ns == dies.heal_ns
    assert next(v.measures["lost"] for v in result.verdicts if v.check == "accounting") == 0
