"""A browser of any width, light or dark, and a small lake with a lost message to click through to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.run import run_scenario
from results.dashboard import build as build_page
from results.lake import Lake
from results.lake.ingest import add
from results.marts.build import build

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / ".venv" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
WAIT_S = 20.0


@dataclass(frozen=True)
class Look:
    """How somebody looks at a page."""

    width: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.width}-{self.scheme}"


LOOKS = [Look(width, scheme) for width in (400, 1400) for scheme in ("light", "dark")]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with losses within the contract and outside it, their lake, tables and page."""
    place = tmp_path_factory.mktemp("pages")
    for scenario, seed, defects in (
        ("single-master-async-power-cut", 1, ()),
        ("single-master-async-power-cut", 2, ()),
        ("single-master-sync-power-cut", 1, ()),
        ("single-master-sync-power-cut", 1, ("ack-before-fsync",)),
        ("multi-master-kill", 1, ()),
    ):
        run_scenario(scenario, seed=seed, defects=defects, out=place / "runs")
    lake = Lake(place / "lake")
    add(sorted(path for path in (place / "runs").iterdir() if not path.is_symlink()), lake)
    build(lake, place / "marts")
    build_page(place / "marts", place / "dashboard.html")
    return place


class Reader:
    """A person with a browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, address: str = "") -> None:
        self.open_url(f"{page.as_uri()}{address}")

    def open_url(self, url: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(url)
        self.until(lambda: self.driver.execute_script("return document.documentElement.dataset.ready"))

    def until(self, holds: Any) -> Any:
        from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        # A view may be replaced between finding an element and reading it.
        passing = [NoSuchElementException, StaleElementReferenceException]
        return WebDriverWait(self.driver, WAIT_S, 0.05, passing).until(lambda _: holds())

    def click(self, selector: str) -> None:
        """The first that fits, brought into the middle of the screen as a person would."""
        element = self.until(lambda: self.driver.find_element("css selector", selector))
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", element)
        element.click()

    def text(self, selector: str = "main") -> str:
        return str(self.driver.find_element("css selector", selector).text)

    def heading(self) -> str:
        return self.text("h1")

    def press(self, key: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(key).perform()

    def focused(self) -> Any:
        return self.driver.switch_to.active_element

    def tab_to(self, wanted: Any, limit: int = 400) -> Any:
        """Press Tab until *wanted* holds of the element that has the focus."""
        from selenium.webdriver.common.keys import Keys

        for _ in range(limit):
            self.press(Keys.TAB)
            element = self.focused()
            if wanted(element):
                return element
        raise AssertionError(
            f"not reached with {limit} tabs; the focus is on {self.focused().get_attribute('outerHTML')[:200]}"
        )

    def violations(self) -> list[str]:
        """What axe-core calls serious or critical, one line each."""
        self.driver.execute_script(AXE.read_text("utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations));"
        )
        return [
            f"{rule['id']}: {rule['help']}: {rule['nodes'][0]['html'][:200]}"
            for rule in found
            if rule["impact"] in ("serious", "critical")
        ]

    def complaints(self) -> list[str]:
        """What the page's scripts said on the console."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.fixture(params=LOOKS, ids=str)
def reader(request: pytest.FixtureRequest) -> Iterator[Reader]:
    with chromium(request.param) as driver:
        yield Reader(driver)


class chromium:
    """A headless Chromium of the given look."""

    def __init__(self, look: Look) -> None:
        self.look = look

    def __enter__(self) -> Any:
        from shutil import which

        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service

        options = Options()
        options.binary_location = str(which("chromium"))
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(which("chromedriver")))
        size = {"width": self.look.width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": self.look.scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.driver.set_script_timeout(WAIT_S)
        return self.driver

    def __exit__(self, *error: object) -> None:
        self.driver.quit()
