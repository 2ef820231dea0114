"""Does what a test came to say something about the broker that was asked?

A wrong answer does, however the test fell over it: an assertion, a field that was not there, a frame that nobody can
read. A machine that could not put the question (no Java, a port taken, a fault that is not to be had) does not.
"""

from __future__ import annotations

import pytest

from faults.errors import FaultTrouble
from faults.levers import LeverRefused
from harness.errors import HarnessError

NOT_PUT = (HarnessError, FaultTrouble, LeverRefused, OSError)


def decides(when: str, excinfo: pytest.ExceptionInfo[BaseException] | None) -> bool:
    """Whether the outcome of this phase of a test is to be written down."""
    if when != "call" or excinfo is None:
        return when == "call"
    return not excinfo.errisinstance((*NOT_PUT, pytest.skip.Exception, KeyboardInterrupt))
