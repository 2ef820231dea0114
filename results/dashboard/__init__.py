"""The tables of a lake as one page that a person explores; no Spark, no network, one file.

Question: how much is lost in which mode, how long is it down, did a release get worse, what was never tested, and what
happened to that one message?

Model. The marts go into the page as they are (columns and rows, compressed); its scripts show them by address: the
matrix, a cell, a run, a lost message, two releases. Every view has an address after ``#`` that can be sent to somebody.

Limits. At most :data:`RUNS_MAX` runs are listed one by one, those that are not PASS or lost something first; cells
count all. ``mqchaos serve`` has no such limit: its page asks for the rows of a view (:mod:`results.serve`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from checkers.contract import Contract, Guarantee, contract_of, known_modes
from checkers.history.effects import NO_HARM
from faults.catalogue import VERBS
from faults.selectors import WITH_SERVING
from harness.errors import HistoryError
from harness.harms import harm_of_verb
from harness.pages import put, render
from results.marts import MARTS, check_costs

RUNS_MAX: Final = 20_000
SCRIPTS: Final = ("model.js", "overview.js", "cell.js", "run.js", "releases.js", "main.js")
BY_RUN: Final = ("losses", "lost_messages", "flakiness")
"""Marts that grow with the number of runs; the others grow with that of cells."""

REPEATED: Final = ("outcomes",)
"""Marts whose columns another one has as well."""

__all__ = ["BY_RUN", "RUNS_MAX", "about", "build", "plain", "read_mart", "render_page", "tables", "tables_by_cell"]


def build(marts: Path, out: Path) -> Path:
    """Write the page for the tables in *marts* to *out*; ``HistoryError`` names a table that is missing or damaged."""
    text = render_page(tables(marts, out.parent), about(marts))
    return put(out, text)


def render_page(data: Mapping[str, Any], facts: Mapping[str, Any], live: str = "") -> str:
    """The page as text. *live*: it comes from a server, which it asks for rows, and which shows a run there."""
    return render(__name__, "dashboard.html", title="mqchaos results", scripts=SCRIPTS, facts=facts, live=live,
                  data={"marts": data, "vocabulary": vocabulary()})  # fmt: skip


def tables(marts: Path, beside: Path) -> dict[str, Any]:
    """Every mart as columns and rows. Run folders become links relative to *beside*, where there is a report."""
    runs = {name: read_mart(marts, name) for name in BY_RUN}
    runs["losses"] = _with_reports(_worst(runs["losses"]), beside)
    return {**tables_by_cell(marts), **{name: plain(table) for name, table in runs.items()}}


def tables_by_cell(marts: Path) -> dict[str, Any]:
    """The marts that do not grow with the number of runs."""
    found = {name: read_mart(marts, name) for name in MARTS if name not in (*BY_RUN, *REPEATED)}
    stages = {name: _by_cell(found.pop(name)) for name in ("failovers", "replication_lags")}
    return {name: plain(table) for name, table in {**found, **stages, check_costs.NAME: _costs(marts)}.items()}


def _costs(marts: Path) -> pa.Table:
    """Only a re-check makes that table."""
    has = (marts / f"{check_costs.NAME}.parquet").is_file()
    return read_mart(marts, check_costs.NAME) if has else check_costs.SCHEMA.empty_table()


def about(marts: Path) -> dict[str, Any]:
    """How many runs and operations, of which days."""
    runs = read_mart(marts, "losses").select(["started_epoch_ms", "ops"])
    days = [_day(pc.min(runs["started_epoch_ms"]).as_py()), _day(pc.max(runs["started_epoch_ms"]).as_py())]
    told = json.loads((marts / "marts.json").read_text()) if (marts / "marts.json").is_file() else {}
    return {"runs": len(runs), "ops": pc.sum(runs["ops"]).as_py() or 0, "first": days[0], "last": days[1],
            "quarantined": told.get("quarantined", [])}  # fmt: skip


def vocabulary() -> dict[str, Any]:
    """What there is, whether it was run or not: modes, verbs, and what each contract says of each verb."""
    contracts = {mode: contract_of(mode) for mode in known_modes()}
    harms = {verb: harm_of_verb(verb) for verb in VERBS}
    return {
        "modes": list(known_modes()),
        "verbs": {verb.name: verb.summary for verb in VERBS.values()},
        "guarantees": {
            f"{mode}/{flush}/{label}": [guarantee.words.strip(), guarantee.source.strip()]
            for mode, contract in contracts.items() if contract is not None
            for verb, harm in {"none": NO_HARM, **harms}.items() for flush in ("async", "sync")
            if (guarantee := _strictest(contract, harm, flush)) is not None
            for label in (verb, *(f"{verb} {group}" for group in WITH_SERVING))
        },
    }  # fmt: skip


def _strictest(contract: Contract, harm: str, flush: str) -> Guarantee | None:
    """What holds whoever was hit, else what holds of the first role that the contract names."""
    named = (guarantee for (of, how, _), guarantee in contract.guarantees.items() if (of, how) == (harm, flush))
    return contract.guarantee(harm, flush) or next(named, None)


def read_mart(marts: Path, name: str) -> pa.Table:
    """``HistoryError`` if it is missing or damaged."""
    path = marts / f"{name}.parquet"
    try:
        return pq.read_table(path, partitioning=None)
    except (OSError, pa.ArrowException) as problem:
        raise HistoryError(
            f"{path.name} cannot be read: {problem}", place=str(path), hint="mqchaos lake marts"
        ) from problem


def _worst(losses: pa.Table) -> pa.Table:
    if len(losses) <= RUNS_MAX:
        return losses
    order = pc.add(
        pc.cast(pc.equal(losses["outcome"], "PASS"), pa.int8()), pc.cast(pc.equal(losses["lost"], 0), pa.int8())
    )
    return losses.append_column("order", order).sort_by("order").drop_columns(["order"]).slice(0, RUNS_MAX)


def _with_reports(losses: pa.Table, beside: Path) -> pa.Table:
    links = []
    for folder in losses["folder"].to_pylist():
        report = Path(folder) / "report.html"
        links.append(os.path.relpath(report, beside.absolute()) if report.is_file() else "")
    return losses.append_column("report", pa.array(links, pa.string()))


def _by_cell(table: pa.Table) -> pa.Table:
    """Of many rows a cell, the median of every figure: what the cell's view shows."""
    keys = [
        name
        for name in ("mode", "flush", "fault", "backend", "target", "defects", "verb", "master")
        if name in table.column_names
    ]
    figures = [name for name in table.column_names if name.endswith(("_ms", "_bytes"))]
    wanted = [(name, "approximate_median") for name in figures] + [(name, "count") for name in figures]
    grouped = table.group_by(keys).aggregate([*wanted, ([], "count_all")])
    return grouped.rename_columns([name.replace("_approximate_median", "") for name in grouped.column_names])


def plain(table: pa.Table) -> dict[str, Any]:
    """Columns and rows, as the page's scripts take them."""
    columns = [column.to_pylist() for column in table.columns]
    return {"columns": table.column_names, "rows": [list(map(_value, row)) for row in zip(*columns, strict=True)]}


def _value(value: Any) -> Any:
    """What JSON can say; figures to six digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if value == value else None
    if isinstance(value, date):
        return value.isoformat()
    return value


def _day(epoch_ms: int | None) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).date().isoformat() if epoch_ms is not None else ""
