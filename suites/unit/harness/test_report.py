"""The page of a run: whole HTML, nothing fetched, the verdict first, the proof marked, everything escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from checkers.history.history import History
from harness import report, report_timeline
from harness.recorder import Recorder
from harness.run import run_scenario
from suites.unit.harness.tiny import CUT, KILL, tiny


class Outline(HTMLParser):
    """Tags that open must close, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        assert not {"src", "href", "onclick", "onload"} & {name for name, _ in attributes}
        if tag not in {"meta"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
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
    assert not {"script", "link", "img", "iframe"} & set(outline.tags)
    assert not re.search(r"url\(|@import|https?://", pages[name])


def test_the_verdict_comes_first_then_how_to_run_it_again(pages):
    text = Outline(pages["bad"]).text
    assert text.index("FAIL") < text.index("mqchaos replay") < text.index("What the checkers say")
    assert "A promise was broken." in text
    assert "skip-last-record" in text


def test_failing_checks_come_before_passing_ones_and_say_why_in_a_sentence(pages):
    text = Outline(pages["bad"]).text
    checks = re.findall(r"(PASS|UNKNOWN|FAIL) (faults|accounting|log|availability|life-cycle)", text)
    assert [outcome for outcome, _ in checks] == sorted(outcome for outcome, _ in checks)
    assert "acknowledged message" in text


def test_operations_that_prove_an_anomaly_stand_out(pages):
    assert 'class="op bad"' in pages["bad"]
    assert 'class="op bad"' not in pages["good"]


def test_loss_that_is_allowed_is_told_in_the_head(pages):
    text = Outline(pages["good"]).text
    assert "What it does not promise was lost" in text[: text.index("What the checkers say")]


def test_the_fault_is_a_band_with_its_sentence(pages):
    assert "cut_power of broker-a-0" in pages["good"]
    assert 'class="fault"' in pages["good"]


def many_sends(count: int) -> History:
    recorder = Recorder(iter(range(10**9)).__next__, run=1)
    queue = recorder.queue("T", "broker-a", 0)
    for sequence in range(count):
        message = recorder.message(0, sequence, 100)
        op = recorder.invoke(0, "send", queue=queue, message=message)
        recorder.complete(op, "ok", "SEND_OK", offset=sequence)
    return History.from_columns(recorder.columns())


def test_a_timeline_draws_a_bounded_number_and_says_so(monkeypatch):
    monkeypatch.setattr(report_timeline, "OPS_MAX", 100)
    timeline = report_timeline.draw(many_sends(1001), (), (), frozenset({1000}))
    assert timeline.total == 1001
    assert timeline.drawn <= 101
    assert 'class="op bad"' in timeline.svg, "what proves an anomaly is drawn whatever the bound"
    assert "of 1,001 operations" in report._legend(timeline)
    whole = report_timeline.draw(many_sends(10), (), (), frozenset())
    assert "operations" not in report._legend(whole)


def test_overlapping_operations_lie_below_each_other_in_bounded_rows():
    recorder = Recorder(iter(range(10**9)).__next__, run=1)
    queue = recorder.queue("T", "b", 0)
    ops = [recorder.invoke(p, "send", queue=queue, message=recorder.message(p, 0, 1)) for p in range(10)]
    for op in ops:
        recorder.complete(op, "info", "TIMEOUT")
    svg = report_timeline.draw(History.from_columns(recorder.columns()), (), (), frozenset()).svg
    tops = re.findall(r'class="op info" x="[\d.]+" y="(\d+)"', svg)
    assert len(tops) == 10
    assert len(set(tops)) == report_timeline.ROWS_MAX


def test_what_comes_from_outside_is_escaped():
    recorder = Recorder(lambda: 0, run=1)
    recorder.phase("<b>steady</b>")
    history = History.from_columns(recorder.columns())
    run = {
        "run": "r-1",
        "scenario": "<script>alert(1)</script>",
        "mode": "single-master",
        "flush": "async",
        "target": "reference",
        "backend": "sim",
        "seed": "0x1",
        "nodes": {"<i>": {"a": "</pre>"}},
    }
    anomaly = {"kind": "lost", "sentence": "</li><script>", "ops": [], "allowed": False, "details": {}}
    check = {"check": "<x>", "outcome": "FAIL", "reasons": ["<y>"], "measures": {"<m>": "<v>"}, "anomalies": [anomaly]}
    page = report.render(run, {"outcome": "FAIL", "verdicts": [check]}, history, "runs/<z>")
    outline = Outline(page)
    assert outline.open == []
    assert "script" not in outline.tags
