"""The page: which promises held, what was lost, how long it took to come back.

Worst news first. Reads the marts with pyarrow and writes one HTML file that needs nothing else. Runs with planted
defects are shown apart: they are there to be red.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import pyarrow.parquet as pq

from results.dashboard import svg

Row = Mapping[str, Any]

_MODES = (
    "single-master",
    "multi-master",
    "multi-master-multi-slave-async",
    "multi-master-multi-slave-sync",
    "dledger",
)
"""From the weakest promise to the strongest; the order of every drawing."""


def build(marts: Path, out: Path) -> Path:
    """Write the page for the marts in *marts* to *out*; ``FileNotFoundError`` names a mart that is missing."""
    verdicts, losses, recoveries = (_rows(marts / f"{name}.parquet") for name in ("verdicts", "losses", "recoveries"))
    template = Template((Path(__file__).parent / "page.html").read_text())
    honest = [row for row in verdicts if not row["defects"]]
    planted = [row for row in verdicts if row["defects"]]
    page = template.substitute(
        headline=_headline(honest),
        verdicts="".join(_grid_section(rows, title) for title, rows in _by_world(honest)),
        losses=_loss_section([row for row in losses if not row["defects"]]),
        recoveries=_recovery_section(recoveries),
        planted=_planted_table(planted),
        runs=_run_table(losses),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page)
    return out


def _rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return sorted(rows, key=lambda row: (_MODES.index(row["mode"]), row["flush"], row["fault"]))


def _headline(rows: Sequence[Row]) -> str:
    total, failed, unknown = (sum(row[key] for row in rows) for key in ("runs", "failed", "unknown"))
    word = "FAIL" if failed else "UNKNOWN" if unknown else "PASS" if total else "UNKNOWN"
    detail = (
        f"{total:,} runs of honest brokers: {total - failed - unknown:,} passed, {unknown:,} unknown, {failed:,} failed"
    )
    return f'<p class="headline {word.lower()}">{word}</p><p>{detail}</p>'


def _by_world(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    worlds: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        worlds[f"{row['target']} on {row['backend']}"].append(row)
    return list(worlds.items())


def _configuration(row: Row) -> str:
    return f"{row['mode']}/{row['flush']}"


def _grid_section(rows: Sequence[Row], title: str) -> str:
    cells: dict[tuple[str, str], svg.Cell] = {}
    for row in rows:
        key = (_configuration(row), row["fault"])
        before = cells.get(key, svg.Cell(0, 0, 0))
        cells[key] = svg.Cell(
            before.passed + row["passed"], before.unknown + row["unknown"], before.failed + row["failed"]
        )
    columns = list(dict.fromkeys(row["fault"] for row in rows))
    drawn = svg.verdict_grid(list(dict.fromkeys(map(_configuration, rows))), columns, cells)
    unlike = "".join(f"<li>{escape(_configuration(row))}, {escape(row['fault'])}: {escape(row['unlike'])}</li>"
                     for row in rows if row["unlike"])  # fmt: skip
    return f"<h3>{escape(title)}</h3>{drawn}" + (f"<ul>{unlike}</ul>" if unlike else "")


def _loss_section(rows: Sequence[Row]) -> str:
    cells: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        cells[f"{_configuration(row)}, {row['fault']} ({_world(row)})"].append(float(row["lost"]))
    lossy = [svg.Strip(label, tuple(sorted(values))) for label, values in cells.items() if any(values)]
    silent = len(cells) - len(lossy)
    return (svg.strips(lossy, "messages lost a run") if lossy else "<p>No acknowledged message was lost.</p>") + (
        f"<p>{silent} other cells lost no acknowledged message in any run.</p>"
    )


def _world(row: Row) -> str:
    return str(row["target"]) if row["backend"] != "sim" else "simulated"


def _recovery_section(rows: Sequence[Row]) -> str:
    measured = [row for row in rows if row["affected"] and row["max_ms"] is not None]
    drawn = [
        svg.Range(
            f"{_configuration(row)}, {row['fault']} ({_world(row)})",
            *(float(row[key]) for key in ("p50_ms", "p90_ms", "p99_ms", "max_ms")),
            note=f"{row['never']} of {row['recoveries']} not before the load ended" if row["never"] else "",
        )
        for row in measured
    ]
    return svg.ranges(drawn, "milliseconds") if drawn else "<p>No fault was injected.</p>"


def _planted_table(rows: Sequence[Row]) -> str:
    if not rows:
        return "<p>None of these runs had a planted defect.</p>"
    body = "".join(
        _table_row(
            row["defects"], _configuration(row), row["fault"], f"{row['failed']} of {row['runs']}", row["unlike"]
        )
        for row in rows
    )
    return _table(("defect", "configuration", "fault", "caught", "by"), body)


def _run_table(rows: Sequence[Row], limit: int = 500) -> str:
    order = {"FAIL": 0, "UNKNOWN": 1, "PASS": 2}
    chosen = sorted(rows, key=lambda row: (order[row["outcome"]], -row["lost"]))[:limit]
    body = "".join(
        _table_row(
            row["outcome"], row["run"], row["scenario"], row["fault"], row["target"], row["promised"], row["lost"],
            row["duplicated"], "" if row["oldest_lost_ms"] is None else f"{row['oldest_lost_ms']:.0f} ms",
        )
        for row in chosen
    )  # fmt: skip
    names = ("verdict", "run", "scenario", "fault", "target", "promised", "lost", "duplicated", "oldest lost")
    note = f"<p>The {limit} worst of {len(rows)} runs.</p>" if len(rows) > limit else ""
    return note + _table(names, body)


def _table(names: Sequence[str], body: str) -> str:
    return (
        f"<table><thead><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead><tbody>{body}</tbody></table>"
    )


def _table_row(*values: object) -> str:
    return f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in values)}</tr>"
