"""A harness that is killed at any moment of a run in containers leaves nothing that ``mqchaos heal`` cannot undo.

A slice of ``make container-kills``, which kills a hundred of them.
"""

from __future__ import annotations

import pytest

from suites.hostile.container_kills import attack

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.requires("docker:power", "docker:links")]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_after_a_kill_at_any_moment_heal_leaves_nothing(seed: int) -> None:
    attack(seed)
