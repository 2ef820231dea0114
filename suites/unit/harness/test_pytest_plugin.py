"""The plugin: a failing chaos test says how to run it again, a skip has a name, JUnit knows seed and digest."""

from __future__ import annotations

import os
from xml.etree import ElementTree

import pytest

from harness import pytest_plugin

pytest_plugins = ["pytester"]

TESTS = """
from suites.unit.harness.tiny import KILL, tiny

def test_holds(chaos_run):
    assert chaos_run(tiny(KILL)).outcome == "PASS"

def test_breaks(chaos_run):
    chaos_run(tiny(KILL), defects=("skip-last-record",))
"""

EXPECTED = """
import pytest
from suites.unit.harness.tiny import KILL, tiny

BUG = ("skip-last-record",)

@pytest.mark.parametrize("expect", ["FAIL", ("UNKNOWN", "FAIL"), None])
def test_meant(chaos_run, expect):
    assert str(chaos_run(tiny(KILL), defects=BUG, expect=expect).outcome) == "FAIL"

def test_a_pass_where_a_failure_is_meant(chaos_run):
    chaos_run(tiny(KILL), expect="FAIL")

def test_no_outcome(chaos_run):
    with pytest.raises(ValueError, match="expect='failed' is no outcome: PASS, UNKNOWN, FAIL"):
        chaos_run(tiny(KILL), expect="failed")
"""


@pytest.fixture
def chaos(pytester, request):
    """A folder with the plugin loaded as the project's own conftest does it; output in plain text."""
    pytester.makeconftest("pytest_plugins = ['mqchaos.harness.pytest_plugin']")
    pytester.makepyfile(TESTS)
    path = os.pathsep.join([str(request.config.rootpath), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        patch.delenv(pytest_plugin.REQUIRE_ALL, raising=False)
        yield pytester


def test_a_failing_chaos_test_prints_the_replay_command_and_keeps_its_run(chaos):
    result = chaos.runpytest_subprocess("-p", "no:cacheprovider", "--junit-xml=out.xml", "-o", "junit_family=xunit1")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*mqchaos replay*", "mqchaos replay *runs/pytest/*breaks*"])
    kept = [path.name for path in (chaos.path / "runs" / "pytest").iterdir()]
    assert len(kept) == 1
    assert "breaks" in kept[0]
    found = properties(chaos.path / "out.xml")
    good, bad = found["test_holds[sim]"], found["test_breaks[sim]"]
    assert set(good) == {"seed", "backend", "target", "run_dir", "history_sha256", "verdict"}
    assert (good["backend"], good["target"], good["verdict"], bad["verdict"]) == ("sim", "reference", "PASS", "FAIL")
    assert len(good["history_sha256"]) == 64
    assert good["seed"] != bad["seed"], "a function of the test's id"


def test_a_run_is_held_to_what_its_test_expects(chaos):
    chaos.makepyfile(EXPECTED)
    result = chaos.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*a_pass_where_a_failure_is_meant*", "expected FAIL", "PASS  tiny*"])


def test_seed_and_folder_can_be_given(chaos, tmp_path):
    options = ("--seed", "0x2a", "--keep-runs", str(tmp_path / "kept"), "--junit-xml=out.xml")
    chaos.runpytest_subprocess(*options, "-o", "junit_family=xunit1").assert_outcomes(passed=1, failed=1)
    assert len(list((tmp_path / "kept").glob("*/r-*-2a/run.json"))) == 2
    assert [case["seed"] for case in properties(chaos.path / "out.xml").values()] == ["0x2a", "0x2a"]


def properties(path) -> dict[str, dict[str, str]]:
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {
        case.attrib["name"]: {item.attrib["name"]: item.attrib["value"] for item in case.iter("property")}
        for case in cases
    }


class Config:
    def getoption(self, name):
        assert name == "--backend"


class Item:
    """As much of a test as the plugin looks at."""

    config = Config()

    def get_closest_marker(self, name):
        assert name == "on"

    def iter_markers(self, name):
        assert name == "requires"
        yield pytest.mark.requires("root", "java").mark


def test_what_a_machine_lacks_is_a_named_skip_or_a_failure_where_all_is_required(monkeypatch):
    lacks = {"root": lambda: "", "java": lambda: "no Java 17 or later"}
    monkeypatch.setattr(pytest_plugin, "FACTS", lacks)
    monkeypatch.delenv(pytest_plugin.REQUIRE_ALL, raising=False)
    with pytest.raises(pytest.skip.Exception, match="requires java: no Java 17 or later"):
        pytest_plugin.pytest_runtest_setup(Item())
    monkeypatch.setenv(pytest_plugin.REQUIRE_ALL, "1")
    with pytest.raises(pytest.fail.Exception, match="requires java: no Java 17 or later"):
        pytest_plugin.pytest_runtest_setup(Item())
    lacks["java"] = lambda: ""
    pytest_plugin.pytest_runtest_setup(Item())


def test_an_unknown_capability_is_an_error_not_a_skip():
    with pytest.raises(ValueError, match="unknown capability 'rooot'"):
        pytest_plugin.missing_capability("rooot")


def test_options_that_do_not_exist_are_refused(chaos):
    assert chaos.runpytest_subprocess("--backend", "cloud").ret == pytest.ExitCode.USAGE_ERROR


FIXED = """
import pytest

@pytest.mark.on("process")
def test_fixed(backend):
    assert backend == "process"

@pytest.mark.on("process", "sim")
def test_either(backend):
    pass

@pytest.mark.on("process")
def test_that_starts_its_own_nodes():
    pass

def test_asked(backend):
    assert backend == "sim"
"""


def test_a_test_can_name_its_backends(chaos):
    chaos.makepyfile(FIXED)
    result = chaos.runpytest_subprocess("-p", "no:cacheprovider", "-v")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*test_fixed?process?*", "*test_asked?sim?*"])


def test_a_backend_that_is_asked_for_leaves_out_the_tests_of_others(chaos):
    chaos.makepyfile(FIXED)
    result = chaos.runpytest_subprocess("-p", "no:cacheprovider", "-v", "-rs", "--backend", "sim")
    result.assert_outcomes(passed=2, skipped=2)
    result.stdout.fnmatch_lines(["*test_either?sim?*", "*runs on process only, --backend is sim*"])
