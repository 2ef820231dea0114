"""The server of pages: rows of a view from a large table, a journal that grows, who may ask, how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.errors import HistoryError, UsageError
from harness.recorder import Complete, Invoke, decode_journal
from harness.run import run_scenario
from results.serve.journal import OUTCOMES, SLICE_NS, Follower, newest
from results.serve.rows import ROWS_MAX, Rows
from results.serve.server import Places, Server, Site

ROOT = Path(__file__).resolve().parents[3]
RUNS = 5_000
TEXTS = ("run", "mode", "flush", "fault", "backend", "target", "defects", "outcome", "scenario", "seed", "commit",
         "folder", "replay", "failed_checks")  # fmt: skip


@pytest.fixture(scope="module")
def marts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables with a row a run, as many as no page would take."""
    place, rng = tmp_path_factory.mktemp("tables"), Random(1)
    rows = [
        {
            **dict.fromkeys(TEXTS, ""),
            "run": f"r-{number:05}",
            "mode": rng.choice(["single-master", "dledger"]),
            "fault": rng.choice(["kill", "cut_power"]),
            "target": rng.choice(["reference", "rocketmq:5.3.3"]),
            "backend": "process",
            "outcome": rng.choices(["PASS", "UNKNOWN", "FAIL"], [90, 5, 5])[0],
            "defects": rng.choice(["", "", "ack-before-fsync"]),
            "folder": str(place / f"r-{number:05}"),
            "lost": rng.randrange(100),
        }
        for number in range(RUNS)
    ]
    lost = [{"run": f"r-{number % 7:05}", "message": number} for number in range(100)]
    for name, table in (("losses", rows), ("lost_messages", lost), ("flakiness", [{"scenario": "s", "runs": 2}])):
        pq.write_table(pa.Table.from_pylist(table), place / f"{name}.parquet")
    (place / "r-00003").mkdir()
    (place / "r-00003" / "report.html").write_text("<h1>report of r-00003</h1>")
    return place


def shown(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ({}, lambda run: run["defects"] == ""),
        ({"bugs": "planted"}, lambda run: run["defects"] != ""),
        ({"mode": "dledger", "fault": "kill"}, lambda run: (run["mode"], run["fault"]) == ("dledger", "kill")),
        ({"world": "rocketmq:5.3.3 on process"}, lambda run: run["target"] == "rocketmq:5.3.3"),
        ({"find": "R-0004 fail"}, lambda run: "r-0004" in run["run"] and run["outcome"] == "FAIL"),
        ({"find": "no such run"}, lambda run: False),
    ],
    ids=["no question", "planted bugs", "a mode and a fault", "a target", "words", "nothing fits"],
)
def test_a_view_gets_the_worst_runs_that_fit(marts: Path, question: dict[str, str], holds: Any) -> None:
    everything = pq.read_table(marts / "losses.parquet").to_pylist()
    planted = question.get("bugs") == "planted"
    fitting = [run for run in everything if holds(run) and (run["defects"] != "") is planted]
    answer = Rows(marts).answer(question)
    found = shown(answer.tables["losses"])
    assert answer.fitting == len(fitting)
    assert len(found) == min(ROWS_MAX, len(fitting))
    rank = {"FAIL": 0, "UNKNOWN": 1, "PASS": 2}
    worst = sorted((rank[run["outcome"]], -run["lost"]) for run in fitting)[:ROWS_MAX]
    assert [(rank[run["outcome"]], -run["lost"]) for run in found] == worst


def test_a_run_comes_with_its_lost_messages_and_its_report(marts: Path) -> None:
    answer = Rows(marts).answer({"run": "r-00003"})
    (run,) = shown(answer.tables["losses"])
    assert (run["run"], run["report"]) == ("r-00003", "run/r-00003/report.html")
    assert [row["message"] for row in shown(answer.tables["lost_messages"])] == list(range(3, 100, 7))
    assert shown(Rows(marts).answer({"run": "r-00004"}).tables["losses"])[0]["report"] == ""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    run_scenario("single-master-async-power-cut", seed=1, out=place)
    return place / "latest"


def test_a_journal_is_followed_as_it_grows(finished: Path, tmp_path: Path) -> None:
    """Whatever the pieces in which it comes, torn lines included, what is told adds up to the whole."""
    whole, rng = (finished / "journal.jsonl").read_bytes(), Random(3)
    (tmp_path / "r-1").mkdir()
    growing, at = tmp_path / "r-1" / "journal.jsonl", 0
    growing.touch()
    follower, slices, events, told = Follower(growing.parent), {}, [], []
    while at < len(whole):
        piece = whole[at : at + rng.choice([1, 40, 5_000, 60_000])]
        at += len(piece)
        with growing.open("ab") as file:
            file.write(piece)
        if (news := follower.changes()) is not None:
            told.append(news)
            slices.update({row[0]: row[1:] for row in news["slices"]})
            events += news["events"]
    assert follower.changes() is None, "nothing is new"
    assert len(told) > 20
    assert [("about" in news) for news in told] == [True] + [False] * (len(told) - 1)
    entries = list(decode_journal(whole))
    sends = {entry.op for entry in entries if isinstance(entry, Invoke) and entry.f == "send"}
    ended = [entry for entry in entries if isinstance(entry, Complete) and entry.op in sends]
    by_outcome = [sum(entry.outcome == outcome for entry in ended) for outcome in OUTCOMES]
    assert told[-1]["ended"] == by_outcome
    assert [sum(figures[place] for figures in slices.values()) for place in range(4)] == by_outcome
    assert told[-1]["ops"] == sum(isinstance(entry, Invoke) for entry in entries)
    assert told[-1]["unanswered"] == len(sends) - len(ended)
    assert {begin * 1e9 % SLICE_NS for begin in slices} == {0.0}
    assert [event[5] for event in events if event[4] == "resolve"] == ["cut_power"]
    assert [event[4] for event in events if event[1] == "phase"][:3] == ["prepare", "start", "steady"]


def test_a_run_that_is_over_tells_its_verdict_once(finished: Path) -> None:
    follower = Follower(finished.resolve())
    news = follower.changes()
    assert news is not None
    assert (news["outcome"], news["report"]) == ("PASS", True)
    assert news["about"]["scenario"] == "single-master-async-power-cut"
    assert follower.changes() is None


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_bytes(b'{"t":"head","run":1}\n{"t":"invoke","e":0\n')
    with pytest.raises(HistoryError, match="malformed journal line"):
        Follower(tmp_path).changes()


def test_the_newest_run_is_followed(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    for name in ("r-20261128-214757-1", "r-20261128-214245-9"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.jsonl").touch()
    (tmp_path / "latest").symlink_to("r-20261128-214245-9")
    assert newest(tmp_path) == tmp_path / "r-20261128-214757-1"


@pytest.fixture
def server(marts: Path, finished: Path) -> Iterator[Server]:
    site = Site(Places(marts, finished.parent))
    with Server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        site.ends.set()
        server.shutdown()
        thread.join()


def get(server: Server, path: str, host: str = "") -> tuple[int, str]:
    request = urllib.request.Request(f"{server.address}{path}", headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("path", "host", "status", "said"),
    [
        ("live", "", 200, "connect-src &#39;self&#39;"),
        ("live/report.html", "", 200, "single-master-async-power-cut"),
        ("live", "attacker.example", 403, "its own machine"),
        ("nothing", "", 404, "no such page"),
        ("run/../../etc/passwd", "", 404, "no such page"),
        ("run/..%2f..%2fetc/report.html", "", 404, "not where it was"),
    ],
)
def test_who_may_ask_what(
    server: Server, monkeypatch: pytest.MonkeyPatch, marts: Path, path: str, host: str, status: int, said: str
) -> None:
    monkeypatch.setattr(Site, "made", lambda self: (Rows(marts), ""))
    found, text = get(server, path, host)
    assert found == status
    assert said in text.replace("connect-src 'self'", "connect-src &#39;self&#39;")


def test_rows_and_reports_are_served(server: Server, monkeypatch: pytest.MonkeyPatch, marts: Path) -> None:
    monkeypatch.setattr(Site, "made", lambda self: (Rows(marts), "the dashboard"))
    assert get(server, "") == (200, "the dashboard")
    status, text = get(server, "rows?mode=dledger&fault=kill")
    assert (status, json.loads(text)["fitting"] > 500) == (200, True)
    assert get(server, "run/r-00003/report.html") == (200, "<h1>report of r-00003</h1>")


def test_a_listener_is_told_what_run_it_is_and_what_has_happened(server: Server) -> None:
    with urllib.request.urlopen(f"{server.address}live/events", timeout=30) as stream:
        line = stream.readline().decode()
    news = json.loads(line.removeprefix("data: "))
    assert (news["about"]["mode"], news["outcome"]) == ("single-master", "PASS")


def test_a_port_that_is_taken_is_one_clear_error(server: Server, marts: Path) -> None:
    with pytest.raises(UsageError, match=f"port {server.server_port} cannot be used: Address already in use") as error:
        Server(Site(Places(marts, marts)), server.server_port)
    assert error.value.hint == "--port 0 takes a free one"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_ends_in_peace(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "runs").mkdir()
    command = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", "serve", "--port", "0"], cwd=tmp_path, text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert command.stdout is not None
    assert command.stdout.readline().startswith("run under way: http://127.0.0.1:")
    command.send_signal(number)
    out, said = command.communicate(timeout=60)
    assert (command.returncode, out, said) == (0, "", "Ctrl-C ends it\n")


def test_nothing_to_serve_is_one_clear_error(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "harness.cli", "serve", "--port", "0"]
    done = subprocess.run(
        words, cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 64
    assert "error: lake is no lake, and there is no folder runs" in done.stderr
