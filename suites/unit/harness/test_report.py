"""The page of a run: whole HTML, nothing fetched, the verdict first, every operation in it, everything escaped."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from checkers.history.history import History
from harness import report
from harness.recorder import Recorder
from harness.report.columns import NO_LANE, OPEN, QUEUES_MAX, lanes, packed
from harness.report.counters import explained
from harness.report.losses import by_queue
from harness.report.nodes import positions, states
from harness.run import run_scenario
from harness.summary import lines_of
from suites.unit.harness.tiny import CUT, KILL, tiny

VOID = {"meta", "input"}
EMPTY = History.from_columns({})


class Outline(HTMLParser):
    """Tags that open must close, in order; ``text`` is what a reader sees, ``data`` what the page's scripts get."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.data: dict[str, bytes] = {}
        self._id = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        found = dict(attributes)
        assert not {"src", "onclick", "onload"} & found.keys()
        assert found.get("href", "#").startswith("#")
        self._id = found.get("id", "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"] and self._id.startswith("data-"):
            self.data[self._id.removeprefix("data-")] = gzip.decompress(base64.b64decode(data))
        elif self.open[-1:] not in (["script"], ["style"]):
            self.text += data


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    good = run_scenario(tiny(CUT), seed=1, out=out)
    bad = run_scenario(tiny(KILL), seed=1, out=out, defects=("skip-last-record",))
    return {name: (run.folder / "report.html").read_text("utf-8") for name, run in (("good", good), ("bad", bad))}


@pytest.mark.parametrize("name", ["good", "bad"])
def test_a_page_is_whole_and_fetches_nothing(pages, name):
    outline = Outline(pages[name])
    assert outline.open == []
    assert not {"link", "img", "iframe"} & set(outline.tags)
    assert "default-src 'none'" in pages[name]


def test_the_verdict_comes_first_then_why_then_the_timeline(pages):
    text = Outline(pages["bad"]).text
    places = [
        text.index(words)
        for words in (
            "A guarantee of this mode was broken.",
            "accounting:",
            "mqchaos replay",
            "What happened",
            "Why it is FAIL",
            "Checks that passed",
        )
    ]
    assert places == sorted(places)
    assert "skip-last-record" in text


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("name: x\ndescription: nothing <b>is lost", "nothing <b>is lost"),
        ("name: x", ""),
        ("- no\n- map", ""),
        ("a: [", ""),
    ],
)
def test_the_head_says_what_the_scenario_says_of_itself(plan: str, said: str) -> None:
    run = {**dict.fromkeys(("mode", "flush", "target", "backend", "seed", "run", "scenario"), "x"), "nodes": {}}
    outline = Outline(report.render(run, {"outcome": "PASS", "verdicts": []}, EMPTY, "runs/x", plan))
    head = outline.text[: outline.text.index("What happened")]
    assert said in head
    assert outline.open == []


def test_loss_that_is_allowed_is_told_in_the_head(pages):
    text = Outline(pages["good"]).text
    assert re.search(r"\d+ acknowledged messages were lost, as it allows", text[: text.index("What happened")])


def test_every_operation_is_in_the_page_and_the_proof_is_marked(pages):
    for name, has_proof in (("good", False), ("bad", True)):
        data = Outline(pages[name]).data
        header = json.loads(data["timeline"])
        marked = column(header, data["ops"], "marked")
        assert len(marked) == header["count"] > 100
        assert bool(marked.any()) is has_proof
        assert bool(header["proofs"]) is has_proof


def test_all_that_is_told_is_on_the_clock_that_the_plan_is_on(tmp_path):
    """``at: 1s`` is 1.000 s in the summary, in the sentences, in the tables of the page, wherever a person reads it."""
    run = run_scenario(tiny(CUT), seed=1, out=tmp_path)
    history = History.load(run.folder)
    assert history.events.load_ns > 0
    assert "  faults: cut_power of broker-a-0 (f1) at 1.000 s" in lines_of(run)
    outline = Outline((run.folder / "report.html").read_text("utf-8"))
    assert json.loads(outline.data["timeline"])["load_ns"] == history.events.load_ns
    told = outline.text[outline.text.index("Faults: what was planned") :]
    assert re.search(r"at 1s: cut_power.*?1\.000 s", told[: told.index("Operations")], re.DOTALL)
    assert re.search(r"prepare-\d\.\d{3} s", told)
    assert re.search(r"steady0\.000 s", told)


def test_the_fault_has_its_plan_its_instants_and_its_effect(pages):
    outline = Outline(pages["good"])
    (fault,) = json.loads(outline.data["timeline"])["faults"]
    assert fault["words"].startswith("cut_power of broker-a-0 (f1)")
    assert fault["begin"] < fault["end"]
    assert "cut_power" in outline.text
    assert "took effect" in outline.text


def column(header, blob, name):
    place = header["columns"][name]
    return np.frombuffer(blob, np.dtype(f"<{place['type']}"), header["count"], place["at"])


def recorded(count=5, queues=1):
    clock = iter(range(0, 10**12, 1_500))
    recorder = Recorder(clock.__next__, run=1)
    numbers = [recorder.queue("T", f"broker-{n % 3}", n) for n in range(queues)]
    for sequence in range(count):
        op = recorder.invoke(0, "send", queue=numbers[sequence % queues], message=recorder.message(0, sequence, 100))
        if sequence % 4 == 3:
            recorder.complete(op, "info", "TIMEOUT")
        elif sequence % 4 != 2:
            recorder.complete(op, "ok", "SEND_OK", offset=sequence)
    recorder.complete(recorder.invoke(1, "create_topic"), "ok", "OK")
    return recorder


def test_columns_say_what_the_history_says():
    history = History.from_columns(recorded().columns())
    header, blob = packed(history, [1])
    assert header["unit_ns"] == 1000
    assert column(header, blob, "op").tolist() == history.ops.op.tolist()
    assert column(header, blob, "begin").tolist() == (history.ops.invoke_ns // 1000).tolist()
    ends = column(header, blob, "end")
    answered = history.ops.complete_ns >= 0
    assert ends[answered].tolist() == (history.ops.complete_ns[answered] // 1000).tolist()
    assert set(ends[~answered].tolist()) == {OPEN}
    assert [header["f"][n] for n in column(header, blob, "f")] == [
        history.ops.f[row] for row in range(len(history.ops))
    ]
    assert [header["status"][n] for n in column(header, blob, "status")][:2] == ["SEND_OK", "SEND_OK"]
    assert column(header, blob, "marked").tolist() == [0, 1, 0, 0, 0, 0]
    assert all(place["at"] % 8 == 0 for place in header["columns"].values())


def test_a_run_beyond_an_hour_is_told_in_milliseconds():
    recorder = Recorder(iter([0, 3_600 * 2 * 10**9]).__next__, run=1)
    recorder.complete(recorder.invoke(0, "pull"), "ok", "FOUND")
    header, blob = packed(History.from_columns(recorder.columns()), [])
    assert header["unit_ns"] == 1_000_000
    assert int(column(header, blob, "end")[0]) >= 7_199_000


def test_many_queues_share_the_lanes_of_their_broker():
    few, many = (History.from_columns(recorded(60, count).columns()) for count in (2, QUEUES_MAX + 1))
    assert lanes(few)[1] == [f"{side} T/broker-{n}/{n}" for n in range(2) for side in ("sends to", "reads of")]
    lane, names = lanes(many)
    assert names == [f"{side} broker-{n}" for n in range(3) for side in ("sends to", "reads of")]
    assert lane[-1] == NO_LANE


def test_a_node_is_up_between_its_start_and_its_end():
    ticks = iter(range(0, 1000, 10))
    recorder = Recorder(ticks.__next__, run=1)
    for step in ("started", "ready", "paused", "resumed", "killed", "started"):
        recorder.event("node", node="n", step=step)
    found = [(s["state"], s["end"] - s["begin"] > 0) for s in states(History.from_columns(recorder.columns()), 900)]
    assert found == [("up", True), ("paused", True), ("up", True), ("down", True), ("up", True)]


def test_positions_are_those_of_the_log_and_of_what_slaves_noted():
    recorder = recorded()
    recorder.event("role", node="broker-0-1", step="ha_master_gone", detail={"log_end": 77})
    lines = positions(History.from_columns(recorder.columns()), {"broker-0-1": {"brokerRole": "SLAVE"}})
    assert [(line["kind"], [value for _, value in line["points"]]) for line in lines] == [("slave", [77])]


def test_lost_messages_are_grouped_by_queue():
    recorder = recorded(8)
    op = recorder.invoke(2, "drain", queue=0)
    recorder.complete(op, "ok", "FOUND", offsets=[0], messages=[0])
    (row,) = by_queue(History.from_columns(recorder.columns()))
    assert (row["queue"], row["count"], row["first"]["message"], row["last"]["message"]) == ("T/broker-0/0", 3, 1, 5)
    assert by_queue(History.from_columns(recorded(8).columns())) == [], "without a drain nothing is known to be lost"


def test_numbers_are_explained_or_left_out():
    assert explained("accounting", {"lost": 2, "shape": {}, "by_queue": {}, "never_heard_of": 1}) == [
        ("2", "acknowledged and not found")
    ]
    assert explained("a check of tomorrow", {"lost": 2}) == []


def test_a_page_of_an_empty_history_is_a_page():
    run = {
        "run": "r",
        "scenario": "s",
        "mode": "m",
        "flush": "f",
        "target": "t",
        "backend": "b",
        "seed": "0x1",
        "nodes": {},
    }
    page = report.render(run, {"outcome": "UNKNOWN", "verdicts": []}, History.from_columns({}), "p")
    assert Outline(page).open == []


def test_what_comes_from_outside_is_escaped():
    recorder = Recorder(lambda: 0, run=1)
    recorder.phase("<b>steady</b>")
    history = History.from_columns(recorder.columns())
    run = {
        "run": "r-1",
        "scenario": "<iframe>alert(1)</iframe>",
        "mode": "single-master",
        "flush": "async",
        "target": "reference",
        "backend": "sim",
        "seed": "0x1",
        "nodes": {"<i>": {"a": "</pre>"}},
    }
    anomaly = {"kind": "lost", "sentence": "</li><iframe>", "ops": [], "allowed": False, "details": {}}
    check = {"check": "<x>", "outcome": "FAIL", "reasons": ["<y>"], "measures": {"lost": 1}, "anomalies": [anomaly]}
    page = report.render(run, {"outcome": "FAIL", "verdicts": [check]}, history, "runs/<z>", "name: </pre><iframe>")
    outline = Outline(page)
    assert outline.open == []
    assert "iframe" not in outline.tags


def test_the_same_run_gives_the_same_page(pages, tmp_path):
    again = run_scenario(tiny(CUT), seed=1, out=tmp_path)
    page = (again.folder / "report.html").read_text("utf-8")
    assert Outline(page).data == Outline(pages["good"]).data
