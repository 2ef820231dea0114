"""The same pages from ``mqchaos serve``: rows on demand, reports beside them, and a run that is under way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.recorder import Recorder
from results.lake import Lake
from results.marts.build import is_current
from results.serve.server import Places, Server, Site
from suites.browser.conftest import Look, Reader, chromium

pytestmark = [pytest.mark.requires("java", "chromium")]


@pytest.fixture(scope="module", params=[Look(1400, "light"), Look(400, "dark")], ids=str)
def reader(request: pytest.FixtureRequest) -> Iterator[Reader]:
    with chromium(request.param) as driver:
        yield Reader(driver)


@pytest.fixture
def serve(home: Path, tmp_path: Path) -> Iterator[Server]:
    assert is_current(Lake(home / "lake"), home / "marts"), "nothing would be built"
    site = Site(Places(home / "marts", tmp_path))
    with Server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        site.ends.set()
        server.shutdown()
        thread.join()


def test_from_the_matrix_to_a_lost_message_and_the_report_of_its_run(serve: Server, reader: Reader) -> None:
    reader.open_url(serve.address)
    assert "4 runs of brokers without planted bugs" in reader.heading()
    reader.click("a.entry")
    reader.until(lambda: "single-master, async flush, cut_power" in reader.heading())
    reader.click("a[href*='#/run/']")
    reader.until(lambda: "/run/" in reader.driver.current_url)
    reader.click("a[href*='/message/']")
    reader.until(lambda: "Lost: message m" in reader.heading())
    assert reader.violations() == []
    reader.click("table a[href*='report.html#op=']")
    reader.until(lambda: reader.text("#operation").startswith("op "))
    assert reader.complaints() == []


def test_questions_lead_to_their_answers(serve: Server, reader: Reader) -> None:
    reader.open_url(serve.address)
    for place, heading in (("loss", "How much is lost"), ("untested", "What was never tested")):
        reader.click(f"a[data-to={place}]")
        assert reader.focused().text == heading
    reader.click("ul[aria-label=Questions] a[href*='/message/']")
    reader.until(lambda: "Lost: message m" in reader.heading())
    assert "cut_power hit broker-a-0" in reader.text("#explanation")
    reader.open_url(f"{serve.address}#/?mode=multi-master&fault=kill")
    assert "1 runs of brokers without planted bugs" in reader.heading()
    assert "multi-master, async flush, kill" in reader.text("#recovery + div")
    reader.open_url(f"{serve.address}#/releases")
    assert "no difference shows in" in reader.text("#whole")
    assert reader.complaints() == []


def test_words_are_looked_for_in_all_runs(serve: Server, reader: Reader) -> None:
    reader.open_url(serve.address)
    box = reader.driver.find_element("css selector", "#find-run")
    box.send_keys("multi-master kill")
    reader.until(lambda: "1 runs" in reader.text("#view > div:last-child caption"))
    assert reader.complaints() == []


def test_a_run_is_seen_as_it_goes(serve: Server, reader: Reader, tmp_path: Path) -> None:
    """A journal is written while the page is open: sends, a fault, another send that is not answered."""
    (tmp_path / "r-20261128-000000-1").mkdir()
    now = [0]
    recorder = Recorder(lambda: now[0], 1, tmp_path / "r-20261128-000000-1" / "journal.jsonl", durable=False)
    recorder.phase("steady")
    reader.open_url(f"{serve.address}live")
    for number in range(5):
        now[0] += 300_000_000
        op = recorder.invoke(1, "send", queue=0, message=number)
        now[0] += 2_000_000
        recorder.complete(op, "ok", "SEND_OK")
    recorder.event("fault", fault="f1", step="resolve", detail={"do": "cut_power"})
    recorder.event("fault", fault="f1", step="inject")
    recorder.invoke(1, "send", queue=0, message=6)
    recorder.flush()
    reader.until(lambda: "cut_power injected" in reader.text("#said"))
    facts = reader.text("#figures").split("\n")
    told = dict(zip(facts[::2], facts[1::2], strict=True))
    assert (told["sends that were promised"], told["sends waiting now"]) == ("5", "1")
    assert told["faults in force"] == "cut_power"
    reader.until(lambda: reader.driver.execute_script("return document.documentElement.dataset.drawn > 1"))
    assert reader.violations() == []
    recorder.event("fault", fault="f1", step="heal")
    recorder.close()
    reader.until(lambda: "cut_power undone" in reader.text("#said"))
    wide = reader.driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    assert reader.complaints() == []
