"""What is in a lake: commit records, and nothing but commit records.

Question: which runs are in, in which files, so that a reader never sees a half-finished change and a run never counts
twice?

    <lake>/<table>/mode=<mode>/day=<yyyy-mm-dd>/<batch>.parquet
    <lake>/_commits/<batch>.json           {batch, mode, day, runs, rows, replaces}

Model. A batch is the set of runs of one mode and day that came in together; it has one file in every table. It is in
the lake when its record is: data first, record last, in one step. A record that *replaces* others (compaction) takes
their place in that step; what they leave behind is swept by the next change. Engines that know nothing of the records
read ``<lake>/<table>/**/*.parquet``: between changes that is the same.

Limits. Between the record of a compaction and its sweep such an engine sees the runs of it twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from results.lake.places import Place
from results.lake.schemas import SCHEMAS

COMMITS: Final = "_commits"
QUARANTINE: Final = "_quarantine"


@dataclass(frozen=True)
class Commit:
    """One batch: ``runs`` maps a run to the digests of its history and its verdict, ``rows`` a table to its rows."""

    batch: str
    mode: str
    day: str
    runs: Mapping[str, Mapping[str, str]]
    rows: Mapping[str, int]
    replaces: Sequence[str] = field(default=())

    def file(self, table: str) -> str:
        """Relative to the lake."""
        return data_file(table, self.mode, self.day, self.batch)

    @property
    def record(self) -> str:
        return f"{COMMITS}/{self.batch}.json"


def data_file(table: str, mode: str, day: str, batch: str) -> str:
    return f"{table}/mode={mode}/day={day}/{batch}.parquet"


class Lake:
    """A lake at a path or URI. Reading needs no lock; changes are made by ``ingest`` and ``upkeep``."""

    def __init__(self, where: str | Path) -> None:
        self.place = Place.of(where)

    def commits(self) -> list[Commit]:
        """All batches that count, by name."""
        found = [Commit(**self.place.read_json(path)) for path in self.place.files(COMMITS, ".json")]
        replaced = {batch for commit in found for batch in commit.replaces}
        return [commit for commit in found if commit.batch not in replaced]

    def files(self, table: str, commits: Sequence[Commit]) -> list[str]:
        """URIs of the files of *table*; whoever reads several tables gives the same *commits* for all, or a change of
        the lake comes in between."""
        return [f"{self.place.uri}/{commit.file(table)}" for commit in commits]

    def holders(self) -> dict[str, Commit]:
        """run → the batch that it is in."""
        return {run: commit for commit in self.commits() for run in commit.runs}

    def commit(self, commit: Commit) -> None:
        """From now on *commit* counts, and what it replaces does not."""
        self.place.write_json(commit.record, asdict(commit))

    def sweep(self) -> list[str]:
        """Remove what no batch that counts refers to: leftovers of changes that died, and of compactions."""
        live = {commit.batch for commit in self.commits()}
        gone = [path for path in self._own_files() if Path(path).stem.removesuffix(".parquet") not in live]
        # Records go last: a record that outlives its files would count again.
        for path in sorted(gone, key=lambda path: path.startswith(COMMITS)):
            self.place.remove(path)
        return gone

    def _own_files(self) -> Iterator[str]:
        yield from self.place.files(COMMITS, ".json")
        for table in SCHEMAS:
            yield from (path for path in self.place.files(table) if path.endswith((".parquet", ".parquet.tmp")))

    def quarantined(self) -> list[dict[str, Any]]:
        """Runs that could not come in: where they are, and why."""
        return [self.place.read_json(path) for path in self.place.files(QUARANTINE, ".json")]

    def quarantine(self, name: str, folder: str, reason: str) -> None:
        self.place.write_json(f"{QUARANTINE}/{name}.json", {"run": name, "folder": folder, "reason": reason})

    def release(self, name: str) -> None:
        """A run that came in after all."""
        self.place.remove(f"{QUARANTINE}/{name}.json")
