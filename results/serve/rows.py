"""Runs and lost messages for one view of the dashboard, from tables that may have millions of rows.

Question: the page asks for a cell, a run, a message or words to look for: which rows, worst first, of how many?

Model. What there is once a cell goes with the page. What there is once a run stays here: read when the server starts,
sorted once (failed before unknown before passed, then by loss), repeated texts kept once; a question is a mask over
columns and takes the first :data:`ROWS_MAX` rows that fit. Spark would need a second for the same answer and gigabytes
to wait for the next.

Limits. The table of runs is in memory: about 0.2 GB a million runs. Lost messages are those of the mart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from results.dashboard import BY_RUN, plain, read_mart

ROWS_MAX: Final = 2_000
RANK: Final = {"FAIL": 0, "UNKNOWN": 1, "PASS": 2}
WORDS: Final = ("run", "scenario", "mode", "fault", "target", "backend", "outcome", "failed_checks", "seed")
"""Columns in which the page looks for words."""

Question = Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """*tables*: name → columns and rows; *fitting*: how many runs there are for this question."""

    tables: dict[str, Any]
    fitting: int


class Rows:
    """The tables with a row a run."""

    def __init__(self, marts: Path) -> None:
        self._tables = {name: read_mart(marts, name) for name in BY_RUN if name != "losses"}
        self._losses = _sorted(_read_narrow(marts / "losses.parquet"))

    def answer(self, question: Question) -> Answer:
        """``run``: that run and its lost messages; else the runs that fit ``mode``, ``flush``, …, ``find``."""
        if name := question.get("run"):
            runs = self._losses.filter(pc.equal(self._losses["run"], name))
            lost = self._tables["lost_messages"]
            return self._told(runs, len(runs), lost.filter(pc.equal(lost["run"], name)))
        runs = self._fitting(question)
        return self._told(runs.slice(0, ROWS_MAX), len(runs), self._example(runs))

    def folder(self, run: str) -> Path | None:
        """Where the folder of *run* was when it came into the lake; ``None`` for a run that is not there."""
        found = self._losses.filter(pc.equal(self._losses["run"], run))["folder"].to_pylist()
        return Path(found[0]) if found else None

    def _example(self, runs: pa.Table) -> pa.Table:
        """A lost message of the worst run that lost one."""
        losers = runs.filter(pc.greater(runs["lost"], 0)).slice(0, 1)
        lost = self._tables["lost_messages"]
        return lost.filter(pc.is_in(lost["run"], losers["run"].combine_chunks())).slice(0, 1)

    def _told(self, runs: pa.Table, fitting: int, lost: pa.Table) -> Answer:
        reports = [
            f"run/{run}/report.html" if (Path(folder) / "report.html").is_file() else ""
            for run, folder in zip(runs["run"].to_pylist(), runs["folder"].to_pylist(), strict=True)
        ]
        tables = {
            "losses": runs.append_column("report", pa.array(reports, pa.string())),
            "lost_messages": lost,
            "flakiness": self._tables["flakiness"].slice(0, ROWS_MAX),
        }
        return Answer({name: plain(table) for name, table in tables.items()}, fitting)

    def _fitting(self, question: Question) -> pa.Table:
        runs = self._losses
        is_planted = pc.not_equal(runs["defects"], "")
        masks = [is_planted if question.get("bugs") == "planted" else pc.invert(is_planted)]
        masks += [pc.equal(runs[name], question[name]) for name in ("mode", "flush", "fault") if question.get(name)]
        if world := question.get("world"):
            target, _, backend = world.rpartition(" on ")
            masks += [pc.equal(runs["target"], target), pc.equal(runs["backend"], backend)]
        for word in question.get("find", "").lower().split():
            masks.append(_has_word(runs, word))
        mask = masks[0]
        for one in masks[1:]:
            mask = pc.and_(mask, one)
        return runs.filter(mask)


def _has_word(runs: pa.Table, word: str) -> Any:
    found = pc.match_substring(runs[WORDS[0]].cast(pa.string()), word, ignore_case=True)
    for name in WORDS[1:]:
        found = pc.or_(found, pc.match_substring(runs[name].cast(pa.string()), word, ignore_case=True))
    return found


def _read_narrow(path: Path) -> pa.Table:
    """Texts that repeat are kept once."""
    repeated = ["mode", "flush", "fault", "backend", "target", "defects", "outcome", "scenario", "commit"]
    return pq.read_table(path, partitioning=None, read_dictionary=[*repeated, "failed_checks"])


def _sorted(losses: pa.Table) -> pa.Table:
    outcomes = losses["outcome"].cast(pa.string())
    rank = pc.index_in(outcomes, pa.array(list(RANK)))
    order = pc.sort_indices(
        pa.table({"rank": rank, "lost": losses["lost"]}), sort_keys=[("rank", "ascending"), ("lost", "descending")]
    )
    return losses.take(order)
