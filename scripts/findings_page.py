"""The table of releases in ``docs/findings.md``: what each release was asked, and what it showed.

Question: I run release X; which of the findings concern me?

Model. ``suites/findings/findings.yaml`` has the findings, ``suites/recorded/findings.jsonl`` what was recorded of each
release. The table stands between two marks of the page, the rest of which is written by people. A cell without a record
is empty.

    python scripts/findings_page.py           write the table again
    python scripts/findings_page.py --check   exit 1 if it is not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from harness.targets.releases import known
from scripts.markdown import wrapped
from suites import recorded
from suites.findings.record import RESULTS
from suites.findings.table import Finding, findings

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "findings.md"
BEGIN: Final = "<!-- releases: made by scripts/findings_page.py -->"
END: Final = "<!-- end of releases -->"

Entry = Mapping[str, Any]


def table(all_findings: Sequence[Finding], entries: Sequence[Entry], releases: Sequence[str]) -> str:
    """One row a finding, one column a release."""
    states = {(entry["finding"], entry["target"]): entry["state"] for entry in entries}
    lines = [
        f"|  | finding | {' | '.join(releases)} |",
        f"| --- | --- |{' --- |' * len(releases)}",
    ]
    for finding in all_findings:
        cells = [states.get((finding.number, f"rocketmq:{release}"), "") for release in releases]
        lines.append(f"| {finding.number} | {finding.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def seen(all_findings: Sequence[Finding], entries: Sequence[Entry], releases: Sequence[str]) -> str:
    """What was seen where releases differ, in the words of the record."""
    found = {(entry["finding"], entry["target"]): entry for entry in entries}
    lines: list[str] = []
    for finding in all_findings:
        of_finding = [(release, found.get((finding.number, f"rocketmq:{release}"))) for release in releases]
        if len({entry["state"] for _, entry in of_finding if entry}) > 1:
            told = "; ".join(
                f"{release}: {entry['state']}, {_short(entry['seen'])}" for release, entry in of_finding if entry
            )
            lines.append(f"- **{finding.number}** {told}")
    return "\n".join(lines)


def _short(text: str, limit: int = 200) -> str:
    flat = " ".join(text.split()).replace("|", "\\|")
    return flat if len(flat) <= limit else f"{flat[:limit]} …"


def with_table(page: str, text: str) -> str:
    """*page* with *text* between the marks."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    assert mark, f"{PAGE.name} has no marks for the table"
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def page() -> str:
    """The page as it should be."""
    entries = recorded.read(RESULTS)
    text = f"{table(findings(), entries, known())}\n\nWhere releases differ:\n\n{seen(findings(), entries, known())}"
    return wrapped(with_table(PAGE.read_text("utf-8"), text))


def main(arguments: Sequence[str]) -> int:
    made = page()
    if "--check" in arguments:
        return int(made != PAGE.read_text("utf-8"))
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
