"""The command line as its users meet it: help, errors in one shape, exit codes, lists, healing."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults.journal import HealJournal
from faults.levers import HealStep
from faults.mechanisms.run_tags import hold, make_tag
from harness import cli
from harness.errors import EXIT_ERROR, EXIT_PASS, EXIT_USAGE, BackendUnavailable

HEAVY = ("numpy", "pandas", "pyarrow", "pyspark", "hypothesis", "docker", "asyncio", "yaml", "rich", "msgspec")
ROOT = Path(cli.__file__).parent.parent


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error of a command."""
    code = cli.main(words)
    return code, *capsys.readouterr()


def test_help_names_what_it_does_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main(["--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert cli.DESCRIPTION in text
    assert text.count("  mqchaos ") == 3
    assert "0 PASS    1 FAIL    2 UNKNOWN    3 backend or harness error    64 usage    130 interrupted" in text
    for name, command in cli.COMMANDS.items():
        assert f"  {name:<10} {command.summary}\n" in text


@pytest.mark.parametrize("command", [name for name, command in cli.COMMANDS.items() if command.group != "reference"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main([command, "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: mqchaos {command} ")
    assert f"  mqchaos {command}" in text.partition("examples:")[2]


def test_the_reference_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for node in ("namesrv", "broker"):
        with pytest.raises(SystemExit) as left:
            cli.main([node, "--help"])
        assert left.value.code == 0
        assert f"reference_impl {node}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["check", "--help"]])
def test_nothing_heavy_is_imported_on_the_way_to_a_help_text(words: list[str]) -> None:
    program = (
        "import sys, contextlib, io\n"
        "from harness import cli\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        f"    cli.main({words!r})\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["rnu"], "there is no command 'rnu'", "did you mean 'run'?"),
        (["run"], "the following arguments are required: SCENARIO", "mqchaos run --help"),
        (
            ["run", "single-master-kil"],
            "there is no scenario 'single-master-kil'",
            "did you mean 'single-master-kill'?",
        ),
        (["run", "no/such.yaml"], "there is no file no/such.yaml", ""),
        (
            ["run", "single-master-kill", "--sed", "1"],
            "unrecognized arguments: --sed 1",
            "did you mean '--seed'? mqchaos run",
        ),
        (["run", "single-master-kill", "--seed", "x"], "'x' is no seed", "a whole number, as 7 or 0x1f2e3d4c"),
        (
            ["run", "single-master-kill", "--seed", "1", "--seeds", "1..3"],
            "--seed and a range of --seeds contradict",
            "",
        ),
        (
            ["run", "single-master-kill", "--defect", "reuse-ofset"],
            "unknown defect 'reuse-ofset'",
            "mqchaos list defects",
        ),
        (["run", "single-master-kill", "--backend", "simm"], "unknown backend 'simm'", "did you mean 'sim'?"),
        (["run", "single-master-kill", "--target", "kafka"], "unknown target 'kafka'", "known: reference"),
        (["check", "no-such-run"], "no run at 'no-such-run'", ""),
        (["replay", "no-such-run"], "no run at 'no-such-run'", ""),
        (["matrix", "--fault", "kil"], "the matrix has no fault 'kil'", "did you mean 'kill'?"),
        (["matrix", "--row", "controller"], "the matrix has no row 'controller'", "known: single-master/async"),
        (["matrix", "--jobs", "0"], "--jobs 0 is not within 1 and 64", ""),
        (["list", "fault"], "argument WHAT: invalid choice: 'fault'", "mqchaos list --help"),
        (["list", "modes", "--jsn"], "unrecognized arguments: --jsn", "did you mean '--json'? mqchaos list --help"),
        (["run", "a", "b", "--sed=4"], "unrecognized arguments: b --sed=4", "did you mean '--seed'? mqchaos run"),
        (["--jsn"], "unrecognized arguments: --jsn", "mqchaos --help"),
        (["list", "modes", "--markdown"], "only faults are written as Markdown", ""),
        (["lake", "add"], "no run folders were given", "mqchaos lake add runs"),
        (["lake", "add", "no/such"], "there is no folder no/such", ""),
        (["dashboard", "--marts", "no/such"], "there are no tables in no/such", "mqchaos lake marts --out marts"),
        (["--color", "sometimes", "list", "modes"], "argument --color: invalid choice: 'sometimes'", "mqchaos --help"),
    ],
)
def test_what_is_mistyped_is_one_clear_error(
    words: list[str], what: str, hint: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = typed(capsys, *words)
    assert (code, out) == (EXIT_USAGE, "")
    lines = [line for line in err.splitlines() if not line.startswith(("single-master", "  at "))]
    assert lines[0].startswith(f"error: {what}")
    assert len(lines) <= 2
    assert hint in "".join(lines[1:])
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_in_a_scenario_has_its_place(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nmode: single-master\nfautls: []\n")
    code, _, err = typed(capsys, "run", str(path))
    assert code == EXIT_USAGE
    assert err == f"error: unknown key 'fautls' in the scenario\n  at {path}:3:1\n  hint: did you mean 'faults'?\n"


def test_no_command_at_all_shows_the_help_and_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = typed(capsys)
    assert code == EXIT_USAGE
    assert out.startswith("usage: mqchaos COMMAND")


def test_a_traceback_comes_only_with_debug(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("harness.commands.list.execute", broken)
    code, _, err = typed(capsys, "list", "modes")
    assert code == EXIT_ERROR
    assert err == "error: a bug in mqchaos: ZeroDivisionError: oh\n  hint: --debug shows where\n"
    code, _, err = typed(capsys, "list", "modes", "--debug")
    assert code == EXIT_ERROR
    assert "Traceback" in err


def test_errors_of_the_harness_have_their_code_place_hint_and_notes(capsys, monkeypatch) -> None:
    def refused(*_: object) -> int:
        error = BackendUnavailable("no power can be cut", place="backend process", hint="run as root")
        error.add_note("while healing: busy")
        raise error

    monkeypatch.setattr("harness.commands.list.execute", refused)
    code, _, err = typed(capsys, "list", "modes")
    assert code == EXIT_ERROR
    assert err.splitlines() == [
        "error: no power can be cut",
        "  at backend process",
        "  hint: run as root",
        "  while healing: busy",
    ]


@pytest.mark.parametrize(
    "what", ["modes", "faults", "checkers", "scenarios", "promises", "defects", "backends", "targets"]
)
def test_lists_have_one_line_each_and_the_same_as_json(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = typed(capsys, "list", what)
    assert (code, err) == (EXIT_PASS, "")
    code, document, _ = typed(capsys, "list", what, "--json")
    rows = json.loads(document)
    assert code == EXIT_PASS
    assert len(rows) == len(out.splitlines()) > 0
    for row, line in zip(rows, out.splitlines(), strict=True):
        assert line.startswith(next(iter(row.values())))
        assert all(text for name, text in row.items() if name != "claims")


def test_every_check_has_a_question() -> None:
    from checkers.runs.checks import CHECKS
    from harness.commands.list import checker_modules, question_of

    assert set(checker_modules()) == {*CHECKS, "life-cycle"}
    questions = [question_of(module) for module in checker_modules().values()]
    assert all(question.endswith("?") for question in questions)
    assert len(set(questions)) == len(questions)


def test_the_page_of_faults_is_the_one_in_the_docs(capsys: pytest.CaptureFixture[str]) -> None:
    """Generated: ``mqchaos list faults --markdown > docs/faults.md``."""
    code, out, _ = typed(capsys, "list", "faults", "--markdown")
    assert code == EXIT_PASS
    assert out == (ROOT / "docs" / "faults.md").read_text()


@pytest.fixture
def heal_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "mqchaos" / "heal"


def leave_behind(folder: Path, steps: list[HealStep]) -> None:
    """A journal of a run that is no more."""
    journal = HealJournal.open("run-1", folder)
    journal.record("scratch folder", steps)
    journal.close()


def test_heal_undoes_what_a_dead_run_left(heal_state: Path, tmp_path: Path, capsys) -> None:
    scratch = tmp_path / "mqc-scratch"
    (scratch / "data").mkdir(parents=True)
    leave_behind(heal_state, [HealStep("remove_folder", {"folder": str(scratch)})])
    assert typed(capsys, "heal", "--dry-run") == (EXIT_PASS, "run-1: would undo scratch folder\n", "")
    assert scratch.exists()
    assert typed(capsys, "heal") == (EXIT_PASS, "run-1: undid scratch folder\n", "")
    assert not scratch.exists()
    assert typed(capsys, "heal")[1].startswith("nothing to heal")


def test_heal_says_what_it_could_not_undo_and_keeps_it(heal_state: Path, capsys) -> None:
    leave_behind(heal_state, [HealStep("remove_folder", {"folder": "/"})])
    code, _, err = typed(capsys, "heal")
    assert code == EXIT_ERROR
    assert err.startswith("error: could not undo: scratch folder: / is not a folder of ours")
    assert "mqchaos heal" in err
    code, out, _ = typed(capsys, "heal", "--dry-run", "--json")
    assert json.loads(out)[0]["outstanding"] == ["scratch folder"]


def test_a_damaged_journal_does_not_keep_the_others_from_being_healed(heal_state: Path, tmp_path: Path, capsys) -> None:
    scratch = tmp_path / "mqc-scratch"
    scratch.mkdir()
    leave_behind(heal_state, [HealStep("remove_folder", {"folder": str(scratch)})])
    (heal_state / "a.jsonl").write_text("rubbish\n{}\n")
    code, out, err = typed(capsys, "heal")
    assert (code, out) == (EXIT_ERROR, "run-1: undid scratch folder\n")
    assert err.startswith(f"error: {heal_state / 'a.jsonl'}:1: not a line of a heal journal\n")
    code, out, _ = typed(capsys, "doctor")
    assert code == EXIT_ERROR
    assert "a.jsonl:1: not a line" in out


def test_heal_leaves_a_living_run_alone(heal_state: Path, capsys) -> None:
    journal = HealJournal.open("run-2", heal_state)
    journal.record("pause", [HealStep("continue_process", {"pid": 1, "start_ticks": 1})])
    assert typed(capsys, "heal") == (EXIT_PASS, f"run-2: alive (pid {os.getpid()}), left alone\n", "")
    journal.close()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without temporary folders and namespaces; returns where the folders would be."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("faults.mechanisms.netns.NAMES", tmp_path / "netns")
    (tmp_path / "netns").mkdir()
    return tmp_path


def leftovers(capsys) -> tuple[str, str]:
    """What the doctor says of leftovers, and who runs."""
    findings = {finding["name"]: finding for finding in json.loads(typed(capsys, "doctor", "--json")[1])["findings"]}
    return findings["leftovers"]["found"], findings.get("running now", {"found": ""})["found"]


def test_things_of_a_run_with_another_state_folder_are_no_leftovers_while_it_lives(
    heal_state: Path, machine: Path, capsys
) -> None:
    tag = make_tag("r-elsewhere")
    (machine / f"mqc-{tag}").mkdir()
    (machine / "netns" / f"mqc-{tag}-hub").touch()
    with hold(tag):
        found, running = leftovers(capsys)
        assert found == "none"
        assert f"{tag} (another state folder's)" in running.split(", ")
    found, running = leftovers(capsys)
    assert found == f"of no living run, in no journal: mqc-{tag}-hub, {machine}/mqc-{tag}"
    assert tag not in running


def test_beside_a_living_run_the_things_of_nobody_are_seen(heal_state: Path, machine: Path, capsys) -> None:
    tag = make_tag("r-here")
    (machine / f"mqc-{tag}").mkdir()
    (machine / "mqc-nobody").mkdir()
    journal = HealJournal.open("r-here", heal_state)
    with hold(tag):
        found, running = leftovers(capsys)
    journal.close()
    assert found == f"of no living run, in no journal: {machine}/mqc-nobody"
    assert "r-here" in running.split(", ")
    assert tag not in running


def test_doctor_says_what_is_there_and_what_to_do(heal_state: Path, machine: Path, capsys) -> None:
    code, out, _ = typed(capsys, "doctor", "--json")
    report = json.loads(out)
    assert (code, report["well"]) == (EXIT_PASS, True)
    states = {finding["name"]: finding["state"] for finding in report["findings"]}
    assert states["Python"] == states["packages"] == states["leftovers"] == "ok"
    assert all(finding["fix"] for finding in report["findings"] if finding["state"] != "ok")
    leave_behind(heal_state, [HealStep("unmount", {"folder": "x"})])
    code, out, _ = typed(capsys, "doctor")
    assert code == EXIT_ERROR
    assert "trouble  leftovers" in out
    assert "fix: mqchaos heal" in out


def test_a_taken_port_is_seen() -> None:
    import socket

    from harness.doctor import is_free

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not is_free(taken.getsockname()[1])
    assert is_free(0)


def test_a_reader_that_leaves_early_is_no_traceback() -> None:
    """``mqchaos list promises | true``: the pipe breaks while or after we write."""
    done = subprocess.run(
        f"{sys.executable} -m harness.cli list promises | true",
        shell=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


class FakeStream(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize(
    ("choice", "environment", "is_terminal", "has_colour"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour_follows_the_flag_then_the_environment_then_the_terminal(
    choice, environment: dict[str, str], is_terminal: bool, has_colour: bool, monkeypatch
) -> None:
    from harness.terminal import wants_colour

    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(choice, FakeStream(is_terminal)) is has_colour


def progress_written(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    from harness.terminal import Terminal, Ticker

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    stream, now = FakeStream(is_terminal), [0.0]
    ticker = Ticker(Terminal(err=stream), clock=lambda: now[0])
    for number, at_s in ((0, 0.1), (1, 0.3), (2, 0.4), (20, 5.1)):
        now[0] = at_s
        ticker.tick(lambda number=number: f"line {number} {'x' * 60}")
    ticker.clear()
    return stream.getvalue()


def test_progress_is_one_plain_line_in_five_seconds_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress_written(False, monkeypatch) == f"line 20 {'x' * 60}\n"


def test_progress_is_four_lines_a_second_in_place_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written = progress_written(True, monkeypatch)
    assert [word in written for word in ("line 0", "line 1 ", "line 2 ", "line 20")] == [False, True, False, True]
    assert "x" * 40 not in written, "cut to the width of the terminal"
    assert "…" in written
    assert written.rstrip("\x1b[?25h").endswith("\x1b[2K"), "the place is clean in the end"


def test_the_version_is_that_of_the_package(capsys):
    from mqchaos import __version__

    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"mqchaos {__version__}")


def test_a_folder_is_no_scenario(capsys, tmp_path):
    assert cli.main(["run", str(tmp_path)]) == EXIT_USAGE
    assert f"{tmp_path} is a folder, and a scenario is a file" in capsys.readouterr().err
