"""Assertions of the probes show their values, although they stand in no test file."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("suites.conformance.broker.probes", "suites.conformance.broker.peer")
