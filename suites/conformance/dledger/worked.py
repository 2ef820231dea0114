"""Members that are nodes of their own at work: clients append and read by index while members fail, and what they saw.

Question: is the log of a group linearizable, read from whoever leads? :func:`worked` runs one group in the simulator
with a seed; :func:`judged` asks the theorem.

Model. Clients, each with one request at a time, append and get in turn; a get is for an index near the end, and after
an append without an answer half of them turn to another member. Meanwhile leaders are cut off with one client (some
with a slow clock, so that they find out late), paused and killed, and members lose their power: with strict
persistence, so that nothing may be lost. At the end all is healed and every entry is read once. What an answer means:

    append    SUCCESS: acknowledged; the codes of ``REFUSED``: certainly not stored; anything else: unknown
    get       SUCCESS: the entry, or one that a leader wrote; INDEX_OUT_OF_RANGE: none; anything else says nothing

    python -m suites.conformance.dledger.worked [--seed N] [--defect NAME]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from checkers.logs.entries import LEADERS_OWN, check_entries
from checkers.logs.linear import LogResult
from checkers.logs.rows import Get, Send, entries_of
from checkers.verdict import Outcome, Verdict
from faults.levers.values import LinkSet
from harness.backends.sim.world import SimBackend
from harness.targets.reference import ReferenceTarget
from reference_impl.dledger.codes import Code
from reference_impl.dledger.messages import AppendResponse, GetResponse
from reference_impl.environment import MS, SECOND, Environment
from suites.conformance.dledger.members import ClientRole, Members

SUMMARY: Final = "clients append to a group and read it by index, while members are partitioned, paused and killed"
REFUSED: Final = (
    Code.NOT_LEADER,
    Code.METADATA_ERROR,
    Code.LEADER_TRANSFERRING,
    Code.LEADER_PENDING_FULL,
)
CLIENTS: Final = 3
SLOW_PPB: Final = -700_000_000
STRICT: Final = {"dLegerStrictPersistence": "true"}


class Told:
    """What all clients did, in the order of their requests."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        """One clock for all clients."""
        self.rows: list[Send | Get | None] = []
        self.messages = 0
        self.end = 0
        """Behind the greatest index that was acknowledged or read."""

    def history(self) -> list[Send | Get]:
        """Without gets that say nothing."""
        return [row for row in self.rows if row is not None]


class Worker(ClientRole):
    """One client: a request, a pause, the next."""

    def __init__(self, peers: dict[str, str], rng: Random, told: Told) -> None:
        super().__init__(peers)
        self._rng, self._told, self.is_over = rng, told, False

    def on_start(self, env: Environment) -> None:
        self._pause(env)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if key != "next":
            super().on_timer(env, key)
        elif not self.is_over:
            self.append(env) if self._rng.random() < 0.5 else self.get(env, self._somewhere())

    def append(self, env: Environment) -> None:
        """The next message."""
        told, invoke = self._told, self._told.now()
        message, row = told.messages, len(told.rows)
        told.messages += 1
        told.rows.append(Send(message, invoke))

        def answered(env: Environment, answer: AppendResponse) -> None:
            if answer.code == Code.SUCCESS:
                told.rows[row] = Send(message, invoke, told.now(), answer.index)
                told.end = max(told.end, answer.index + 1)
            elif answer.code in REFUSED:
                told.rows[row] = Send(message, invoke, told.now(), refused=True)
            elif self._rng.random() < 0.5:
                self.client.leader = self._rng.choice(list(self.client.peers))
            self._pause(env)

        self.client.append(env, b"%d" % message, answered)

    def get(self, env: Environment, index: int, then: Callable[[Environment], None] | None = None) -> None:
        """One entry."""
        told, invoke, row = self._told, self._told.now(), len(self._told.rows)
        told.rows.append(None)

        def answered(env: Environment, answer: GetResponse) -> None:
            if answer.code == Code.SUCCESS:
                body = answer.entries[0].body
                told.rows[row] = Get(index, int(body) if body else LEADERS_OWN, invoke, told.now())
                told.end = max(told.end, index + 1)
            elif answer.code == Code.INDEX_OUT_OF_RANGE:
                told.rows[row] = Get(index, None, invoke, told.now())
            (then or self._pause)(env)

        self.client.get(env, index, answered)

    def _somewhere(self) -> int:
        return max(0, self._told.end + self._rng.randint(-3, 1))

    def _pause(self, env: Environment) -> None:
        env.set_timer("next", self._rng.randint(10, 150) * MS)


class Working(Members):
    """The group, its clients, and what happens to it."""

    def __init__(self, seed: int, size: int, defects: tuple[str, ...]) -> None:
        super().__init__(SimBackend(ReferenceTarget(), seed), size, defects, **STRICT)
        self.told, self._rng = Told(self.backend.now), Random(f"faults/{seed}")
        self.workers = [Worker(self.peers, Random(f"worker/{seed}/{n}"), self.told) for n in range(CLIENTS)]
        self._clients = [f"worker-{number}" for number in range(CLIENTS)]
        for name, worker in zip(self._clients, self.workers, strict=True):
            self.backend.add_client(name, worker)

    def suffer(self, seconds: int) -> None:
        """One thing after the other."""
        end_ns = self.backend.now() + seconds * SECOND
        while self.backend.now() < end_ns:
            self._for(1, 5)
            self._rng.choice((self._cut_off, self._cut_off, self._pause, self._pause, self._kill, self._cut_power))()

    def finish(self) -> None:
        """Clients stop; every entry is read, and that there is none behind them."""
        for worker in self.workers:
            worker.is_over = True
        self._for(8, 8)
        self.wait_for_leader()
        for index in range(self.told.end + 2):
            self._read(index)

    def _read(self, index: int) -> None:
        done: list[bool] = []
        worker, name = self.workers[0], self._clients[0]
        for _ in range(20):
            rows = len(self.told.rows)
            self.backend.step(name, lambda env: worker.get(env, index, lambda _: done.append(True)))
            self.backend.run_until(lambda: bool(done), self.backend.now() + 20 * SECOND)
            if self.told.rows[rows] is not None:
                return
            done.clear()
            self._for(1, 1)
        raise AssertionError(f"entry {index} was never read")

    def _leader(self) -> str:
        led = [node for node, event, fields in self.events if event == "role_changed" and fields["role"] == "LEADER"]
        return next(node for node in reversed(led) if self.backend.levers.state(node) == "running")

    def _cut_off(self) -> None:
        """Together with one client, from all others. If its clock is slow it takes long to find out."""
        leader, (near, *far) = self._leader(), self._clients
        self.backend.levers.drift_clock(leader, self._rng.choice((0, SLOW_PPB, SLOW_PPB)))
        others = tuple(name for name in self.names if name != leader)
        self.backend.levers.partition(LinkSet("off", (leader, near), (*others, *far)))
        self._for(8, 16)
        self.backend.levers.heal_partition("off")
        self.backend.levers.drift_clock(leader, 0)

    def _pause(self) -> None:
        leader = self._leader()
        self.backend.levers.pause(leader)
        self._for(5, 14)
        self.backend.levers.resume(leader)

    def _kill(self) -> None:
        leader = self._leader()
        self.backend.levers.kill(leader)
        self._for(2, 10)
        self.backend.levers.start(leader)

    def _cut_power(self) -> None:
        node = self._rng.choice(self.names)
        self.backend.levers.cut_power(node)
        self._for(2, 10)
        self.backend.levers.start(node)

    def _for(self, least: int, most: int) -> None:
        self.sleep(self._rng.randint(least * 1000, most * 1000) * MS)


def at_work(seed: int, *, size: int = 3, seconds: int = 60, defects: tuple[str, ...] = ()) -> Working:
    """One group, when all is over."""
    group = Working(seed, size, defects)
    group.suffer(seconds)
    group.finish()
    return group


def worked(seed: int, *, size: int = 3, seconds: int = 60, defects: tuple[str, ...] = ()) -> list[Send | Get]:
    """What the clients of one group saw."""
    return at_work(seed, size=size, seconds=seconds, defects=defects).told.history()


def judged(history: list[Send | Get]) -> LogResult:
    """Whether it is linearizable."""
    return check_entries(*entries_of(history))


@dataclass(frozen=True)
class Came:
    """How one group came out."""

    outcome: Outcome
    verdicts: Sequence[Verdict]

    @staticmethod
    def of(seed: int, defects: tuple[str, ...]) -> Came:
        """Run and judged."""
        history = worked(seed, defects=defects)
        result = judged(history)
        measures = {"appends": sum(isinstance(row, Send) for row in history), "operations": len(history)}
        return Came(result.outcome, (Verdict("entries", result.outcome, result.anomalies, measures),))


def main() -> int:
    """One run, said."""
    parser = argparse.ArgumentParser(description=SUMMARY)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--defect", action="append", default=[])
    arguments = parser.parse_args()
    came = Came.of(arguments.seed, tuple(arguments.defect))
    (verdict,) = came.verdicts
    lines = [came.outcome.name, str(dict(verdict.measures)), *(anomaly.sentence for anomaly in verdict.anomalies)]
    sys.stdout.write("\n  ".join(lines) + "\n")
    return int(came.outcome is not Outcome.PASS)


if __name__ == "__main__":
    sys.exit(main())
