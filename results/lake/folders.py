"""One run folder as the lake sees it: its two documents, its five tables, and whether it is whole.

Question: may this run come into the lake, and what are its rows?

Model. ``run.json`` and ``verdict.json`` are read first; they are small, and tell whether the run is new. The tables are
read, brought to today's columns and validated (:meth:`History.from_arrow`) only when it comes in. Anything missing or
wrong is a :class:`DamagedRun` with the file and the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.history.columns import HistoryFormatError
from checkers.history.history import History
from checkers.history.schema import OPTIONAL, TABLES
from faults.selectors import group_named
from results.lake.schemas import ANOMALIES, NODES, RUNS, SCHEMAS, VERDICTS

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "run.json": ("run", "mode", "started_epoch_ms"),
    "verdict.json": ("outcome", "verdicts"),
}
_TEXTS: Final = ("run", "scenario", "flush", "backend", "target", "seed", "commit", "history_sha256")


class DamagedRun(Exception):
    """A run folder that cannot come in: which one, and what is wrong with it."""


@dataclass(frozen=True)
class RunFolder:
    """The two documents of a run folder; its tables stay on disk until they are asked for."""

    path: Path
    run: Mapping[str, Any]
    verdict: Mapping[str, Any]
    verdict_sha256: str

    @classmethod
    def read(cls, path: Path) -> RunFolder:
        """Raises :class:`DamagedRun`."""
        run, _ = _document(path, "run.json")
        verdict, text = _document(path, "verdict.json")
        return cls(path, run, verdict, sha256(text.encode()).hexdigest())

    @property
    def name(self) -> str:
        return str(self.run["run"])

    @property
    def digests(self) -> dict[str, str]:
        return {"history": str(self.run.get("history_sha256", "")), "verdict": self.verdict_sha256}

    @property
    def partition(self) -> tuple[str, str]:
        day = datetime.fromtimestamp(self.run["started_epoch_ms"] / 1000, UTC).date().isoformat()
        return str(self.run["mode"]), day

    @property
    def fault(self) -> str:
        """The verbs of the plan in order of first use: ``kill``, ``kill+pause``, ``isolate clients``, or ``none``; with
        whom they are on, if it is not a master."""
        labels = dict.fromkeys(_fault_label(fault) for fault in self.run.get("faults", ()))
        return "+".join(labels) or "none"

    def tables(self) -> dict[str, pa.Table]:
        """The history, validated; raises :class:`DamagedRun`."""
        tables = {name: self._table(name) for name in TABLES}
        try:
            History.from_arrow(tables)
        except HistoryFormatError as error:
            raise DamagedRun(f"{self.path}: {error}") from error
        return tables

    def _table(self, name: str) -> pa.Table:
        path = self.path / f"{name}.parquet"
        try:
            found = pq.read_table(path.absolute(), partitioning=None)
            return _to_schema(found, TABLES[name], OPTIONAL.get(name, {}))
        except (OSError, pa.ArrowException, KeyError) as problem:
            raise DamagedRun(f"{path}: {problem}") from problem

    def unknown_columns(self) -> list[str]:
        """``table.column`` that this version does not know and leaves out."""
        return [
            f"{name}.{column}"
            for name, schema in TABLES.items()
            for column in pq.read_schema((self.path / f"{name}.parquet").absolute()).names
            if column not in schema.names
        ]

    def judged(self, ops: int, duration_ns: int) -> dict[str, pa.Table]:
        """The rows about the run and its verdicts."""
        checks = self.verdict["verdicts"]
        return {
            "runs": pa.Table.from_pylist([self._run_row(ops, duration_ns)], schema=RUNS),
            "verdicts": pa.Table.from_pylist([_verdict_row(check) for check in checks], schema=_without_run(VERDICTS)),
            "anomalies": pa.Table.from_pylist(
                [_anomaly_row(check["check"], place, found)
                 for check in checks for place, found in enumerate(check["anomalies"])],
                schema=_without_run(ANOMALIES),
            ),
        }  # fmt: skip

    def nodes(self) -> pa.Table:
        """Who was set up as what."""
        targets = self.run.get("targets", {})
        rows = [
            {
                "node": node,
                "broker": properties.get("brokerName", ""),
                "role": _role(properties),
                "target": targets.get(node, self.run.get("target", "")),
            }
            for node, properties in self.run.get("nodes", {}).items()
        ]
        return pa.Table.from_pylist(rows, schema=_without_run(NODES))

    def _run_row(self, ops: int, duration_ns: int) -> dict[str, Any]:
        failed = (f"{check['check']} {check['outcome']}" for check in self.verdict["verdicts"])
        return {
            **{key: str(self.run.get(key, "")) for key in _TEXTS},
            "fault": self.fault,
            "outcome": str(self.verdict["outcome"]),
            "started_epoch_ms": int(self.run["started_epoch_ms"]),
            "defects": "+".join(self.run.get("defects", ())),
            "plan": self._plan(),
            "ops": ops,
            "duration_ns": duration_ns,
            "folder": str(self.path),
            "failed_checks": ", ".join(check for check in failed if not check.endswith(" PASS")),
            "replay": f"mqchaos replay {self.path}",
        }

    def _plan(self) -> str:
        try:
            text = (self.path / "scenario.yaml").read_text(encoding="utf-8")
        except OSError:
            text = json.dumps([self.run["mode"], self.run.get("flush"), self.run.get("faults")], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:12]


def with_run(table: pa.Table, name: str, run: str) -> pa.Table:
    """*table* in the lake's columns for table *name*: the run's name first."""
    if "run" not in table.column_names:
        table = table.add_column(0, "run", pa.repeat(pa.scalar(run), len(table)))
    return table.cast(SCHEMAS[name])


def _document(path: Path, name: str) -> tuple[dict[str, Any], str]:
    try:
        text = (path / name).read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, ValueError) as problem:
        raise DamagedRun(f"{path}: not a finished run, {name}: {problem}") from problem
    if not isinstance(document, dict):
        raise DamagedRun(f"{path}: {name} is no object")
    if missing := [key for key in _NEEDED[name] if key not in document]:
        raise DamagedRun(f"{path}: not a finished run, {name} lacks {', '.join(missing)}")
    return document, text


def _to_schema(found: pa.Table, schema: pa.Schema, defaults: Mapping[str, int]) -> pa.Table:
    """Today's columns in today's order and types. A column that is neither there nor optional is a ``KeyError``."""
    columns = []
    for field in schema:
        if field.name in found.column_names:
            columns.append(found.column(field.name).cast(field.type))
        else:
            columns.append(pa.repeat(pa.scalar(defaults[field.name], field.type), len(found)))
    return pa.table(columns, schema=schema)


def _fault_label(fault: Mapping[str, Any]) -> str:
    return f"{fault['do']} {group_named(str(fault.get('on', '')))}".rstrip()


def _role(properties: Mapping[str, str]) -> str:
    if "brokerName" not in properties:
        is_apart = "controllerDLegerGroup" in properties and "enableControllerInNamesrv" not in properties
        return "controller" if is_apart else "nameserver"
    if properties.get("enableDLegerCommitLog") == "true":
        return "member"
    return "slave" if properties.get("brokerRole") == "SLAVE" else "master"


def _without_run(schema: pa.Schema) -> pa.Schema:
    return schema.remove(0)


def _verdict_row(check: Mapping[str, Any]) -> dict[str, Any]:
    allowed = sum(bool(found["allowed"]) for found in check["anomalies"])
    return {
        "check": check["check"],
        "outcome": check["outcome"],
        "reasons": "; ".join(check["reasons"]),
        "measures": json.dumps(check["measures"], sort_keys=True),
        "anomalies": len(check["anomalies"]) - allowed,
        "allowed": allowed,
    }


def _anomaly_row(check: str, position: int, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "check": check,
        "position": position,
        "kind": found["kind"],
        "allowed": bool(found["allowed"]),
        "sentence": found["sentence"],
        "ops": [int(op) for op in found["ops"]],
        "details": json.dumps(found.get("details", {}), sort_keys=True),
    }
