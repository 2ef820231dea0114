"""Every fault on every backend, for real: taken effect, healed, as its own probes say. Makes docs/fault-table.md.

    python -m suites.chaos.fault_table                  run all (minutes; needs root and an engine) and write the page
    python -m suites.chaos.fault_table --only VERB …    only runs that have one of these; the other cells stay
    python -m suites.chaos.fault_table --page           write the page from what was measured last

Question: which fault works where, and how is it known? A cell is made from the events of a run and from nothing else:
the answer of the probe after the act, and that of the probe after the heal. A fault that a backend refuses has its
reason.

Limits. One look a cell, with the reference broker. What a backend lacks on this machine is written as lacking.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from faults.catalogue import VERBS
from harness.backends.table import BACKENDS
from harness.run import run_scenario
from harness.scenario_file import load
from scripts.markdown import wrapped
from suites import recorded

ROOT: Final = Path(__file__).resolve().parents[2]
MEASURED: Final = recorded.FOLDER / "fault_table.jsonl"
PAGE: Final = ROOT / "docs" / "fault-table.md"
WORDS: Final = {1: "yes", 0: "NO", -1: "cannot be told"}

HEAD: Final = """\
name: fault-table
mode: multi-master-multi-slave-sync
topology: {nameservers: 2, brokers: 1, slaves: 1}
workload: {producers: 1, consumers: 1, queues: 2, rate: 60/s, for: 50s}
faults:
"""
MASTER, SLAVE = "master(broker-a)", "slave(broker-a)"
STRANGER = "broker-b-1"
"""A plan that names it has a second broker."""
LINK = '"link(clients, master(broker-a), broker)"'
GROUPS: Final = (
    (
        f"do: kill, on: {SLAVE}, for: 1s",
        f"do: stop, on: {SLAVE}, for: 1s",
        f"do: pause, on: {SLAVE}, for: 1s",
        f"do: restart, on: {SLAVE}",
        f"do: exhaust_files, on: {SLAVE}, for: 1s",
        f"do: out_of_memory, on: {SLAVE}, for: 1s",
        f'do: partition, on: "{SLAVE} | rest", for: 1s',
        f"do: isolate, on: {SLAVE}, for: 1s",
        f"do: step_clock, on: {SLAVE}, for: 1s",
        f'do: reconfigure, on: {SLAVE}, for: 1s, with: {{set: "flushIntervalCommitLog=200"}}',
        f"do: fill_disk, on: {SLAVE}, for: 1s",
        f"do: cut_power, on: {MASTER}, for: 1s",
    ),
    (f"do: starve_cpu, on: {MASTER}, for: 2s, with: {{share: 5%}}",),
    (
        f"do: fail_sync, on: {MASTER}, for: 1s",
        f"do: slow_disk, on: {MASTER}, for: 2s",
        f"do: hang_disk, on: {MASTER}, for: 2s",
    ),
    (
        f'do: partition, on: "{SLAVE} | rest", for: 1s, with: {{one_way: out}}',
        f'do: partition, on: "{SLAVE} | rest", for: 1s, with: {{one_way: in}}',
        f"do: isolate, on: {SLAVE}, for: 1s, with: {{one_way: out}}",
        f"do: isolate, on: {SLAVE}, for: 1s, with: {{one_way: in}}",
        "do: ring, on: all, for: 1s",
        "do: bridge, on: all, for: 1s",
        f"do: refuse_connects, on: {LINK}, for: 1s",
        f"do: reset_links, on: {LINK}",
    ),
    (f"do: slow_link, on: {LINK}, for: 1s", f"do: drop_frames, on: {LINK}, for: 2s, with: {{kind: any}}"),
    (f"do: flip_bits, on: {SLAVE}, for: 1s, with: {{back: 1KiB}}", f"do: wipe, on: {SLAVE}, for: 1s"),
    (
        f"do: damage_files, on: {MASTER}, for: 1s, with: {{of: consume-queue, how: flip}}",
        f"do: damage_files, on: {MASTER}, for: 1s, with: {{of: index, how: zero}}",
        f"do: damage_files, on: {MASTER}, for: 1s, with: {{of: table, how: truncate}}",
        f"do: damage_files, on: {MASTER}, for: 1s, with: {{of: table-backup, how: delete}}",
    ),
    (f"do: dead_disk, on: {MASTER}, for: 2s",),
    (f"do: read_only_disk, on: {MASTER}, for: 2s",),
    (f"do: return_stale, on: {SLAVE}, for: 1s, with: {{behind: 4KiB}}",),
    (f"do: adopt_slave, on: {MASTER}, for: 2s",),
    (f"do: foreign_disk, on: {SLAVE}, for: 1s, with: {{from: {STRANGER}}}",),
    (f"do: promote, on: {SLAVE}, for: 2s",),
)
"""What may follow each other in one run, four seconds apart."""
FORMS: Final = ("one_way", "of")
"""Options each value of which is a row of its own."""


@dataclass(frozen=True)
class Cell:
    """One fault on one backend. Answers: 1, 0, −1; ``None``: not asked. ``seen``: what the probe looked at. ``form``:
    the options that make it a row of its own."""

    verb: str
    backend: str
    took_effect: int | None
    healed: int | None
    seen: Mapping[str, Any]
    lack: str = ""
    form: str = ""

    @property
    def name(self) -> str:
        return f"{self.verb} {self.form}".strip()


def measure(folder: Path, only: Sequence[str] = ()) -> Iterator[Cell]:
    """Run everything, or what has one of the verbs *only*."""
    for name, row in BACKENDS.items():
        able = row.capabilities().servers
        for number, group in enumerate(GROUPS):
            verbs = [VERBS[line.split()[1].strip(",")] for line in group]
            if only and not {verb.name for verb in verbs} & set(only):
                continue
            lacks = {verb.name: _lack(able, verb.needs) for verb in verbs}
            yield from (Cell(verb, name, None, None, {}, lack) for verb, lack in lacks.items() if lack)
            plan = [line for line, verb in zip(group, verbs, strict=True) if not lacks[verb.name]]
            if plan:
                yield from _ran(name, plan, folder / f"{name}-{number}")


def _lack(able: Mapping[str, Any], families: tuple[str, ...]) -> str:
    missing = [family for family in families if family not in able or able[family].lack]
    return f"no levers of the family {missing[0]}" if missing else ""


def _ran(backend: str, plan: list[str], folder: Path) -> Iterator[Cell]:
    folder.mkdir()
    path = folder / "fault-table.yaml"
    lines = [f"  - {{at: {2 + 4 * index}s, {line}}}\n" for index, line in enumerate(plan)]
    head = HEAD.replace("brokers: 1", "brokers: 2") if STRANGER in "".join(plan) else HEAD
    path.write_text(head.replace("50s", f"{4 + 4 * len(plan)}s") + "".join(lines))
    result = run_scenario(load(path), backend=backend, target="reference", seed=1, out=folder)
    rows = [row for row in pq.read_table(result.folder / "events.parquet").to_pylist() if row["kind"] == "fault"]
    for fault in sorted({row["fault"] for row in rows}, key=lambda name: int(name[1:])):
        yield _cell(backend, [row for row in rows if row["fault"] == fault])


def _cell(backend: str, rows: list[dict[str, Any]]) -> Cell:
    details = {row["step"]: json.loads(row["detail"] or "{}") for row in rows}
    answers = {step: min((row["effective"] for row in rows if row["step"] == step), default=None) for step in details}
    told, asked = details["resolve"], (answers.get("probe"), answers.get("heal_probe"))
    return Cell(told["do"], backend, *asked, details.get("probe", {}), form=_form(told["with"]))


def _form(options: Mapping[str, str]) -> str:
    return " ".join(f"{name}={options[name]}" for name in FORMS if name in options)


def read() -> list[Cell]:
    return [Cell(**cell) for cell in recorded.read(MEASURED)]


def page(cells: list[Cell]) -> str:
    """The table, and what each probe saw."""
    by_key = {(cell.name, cell.backend): cell for cell in cells}
    head = "| fault | " + " | ".join(f"`{name}`" for name in BACKENDS) + " | looked at |\n"
    lines = [
        f"| `{row}` | {' | '.join(_text(by_key[row, name]) for name in BACKENDS)} | {VERBS[verb].takes_effect_when} |"
        for verb in VERBS
        for row in dict.fromkeys(cell.name for cell in cells if cell.verb == verb)
    ]
    seen = [
        f"| `{c.name}` | `{c.backend}` | `{json.dumps(_counted(c.seen))}` |" for c in cells if c.took_effect is not None
    ]
    return wrapped(
        "# Faults on backends, measured\n\nGenerated by `python -m suites.chaos.fault_table`: each fault once on each "
        "backend, against the reference\nbroker. *took effect* and *healed* are the answers of the fault's own probes; "
        "nothing else makes a cell.\n\n"
        + head
        + "|---" * (len(BACKENDS) + 2)
        + "|\n"
        + "\n".join(lines)
        + "\n\n## What the probes saw\n\n| fault | backend | after the act |\n|---|---|---|\n"
        + "\n".join(seen)
        + "\n"
    )


def _counted(seen: Mapping[str, Any]) -> dict[str, Any]:
    """Answers of pairs as how many of them said yes: a row of a table holds no list."""
    return {
        name: f"{sum(value.values())} of {len(value)} pairs" if _is_of_pairs(value) else value
        for name, value in seen.items()
    }


def _is_of_pairs(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(answer, bool) for answer in value.values())


def _text(cell: Cell) -> str:
    if cell.lack:
        return f"– ({cell.lack})"
    return f"took effect: {_word(cell.took_effect)}; healed: {_word(cell.healed)}"


def _word(answer: int | None) -> str:
    return "not asked" if answer is None else WORDS[answer]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--only", nargs="+", choices=list(VERBS), default=(), help="only runs that have one of these")
    arguments = parser.parse_args()
    if not arguments.page:
        with tempfile.TemporaryDirectory() as folder:
            cells = {(cell.name, cell.backend): cell for cell in measure(Path(folder), arguments.only)}
        kept = [cell for cell in (read() if arguments.only else ()) if (cell.name, cell.backend) not in cells]
        rows = [asdict(cell) for cell in (*kept, *cells.values())]
        recorded.write(MEASURED, rows, lambda cell: (cell["verb"], cell.get("form", ""), cell["backend"]))
    PAGE.write_text(page(read()))


if __name__ == "__main__":
    main()
