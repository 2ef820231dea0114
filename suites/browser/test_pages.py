"""From the matrix to a lost message and its explanation, at 400 and 1,400 pixels, light and dark, by keyboard alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.run import run_scenario
from suites.browser.conftest import Reader

ETCD = Path(__file__).resolve().parents[1] / "public" / "porcupine" / "test_data" / "jepsen" / "etcd_000.log"
pytestmark = [pytest.mark.requires("java", "chromium")]


def report(home: Path, *, failed: bool) -> Path:
    return next(path for path in sorted((home / "runs").glob("r-*/report.html"))
                if ('edge-FAIL"' in path.read_text("utf-8")) is failed)  # fmt: skip


def test_a_keyboard_goes_from_the_matrix_to_a_lost_message(home: Path, reader: Reader) -> None:
    from selenium.webdriver.common.keys import Keys

    reader.open(home / "dashboard.html")
    assert "runs of brokers without planted bugs" in reader.heading()
    cell = reader.tab_to(lambda e: "entry" in (e.get_attribute("class") or "") and "loss in" in e.text)
    cell.send_keys(Keys.ENTER)
    reader.until(lambda: "single-master, async flush, cut_power" in reader.heading())
    assert reader.focused().tag_name == "h1", "the focus goes where the eye goes"
    run = reader.tab_to(lambda e: (e.get_attribute("href") or "").find("#/run/") > 0)
    run.send_keys(Keys.ENTER)
    reader.until(lambda: "/run/" in reader.driver.current_url)
    message = reader.tab_to(lambda e: "/message/" in (e.get_attribute("href") or ""))
    message.send_keys(Keys.ENTER)
    reader.until(lambda: "Lost: message m" in reader.heading())
    explanation = reader.text("#explanation")
    assert "with SEND_OK" in explanation
    assert "cut_power hit broker-a-0" in explanation
    assert "The contract of the mode allows this loss." in explanation
    assert "send" in reader.text("table")
    assert reader.complaints() == []


def test_planted_bugs_are_shown_apart_and_their_loss_is_not_allowed(home: Path, reader: Reader) -> None:
    reader.open(home / "dashboard.html", "#/?bugs=planted")
    assert reader.heading().startswith("FAIL")
    reader.click("a.entry.FAIL")
    reader.until(lambda: "single-master, sync flush, cut_power" in reader.heading())
    reader.click("a[href*='#/run/']")
    reader.click("a[href*='/message/']")
    reader.until(lambda: "Lost: message" in reader.heading())
    assert "does not allow this loss" in reader.text("#explanation")


@pytest.mark.parametrize("address", ["", "#/?bugs=planted", "#/releases", "cell", "run", "message"])
def test_axe_finds_nothing_serious_on_the_dashboard(home: Path, reader: Reader, address: str) -> None:
    page = home / "dashboard.html"
    reader.open(page, "" if address in ("cell", "run", "message") else address)
    for selector in {
        "cell": ["a.entry"],
        "run": ["td a[href*='#/run/']"],
        "message": ["a[href*='/message/']"],
    }.get(address, []):
        before = reader.driver.current_url
        reader.click(selector)
        reader.until(lambda before=before: reader.driver.current_url != before)
    assert reader.violations() == []
    assert reader.complaints() == []


@pytest.mark.parametrize("failed", [False, True])
def test_axe_finds_nothing_serious_on_a_report(home: Path, reader: Reader, failed: bool) -> None:
    reader.open(report(home, failed=failed))
    assert reader.violations() == []
    assert reader.complaints() == []


@pytest.fixture(scope="session")
def group(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a group whose leader was killed."""
    folder = run_scenario("dledger-leader-killed", seed=1, out=tmp_path_factory.mktemp("group")).folder
    assert folder is not None
    return folder / "report.html"


def test_the_page_of_a_group_draws_who_led_in_which_term(group: Path, reader: Reader) -> None:
    reader.open(group)
    assert "leads, with its term" in reader.text(".legend")
    assert "term 1" in reader.driver.execute_script(
        "return run.chart.getZr().storage.getDisplayList().map((one) => one.style.text ?? '')"
    )
    assert reader.violations() == []
    assert reader.complaints() == []


def test_a_history_of_another_tool_has_a_page_too(tmp_path: Path, reader: Reader) -> None:
    from harness.cli import main

    page = tmp_path / "etcd.html"
    assert main(["check", str(ETCD), "--model", "register", "--report", str(page)]) == 1
    reader.open(page)
    assert reader.heading() == f"FAIL {ETCD} as register"
    reader.click(".proof a")
    reader.until(lambda: reader.text("#operation").startswith("line 4: process 1 write 2 (ok)"))
    assert reader.violations() == []
    assert reader.driver.execute_script("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert reader.complaints() == []


def test_no_page_is_wider_than_the_screen(home: Path, reader: Reader) -> None:
    for page in (home / "dashboard.html", report(home, failed=True)):
        reader.open(page)
        wide = reader.driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, page


def test_an_operation_has_an_address(home: Path, reader: Reader) -> None:
    page = report(home, failed=True)
    reader.open(page)
    proof = reader.driver.find_element("css selector", ".proof a")
    number = proof.get_attribute("href").rpartition("=")[2]
    reader.open(page, f"#op={number}")
    reader.until(lambda: reader.text("#operation").startswith(f"op {number}: send m"))
    shown = reader.until(
        lambda: reader.driver.execute_script("return run.seen.length < timeline.data.count && run.seen.length")
    )
    assert shown >= 1


def test_the_timeline_zooms_to_a_millisecond_by_keyboard(home: Path, reader: Reader) -> None:
    reader.open(report(home, failed=False))
    chart = reader.tab_to(lambda e: e.get_attribute("id") == "timeline")
    for _ in range(16):
        chart.send_keys("+")
    span = reader.until(lambda: reader.driver.execute_script("const s = run.to - run.from; return s < 0.002 && s"))
    assert span >= 0.00099
    reader.until(lambda: "each drawn" in reader.text("#timeline-note"))


def test_runs_are_found_by_words_and_tables_sort_by_keyboard(home: Path, reader: Reader) -> None:
    from selenium.webdriver.common.keys import Keys

    reader.open(home / "dashboard.html")
    box = reader.driver.find_element("css selector", "#find-run")
    box.send_keys("multi-master kill")
    reader.until(lambda: "1 runs" in reader.text("#view > div:last-child caption"))
    assert "find=multi-master" in reader.driver.current_url
    for _ in "multi-master kill":
        box.send_keys(Keys.BACKSPACE)
    button = reader.driver.find_element("xpath", "//div[@id='view']/div[last()]//th/button[.='acknowledged']")
    button.send_keys(Keys.ENTER)
    header = reader.driver.find_element("xpath", "//div[@id='view']/div[last()]//th[button='acknowledged']")
    assert header.get_attribute("aria-sort") == "descending"
    cells = reader.driver.find_elements("xpath", "//div[@id='view']/div[last()]//tbody/tr/td[7]")
    counts = [int(cell.text.replace(",", "")) for cell in cells]
    assert counts == sorted(counts, reverse=True)


def test_a_choice_of_colours_wins_over_the_system(home: Path, reader: Reader) -> None:
    reader.open(home / "dashboard.html")
    for choice in ("dark", "light"):
        reader.driver.execute_script(
            "arguments[0].click()", reader.driver.find_element("css selector", f"input[value={choice}]")
        )
        assert reader.driver.execute_script("return document.documentElement.dataset.theme") == choice
