"""What members of a group left on their disks: do their logs agree, and does each agree with itself?

Question: which of the protocol's invariants can be told from files alone, after the fact?

    I2-3   of one look only: ``currterm`` is no smaller than the term of any entry
    I4     an index and a term name one entry: the same bytes, the same place, and the same before it
    I5     up to the least committed index of a checkpoint all have the same
    I9     the committed index of a checkpoint is not beyond the end
    I10    along a log indices go up by one, and terms never down
    I11    unit i of the index file says where entry i lies, how long it is, and of which term
    I14    at rest, with everybody well, all logs end at one entry

The others need what members did (I1, I2, I6 to I8, I12, I15: :mod:`suites.unit.dledger.invariants`) or what readers saw
(I13: the check ``freshness``).

Limits. A data file is read as far as it goes from entry to entry; what a truncation left behind that is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from reference_impl.dledger.entry import UNIT_SIZE, Entry, Unit, decode_record, decode_unit, unit_of
from reference_impl.dledger.small_files import CHECKPOINT_FILE, TERM_FILE, read_checkpoint, read_term


@dataclass(frozen=True)
class Dumped:
    """One member. ``units`` by index, as many as the index files hold from the first entry on."""

    entries: Sequence[Entry]
    units: Mapping[int, Unit | None]
    term: int
    committed: int


def dumped(files: Iterable[str], read: Callable[[str], bytes]) -> Dumped:
    """The member whose folder holds *files*, paths within it."""
    names = sorted(files)
    entries = [entry for name in names if name.startswith("data/") for entry in _entries(read(name))]
    index = {int(name.rpartition("/")[2]): read(name) for name in names if name.startswith("index/")}
    units = {entry.index: _unit(index, entry.index) for entry in entries}
    term, _ = read_term(read(TERM_FILE).decode() if TERM_FILE in names else "")
    committed = read_checkpoint(read(CHECKPOINT_FILE).decode() if CHECKPOINT_FILE in names else "")
    return Dumped(entries, units, term, committed)


def _entries(data: bytes) -> Iterator[Entry]:
    at = 0
    while (entry := decode_record(data, at)) is not None:
        yield entry
        at += entry.size


def _unit(index: Mapping[int, bytes], number: int) -> Unit | None:
    at = number * UNIT_SIZE
    for start, data in index.items():
        if start <= at < start + len(data):
            return decode_unit(data[at - start : at - start + UNIT_SIZE])
    return None


def broken(members: Mapping[str, Dumped], *, at_rest: bool = True) -> list[str]:
    """A sentence for each invariant that does not hold. *at_rest*: all are well, and had the time to catch up."""
    found = [sentence for name, member in members.items() for sentence in _by_itself(name, member)]
    for (one, first), (other, second) in combinations(members.items(), 2):
        found += _together(f"{one} and {other}", first, second, at_rest)
    return found


def _by_itself(name: str, member: Dumped) -> Iterator[str]:
    for before, after in pairwise(member.entries):
        if after.index != before.index + 1 or after.term < before.term:
            yield f"I10: {name} has {_named(after)} behind {_named(before)}"
            break
    terms = [entry.term for entry in member.entries]
    if terms and max(terms) > member.term:
        yield f"I3: {name} is in term {member.term} and has an entry of term {max(terms)}"
    if member.entries and member.committed > member.entries[-1].index:
        yield f"I9: {name} has committed {member.committed}, and its log ends at {member.entries[-1].index}"
    for entry in member.entries:
        if member.units[entry.index] != unit_of(entry):
            yield f"I11: {name} has another unit for {_named(entry)}: {member.units[entry.index]}"
            break


def _together(names: str, first: Dumped, second: Dumped, at_rest: bool) -> Iterator[str]:
    ours, theirs = ({entry.index: entry for entry in member.entries} for member in (first, second))
    both = sorted(ours.keys() & theirs.keys())
    same = [index for index in both if ours[index].term == theirs[index].term]
    different = [index for index in both if ours[index] != theirs[index]]
    if different and same and different[0] <= same[-1]:
        yield f"I4: {names} have the same term at {same[-1]}, and differ at {different[0]}"
    committed = min(first.committed, second.committed)
    if different and different[0] <= committed:
        yield f"I5: {names} have committed {committed}, and differ at {different[0]}"
    if at_rest and (max(ours, default=-1), bool(different)) != (max(theirs, default=-1), False):
        yield f"I14: {names} end at {max(ours, default=-1)} and {max(theirs, default=-1)}, or differ"


def _named(entry: Entry) -> str:
    return f"entry {entry.index} of term {entry.term}"
