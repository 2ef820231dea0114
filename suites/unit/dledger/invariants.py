"""What must hold in every state of a group, whatever happened before.

Model. Each step of a member, and the logs of all after it, are held against these, named as in the specification:

    I1   one leader a term                       I6   a leader has every committed entry
    I2   one vote a member and term              I9   the committed index of a life never goes down, nor beyond the end
    I3   terms never go down                     I10  terms along a log never go down, nor above the member's
    I4   same index and term: same entry, and the same before it
    I5   a committed entry is the same everywhere, for ever
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.dledger.entry import Entry
from reference_impl.dledger.state import Member
from suites.unit.dledger.memory_log import MemoryLog


class Witness:
    """Remembers what must not be contradicted later."""

    def __init__(self) -> None:
        self.leaders: dict[int, str] = {}
        self.votes: dict[tuple[str, int], str] = {}
        self.terms: dict[str, int] = {}
        self.committed_to: dict[tuple[str, int], int] = {}
        self.committed: dict[int, Entry] = {}

    def copy(self) -> Witness:
        other = Witness()
        other.leaders, other.votes, other.terms = dict(self.leaders), dict(self.votes), dict(self.terms)
        other.committed_to, other.committed = dict(self.committed_to), dict(self.committed)
        return other

    def saw(self, name: str, life: int, member: Member, log: MemoryLog) -> None:
        """One member after one step; *life*: which start of it."""
        if member.role == "LEADER":
            assert self.leaders.setdefault(member.term, name) == name, f"I1: two leaders in term {member.term}"
            for index, entry in self.committed.items():
                if entry.term < member.term and index >= log.begin_index:
                    assert log.entry(index) == entry, f"I6: leader {name} has not {index}"
        if member.voted_for:
            vote = self.votes.setdefault((name, member.term), member.voted_for)
            assert vote == member.voted_for, f"I2: {name} votes twice in term {member.term}"
        assert member.term >= self.terms.get(name, 0), f"I3: {name} goes back to term {member.term}"
        self.terms[name] = member.term
        self._saw_commit(name, life, member, log)
        self._saw_log(name, member, log)

    def _saw_commit(self, name: str, life: int, member: Member, log: MemoryLog) -> None:
        before = self.committed_to.get((name, life), -1)
        assert member.committed >= before, f"I9: {name} goes back to {member.committed}"
        assert member.committed <= log.end_index, f"I9: {name} has committed {member.committed}, end {log.end_index}"
        for index in range(max(before + 1, log.begin_index), member.committed + 1):
            entry = log.entry(index)
            assert entry is not None
            assert self.committed.setdefault(index, entry) == entry, f"I5: {name} has another {index}"
        self.committed_to[name, life] = member.committed

    def _saw_log(self, name: str, member: Member, log: MemoryLog) -> None:
        terms = [entry.term for entry in log.entries]
        assert terms == sorted(terms), f"I10: terms of {name}: {terms}"
        assert not terms or terms[-1] <= member.term, f"I10: {name} in term {member.term} has {terms[-1]}"


def logs_match(logs: Mapping[str, MemoryLog]) -> None:
    """I4 for all pairs."""
    names = list(logs)
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            _pair_matches(logs[one], logs[other], f"I4: {one} and {other}")


def _pair_matches(one: MemoryLog, other: MemoryLog, what: str) -> None:
    begin = max(0, one.begin_index, other.begin_index)
    for index in range(min(one.end_index, other.end_index), begin - 1, -1):
        own, yours = one.entry(index), other.entry(index)
        assert own is not None and yours is not None  # noqa: PT018
        if own.term == yours.term:
            for below in range(begin, index + 1):
                assert one.entry(below) == other.entry(below), f"{what} differ at {below}"
            return
