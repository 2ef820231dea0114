"""A member that comes back with somebody else's disk: foreign_disk.

A machine is set up anew from the wrong copy. The node ends; a follower of another broker name is stopped in order, its
disk copied, and started again, if it ran; the node's disk is that copy. Healing is the start. A node that refuses such
a disk ends within moments; its operator, who is told so, empties the disk and starts it once more.

The witness is the disk: every file is there that the other's disk had, with the same end and the same last bytes, and
one of them at least was not its own. Logs of two groups under the same load may well be equally long.

Limits. Both keep their names: a store that has its member's name in its folder is found only by who has the same one
(DLedger: ``dledger-n1``), so that the plan names one with the same number. A leader's disk is not copied: to stop it
would be a fault of its own. On processes, what nodes tell of themselves during the heal is dated at its end, up to five
seconds late; who was elected meanwhile is then judged by the wrong clock.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from faults.catalogue.process import STOP_OPTIONS, runs_again, states, steps_of
from faults.effects import KILLED, Effect
from faults.errors import InjectionFailed
from faults.levers import Levers
from faults.selectors import Node
from faults.units import duration_ns
from faults.verb import NO, YES, Facts, Option, Probed, Strike, Verb, option

FOREIGN_OPTIONS: Final = {
    "from": Option("", "the node of another broker name whose disk is copied", required=True),
    **STOP_OPTIONS,
}
LOOK_NS: Final = 250_000_000
LOOKS: Final = 20
"""Within so many a node that cannot use its disk has ended."""
LAST_BYTES: Final = 4096


def _swap(levers: Levers, strike: Strike) -> Facts:
    source = option(strike, FOREIGN_OPTIONS, "from")
    (node,) = _hit(strike, source)
    before = states(levers, strike)
    levers.kill(node)
    own, own_end = _prints(levers, node), levers.log_end(node)
    was_running = levers.state(source) != "dead"
    if was_running:
        levers.stop(source, duration_ns(option(strike, FOREIGN_OPTIONS, "timeout")))
    theirs = _prints(levers, source)
    levers.copy_disk(source, node)
    if was_running:
        levers.start(source)
    return {"before": before, "own": own, "own_end": own_end, "theirs": theirs, "from": source}


def _prints(levers: Levers, node: str) -> dict[str, tuple[int, int]]:
    """Of each file that is not empty: where it ends, and a check sum of its last bytes."""
    ends = {file: end for file, (_, end) in levers.find_files(node, ".*").items() if end > 0}
    return {
        file: (end, crc32(levers.file_part(node, file, max(0, end - LAST_BYTES), LAST_BYTES)))
        for file, end in ends.items()
    }


def _hit(strike: Strike, source: str) -> tuple[str, ...]:
    """Refused before anything is done where it makes no sense."""
    followers = strike.topology.names(lambda node: node.is_slave)
    if len(strike.left) != 1:
        raise InjectionFailed(f"one node at a time gets the disk of {source}, not {', '.join(strike.left)}")
    if source not in followers:
        raise InjectionFailed(f"{source} follows nobody: its disk is not copied")
    if Node.named(source).broker == Node.named(strike.left[0]).broker:
        raise InjectionFailed(f"{source} has the broker name of {strike.left[0]}: its disk would not be foreign")
    return strike.left


def _is_swapped(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    answers = []
    for node in strike.left:
        now, ends = levers.state(node), levers.log_end(node)
        detail = {
            "before": facts["before"][node],
            "now": now,
            "log_before": facts["own_end"],
            "log_now": ends,
            "files": len(facts["theirs"]),
            "from": facts["from"],
        }
        is_foreign = _prints(levers, node) == facts["theirs"] != facts["own"]
        answers.append(Probed(node, YES if now == "dead" and is_foreign else NO, detail))
    return answers


def _start(levers: Levers, strike: Strike, facts: Facts) -> None:
    """With the disk that it has now; with an empty one, if it does not run with that."""
    for node in strike.left:
        if levers.state(node) != "dead":
            continue
        end = levers.log_end(node)
        levers.start(node)
        for _ in range(LOOKS):  # until it has ended, or has taken something
            if levers.log_end(node, end, LOOK_NS) > end or levers.state(node) == "dead":
                break
        if levers.state(node) == "dead":
            levers.wipe(node)
            levers.start(node)


FOREIGN_DISK: Final = Verb(
    name="foreign_disk",
    family="loss",
    summary="ends a node, whose disk becomes a copy of that of another broker name's follower",
    takes_effect_when="the process is gone, and its files are those of the other's disk",
    undone_by="start; with an empty disk, if it refuses this one",
    shape="nodes",
    condition="dead",
    effects=(*KILLED, Effect("takes", "foreign")),
    inject=_swap,
    probe=_is_swapped,
    heal=_start,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
    options=FOREIGN_OPTIONS,
    role="slave",
    needs=("process", "content"),
)
