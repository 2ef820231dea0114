"""Faults of single files on a disk: damage_files.

Question: a file beside the commit log has gone bad while its broker was down. Which, and how?

Model. The process ends; then every file of one class is harmed in the same way, forced to the disk; then the process
starts as it would after any kill. What can be harmed:

    consume-queue, index, checkpoint   made from the log, and made again from it by the start that follows a kill
    table, table-backup                topics, groups, offsets, delays: store/config/NAME.json, and what it was before
    epochs, epochs-and-backup          from where on in the log each master wrote, in controller mode: nothing has it
                                       but this file, and what it was before

    flip       every bit of the last 512 bytes that are written (RocketMQ: at least 25 units of a queue)
    zero       the same bytes become zeros
    truncate   the file ends in the middle of what is written
    delete     the file is gone

The witness are the files themselves, before and after: those bytes are the ones asked for and were others, the size is
the one asked for and was greater, the file was there and is not. One file of the class that is not as asked is *no*;
so is a class of which the disk has no file with anything in it.

Limits. No file of a queue is truncated: RocketMQ refuses to start where one has another size than it is to have, and
says that somebody has to look at it. The log itself is harmed by ``flip_bits``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from faults.catalogue.process import runs_again, start_again, states, steps_of
from faults.effects import KILLED, Effect
from faults.levers import Levers
from faults.verb import NO, YES, Facts, Option, Probed, Strike, Verb, option

DERIVED: Final[Mapping[str, str]] = {
    "consume-queue": r"store/consumequeue/.+/[0-9]+",
    "index": r"store/index/[0-9]+",
    "checkpoint": r"store/checkpoint",
}
TABLES: Final[Mapping[str, str]] = {
    "table": r"store/config/[^/]+\.json",
    "table-backup": r"store/config/[^/]+\.json\.bak",
}
EPOCHS: Final[Mapping[str, str]] = {
    "epochs": r"store/epochFileCheckpoint",
    "epochs-and-backup": r"store/epochFileCheckpoint(\.bak)?",
}
PATTERNS: Final = {**DERIVED, **TABLES, **EPOCHS}
"""Class of files → their paths on a node's disk (RocketMQ: StorePathConfigHelper, BrokerPathConfigHelper;
MessageStoreConfig, getStorePathEpochFile)."""
OF_FIXED_SIZE: Final = ("consume-queue",)
EARLY: Final = tuple(of for of in (*DERIVED, *TABLES) if of != "checkpoint")
"""What has something in it soon and in every mode: a checkpoint is first written after a minute (RocketMQ:
FlushConsumeQueueService), epochs in controller mode only."""
HARMED_BYTES: Final = 512
GONE: Final = -1
WAYS: Final = ("flip", "zero", "truncate", "delete")

OPTIONS: Final = {
    "of": Option("consume-queue", "the class of files", tuple(PATTERNS), required=True, samples=EARLY),
    "how": Option("flip", "what happens to each", WAYS, samples=WAYS),
    "named": Option("", "only files whose path has this in it, a topic or a table"),
}


@dataclass(frozen=True)
class _Harm:
    """What is to become of one file: from *offset* on *data* in place of *before*, or *size* bytes and no more."""

    file: str
    offset: int = 0
    before: bytes = b""
    data: bytes = b""
    size: int | None = None

    def do(self, levers: Levers, node: str) -> None:
        if self.size is None:
            levers.change_file(node, self.file, self.offset, self.data)
        else:
            levers.cut_file(node, self.file, self.size)

    def is_done(self, levers: Levers, node: str, sizes: Mapping[str, tuple[int, int]]) -> bool:
        """Whether the file is as asked, and was not before."""
        if self.size is not None:
            return sizes.get(self.file, (GONE, 0))[0] == self.size
        now = levers.file_part(node, self.file, self.offset, len(self.data))
        return now == self.data != self.before


def _keeps_from_starting(options: Mapping[str, str]) -> str:
    is_refused = options["how"] == "truncate" and options["of"] in OF_FIXED_SIZE
    return f"a {options['of']} that is truncated keeps RocketMQ from starting" if is_refused else ""


def _damage(levers: Levers, strike: Strike) -> Facts:
    before, how = states(levers, strike), option(strike, OPTIONS, "how")
    harms: dict[str, list[_Harm]] = {}
    for node in strike.left:
        levers.kill(node)
        harms[node] = _harms(levers, node, strike, how)
        for harm in harms[node]:
            harm.do(levers, node)
    return {"before": before, "harms": harms}


def _harms(levers: Levers, node: str, strike: Strike, how: str) -> list[_Harm]:
    """One a file that has anything in it."""
    found = levers.find_files(node, PATTERNS[option(strike, OPTIONS, "of")])
    ends = {file: end for file, (_, end) in found.items() if end > 0 and option(strike, OPTIONS, "named") in file}
    if how in ("truncate", "delete"):
        return [_Harm(file, size=GONE if how == "delete" else end // 2) for file, end in ends.items()]
    return [_of_last_bytes(levers, node, file, end, how) for file, end in ends.items()]


def _of_last_bytes(levers: Levers, node: str, file: str, end: int, how: str) -> _Harm:
    offset = max(0, end - HARMED_BYTES)
    before = levers.file_part(node, file, offset, end - offset)
    after = bytes(byte ^ 0xFF for byte in before) if how == "flip" else bytes(len(before))
    return _Harm(file, offset, before, after)


def _damaged(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    return [_damaged_on(levers, node, facts, option(strike, OPTIONS, "of")) for node in strike.left]


def _damaged_on(levers: Levers, node: str, facts: Facts, of: str) -> Probed:
    now, harms = levers.state(node), facts["harms"][node]
    sizes = levers.find_files(node, PATTERNS[of])
    done = [harm for harm in harms if harm.is_done(levers, node, sizes)]
    detail: dict[str, Any] = {"before": facts["before"][node], "now": now, "files": len(harms), "as_asked": len(done)}
    if not harms:
        detail["reason"] = "its disk has no such file with anything in it"
    return Probed(node, YES if now == "dead" and harms == done and done else NO, detail)


DAMAGE_FILES: Final = Verb(
    name="damage_files",
    family="disk",
    summary="ends the process and harms files beside its commit log: of queues, index, checkpoint, tables, epochs",
    takes_effect_when="the process is gone; each of the files has the bytes or the size asked for, and had others",
    undone_by="start, with the files as they are",
    shape="nodes",
    condition="dead",
    effects=(
        *KILLED,
        *(Effect("damages", "derived", only_if=("of", of)) for of in DERIVED),
        *(Effect("damages", "tables", only_if=("of", of)) for of in TABLES),
        *(Effect("damages", "epochs", only_if=("of", of)) for of in EPOCHS),
    ),
    inject=_damage,
    probe=_damaged,
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
    options=OPTIONS,
    refuses=_keeps_from_starting,
    needs=("process", "content"),
)
