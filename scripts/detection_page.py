"""``docs/detection.md``: how many small changes of the reference the harness notices, by whom, and which it does not.

Question: what is a green run worth, where is it worth least, and does it get better?

Model. ``suites/recorded/mutants.jsonl`` has one entry a mutant of the last measurement, ``detection.jsonl`` the scores
of all of them, ``executed.jsonl`` what units execute, ``harness/mutation/reviewed.yaml`` what people found out about
survivors. The page is made of these.

    python scripts/detection_page.py               write the page again
    python scripts/detection_page.py --take DIR    first record what ``mqchaos mutate --out DIR`` measured
    … --take DIR --room NAME                       of one room alone; what is recorded of others stays
    … --take DIR --of CHECKOUT                     of sources as they are there, not here
    … --take DIR --some-units                      probed were some units, not all
    … --take DIR --later                           of some mutants once more: see below

A measurement takes hours, and what it teaches is mended meanwhile. ``--later`` adds to it what mutants came to that
were judged once more, with what there is now: one that is noticed then counts as noticed, one that is executed for the
first time as executed, every other stays as it was. Every mutant has the day and the commit at which it was judged, and
the page says how many are of which.

The harness learns from mutants that it did not notice, so what it notices of them later says little about others.
``--fresh`` records another draw beside what is there, with the mark ``fresh``: mutants of which nobody had heard when
the harness became what it is. Whoever is judged once more loses the mark. The page tells both apart.

Limits. Only what is measured on those sources as they are is taken: records of others stay where they are. A mutant
that was noticed at one commit is taken to be noticed at later ones.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from harness.mutation.measure import results
from harness.mutation.operators import Change
from harness.mutation.population import ROOMS, Mutant, draw, population
from harness.mutation.probe import footprints
from harness.mutation.records import Records, source_digest
from harness.mutation.result import KILLS, Result
from harness.mutation.reviewed import Review, reviews
from harness.mutation.score import Judged, Score, checks, score_of, scores_by
from scripts.markdown import wrapped
from suites import recorded

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "detection.md"
MUTANTS: Final = recorded.FOLDER / "mutants.jsonl"
SCORES: Final = recorded.FOLDER / "detection.jsonl"
EXECUTED: Final = recorded.FOLDER / "executed.jsonl"
NAMED: Final = 6

_HEAD: Final = """\
# What a green run is worth

This page is made by `scripts/detection_page.py` of what `make mutation` measured; do not edit it.

The reference is changed in one small place: a comparison is off by one, a condition is negated, a statement is
missing. Then scenarios and cells of the matrix run on it, simulated, {seeds} each. Does somebody notice? Tests of
modules do not count: nobody has them for another broker. How it is measured:
[harness/mutation](../harness/mutation/README.md).

**{of_executed:.0%}** of the mutants that a unit executes and that change something are noticed (with so few measured,
the share of all such mutants lies between {low:.0%} and {high:.0%}, 95 % Wilson), **{of_all:.0%}** of all that change
something: {drawn} mutants, of {draws}. Rooms are measured at different times, with what there was then: see
[how it grew](#how-it-grew). The harness has learned from some of them: see [taught and fresh](#taught-and-fresh).

`FAIL`: a check says so. `otherwise`: the run is UNKNOWN, ends with an error, crashes or never ends; nobody takes it for
green. `equivalent`: people looked, and no client can see a difference ({reviewed}).
"""


def page(
    entries: Sequence[recorded.Entry],
    scores: Sequence[recorded.Entry],
    executed: Sequence[recorded.Entry],
    known: Mapping[str, Review],
) -> str:
    """The page of one measurement, and of those before it."""
    judged = [_judged(entry) for entry in entries]
    score, last = score_of(judged, known), scores[-1]
    head = _HEAD.format(
        of_executed=score.of_executed,
        of_all=score.of_all,
        low=_wilson(score)[0],
        high=_wilson(score)[1],
        drawn=score.drawn,
        draws=_draw_words(entries),
        seeds="one seed" if last["seeds"] == 1 else f"{last['seeds']} seeds",
        reviewed="[reviewed.yaml](../harness/mutation/reviewed.yaml)",
    )
    parts = [
        head,
        _when(entries),
        "## Taught and fresh\n",
        _draws(entries, known),
        "## By room\n",
        _scores("room", scores_by(lambda mutant: mutant.room, judged, known), score),
        "## By kind of change\n",
        _scores("change", scores_by(lambda mutant: mutant.change.operator, _sorted(judged), known), score),
        "## Who noticed\n",
        _checks(judged),
        "## What survived\n",
        _survivors(judged, known),
        "## What nothing executes\n",
        _unexecuted(executed),
        "## How it grew\n",
        _growth(scores),
    ]
    return wrapped("\n".join(parts).rstrip() + "\n")


_TAUGHT: Final = """\
*Taught*: the harness was built, and mended, by people who knew which of these mutants had survived. *Fresh*: drawn when
it had become what it is; nobody had seen them. What is noticed of fresh ones is what to expect of the next bug.
"""


def _draw_words(entries: Sequence[recorded.Entry]) -> str:
    seeds = [str(seed) for seed in sorted({entry.get("draw", 1) for entry in entries})]
    return f"the draw of seed {seeds[0]}" if len(seeds) == 1 else f"the draws of seeds {' and '.join(seeds)}"


def _draws(entries: Sequence[recorded.Entry], known: Mapping[str, Review]) -> str:
    """Each draw by its rooms, fresh ones apart from those that taught something."""
    rows: dict[str, Score] = {}
    for is_fresh, seed in sorted({(entry.get("fresh", False), entry.get("draw", 1)) for entry in entries}):
        these = [e for e in entries if (e.get("fresh", False), e.get("draw", 1)) == (is_fresh, seed)]
        name = f"{'fresh' if is_fresh else 'taught'}, seed {seed}"
        judged = [_judged(entry) for entry in these]
        by_room = scores_by(lambda mutant: mutant.room, judged, known)
        rows |= {f"{name}: {room}": score for room, score in by_room.items()}
        rows[f"**{name}**"] = score_of(judged, known)
    table = _scores("draw", rows, score_of([_judged(entry) for entry in entries], known))
    return f"{_TAUGHT}\n{table}"


def _when(entries: Iterable[recorded.Entry]) -> str:
    """A line a commit, the newest last."""
    counts = Counter((entry["day"], entry["commit"], entry["room"]) for entry in entries)
    lines = ["| judged | at commit | mutants |", "|---|---|---|"]
    for day, commit in sorted({(day, commit) for day, commit, _ in counts}):
        rooms = {room: count for (*when, room), count in sorted(counts.items()) if when == [day, commit]}
        told = ", ".join(f"{room} {count}" for room, count in rooms.items())
        lines.append(f"| {day} | {commit} | {sum(rooms.values())}: {told} |")
    return "\n".join(lines) + "\n"


def _wilson(score: Score, z: float = 1.96) -> tuple[float, float]:
    """The interval of the share that is noticed of all mutants that could have been drawn."""
    n, share = max(score.executed, 1), score.of_executed
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * ((share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5) / (1 + z * z / n)
    return centre - half, centre + half


def _sorted(judged: Iterable[Judged]) -> list[Judged]:
    return sorted(judged, key=lambda one: one[0].change.operator)


def _scores(what: str, rows: Mapping[str, Score], total: Score) -> str:
    lines = [
        f"| {what} | drawn | equivalent | not executed | FAIL | otherwise | survived | of executed | of all |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, score in [*rows.items(), ("**all**", total)]:
        counts = (score.drawn, score.equivalent, score.unexecuted, score.killed, score.noticed, score.survived)
        shares = f"{score.of_executed:.0%} | {score.of_all:.0%}"
        lines.append(f"| {name} | {' | '.join(map(str, counts))} | {shares} |")
    return "\n".join(lines) + "\n"


def _checks(judged: Sequence[Judged]) -> str:
    lines = ["| noticed first by | mutants |", "|---|---|"]
    lines += [
        f"| {check} | {count} |" for check, count in sorted(checks(judged).items(), key=lambda one: (-one[1], one))
    ]
    return "\n".join(lines) + "\n"


def _survivors(judged: Sequence[Judged], known: Mapping[str, Review]) -> str:
    """``same`` are runs whose histories were those without the change, to the byte."""
    lines = ["Of a mutant's runs so many were as without the change, to the byte.\n"]
    survivors = [one for one in judged if one[1].kind == "survived"]
    for mutant, result in sorted(survivors, key=lambda one: (one[0].path, one[0].change.line)):
        review = known.get(mutant.id)
        found = f"*{review.what}*: {review.reason}" if review else "Not reviewed."
        change = f"`{mutant.change.before}` → `{mutant.change.after}`"
        lines.append(f"* {mutant.id}, {_place(mutant)}: {change}; {result.same} of {result.runs} runs. {found}")
    return "\n".join(lines) + "\n"


def _place(mutant: Mutant) -> str:
    return f"{mutant.path.partition('/')[2]}:{mutant.change.line} {mutant.change.function}"


def _unexecuted(executed: Sequence[recorded.Entry]) -> str:
    """Of all places that could be changed, drawn or not."""
    places, reached = (sum(entry[name] for entry in executed) for name in ("places", "executed"))
    lines = [
        f"Of {places} places in the code that could be changed {reached} are executed by some unit. Whole functions "
        "that no unit of all scenarios and cells ever enters, by module (places that are executed, of all):\n"
    ]
    for entry in sorted(executed, key=lambda one: (one["executed"] / one["places"], one["path"])):
        if entry["never"]:
            names = ", ".join(f"`{name}`" for name in entry["never"][:NAMED])
            rest = f" and {len(entry['never']) - NAMED} more" if len(entry["never"]) > NAMED else ""
            path = entry["path"].partition("/")[2]
            lines.append(f"* {path} ({entry['executed']} of {entry['places']}): {names}{rest}")
    return "\n".join(lines) + "\n"


def _growth(scores: Sequence[recorded.Entry]) -> str:
    lines = ["| day | rooms | mutants | of executed | of all | what had changed |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {one['day']} | {', '.join(one.get('rooms', ROOMS))} | {one['drawn']} | {one['of_executed']:.0%} | "
        f"{one['of_all']:.0%} | {one['note']} |"
        for one in scores
    ]
    return "\n".join(lines) + "\n"


def _judged(entry: recorded.Entry) -> Judged:
    change = Change(0, *(entry[name] for name in ("operator", "function", "line", "before", "after", "occurrence")))
    names = {field.name for field in fields(Result)}
    return Mutant(entry["room"], entry["path"], change), Result(**{name: entry[name] for name in names})


def made() -> str:
    """The page of what is recorded."""
    return page(recorded.read(MUTANTS), recorded.read(SCORES), recorded.read(EXECUTED), reviews())


@dataclass(frozen=True)
class Measurement:
    """What is taken: of which rooms, with which draw, of the sources in *checkout*."""

    folder: Path
    rooms: Sequence[str]
    count: int
    seed: int
    seeds: int
    note: str
    checkout: Path = ROOT
    is_later: bool = False
    is_partial: bool = False
    is_fresh: bool = False

    def records(self, name: str) -> Records:
        return Records(self.folder / name, source_digest(self.checkout))


def take(measured: Measurement) -> None:
    """Record it, and its score."""
    records = measured.records("mutants.jsonl")
    known = results(records)
    when = {record["mutant"]: {name: record[name] for name in ("day", "commit")} for record in records.read()}
    drawn = draw(population(measured.rooms, measured.checkout), measured.count, measured.seed)
    new = [_entry(mutant, known[mutant.id], when[mutant.id]) for mutant in drawn if mutant.id in known]
    old, commit = recorded.read(MUTANTS), new[-1]["commit"] if new else ""
    others = [entry for entry in old if entry["room"] not in measured.rooms]
    if measured.is_fresh:
        new = fresh(old, new, measured.seed)
        others = old
    elif measured.is_later:
        new = merged([entry for entry in old if entry["room"] in measured.rooms], new)
    if not measured.is_later:
        take_executed(measured)
    recorded.write(MUTANTS, [*others, *new], lambda entry: (entry["path"], entry["mutant"]))
    _take_score(measured, [_judged(entry) for entry in new], commit)


def fresh(old: Iterable[recorded.Entry], new: Iterable[recorded.Entry], seed: int) -> list[recorded.Entry]:
    """Those of *new* that no draw before had, marked."""
    seen = {entry["mutant"] for entry in old}
    return [entry | {"draw": seed, "fresh": True} for entry in new if entry["mutant"] not in seen]


def merged(old: Iterable[recorded.Entry], later: Iterable[recorded.Entry]) -> list[recorded.Entry]:
    """*old*, and of those that were judged again what is more than it was: executed, or noticed."""
    again = {entry["mutant"]: entry for entry in later}
    return [_better(entry, again[entry["mutant"]]) if entry["mutant"] in again else entry for entry in old]


def _better(entry: recorded.Entry, again: recorded.Entry) -> recorded.Entry:
    """Of the same draw, and not fresh any more."""
    draw = {"draw": entry["draw"]} if "draw" in entry else {}
    told = {name: value for name, value in max(entry, again, key=_rank).items() if name not in ("draw", "fresh")}
    return told | draw


def _rank(entry: recorded.Entry) -> int:
    return 2 if entry["kind"] in KILLS else 1 if entry["kind"] == "survived" else 0


def _take_score(measured: Measurement, judged: Sequence[Judged], commit: str) -> None:
    score = score_of(judged, reviews())
    entry = {
        "day": datetime.now(UTC).date().isoformat(),
        "commit": commit,
        "seed": measured.seed,
        "seeds": measured.seeds,
        "drawn": score.drawn,
        "of_executed": round(score.of_executed, 3),
        "of_all": round(score.of_all, 3),
        "rooms": list(measured.rooms),
        "noticed_by": dict(Counter(checks(judged)).most_common()),
        "note": measured.note,
    }
    earlier = [one for one in recorded.read(SCORES) if one["note"] != measured.note]
    recorded.write(SCORES, [*earlier, entry], lambda entry: (entry["day"], f"{entry['drawn']:06}", entry["note"]))


def take_executed(measured: Measurement) -> None:
    """Record which places some unit executes, and which functions none enters, by module of its rooms. Where some units
    alone were probed, what is recorded of the others before stays."""
    probed = footprints(measured.records("probe.jsonl"))
    known = {entry["path"]: entry for entry in recorded.read(EXECUTED)}
    modules: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in population(measured.rooms, measured.checkout):
        modules[mutant.path].append(mutant)
    entries = [entry for entry in known.values() if entry["path"].split("/")[1] not in measured.rooms]
    for path, mutants in modules.items():
        lines = {line for footprint in probed for line in footprint.lines.get(path, ())}
        entered = {mutant.change.function for mutant in mutants if mutant.change.line in lines}
        never = {mutant.change.function for mutant in mutants} - entered
        reached = sum(mutant.change.line in lines for mutant in mutants)
        if measured.is_partial and path in known:
            never &= {*known[path]["never"]}
            reached = max(reached, min(known[path]["executed"], len(mutants)))
        entries.append({"path": path, "places": len(mutants), "executed": reached, "never": sorted(never)})
    recorded.write(EXECUTED, entries, lambda entry: (entry["path"],))


def _entry(mutant: Mutant, result: Result, when: Mapping[str, str]) -> dict[str, Any]:
    change = {key: value for key, value in asdict(mutant.change).items() if key != "number"}
    return {"room": mutant.room, "path": mutant.path, **change, **result.to_record(), **when}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--take", type=Path, metavar="DIR", help="record what was measured there")
    parser.add_argument("--room", action="append", default=[], metavar="NAME", help="repeatable (default: the rooms)")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--note", default="", help="what had changed since the last measurement")
    parser.add_argument("--of", type=Path, default=ROOT, metavar="CHECKOUT", help="that was measured (default: this)")
    parser.add_argument("--later", action="store_true", help="add to what is recorded, where a mutant is noticed now")
    parser.add_argument("--fresh", action="store_true", help="a draw that nobody has seen, beside what is recorded")
    parser.add_argument("--some-units", action="store_true", help="not all units were probed")
    arguments = parser.parse_args()
    if arguments.take:
        about = (arguments.count, arguments.seed, arguments.seeds, arguments.note, arguments.of, arguments.later)
        take(Measurement(arguments.take, tuple(arguments.room) or ROOMS, *about, arguments.some_units, arguments.fresh))
    PAGE.write_text(made(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
