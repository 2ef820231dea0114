"""The command line: which commands there are, and what every command has in common.

Question: how does ``mqchaos --help`` answer in a blink, and how does any failure become one clear error and the right
exit code?

Model. This module knows the commands by name and one line each; the module of a command is imported when it is typed.
Its ``configure(parser)`` declares arguments, its ``execute(arguments, terminal)`` returns an exit code. What it raises
is written here: ``error:``, ``at``, ``hint``; a traceback only with ``--debug``.

Limits. Only argparse and its like may be imported on the way to ``--help``.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from importlib import import_module
from typing import Any, Final, NoReturn

from harness.errors import EXIT_ERROR, EXIT_INTERRUPTED, HarnessError, UsageError
from harness.terminal import Terminal


@dataclass(frozen=True)
class Command:
    """A sub-command before its module is loaded."""

    summary: str
    group: str
    room: str = "harness"

    @staticmethod
    def module(name: str) -> Any:
        """The module that implements the command *name*."""
        rooms = __package__.removesuffix("harness")  # installed, the rooms are below one name
        return import_module(f"{rooms}{COMMANDS[name].room}.commands.{name.replace('-', '_')}")


COMMANDS: Final = {
    "run": Command("run a scenario and judge it", "chaos"),
    "matrix": Command("modes × faults × seeds on the simulator, as a table", "chaos"),
    "mutate": Command("how many small changes of the reference are noticed", "chaos"),
    "check": Command("judge a run folder again", "chaos"),
    "replay": Command("run a run folder again; in the simulator byte for byte", "chaos"),
    "findings": Command("which of the project's findings a broker shows (in a checkout)", "chaos", "suites"),
    "shrink": Command("the least plan that fails as a simulated run did, as a scenario file", "chaos"),
    "fetch": Command("Apache RocketMQ's jars into the cache", "machine"),
    "heal": Command("undo what a dead run left behind", "machine"),
    "doctor": Command("what this machine can run, and how to get what it lacks", "machine"),
    "list": Command("modes, faults, checkers, scenarios, guarantees, defects, backends, targets", "machine"),
    "lake": Command("keep many runs: add, ls, compact, verify; build the tables of all of them", "results", "results"),
    "campaign": Command("thousands of drawn plans, simulated, over Spark; each failure once", "results", "results"),
    "compare": Command("is B worse than A? Paired runs, a judgement for each figure", "results", "results"),
    "dashboard": Command("one HTML page from the tables of a lake", "results", "results"),
    "serve": Command("the dashboard of a lake of any size, and the run under way, on loopback", "results", "results"),
    "namesrv": Command("run a reference NameServer", "reference"),
    "broker": Command("run a reference broker", "reference"),
}

DESCRIPTION: Final = "Break a RocketMQ cluster and judge what its clients saw."
EXAMPLES: Final = """\
examples:
  mqchaos run single-master-sync-power-cut                     on the simulator, in a second
  mqchaos run single-master-kill --backend process --seed 7    real processes
  mqchaos matrix --seeds 20                                    modes against faults, 20 runs a cell
"""
EXIT_CODES: Final = """\
exit codes:
  0 PASS    1 FAIL    2 UNKNOWN    3 backend or harness error    64 usage    130 interrupted
"""
GROUPS: Final = {
    "chaos": "break and judge",
    "machine": "this machine and this project",
    "results": "many runs",
    "reference": "the reference RocketMQ by itself",
}


class Parser(argparse.ArgumentParser):
    """Errors are ours; the arguments of a command are declared when it is typed."""

    command: str = ""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.commands: dict[str, Parser] = {}

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"{self.prog} --help")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.command:
            name, self.command = self.command, ""
            Command.module(name).configure(self)
        return super().parse_known_args(args, namespace)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    terminal = Terminal()
    try:
        _check_command(words)
        if words and words[0] in COMMANDS and COMMANDS[words[0]].group == "reference":
            reference: int = import_module(f"{__package__}.commands.reference").hand_over(words)
            return reference
        parser = build_parser()
        arguments, unknown = parser.parse_known_args(words)
        if unknown:
            raise _unknown(parser, arguments.command, unknown)
        if not arguments.command:
            parser.print_help()
            return UsageError.exit_code
        terminal = Terminal(arguments.color, is_json=getattr(arguments, "json", False))
        _enter(arguments, terminal)
        code: int = Command.module(arguments.command).execute(arguments, terminal)
        if terminal.lost_results:
            terminal.error(f"results could not be written: {terminal.lost_results}", place="standard output")
            return code or EXIT_ERROR
        return code
    except BrokenPipeError:
        # The reader has gone (``mqchaos list faults | head``): nothing more to say, and Python must not try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    except KeyboardInterrupt:
        terminal.error("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost frame: whatever it is becomes one message and an exit code
        return _report(terminal, error, is_debug="--debug" in words)


def _enter(arguments: argparse.Namespace, terminal: Terminal) -> None:
    """Where a command is told a backend, that may have to begin before everything else. One that does not exist is the
    command's own error."""
    from harness.backends.table import BACKENDS

    if (name := getattr(arguments, "backend", "")) in BACKENDS:
        from harness.entering import enter

        enter(name, getattr(arguments, "target", "reference"), terminal)


def _open_closed_streams() -> None:
    """A standard stream that was closed for us (``>&-``) leads nowhere: else the next opened file would be it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w"))


def _check_command(words: Sequence[str]) -> None:
    """An unknown command with a suggestion, before argparse lists all of them."""
    from faults.errors import suggestion

    first = next((word for word in words if not word.startswith("-")), "")
    if first and first not in COMMANDS and not _is_value(words, first):
        raise UsageError(f"there is no command {first!r}", hint=suggestion(first, tuple(COMMANDS)))


def _is_value(words: Sequence[str], word: str) -> bool:
    """Of ``--color``, the only option before the command that takes one."""
    index = words.index(word)
    return index > 0 and words[index - 1] == "--color"


def _unknown(parser: Parser, command: str | None, words: Sequence[str]) -> UsageError:
    """Of several words that fit nowhere, an option that looks like a known one is most likely the slip."""
    from difflib import get_close_matches

    one = parser.commands[command] if command else parser
    flags = [flag for flag in one.format_help().replace(",", " ").split() if flag.startswith("--")]
    slips = (get_close_matches(word.partition("=")[0], flags, n=1) for word in words if word.startswith("--"))
    close = next((f"did you mean {slip[0]!r}? " for slip in slips if slip), "")
    return UsageError(f"unrecognized arguments: {' '.join(words)}", hint=f"{close}{one.prog} --help")


def build_parser() -> Parser:
    """The parser with all commands by name, none loaded."""
    parser = Parser(
        prog="mqchaos",
        description=DESCRIPTION,
        epilog=f"{_command_table()}\n{EXAMPLES}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="mqchaos COMMAND [options]",
    )
    _common(parser)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", help=argparse.SUPPRESS, parser_class=Parser)
    for name, command in COMMANDS.items():
        one = commands.add_parser(
            name,
            prog=f"mqchaos {name}",
            help=argparse.SUPPRESS,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _common(one, default=argparse.SUPPRESS)
        one.command = name
        parser.commands[name] = one
    return parser


class _Version(argparse.Action):
    """``--version``: of the package, and the commit where it is a checkout."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> NoReturn:
        from harness.runfolder import commit
        from mqchaos import __version__

        at = commit()
        print(f"mqchaos {__version__}" + (f" ({at})" if at and at != f"v{__version__}" else ""))
        parser.exit()


def _common(parser: argparse.ArgumentParser, default: Any = None) -> None:
    group = parser.add_argument_group("common options")
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default=default or "auto",
        metavar="WHEN",
        help="auto, always, never (default: auto; NO_COLOR and FORCE_COLOR are honoured)",
    )
    group.add_argument("--debug", action="store_true", default=default or False, help="show tracebacks")


def _command_table() -> str:
    lines = []
    for group, title in GROUPS.items():
        lines.append(f"{title}:")
        lines += [f"  {name:<10} {command.summary}" for name, command in COMMANDS.items() if command.group == group]
    return "\n".join(lines) + "\n"


def _report(terminal: Terminal, error: Exception, *, is_debug: bool) -> int:
    from faults.errors import FaultTrouble
    from faults.levers import LeverRefused

    if is_debug:
        terminal.say("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, HarnessError):
        terminal.error(error.what, error.place, error.hint)
    elif isinstance(error, FaultTrouble):
        terminal.error(error.what, hint=error.hint)
    elif isinstance(error, LeverRefused):
        terminal.error(error.reason, hint=error.hint)
    elif isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
        terminal.error(
            error.strerror or "no space", place=str(error.filename or ""), hint="make room, then: mqchaos heal"
        )
    elif isinstance(error, OSError) and error.filename:
        # A folder that cannot be made, a file that cannot be written: the machine's answer, not a bug.
        terminal.error(error.strerror or type(error).__name__, place=str(error.filename), hint="--debug shows where")
    else:
        terminal.error(f"a bug in mqchaos: {type(error).__name__}: {error}", hint="--debug shows where")
    for note in getattr(error, "__notes__", ()):
        terminal.say(f"  {note}")
    return error.exit_code if isinstance(error, HarnessError) else EXIT_ERROR


if __name__ == "__main__":
    sys.exit(main())
