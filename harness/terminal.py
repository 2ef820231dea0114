"""What the user sees: colour or not, results and messages apart, errors in one shape, progress without noise.

Question: who reads this, a person at a terminal, a log of a build, or a program?

Model. Results go to standard output, everything said along the way to standard error; with ``--json`` standard output
is one document. Colour: ``--color always|never`` decides, else ``NO_COLOR``, else ``FORCE_COLOR``, else whether it is a
terminal. Progress is one line that is rewritten four times a second on a terminal (rich, shortened to its width), and
one plain line every five seconds elsewhere.

Limits. Imports nothing heavy: this is on the way of ``--help``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TextIO

if TYPE_CHECKING:
    from rich.live import Live

ColorChoice = Literal["auto", "always", "never"]

_CODES: Final = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
OUTCOME_COLOURS: Final = {"PASS": "green", "UNKNOWN": "yellow", "FAIL": "red"}

LIVE_S: Final = 0.25
PLAIN_S: Final = 5.0


def wants_colour(choice: ColorChoice, stream: TextIO) -> bool:
    """Whether escape codes may be written to *stream*."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def redirect(stream: TextIO) -> None:
    """To nowhere, where Python writes what it still holds when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Terminal:
    """Two streams and how to write to them."""

    def __init__(
        self,
        color: ColorChoice = "auto",
        *,
        is_json: bool = False,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self._out, self._err, self.is_json = out or sys.stdout, err or sys.stderr, is_json
        self.color: ColorChoice = color
        self.lost_results = ""
        """Why results could not be written; whoever reads only the exit code has to know."""
        self.is_live = self._err.isatty() and os.environ.get("TERM") != "dumb"

    def result(self, text: str = "") -> None:
        """A line of the result; with ``--json`` it is only said along the way."""
        if self.is_json:
            self.say(text)
        else:
            self._tell(text)

    def document(self, value: Any) -> None:
        """The one JSON document of a ``--json`` call."""
        self._tell(json.dumps(value, indent=1, ensure_ascii=False))

    def _tell(self, text: str) -> None:
        """To standard output, until that takes nothing more. A reader that has gone (``| head``) wants no more, and
        ends the command; a full disk or a closed terminal does not: what was under way comes to its end."""
        if self.lost_results:
            return
        try:
            print(text, file=self._out, flush=True)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.lost_results = error.strerror or type(error).__name__
            redirect(self._out)

    def say(self, text: str = "") -> None:
        """A line along the way; a terminal that is gone takes none, and that ends nothing."""
        try:
            print(text, file=self._err, flush=True)
        except OSError:
            redirect(self._err)

    def interject(self, text: str) -> None:
        """A line from a signal handler: it may have struck in the middle of another, and no buffer bears that."""
        try:
            descriptor = self._err.fileno()
        except OSError:  # not a file, as in tests
            self.say(text)
        else:
            with suppress(OSError):  # a terminal that is gone
                os.write(descriptor, f"{text}\n".encode())

    def live(self) -> Live:
        """A line that can be rewritten, begun; only where ``is_live``. Ending it leaves the place clean."""
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self._err, no_color=not wants_colour(self.color, self._err), highlight=False)
        live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
        live.start()
        return live

    def style(self, text: str, *styles: str, err: bool = False) -> str:
        """*text* with colour where it is wanted."""
        if not wants_colour(self.color, self._err if err or self.is_json else self._out):
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def outcome(self, name: str) -> str:
        """PASS, UNKNOWN or FAIL in its colour."""
        return self.style(name, OUTCOME_COLOURS[name], "bold")

    def error(self, what: str, place: str = "", hint: str = "") -> None:
        """``error: what``, ``  at place``, ``  hint: …``."""
        self.say(f"{self.style('error:', 'red', 'bold', err=True)} {what}")
        if place:
            self.say(f"  at {place}")
        if hint:
            self.say(f"  {self.style('hint:', 'yellow', err=True)} {hint}")


class Ticker:
    """Progress, bounded in how often it writes. ``line`` is asked for only when it is going to be shown."""

    def __init__(self, terminal: Terminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._terminal, self._clock = terminal, clock
        self._interval_s = LIVE_S if terminal.is_live else PLAIN_S
        self._shown_s = clock()
        self._live: Live | None = None

    def tick(self, line: Callable[[], str]) -> None:
        """Show a line if it is time."""
        now_s = self._clock()
        if now_s - self._shown_s < self._interval_s:
            return
        self._shown_s = now_s
        if not self._terminal.is_live:
            self._terminal.say(line())
            return
        from rich.text import Text

        self._live = self._live or self._terminal.live()
        self._live.update(Text(line(), no_wrap=True, overflow="ellipsis"), refresh=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Before anything else is written."""
        if self._live is not None:
            self._live.stop()
            self._live = None
