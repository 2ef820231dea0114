"""``make docs``: what is generated in ``docs/``, written anew.

``faults.md`` from the catalogue, ``promises.md`` from contracts, scenarios and results, ``conformance.md`` from probes
and results, ``museum.md`` from planted bugs and what found them, ``explored.md`` from the search of states, the
drawings of ``checkers/``. Each has a test that it is what its sources make.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    _python("scripts/promises_page.py")
    _python("scripts/conformance_page.py")
    _python("scripts/detection_page.py")
    _python("scripts/coverage_page.py")
    _python("-m", "scripts.explored_page")
    _python("scripts/draw_checkers.py")
    _python("-m", "suites.museum.page")
    page = _python("-m", "harness.cli", "list", "faults", "--markdown")
    (ROOT / "docs" / "faults.md").write_text(page, encoding="utf-8")
    return 0


def _python(*arguments: str) -> str:
    """What a command of the project prints; its failure is ours."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
