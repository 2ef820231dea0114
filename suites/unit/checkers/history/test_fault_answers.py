"""Did a fault take effect? What its probe could not tell may be answered when it is over."""

from __future__ import annotations

import pytest

from checkers.history.faults import faults_of
from suites.unit.checkers.build import Build


@pytest.mark.parametrize(("probe", "failed", "effective"), [(-1, 3, 1), (-1, 0, -1), (0, 3, 0), (1, 0, 1)])
def test_forces_that_failed_later_answer_a_probe_that_could_not_tell(probe: int, failed: int, effective: int) -> None:
    build = Build()
    build.fault("fail_sync", "broker-a-0", 10, 11, bit=probe)
    build.event(40, "fault", "heal", "broker-a-0", "f1")
    build.event(41, "fault", "heal_probe", "broker-a-0", "f1", 1, failed=failed)
    (fault,) = faults_of(build.history().events)
    assert (fault.effective, fault.failed) == (effective, failed)
    assert fault.took_effect_on("broker-a-0") is (effective != 0)
