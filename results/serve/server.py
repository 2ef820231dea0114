"""A small HTTP server on loopback: the dashboard with its rows on demand, reports of runs, the run under way.

Question: who may ask what, and how does it begin and end?

    /                    the dashboard; its page asks  rows?…  for the runs of each view
    /run/<run>/report.html   of a run of the lake, from where its folder is
    /live                the run that began last, as it goes; its page listens to  /live/events
    /live/report.html    the report of that run, once it is there

Model. It listens on 127.0.0.1 only, and answers only requests that name it so: a page of the web that gets its name
resolved to this machine is refused. It only reads. The page is made when the server starts, and again when the tables
were built again since. Requests have a thread each; ending the server ends them.

Limits. One user on one machine: no log-in, no encryption, no cache.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from harness.errors import HarnessError, UsageError
from harness.pages import render
from results.dashboard import about, render_page, tables_by_cell
from results.serve.journal import Follower, newest
from results.serve.rows import Rows

HOST: Final = "127.0.0.1"
LOOK_S: Final = 0.1
"""Between two looks at a journal."""

QUIET_S: Final = 5.0
"""After so long without news a line that means nothing is sent, or a browser that has gone would never be noticed."""

HTML, JSON = "text/html; charset=utf-8", "application/json"


@dataclass(frozen=True)
class Places:
    """What is served. ``marts`` may have no tables: then there is only the run under way."""

    marts: Path
    runs: Path

    @property
    def has_tables(self) -> bool:
        return (self.marts / "losses.parquet").is_file()


class Site:
    """Pages and rows, made again when the tables are."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.ends = threading.Event()
        """Set when the server is to end: whoever listens to a run stops listening."""
        self._lock = threading.Lock()
        self._made: tuple[float, Rows, str] | None = None

    def made(self) -> tuple[Rows, str]:
        """The rows, and the dashboard as text."""
        marts = self.places.marts
        stamp = (marts / "losses.parquet").stat().st_mtime
        with self._lock:
            if self._made is None or self._made[0] != stamp:
                page = render_page(tables_by_cell(marts), about(marts), live="/live")
                self._made = stamp, Rows(marts), page
            return self._made[1:]

    def report(self, run: str) -> Path | None:
        """Of a run that the tables know, if it is there."""
        folder = self.made()[0].folder(run) if self.places.has_tables else None
        return folder / "report.html" if folder and (folder / "report.html").is_file() else None

    def live_report(self) -> Path | None:
        folder = newest(self.places.runs)
        return folder / "report.html" if folder and (folder / "report.html").is_file() else None


class Server(ThreadingHTTPServer):
    """``UsageError`` if the port is taken."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, site: Site, port: int) -> None:
        self.site = site
        try:
            super().__init__((HOST, port), _Request)
        except (OSError, OverflowError) as problem:
            said = getattr(problem, "strerror", None) or str(problem)
            raise UsageError(f"port {port} cannot be used: {said}", hint="--port 0 takes a free one") from problem

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes in the middle of an answer is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def names(self) -> set[str]:
        """What a request may call this server."""
        return {f"{host}:{self.server_port}" for host in (HOST, "localhost")}


class _Request(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "mqchaos", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """One answer, or a stream of events."""
        parts = urlsplit(self.path)
        route = _ROUTES.get(parts.path)
        try:
            if self.headers.get("Host") not in self.server.names():
                self._text(HTTPStatus.FORBIDDEN, "this server is for its own machine")
            elif route is not None:
                route(self, dict(parse_qsl(parts.query)))
            elif (run := _run_in(parts.path)) is not None:
                self._file(self.server.site.report(run))
            else:
                self._text(HTTPStatus.NOT_FOUND, "there is no such page")
        except HarnessError as problem:
            self._text(HTTPStatus.INTERNAL_SERVER_ERROR, str(problem))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: what is asked is no news for the terminal."""

    def dashboard(self, question: dict[str, str]) -> None:
        """The page; without tables, the run under way."""
        if self.server.site.places.has_tables:
            self._send(HTTPStatus.OK, HTML, self.server.site.made()[1].encode())
        else:
            self.live(question)

    def rows(self, question: dict[str, str]) -> None:
        answer = self.server.site.made()[0].answer(question)
        self._send(HTTPStatus.OK, JSON, json.dumps({"tables": answer.tables, "fitting": answer.fitting}).encode())

    def live(self, question: dict[str, str]) -> None:
        """The page that listens."""
        places = self.server.site.places
        page = render(str(__package__), "live.html", data={}, scripts=("live.js",), title="mqchaos: run under way",
                      runs=str(places.runs), has_tables=places.has_tables)  # fmt: skip
        self._send(HTTPStatus.OK, HTML, page.encode())

    def live_report(self, question: dict[str, str]) -> None:
        self._file(self.server.site.live_report())

    def events(self, question: dict[str, str]) -> None:
        """News of the newest run until the browser goes or the server ends; a run that begins later takes its place."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        follower: Follower | None = None
        said_s = time.monotonic()
        while not self.server.site.ends.wait(LOOK_S):
            folder = newest(self.server.site.places.runs)
            if folder is not None and (follower is None or follower.folder != folder):
                follower = Follower(folder)
            news = _news(follower)
            if news is not None or time.monotonic() - said_s > QUIET_S:
                line = f"data: {json.dumps(news)}\n\n" if news is not None else ": nothing new\n\n"
                self.wfile.write(line.encode())
                said_s = time.monotonic()

    def _file(self, path: Path | None) -> None:
        if path is None:
            self._text(HTTPStatus.NOT_FOUND, "the folder of that run is not where it was, or it has no report")
        else:
            self._send(HTTPStatus.OK, HTML, path.read_bytes())

    def _text(self, status: HTTPStatus, text: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{text}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)


def _news(follower: Follower | None) -> dict[str, Any] | None:
    try:
        return follower.changes() if follower is not None else None
    except FileNotFoundError:
        return None  # the folder was removed; the next newest follows
    except HarnessError as problem:
        return {"problem": str(problem)}


def _run_in(path: str) -> str | None:
    parts = path.split("/")
    return unquote(parts[2]) if len(parts) == 4 and (parts[1], parts[3]) == ("run", "report.html") else None


_ROUTES: Final[dict[str, Callable[[_Request, dict[str, str]], None]]] = {
    "/": _Request.dashboard,
    "/rows": _Request.rows,
    "/live": _Request.live,
    "/live/report.html": _Request.live_report,
    "/live/events": _Request.events,
}
