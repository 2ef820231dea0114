"""What happens to a group of one in queue 0, told by hand: the stories of the checks of reading."""

from __future__ import annotations

from collections.abc import Callable

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

PASS, UNKNOWN, FAIL = Outcome.PASS, Outcome.UNKNOWN, Outcome.FAIL
MASTER, SLAVE = "broker-a-0", "broker-a-1"
G = "readers"
SECOND = 1000
Story = Callable[[Build], None]


class Group(Build):
    """A group of one in queue 0: what it commits, is told and reads. Times in milliseconds."""

    def commit(self, at: int, offset: int, status: str = "OK", node: str = MASTER, took: int | None = 1) -> int:
        done = None if took is None else at + took
        return self.op("commit_offset", at, done, status, queue=0, offset=offset, node=node, group=G)

    def told(self, at: int, offset: int, node: str = MASTER) -> int:
        status = "OK" if offset >= 0 else "QUERY_NOT_FOUND"
        return self.op("fetch_offset", at, at + 1, status, queue=0, offset=offset, node=node, group=G)

    def takes(self, at: int, offset: int, got: list[int], node: str = MASTER, **cells: object) -> int:
        known = {"next_offset": offset + len(got), "suggested": 0, **cells}
        return self.pull(at, at + 1, offset, got, group=G, node=node, process=7, **known)

    def stored(self, count: int, begin: int = 0, first: int = 0) -> None:
        """*count* messages in a row, from offset *first* on, one a millisecond."""
        for index in range(count):
            self.send(begin + index, begin + index + 1, message=first + index, offset=first + index)

    def ended(self, count: int, at: int) -> None:
        """The drain reads everything."""
        self.drain(at, at + 1, at=0, got=list(range(count)))
        self.drained(at + 2, at=count)


def judged(
    check: Callable[[History, RunFacts], Verdict],
    story: Story,
    mode: str = "multi-master-multi-slave-async",
    **more: object,
) -> Verdict:
    run = Group()
    story(run)
    nodes = {MASTER: {}, SLAVE: {}, "broker-b-0": {}, **more.pop("nodes", {})}  # type: ignore[dict-item]
    return check(run.history(), run.facts(mode=mode, nodes=nodes, **more))


def kinds(verdict: Verdict) -> dict[str, bool]:
    return {anomaly.kind: anomaly.allowed for anomaly in verdict.anomalies}


def all_read(g: Group) -> None:
    g.stored(4)
    g.told(10, -1)
    g.takes(12, 0, [0, 1])
    g.takes(14, 2, [2, 3])
    g.ended(4, 50)
