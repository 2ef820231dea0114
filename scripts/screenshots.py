"""The pictures of pages in ``docs/``, taken anew from what ``make demo`` left.

    make demo && python scripts/screenshots.py

Question: does a picture show the page as it is made today?

Model. Headless Chromium, as in ``suites/browser``: the dashboard and the report of the run with the planted bug, each
as wide as a laptop in light colours and as narrow as a telephone in dark ones, and ``docs/compare.png``, the comparison
of the oldest and the newest release on record (``scripts/releases_page.py``).

Limits. Needs Chromium and its driver (``scripts/setup --browser``); pictures of two machines differ in their fonts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from checkers.verdict import Outcome
from harness.runfolder import read_outcome
from results.compare.page import write_page
from results.compare.pairs import Comparison
from scripts.releases_page import MAKE, comparisons, measured, releases_of
from suites.browser.conftest import Look, Reader, chromium

ROOT: Final = Path(__file__).resolve().parent.parent
DEMO: Final = ROOT / "demo"
DOCS: Final = ROOT / "docs"
LAPTOP, TELEPHONE = Look(1400, "light"), Look(400, "dark")
LOOK_S: Final = 1.0
LOOKS_MAX: Final = 15
HEIGHT: Final = {"dashboard": 1000, "report": 1100, "compare": 1000}


def main() -> int:
    page = DEMO / "dashboard.html"
    if not page.is_file():
        print(f"screenshots: {page} is not there; make demo makes it", file=sys.stderr)
        return 1
    with TemporaryDirectory(prefix="mqc-pictures-") as folder:
        compared = write_page(_oldest_and_newest(), Path(folder) / "compare.html")
        for shown, look, picture in [*_both("dashboard", page), *_both("report", _failed()),
                                     (compared, LAPTOP, "compare")]:  # fmt: skip
            _take(shown, look, DOCS / f"{picture}.png")
    return 0


def _both(name: str, page: Path) -> Iterator[tuple[Path, Look, str]]:
    yield page, LAPTOP, name
    yield page, TELEPHONE, f"{name}-400-dark"


def _failed() -> Path:
    """The report of the run that the demo plants a bug in."""
    folders = (path.parent for path in sorted((DEMO / "runs").glob("r-*/verdict.json")))
    return next(folder / "report.html" for folder in folders if read_outcome(folder) is Outcome.FAIL)


def _oldest_and_newest() -> Comparison:
    runs = measured()
    releases = releases_of(runs)
    wanted = (f"{MAKE}{releases[0]}", f"{MAKE}{releases[-1]}")
    return next(found for found in comparisons(runs) if (found.first, found.second) == wanted)


def _take(page: Path, look: Look, picture: Path) -> None:
    with chromium(look) as driver:
        Reader(driver).open(page)
        height = HEIGHT[picture.stem.partition("-")[0]] if look is LAPTOP else 900
        size = {"width": look.width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.execute_script("window.dispatchEvent(new Event('resize'))")
        picture.write_bytes(_settled(driver.get_screenshot_as_png))
    print(picture.relative_to(ROOT))


def _settled(look: Callable[[], bytes]) -> bytes:
    """What two looks in a row show alike: charts of many operations are drawn piece by piece."""
    before = b""
    for _ in range(LOOKS_MAX):
        if (now := look()) == before:
            break
        before = now
        time.sleep(LOOK_S)
    return before


if __name__ == "__main__":
    sys.exit(main())
