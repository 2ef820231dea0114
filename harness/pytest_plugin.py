"""Chaos runs as pytest tests: options, a fixture that runs a scenario, markers, and the replay command of a failure.

Question: how does a test say "this scenario, on every backend that was asked for, must have this verdict", and what
does it leave behind when it has not?

    def test_kill_loses_nothing(chaos_run):
        chaos_run("single-master-kill")

    def test_the_planted_bug_is_found(chaos_run):
        result = chaos_run("single-master-sync-power-cut", defects=("ack-before-fsync",), expect="FAIL")
        assert "accounting" in {verdict.check for verdict in result.verdicts if verdict.outcome == "FAIL"}

``chaos_run(scenario, seed=…, defects=…, target=…, expect=…)`` takes a scenario's name, path or value. A run that comes
out otherwise than ``expect`` (``PASS`` unless the test says so; the failure that a scenario file expects passes, too)
fails the test there and then; ``expect=None`` leaves the judgement to the test. The run folder is kept below
``--keep-runs``, or below ``runs/pytest`` if the test failed. The seed of a test is ``--seed``, or a function of
its node id, so it does not change from day to day. What a machine lacks makes a *named skip*; with
``MQCHAOS_REQUIRE_ALL=1`` in the environment it is a failure instead, so that a skip cannot pass for a success where
everything should be there.

Limits. One backend object a run; nothing is shared between tests. Real backends are not deterministic: a failure there
is replayed with the same plan and seed, and may come out otherwise.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
from collections.abc import Callable, Collection, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import pytest

from faults.levers import FAMILIES
from harness.backends.table import BACKENDS, DEFAULT
from harness.errors import BackendUnavailable

if TYPE_CHECKING:
    from harness.run import RunResult

REQUIRE_ALL = "MQCHAOS_REQUIRE_ALL"
_runs_key = pytest.StashKey[list["RunResult"]]()
_failed_key = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of chaos tests."""
    group = parser.getgroup("mqchaos", "chaos runs")
    group.addoption(
        "--backend",
        action="append",
        choices=tuple(BACKENDS),
        default=None,
        help=f"where to run (repeatable; default: {DEFAULT})",
    )
    group.addoption(
        "--target", default="reference", help="what to run: reference, rocketmq:VERSION (default: reference)"
    )
    group.addoption(
        "--seed", type=lambda text: int(text, 0), default=None, help="seed of every run (default: from the test's id)"
    )
    group.addoption(
        "--keep-runs",
        type=Path,
        default=None,
        metavar="DIR",
        help="keep every run folder below DIR (default: failed ones, in runs/)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    for line in (
        f"requires(capability, ...): {', '.join(FACTS)}, or BACKEND:FAMILY of levers; what is missing is a named skip",
        "chaos: runs a scenario on a backend",
        "conformance(id): a probe of the specification",
        "on(backend, ...): runs on these; with --backend only if it names one of them",
        "slow: takes more than a few seconds",
    ):
        config.addinivalue_line("markers", line)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for ``backend`` runs once for each ``--backend``, or on those of its marker ``on``. A fixture of
    this name that the project has itself is left alone."""
    if "backend" in metafunc.fixturenames and "backend" not in metafunc._arg2fixturedefs:
        fixed = metafunc.definition.get_closest_marker("on")
        asked = metafunc.config.getoption("--backend") or (fixed.args if fixed else [DEFAULT])
        both = [name for name in fixed.args if name in asked] or fixed.args if fixed else asked
        metafunc.parametrize("backend", both, scope="session")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Named skips, or failures where everything is required; what ``--backend`` leaves out is a skip everywhere."""
    fixed, asked = item.get_closest_marker("on"), item.config.getoption("--backend")
    if fixed and asked and not set(fixed.args) & set(asked):
        pytest.skip(f"runs on {', '.join(fixed.args)} only, --backend is {', '.join(asked)}")
    for marker in item.iter_markers("requires"):
        for capability in marker.args:
            missing = missing_capability(capability)
            if missing and os.environ.get(REQUIRE_ALL) == "1":
                pytest.fail(f"requires {capability}: {missing} ({REQUIRE_ALL}=1)", pytrace=False)
            if missing:
                pytest.skip(f"requires {capability}: {missing}")


def missing_capability(capability: str) -> str:
    """Why this machine lacks *capability*; empty if it does not. ``ValueError`` for a name that is none."""
    if capability in FACTS:
        return FACTS[capability]()
    backend, colon, family = capability.partition(":")
    if not colon or backend not in BACKENDS or family not in FAMILIES:
        known = f"{', '.join(FACTS)}, or {' or '.join(BACKENDS)} : {' or '.join(FAMILIES)}"
        raise ValueError(f"unknown capability {capability!r}; known: {known}")
    able = BACKENDS[backend].capabilities().servers.get(family)
    return able.lack if able else f"{backend} has no levers of {family}"


def _no_java() -> str:
    from harness.java import find_java

    try:
        find_java()
    except BackendUnavailable as error:
        return error.what
    return ""


def _no_chromium() -> str:
    from importlib.util import find_spec
    from shutil import which

    missing = [name for name in ("chromium", "chromedriver") if which(name) is None]
    return ", ".join([*missing, *([] if find_spec("selenium") else ["selenium"])])


def _no_engine() -> str:
    from faults.mechanisms import engine

    return engine.lack()


FACTS: Final[dict[str, Callable[[], str]]] = {
    "root": lambda: "" if os.geteuid() == 0 else "not root",
    "java": _no_java,
    "chromium": _no_chromium,
    "docker": _no_engine,
}
"""What a test may require of the machine → why it is not to be had here (empty: it is)."""


@pytest.fixture(scope="session")
def orderly_end() -> Iterator[None]:
    """While it is used SIGTERM ends the session as Ctrl-C does, so that no node outlives it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """``--seed``, else a function of the test's id."""
    given: int | None = request.config.getoption("--seed")
    return given if given is not None else crc32(request.node.nodeid.encode())


@pytest.fixture
def chaos_run(
    request: pytest.FixtureRequest, orderly_end: None, backend: str, seed: int
) -> Iterator[Callable[..., RunResult]]:
    """Run a scenario on the test's backend and hold it to what is expected:
    ``chaos_run(scenario, seed=…, defects=(…,), target=…, expect="PASS") -> RunResult``."""
    from harness.run import run_scenario

    keep: Path | None = request.config.getoption("--keep-runs")
    asked: str = request.config.getoption("--target")
    folder = (keep or request.config.rootpath / "runs" / "pytest") / _slug(request.node.nodeid)
    results: list[RunResult] = request.node.stash.setdefault(_runs_key, [])

    def run(
        scenario: Any,
        *,
        seed: int = seed,
        defects: tuple[str, ...] = (),
        target: str = asked,
        expect: str | Collection[str] | None = "PASS",
    ) -> RunResult:
        wanted = _outcomes(expect)
        try:
            result = run_scenario(scenario, backend=backend, target=target, seed=seed, out=folder, defects=defects)
        except BackendUnavailable as error:
            if os.environ.get(REQUIRE_ALL) == "1":
                raise
            pytest.skip(str(error))
        results.append(result)
        _record_properties(request.node, result, target)
        _hold_to(wanted, result)
        return result

    yield run
    if keep is None and not request.node.stash.get(_failed_key, False):
        shutil.rmtree(folder, ignore_errors=True)


def _outcomes(expect: str | Collection[str] | None) -> Collection[str]:
    """The names of outcomes that a test takes; ``ValueError`` for a word that is none."""
    from checkers.verdict import Outcome

    if expect is None:
        return tuple(Outcome.__members__)
    names = [str(name) for name in ([expect] if isinstance(expect, str | Outcome) else expect)]
    if unknown := [name for name in names if name not in Outcome.__members__]:
        raise ValueError(f"expect={unknown[0]!r} is no outcome: {', '.join(Outcome.__members__)}")
    return names


def _hold_to(wanted: Collection[str], result: RunResult) -> None:
    """Fail the test, with the summary of the run, if it did not come out as one of *wanted*."""
    from harness.summary import is_as_expected, lines_of

    if result.outcome.name in wanted or ("PASS" in wanted and is_as_expected(result.outcome, result.verdicts)):
        return
    pytest.fail("\n".join([f"expected {' or '.join(wanted)}", *lines_of(result)]), pytrace=False)


def _record_properties(item: pytest.Item, result: RunResult, target: str) -> None:
    """JUnit properties of the test (of its last run, where it has several: pytest keeps all, in order)."""
    item.user_properties += [
        ("seed", f"{result.seed:#x}"),
        ("backend", result.backend),
        ("target", target),
        ("run_dir", str(result.folder)),
        ("history_sha256", result.history_sha256),
        ("verdict", result.outcome.name),
    ]


def _slug(node_id: str) -> str:
    """A folder name from a node id; the tail keeps two ids apart that differ in what is dropped."""
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', node_id).strip('-')[-80:]}-{crc32(node_id.encode()):08x}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed chaos test shows how to run it again."""
    report = yield
    results = item.stash.get(_runs_key, [])
    if call.when == "call" and report.failed and results:
        item.stash[_failed_key] = True
        report.sections.append(("mqchaos replay", "\n".join(result.replay_command for result in results)))
    return report
