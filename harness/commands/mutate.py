"""``mqchaos mutate``: how many small changes of the reference does the harness notice?

Question: a green run is worth what it would have caught. How much is that?
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.terminal import Terminal

if TYPE_CHECKING:
    from harness.mutation.population import Mutant
    from harness.mutation.probe import Footprint
    from harness.mutation.records import Records
    from harness.mutation.result import Result

EPILOG = """\
examples:
  mqchaos mutate                              400 mutants of a fixed draw; go on where the last call ended
  mqchaos mutate --count 80 --for 10m         at most ten minutes of it
  mqchaos mutate --room replication --list    which mutants would be drawn
  mqchaos mutate --only 9f3c --seconds 300    one mutant (the beginning of its id is enough), by more units
  mqchaos mutate --scores                     what is measured so far

exit codes:
  0 all drawn mutants were judged    2 some are left    64 usage    130 interrupted
"""
OUT = Path("mutation")
COUNT, SEED, SEEDS = 400, 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``mutate``."""
    from harness.mutation.measure import SECONDS
    from harness.mutation.population import MORE_ROOMS, ROOMS

    parser.epilog = EPILOG
    rooms = ", ".join((*ROOMS, *MORE_ROOMS))
    parser.add_argument("--count", type=int, default=COUNT, metavar="N", help=f"mutants (default: {COUNT})")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"of the draw (default: {SEED})")
    parser.add_argument("--room", action="append", default=[], metavar="NAME", help=f"of {rooms} (repeatable)")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="these mutants (repeatable)")
    parser.add_argument("--unit", action="append", default=[], metavar="PATTERN", help="judges (default: all units)")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"seeds a unit (default: {SEEDS})")
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        metavar="S",
        help=f"CPU for one mutant's runs (default: {SECONDS:.0f})",
    )
    parser.add_argument("--for", dest="limit", default="", metavar="TIME", help="begin nothing after this (15m)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at once (default: 2)")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"where records are (default: {OUT})")
    parser.add_argument("--again", action="store_true", help="judge survivors once more")
    parser.add_argument("--list", action="store_true", help="only show what would be drawn")
    parser.add_argument("--scores", action="store_true", help="only show what is known")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Probe what is not probed, judge what is not judged, show the scores."""
    from harness.errors import EXIT_PASS, EXIT_UNKNOWN
    from harness.mutation.measure import results
    from harness.mutation.records import Records, source_digest

    mutants = _drawn(arguments)
    if arguments.list:
        for mutant in mutants:
            terminal.result(f"{mutant.id}  {mutant.change.operator:<10}  {mutant}")
        return EXIT_PASS
    source = source_digest()
    records = Records(arguments.out / "mutants.jsonl", source)
    if not arguments.scores:
        until = _until(arguments.limit)
        probed = _probed(arguments, Records(arguments.out / "probe.jsonl", source), until, terminal)
        _judge(mutants, probed, records, arguments, until, terminal)
    known = results(records)
    judged = [(mutant, known[mutant.id]) for mutant in mutants if mutant.id in known]
    _show(judged, len(mutants), terminal)
    return EXIT_PASS if len(judged) == len(mutants) else EXIT_UNKNOWN


def _drawn(arguments: argparse.Namespace) -> list[Mutant]:
    from harness.errors import UsageError
    from harness.mutation.population import MORE_ROOMS, ROOMS, by_id, draw, population

    for room in arguments.room:
        if room not in (*ROOMS, *MORE_ROOMS):
            raise UsageError(f"there is no room {room!r} to draw from", hint=", ".join((*ROOMS, *MORE_ROOMS)))
    if not 1 <= arguments.jobs <= 64 or arguments.count < 1 or arguments.seeds < 1:
        raise UsageError("--jobs, --count and --seeds are 1 or more")
    rooms = tuple(arguments.room) or ((*ROOMS, *MORE_ROOMS) if arguments.only else ROOMS)
    everything = population(rooms)
    return by_id(everything, arguments.only) if arguments.only else draw(everything, arguments.count, arguments.seed)


def _until(limit: str) -> float:
    from faults.units import duration_ns

    return time.monotonic() + duration_ns(limit) / 1e9 if limit else float("inf")


def _probed(arguments: argparse.Namespace, records: Records, until: float, terminal: Terminal) -> Sequence[Footprint]:
    """Footprints of all units that are wanted, made where they are missing."""
    from harness.matrix import Pace
    from harness.mutation.probe import footprints, probe
    from harness.mutation.units import units

    wanted = [(unit.name, seed) for seed in range(1, arguments.seeds + 1) for unit in units(arguments.unit)]
    missing = set(wanted) - {(one.unit, one.seed) for one in footprints(records)}
    pace = Pace(len(missing))
    for said in probe(records, wanted, arguments.jobs, until):
        pace.done += 1
        terminal.say(f"probe {pace.line()}: {said.unit} {said.outcome} {said.cause}")
    return [one for one in footprints(records) if (one.unit, one.seed) in set(wanted)]


def _judge(
    mutants: Sequence[Mutant],
    probed: Sequence[Footprint],
    records: Records,
    arguments: argparse.Namespace,
    until: float,
    terminal: Terminal,
) -> None:
    from harness.matrix import Pace
    from harness.mutation.measure import Limits, measure, results

    by_name = {mutant.id: mutant for mutant in mutants}
    known = results(records)
    again = {name for name, result in known.items() if arguments.again and result.kind == "survived"}
    pace = Pace(len([name for name in by_name if name not in known or name in again]))
    limits = Limits(arguments.seconds, arguments.jobs, until)
    for result in measure(mutants, probed, records, limits, again=again):
        pace.done += 1
        terminal.say(f"{pace.line()}: {_told(by_name[result.mutant], result)}")


def _told(mutant: Mutant, result: Result) -> str:
    by = f" by {result.cause or result.outcome} in {result.unit} (seed {result.seed})" if result.unit else ""
    of = f" of {result.runs} runs, {result.same} as without it" if result.kind == "survived" else ""
    return f"{result.kind}{by}{of}  {mutant.id}  {mutant}"


def _show(judged: list[tuple[Mutant, Result]], drawn: int, terminal: Terminal) -> None:
    from harness.mutation.reviewed import reviews
    from harness.mutation.score import checks, score_of, scores_by

    known = reviews()
    for mutant, result in judged:
        if result.kind == "survived":
            review = known.get(mutant.id)
            terminal.result(f"{_told(mutant, result)}{f'  [{review.what}] {review.reason}' if review else ''}")
    rows = {**scores_by(lambda mutant: mutant.room, judged, known), "all": score_of(judged, known)}
    for name, score in rows.items():
        terminal.result(
            f"{name:<12} {score.drawn:>4} drawn  {score.equivalent:>3} equivalent  {score.unexecuted:>3} not executed  "
            f"{score.killed:>3} FAIL  {score.noticed:>3} otherwise  {score.survived:>3} survived  "
            f"{score.of_executed:>4.0%} of executed  {score.of_all:>4.0%} of all"
        )
    terminal.result(", ".join(f"{check} {count}" for check, count in checks(judged).most_common()))
    if drawn > len(judged):
        terminal.result(f"{drawn - len(judged)} of {drawn} mutants are left; the same command goes on")
