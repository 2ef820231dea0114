"""Faults of what a process needs of its machine: starve_cpu, exhaust_files, out_of_memory.

A process that gets little of a processor does everything, late. One that may open no more files accepts no connection
and makes no file, and goes on with those that it has. One that the kernel kills for memory ends as by ``kill``, and
nobody asked for that.

The witnesses are the kernel's own: how often it held the process up, how many files the process can still open, how
many processes it killed for memory.
"""

from __future__ import annotations

from typing import Final

from faults.catalogue.process import bit, runs_again, start_again, states, steps_of
from faults.catalogue.space import percent
from faults.effects import KILLED, Effect
from faults.levers import Levers
from faults.units import UNITS
from faults.verb import NO, YES, Facts, Option, Probed, Strike, Verb, option

PATIENCE_NS: Final = 5 * UNITS["s"]
"""So long a node may want no more than its share: an idle broker looks at its clocks all the time."""
CLOSED_MEANWHILE: Final = 8
"""As many of its files and connections a node may close before it is asked; each can be opened again."""


def share(text: str) -> int:
    """``5%``, from 1 to 99; ``ValueError`` with a sentence."""
    if (number := percent(text)) < 1:
        raise ValueError("a process that gets nothing at all stands still: that is pause")
    return number


def how_many(text: str) -> int:
    """From 0; ``ValueError`` with a sentence."""
    if not text.strip().isdecimal():
        raise ValueError(f"{text!r} is no number of files")
    return int(text)


CPU_OPTIONS: Final = {
    "share": Option("5%", "of one processor, for the whole process", read=share, samples=("5%", "20%"))
}
FILE_OPTIONS: Final = {"left": Option("0", "how many files or connections it can still open", read=how_many)}


def _alive(levers: Levers, strike: Strike) -> list[str]:
    """What has ended has nothing to be given back: limits end with the process."""
    return [node for node, state in states(levers, strike).items() if state != "dead"]


def _starve(levers: Levers, strike: Strike) -> Facts:
    wanted = share(option(strike, CPU_OPTIONS, "share"))
    before = {node: levers.cpu_share(node) for node in strike.left}
    for node in strike.left:
        levers.starve_cpu(node, wanted)
    return {"before": before, "wanted": wanted}


def _starved(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """A share that is never used up harms nobody."""
    answers = []
    for node in strike.left:
        held_up, now = levers.cpu_held_up(node, PATIENCE_NS), levers.cpu_share(node)
        bites = now == facts["wanted"] < facts["before"][node] and held_up > 0
        detail = {"share_before": facts["before"][node], "share_now": now, "held_up": held_up}
        answers.append(Probed(node, YES if bites else NO, detail))
    return answers


def _feed(levers: Levers, strike: Strike, facts: Facts) -> None:
    for node in strike.left:
        levers.feed_cpu(node)


def _fed(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    shares = {node: levers.cpu_share(node) for node in strike.left}
    return [Probed(node, YES if now == 100 else NO, {"share_now": now}) for node, now in shares.items()]


def _exhaust(levers: Levers, strike: Strike) -> Facts:
    left = how_many(option(strike, FILE_OPTIONS, "left"))
    before = {node: levers.files_left(node) for node in strike.left}
    for node in strike.left:
        levers.exhaust_files(node, left)
    return {"before": before, "limit": left + CLOSED_MEANWHILE}


def _exhausted(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    answers = []
    for node in strike.left:
        before, now = facts["before"][node], levers.files_left(node)
        answer = YES if now <= facts["limit"] < before else NO
        answers.append(Probed(node, answer, {"left_before": before, "left_now": now}))
    return answers


def _free(levers: Levers, strike: Strike, facts: Facts) -> None:
    for node in _alive(levers, strike):
        levers.free_files(node)


def _freed(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    left = {node: levers.files_left(node) for node in _alive(levers, strike)}
    gone = [Probed(node, YES, {"now": "dead"}) for node in strike.left if node not in left]
    return gone + [
        Probed(node, YES if now > facts.get("limit", 0) else NO, {"left_now": now}) for node, now in left.items()
    ]


def _run_out(levers: Levers, strike: Strike) -> Facts:
    before = states(levers, strike)
    for node in strike.left:
        if before[node] != "dead":
            levers.run_out_of_memory(node)
    return {"before": before}


def _ran_out(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """It is gone, and the kernel counts it among those that it killed for memory."""
    answers = []
    for probed in bit(levers, strike, facts, "dead"):
        kills = levers.memory_kills(probed.node)
        answer = YES if probed.answer == YES and kills > 0 else NO
        answers.append(Probed(probed.node, answer, {**probed.detail, "killed_for_memory": kills}))
    return answers


STARVE_CPU: Final = Verb(
    name="starve_cpu",
    family="process",
    summary="the process gets a small share of one processor: everything is done, late",
    takes_effect_when="the share is in force, and the kernel has held the process up for it",
    undone_by="the limit is taken away",
    shape="nodes",
    condition="starved",
    effects=(Effect("starves", "cpu", value="share"),),
    inject=_starve,
    probe=_starved,
    heal=_feed,
    heal_probe=_fed,
    heal_steps=steps_of("starved"),
    options=CPU_OPTIONS,
    needs=("cpu",),
)

EXHAUST_FILES: Final = Verb(
    name="exhaust_files",
    family="process",
    summary="the process can open no more files: it accepts no connection and makes no file; what is open goes on",
    takes_effect_when="the process could open more files than that, and cannot now",
    undone_by="the limit that it had",
    shape="nodes",
    condition="exhausted",
    effects=(Effect("starves", "files"),),
    inject=_exhaust,
    probe=_exhausted,
    heal=_free,
    heal_probe=_freed,
    heal_steps=steps_of("exhausted"),
    options=FILE_OPTIONS,
    needs=("files",),
)

OUT_OF_MEMORY: Final = Verb(
    name="out_of_memory",
    family="process",
    summary="the kernel kills the process because memory is short; the page cache survives",
    takes_effect_when="the process ran before and is gone, and the kernel counts that it killed it for memory",
    undone_by="start, with the same data",
    shape="nodes",
    condition="dead",
    effects=KILLED,
    inject=_run_out,
    probe=_ran_out,
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=lambda levers, strike: [*steps_of("dead")(levers, strike), *steps_of("short of memory")(levers, strike)],
    needs=("process", "memory"),
)
