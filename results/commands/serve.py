"""``mqchaos serve``: the dashboard of a lake of any size, and the run under way, on this machine's loopback.

Question: how does one look at a million runs, or at one that is not over yet?

Model. The tables are built first if the lake has changed since they were; that starts Spark and ends it before the
server begins. Then it serves until Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.errors import EXIT_PASS, UsageError
from harness.terminal import Terminal, Ticker

if TYPE_CHECKING:
    from results.serve.server import Places, Server

PORT: Final = 8042
EPILOG: Final = """\
examples:
  mqchaos serve                                  the lake in lake/ (its tables in marts/), and runs/ as they go
  mqchaos serve --lake s3://bucket/lake --marts /var/cache/marts --port 9000
  mqchaos run NAME --backend process & mqchaos serve    open /live

exit codes:
  0 ended by Ctrl-C or SIGTERM    3 the tables could not be built    64 usage, or the port is taken
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``serve``."""
    parser.epilog = EPILOG
    parser.add_argument("--lake", default="lake", metavar="PLACE", help="path or URI of the lake (default: lake)")
    parser.add_argument("--marts", type=Path, default=Path("marts"), metavar="DIR", help="its tables (default: marts)")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="for /live (default: runs)")
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help=f"0: a free one (default: {PORT})")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Build what is out of date, then serve."""
    from results.commands.lake import installed
    from results.serve.server import Places, Server, Site

    with installed():
        places = Places(arguments.marts, arguments.runs)
        with Server(Site(places), arguments.port) as server:  # a port that is taken is told before anything is built
            _build(arguments, places, terminal)
            if places.has_tables:
                server.site.made()
            with _ended_by_signal() as ends:  # before anybody is told the address, and with it that it may be ended
                _tell(server, terminal, places)
                _serve(server, ends)
    return EXIT_PASS


def _tell(server: Server, terminal: Terminal, places: Places) -> None:
    if places.has_tables:
        terminal.result(f"dashboard: {server.address}")
    terminal.result(f"run under way: {server.address}live")
    terminal.say("Ctrl-C ends it")


def _build(arguments: argparse.Namespace, places: Places, terminal: Terminal) -> None:
    from results.lake import Lake
    from results.marts.build import build, is_current

    lake = Lake(arguments.lake)
    if not lake.commits():
        if not places.has_tables and not arguments.runs.is_dir():
            hint = "mqchaos lake add RUN… brings runs in; --runs DIR shows the run under way there"
            raise UsageError(f"{arguments.lake} is no lake, and there is no folder {arguments.runs}", hint=hint)
        return
    if is_current(lake, arguments.marts):
        return
    terminal.say(f"building the tables of {arguments.lake} in {arguments.marts}")
    with Ticker(terminal) as ticker:
        build(lake, arguments.marts, lambda name, done, total: ticker.tick(lambda: f"{done}/{total} tables: {name}"))


def _serve(server: Server, ends: threading.Event) -> None:
    """Until *ends* is set: by Ctrl-C or SIGTERM."""
    thread = threading.Thread(target=server.serve_forever, name="server", daemon=True)
    thread.start()
    ends.wait()
    server.site.ends.set()
    server.shutdown()
    thread.join()


@contextmanager
def _ended_by_signal() -> Iterator[threading.Event]:
    ends = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: ends.set()) for number in numbers}
    try:
        yield ends
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
