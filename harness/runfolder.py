"""The folder of a run: what is kept of it, under which names, and how it is found again.

Question: which files must a run leave so that another process, or another year, can judge and repeat it?

    runs/r-20240131-142501-1f2e3d4c/     r-<day>-<time UTC>-<seed>[-n]
        scenario.yaml     what was asked            run.json       what was run (below)
        journal.jsonl     the history as it grew    *.parquet      the same as columns
        verdict.json      what the checkers said    report.html    the same for people
        nodes/<node>/{log,config,dump}              what each node left
    runs/latest  →  the newest

``run.json``: run, scenario, mode, flush, backend, target, seed (hexadecimal text), commit, started_epoch_ms, phases
[[name, ns]], faults [{id, do, on, at, for, with}], nodes {name: properties}, defects, expect, history_sha256 (of
``journal.jsonl``), final draw, verdict. It is written when the run starts and again at its end, so that a killed run
can be judged: then it has no verdict, and its phases are those of the journal.

Limits. Names carry the wall clock, for people; nothing in the journal depends on them.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from checkers.history.columns import HistoryFormatError
from checkers.history.history import History
from checkers.verdict import Outcome, Verdict, worst
from harness.errors import HistoryError, UsageError
from harness.recorder import read_journal
from mqchaos import __version__

RUNS: Final = Path("runs")
JOURNAL: Final = "journal.jsonl"
LATEST: Final = "latest"
NEEDED: Final = ("scenario", "mode", "backend", "target", "seed", "defects")
"""Keys without which a run can neither be judged nor repeated."""


def create(runs: Path, seed: int, started: datetime) -> Path:
    """A new, empty folder below *runs*; a second one of the same second and seed gets ``-2`` and so on."""
    runs.mkdir(parents=True, exist_ok=True)
    name = f"r-{started.astimezone(UTC):%Y%m%d-%H%M%S}-{seed:x}"
    for number in range(1, 10_000):
        folder = runs / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise UsageError(f"{runs} has ten thousand runs named {name}", hint="clear it")


def check_place(runs: Path) -> None:
    """``UsageError`` if no folder can be made below *runs*, before anything else is done."""
    nearest = next(path for path in (runs, *runs.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise UsageError(f"{nearest} is a file", hint="runs need a folder: --out DIR")
    try:
        tempfile.TemporaryDirectory(dir=nearest).cleanup()  # asking for permissions says yes to root, whatever it is
    except OSError as error:
        raise UsageError(f"nothing can be written to {nearest}: {error.strerror}", hint="--out DIR") from error


def check_space(folder: Path, least_bytes: int, what: str) -> None:
    """``UsageError`` if the disk of *folder* has less than *least_bytes* free: a run that finds it full in its middle
    would blame those who could not write."""
    nearest = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    space = os.statvfs(nearest)
    if (free := space.f_bavail * space.f_frsize) < least_bytes:
        raise UsageError(f"{what} need {least_bytes >> 20} MiB, {nearest} has {free >> 20} MiB free", hint="make room")


def point_latest(folder: Path) -> None:
    """``latest`` beside *folder* points to it; replaced in one step, so that it always points somewhere."""
    temporary = folder.parent / f".latest-{folder.name}"
    temporary.symlink_to(folder.name)
    os.replace(temporary, folder.parent / LATEST)


def find(text: str, runs: Path = RUNS) -> Path:
    """A run folder by path (also ``runs/latest``) or by name; ``UsageError`` with what is there."""
    for candidate in (Path(text), runs / text):
        if (candidate / "run.json").is_file():
            return candidate.resolve()
    known = sorted(path.parent.name for path in runs.glob("*/run.json") if path.parent.name != LATEST)
    newest = f"the newest of {len(known)} is {known[-1]}" if known else f"{runs} has no runs"
    raise UsageError(f"no run at {text!r}", hint=newest)


def write_run(folder: Path, run: Mapping[str, Any]) -> None:
    """``run.json``, replaced in one step."""
    _replace(folder / "run.json", json.dumps(run, indent=1, ensure_ascii=False) + "\n")


def read_run(folder: Path) -> dict[str, Any]:
    """``run.json``; ``HistoryError`` if it is missing or damaged."""
    path = folder / "run.json"
    run = _read_object(path)
    if "unseed" in run:  # its name in older run folders
        run["final_draw"] = run.pop("unseed")
    if missing := [key for key in NEEDED if key not in run]:
        raise HistoryError(f"run.json lacks {', '.join(missing)}", place=str(path))
    try:
        int(run["seed"], 16)
    except (TypeError, ValueError):
        raise HistoryError(f"run.json: seed {run['seed']!r} is no hexadecimal number", place=str(path)) from None
    return run


def write_verdict(folder: Path, verdicts: Sequence[Verdict]) -> None:
    """``verdict.json``: the outcome of the run and every check's answer."""
    document = {"outcome": worst(verdicts).name, "verdicts": [verdict.to_json() for verdict in verdicts]}
    _replace(folder / "verdict.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def read_outcome(folder: Path) -> Outcome | None:
    """The outcome in ``verdict.json``; ``None`` if the run was never judged."""
    if not (folder / "verdict.json").is_file():
        return None
    name = str(_read_object(folder / "verdict.json").get("outcome"))
    if name not in Outcome.__members__:
        raise HistoryError(f"{name!r} is no outcome", place=str(folder / "verdict.json"))
    return Outcome[name]


def load_history(folder: Path) -> History:
    """The history of a run, finished (Parquet) or killed (its journal); ``HistoryError`` if it cannot be judged."""
    try:
        if (folder / "ops.parquet").is_file():
            return History.load(folder)
        return History.from_columns(read_journal(folder / JOURNAL))
    except HistoryFormatError as error:
        raise HistoryError(str(error), place=str(folder)) from error


@cache
def commit() -> str:
    """The commit that runs, with ``+`` if files differ from it; of an installed package its version, as ``v0.1.0``:
    the repository around it, if there is one, is somebody else's."""
    here = Path(__file__).resolve().parent.parent
    if not (here / ".git").exists():
        return f"v{__version__}"
    try:
        asked = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def _replace(path: Path, text: str) -> None:
    temporary = path.with_suffix(path.suffix + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HistoryError(f"cannot read {path.name}: {error.strerror}", place=str(path)) from None
    except ValueError as error:
        raise HistoryError(f"{path.name} is damaged: {error}", place=str(path)) from None
    if not isinstance(value, dict):
        raise HistoryError(f"{path.name} is no object", place=str(path))
    return value
