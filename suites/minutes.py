"""Cases that need minutes more than they show: the same question put to one release or one pair more.

Question: how does everything that is promised stay asked, although a Java machine takes ten seconds of two cores to
start?

Model. In a table of targets each question is put to the reference and to one of Apache's releases in every run of the
tests; the other combinations are marked here, are skipped by name, and run with ``MQCHAOS_TESTS=all`` (`make
test-all`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

import pytest
from _pytest.mark.structures import ParameterSet

ALL: Final = "MQCHAOS_TESTS"
"""``MQCHAOS_TESTS=all``: also what needs minutes."""

only_with_minutes: Final = pytest.mark.skipif(os.environ.get(ALL) != "all", reason=f"needs minutes: {ALL}=all")


def needs_minutes(*values: object, marks: Iterable[pytest.MarkDecorator] = (), name: str = "") -> ParameterSet:
    """A parameter set that is run only with ``MQCHAOS_TESTS=all``."""
    return pytest.param(*values, marks=[only_with_minutes, *marks], id=name or None)
