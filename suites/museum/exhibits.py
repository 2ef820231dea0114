"""The exhibits: what it takes to reach each planted bug, and what its checker must say.

Question: in which scenario does a bug of :mod:`reference_impl.defects` show itself, and how is it told from any other?
``hunt`` looks for it with many seeds and writes down the first that find it; the tests replay those.

A bug is *found* in a run if the check that the registry names has FAILed with an anomaly of one of ``kinds`` whose
sentence holds all ``words``: which nodes, which fault, which mechanism. FAIL alone is not enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Protocol

from checkers.verdict import Anomaly, Outcome, Verdict
from harness.run import run_scenario
from harness.scenario import MUSEUM, SHIPPED, Scenario
from harness.scenario_file import load
from reference_impl.defects import DEFECTS
from suites.conformance.dledger import worked


class Judged(Protocol):
    """A run, and what was said of it."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def verdicts(self) -> Sequence[Verdict]: ...


@dataclass(frozen=True)
class Exhibit:
    """*scenario* without its ``museum-``; *kinds*: the anomalies that prove it; *words*: what a person must be told."""

    scenario: str
    kinds: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The scenario's file."""
        return MUSEUM / f"museum-{self.scenario}.yaml"

    @property
    def reached_by(self) -> str:
        """How, in words, and where that is to be found."""
        return f"(`{self.path.stem}`): {scenario_of(self.path).description}"

    def command(self, defect: str, seed: int) -> str:
        """What a person types to see it."""
        return f"mqchaos run {self.path.stem} --defect {defect} --seed {seed}"

    def run(self, defects: tuple[str, ...], seed: int) -> Judged:
        """Nothing is kept."""
        return run_scenario(scenario_of(self.path), seed=seed, keep="none", defects=defects)


@dataclass(frozen=True)
class OfShipped(Exhibit):
    """One that a scenario reaches which is not of the museum alone: *scenario* is its whole name."""

    @property
    def path(self) -> Path:
        return SHIPPED / f"{self.scenario}.yaml"


@dataclass(frozen=True)
class OfEntries(Exhibit):
    """Members that are nodes of their own: there is no broker that a scenario could be about."""

    @property
    def reached_by(self) -> str:
        return f"(`{worked.__name__}`): {worked.SUMMARY}"

    def command(self, defect: str, seed: int) -> str:
        return f"python -m {worked.__name__} --defect {defect} --seed {seed}"

    def run(self, defects: tuple[str, ...], seed: int) -> Judged:
        return worked.Came.of(seed, defects)


LOST: Final = ("lost",)
KILLED: Final = ("broker-a gone", "and no power cut of broker-a followed", "kill of broker-a-0")
CUT: Final = ("broker-a gone after cut_power of broker-a-0", "allows no loss by cut_power with sync flush")
ADOPTED: Final = ("broker-a gone after adopt_slave of broker-a-0", "allows no loss by adopt_slave with sync flush")
TWO_VALUES: Final = ("two-values-one-offset",)
TWO_MESSAGES: Final = ("chaos/broker-a/", "holds two different messages", "kill of broker-a-0")
MISSING: Final = ("replica-missing",)
STUCK: Final = ("on broker-a-1: the slave has not got these",)
STALE: Final = ("namesrv-1 still listed broker-a", "kill of broker-a-0", "had ended it")

WRONG: Final = ("wrong-answer",)
LIFE: Final = "topic-lives-and-is-deleted"
SPEAKS: Final = "masters-speak-to-slaves"
OF_MEMBERS: Final = ("2 of 3 members had to have it for SEND_OK",)

EXHIBITS: Final = {
    "delivers-early": Exhibit("delayed", ("early",), ("Group readers", "too early")),
    "passes-over-delayed": Exhibit("delayed", ("never-given",), ("Group readers", "delayed messages")),
    "moves-delayed-twice": Exhibit("group-delayed", ("moved-twice",), ("Group readers", "more places than")),
    "timers-early": Exhibit("timers", ("early",), ("Group readers", "too early")),
    "timers-forgotten-at-start": Exhibit("timers", ("never-given",), ("Group readers", "delayed messages")),
    "timers-all-again": Exhibit("timers-late-kill", ("moved-twice",), ("Group readers", "more places than")),
    "forgets-the-count": Exhibit("push", ("not-counted",), ("Group readers", "the count that it had")),
    "buries-at-once": Exhibit("push", ("refused-lost",), ("Group readers", "came never again")),
    "retries-at-once": Exhibit("dead-letters", ("retried-early",), ("Group readers", "too early")),
    "buries-too-soon": Exhibit("dead-letters", ("buried-early",), ("Group readers", "dead letters")),
    "buries-too-late": Exhibit("dead-letters", ("not-buried", "over-max"), ("Group readers",)),
    "loses-properties": Exhibit("tags", ("property-differs",), ("Group readers", "without the property")),
    "loses-a-tag": Exhibit("tags", ("undelivered",), ("Group readers", "never given")),
    "unknown-is-true": Exhibit("sql", ("unwanted",), ("Group readers", "does not want")),
    "passes-over-after-a-miss": Exhibit("sql", ("undelivered",), ("Group readers", "never given")),
    "levels-swapped": Exhibit("levels", ("early",), ("Group readers", "too early")),
    "offsets-one-ahead": Exhibit("push", ("offset-invented",), ("Group readers", "nobody had committed")),
    "keeps-the-dead": Exhibit("member-dies", ("no-owner",), ("Group readers", "nobody had chaos/broker-a/")),
    "locks-for-everybody": Exhibit("locks", ("two-holders",), ("both held the lock of chaos/broker-a/",)),
    "never-unlocks": Exhibit("locks", ("never-free",), ("was refused the lock of chaos/broker-a/",)),
    "works-after-its-lock": Exhibit(
        "ordered-frozen", ("given-unlocked",), ("client-2 was given", "whose lock it did not hold", "OK")
    ),
    "passes-over-the-refused": Exhibit("ordered", ("passed-over",), ("Group readers", "past one that it had refused")),
    "keeps-its-locks": Exhibit("ordered", ("no-owner",), ("Group readers", "nobody had chaos/broker-a/")),
    "rollback-commits": Exhibit("transactions", ("rolled-back-shown",), ("Group readers", "did not commit")),
    "commits-twice": Exhibit("transactions", ("shown-twice",), ("its half was stored once",)),
    "forgets-the-mark": Exhibit("transactions", ("shown-twice",), ("its half was stored once",)),
    "never-asks": Exhibit("transactions", ("committed-lost",), ("Group readers", "transactions committed")),
    "replies-to-another": Exhibit("requests", ("wrong-caller",), ("a client that had not asked",)),
    "says-handed-over": Exhibit("requests", ("reply-lost",), ("was told to be handed over and never came",)),
    "ack-before-fsync": Exhibit("sync-power-cut", LOST, CUT),
    "flush-loop-ends": Exhibit("async-power-cut", LOST, ("lost by cut_power of broker-a-0", "must have reached them")),
    "failed-force-counts": Exhibit("force-fails", ("unforced-ok",), ("SEND_OK although fsync failed", "broker-a")),
    "late-force-counts": Exhibit("hanging-disk", LOST, CUT),
    "waits-for-the-force": Exhibit("hanging-disk", ("kept-waiting",), ("had no answer", "broker-a-0 waits 5.000 s")),
    "waits-for-the-slave": OfShipped(
        "sync-slave-dead-then-slow", ("kept-waiting",), ("had no answer", "broker-a-0 waits 3.000 s")
    ),
    "roll-skips-flush": Exhibit("sync-power-cut", LOST, CUT),
    "checkpoint-before-force": Exhibit("checkpoint", LOST, CUT),
    "recovery-skips-dispatch": Exhibit("sync-power-cut", LOST, CUT),
    "recovery-stops-at-border": Exhibit("kill", LOST, KILLED),
    "queue-tail-not-cut": Exhibit(
        "async-power-cut",
        ("skipped-in-read", "hole-without-writer"),
        ("chaos/broker-a/", "cut_power of broker-a-0"),
    ),
    "skip-last-record": Exhibit("kill", LOST, KILLED),
    "offset-table-ignores-tail": Exhibit(
        "kills", TWO_VALUES, ("chaos/broker-a/", "holds two different messages", "restart of broker-a-0")
    ),
    "reuse-offset": Exhibit("kill", TWO_VALUES, TWO_MESSAGES),
    "offset-from-wrong-base": Exhibit("kill", TWO_VALUES, ("chaos/broker-a/", "holds two different messages")),
    "batch-counts-as-one": Exhibit("batches", TWO_VALUES, ("chaos/broker-a/", "holds two different messages")),
    "overflow-resets-to-zero": Exhibit(
        "group-loses-tail", ("delivered-again",), ("the broker sent it back below the end of the queue",)
    ),
    "append-twice-at-roll": Exhibit("kill", ("duplicated",), ("was sent once", "but is there twice")),
    "retention-ignores-age": Exhibit("retention", LOST, ("broker-a gone", "no fault was injected")),
    "min-offset-from-dying-file": Exhibit(
        "retention-under-reader",
        ("stuck-at-minimum",),
        ("broker-a-0 had named 0 as the offset to go on at in chaos/broker-a/", "nobody gets on from there"),
    ),
    "disk-full-sticks": Exhibit("disk-full", ("not-recovered",), ("No send on chaos/broker-a/", "fill_disk")),
    "gives-up-at-roll": Exhibit("no-files", ("not-recovered",), ("No send on chaos/broker-a/", "exhaust_files")),
    "offsets-saved-at-stop": Exhibit("group-killed", ("offset-went-back",), ("broker-a",)),
    "topics-saved-at-stop": Exhibit(
        "kill", ("unreachable",), ("broker-a-0 answered", "the topic does not exist, after kill of broker-a-0")
    ),
    "topics-not-forced": Exhibit(
        "topics-forced", ("unreachable",), ("that the topic does not exist, after cut_power of broker-a-0",)
    ),
    "orphan-cleanup-at-start": Exhibit("sync-power-cut", LOST, CUT),
    "ack-before-replication": Exhibit("slave-adopted", LOST, ADOPTED),
    "ha-new-slave-counts": Exhibit("new-slave-adopted", LOST, ADOPTED),
    "ha-counts-sent": Exhibit("cut-off-slave-adopted", LOST, ADOPTED),
    "slave-acks-in-memory": Exhibit("pair-dies", LOST, ADOPTED),
    "transfer-acks-all": Exhibit("full-slave-adopted", LOST, ADOPTED),
    "slave-timeout-is-ok": Exhibit("cut-off-slave-adopted", LOST, ADOPTED),
    "slave-takes-messages": Exhibit("slave-beside-group", ("slave-stored",), ("broker-a-1",)),
    "slave-empties-topics": Exhibit("tables", ("not-shown", "gone-again"), ("broker-a-1 had to show topic",)),
    "slave-forgets-master": Exhibit("tables-master-away", ("not-shown",), ("broker-a-1 had to show",)),
    "delay-offsets-not-kept": Exhibit("tables", ("not-shown",), ("broker-a-1 had to show delay in the file",)),
    "suggests-slave-always": Exhibit("slave-beside-group", ("wrong-suggestion",), ("broker-a-0",)),
    "ha-start-from-acked": Exhibit("slave-wiped", MISSING, STUCK),
    "ha-start-from-last-file": Exhibit("slave-away", MISSING, STUCK),
    "ha-skips-file-tail": Exhibit("slave-away", MISSING, STUCK),
    "ha-waits-for-the-gone": Exhibit("slave-of-two-dies", ("not-promised",), ("ended with FLUSH_SLAVE_TIMEOUT",)),
    "slave-reports-only-progress": Exhibit("master-away", MISSING, STUCK),
    "group-ignores-logs": Exhibit("group-short-log", LOST, OF_MEMBERS),
    "group-votes-again": Exhibit("group-leader-dies", ("two-leaders",), ("Nothing took a vote from any disk",)),
    "group-keeps-no-vote": Exhibit("group-all-die", ("two-leaders", "term-went-back"), ("Nothing took",)),
    "group-counts-sent": Exhibit("group-leader-away", LOST, OF_MEMBERS),
    "group-quorum-lacks-one": Exhibit("group-leader-away", LOST, OF_MEMBERS),
    "group-answers-before-force": Exhibit("group-from-disk", LOST, OF_MEMBERS),
    "group-hears-no-larger-term": Exhibit("group-larger-term", ("left-out",), ("reached the leader of broker-a",)),
    "group-keeps-its-transferee": Exhibit(
        "group-preferred-is-isolated", ("not-recovered",), ("No send on chaos/broker-a/", "isolate of broker-a-1")
    ),
    "group-truncates-not-its-commit": Exhibit(
        "group-loses-what-it-committed", ("not-recovered",), ("No send on chaos/broker-a/", "SERVICE_NOT_AVAILABLE")
    ),
    "group-pushes-what-is-gone": Exhibit(
        "group-expired", ("replica-missing",), ("chaos/broker-a/", "the slave has not got these")
    ),
    "group-rebuilds-the-other-row": Exhibit("group-expired", ("log-malformed",), ("the index of entry",)),
    "group-has-no-patience": Exhibit("group-leader-minority", ("gave-up-early",), ("broker-a-0 led broker-a",)),
    "group-waits-for-a-second": Exhibit("group-leader-minority", ("gave-up-waiting",), ("its leader led on",)),
    "group-notes-nothing": Exhibit("group-leader-minority", ("not-noted",), ("its checkpoint says",)),
    "group-overlooks-an-empty-member": Exhibit("group-idle-wipe", LOST, OF_MEMBERS),
    "group-blocks-on-its-queue": Exhibit("group-starts-together", ("left-out",), ("reached the leader of broker-a",)),
    "group-keeps-its-last-round": Exhibit("group-follower-isolated", ("leader-thrown-out",), ("broker-a", "for term")),
    "group-leads-with-a-dead-disk": Exhibit(
        "group-disk-dies", ("no-leader",), ("went on leading with a disk that took nothing",)
    ),
    "group-counts-failed-forces": Exhibit(
        "group-forces-fail", LOST, (*OF_MEMBERS, "fail_sync of broker-a-1, broker-a-2")
    ),
    "group-keeps-slots": Exhibit(
        "group-flapping", ("not-recovered",), ("No send on chaos/broker-a/", "partition of broker-a-", "SYSTEM_ERROR")
    ),
    "group-master-too-early": Exhibit("group-leader-dies", TWO_VALUES, ("chaos/broker-a/",)),
    "group-follower-shows-all": Exhibit(
        "group-minority", ("slave-shows-another", "slave-showed-more"), ("broker-a-0",)
    ),
    "group-leader-shows-all": Exhibit(
        "group-leader-minority",
        TWO_VALUES,
        ("chaos/broker-a/", "holds two different messages", "partition of broker-a-0"),
    ),
    "entries-unconfirmed": OfEntries("entries", ("stale-or-lost", "went-backwards"), ("a later answer says",)),
    "entries-uncommitted": OfEntries("entries", (*TWO_VALUES, "went-backwards"), ()),
    "entries-at-once": OfEntries("entries", (*TWO_VALUES, "stale-or-lost"), ()),
    "registers-before-role": Exhibit("slave-returns", ("self-promoted",), ("broker-a-1 as master of broker-a",)),
    "registration-in-turn": Exhibit(
        "nameserver-dies", ("dropped-early",), ("namesrv-2 no longer listed broker-a", "nothing had ended it")
    ),
    "unregister-drops-name": Exhibit(
        "slave-leaves", ("dropped-early",), ("namesrv-1 no longer listed broker-a", "nothing had ended it")
    ),
    "slave-alone-is-read-only": Exhibit(
        "slave-alone", ("not-recovered",), ("No produce succeeded", "kill of broker-a-0", "NO_ROUTE")
    ),
    "namesrv-takes-old-topics": OfShipped(
        "permission-changes-under-load",
        ("gone-again",),
        ("namesrv-", "permission of broker-a", "wipe_write_permission"),
    ),
    "namesrv-ignores-close": Exhibit("broker-dies", ("stale-route",), STALE),
    "namesrv-never-expires": Exhibit("broker-dies", ("stale-route",), STALE),
    "deleted-topic-keeps-queues": OfShipped(LIFE, WRONG, ("where the queue ends", "had to show 0")),
    "deleted-group-keeps-offsets": OfShipped(LIFE, WRONG, ("who consumes the topic", "had to show")),
    "namesrv-keeps-topics": OfShipped(LIFE, WRONG, ("the route", 'had to show "TOPIC_NOT_EXIST"')),
    "namesrv-keeps-entries": OfShipped(
        "nameservers-tell-what-they-were-told", WRONG, ("the entry a", "QUERY_NOT_FOUND")
    ),
    "finds-at-any-time": OfShipped("messages-are-looked-up", WRONG, ("messages with the key",)),
    "finds-the-next": OfShipped("messages-are-looked-up", WRONG, ("where an instant is",)),
    "remembers-the-first-wish": OfShipped("groups-get-what-they-want", WRONG, ("broker-a-0", "had to show")),
    "goes-back-nowhere": OfShipped("group-is-sent-back-in-time", WRONG, ("send the group back in time",)),
    "acting-master-unseen": OfShipped("slave-acts-as-its-dead-master", WRONG, ("who serves", "broker-a")),
    "uses-whom-it-should-rest": OfShipped(
        "producers-avoid-slow-brokers", ("used-while-resting",), ("client-", "which had to rest", "was there")
    ),
    "rests-for-ever": OfShipped(
        "producers-of-5x-avoid-slow-brokers", ("not-used-again",), ("client-", "attempts elsewhere since broker-")
    ),
    "rates-stand-still": OfShipped(
        "broker-tells-its-figures", WRONG, ("TOPIC_PUT_NUMS", "had to show [0, 0.0, false]")
    ),
    "namesrv-forgets-entries": OfShipped("nameservers-keep-entries", WRONG, ("all entries", "QUERY_NOT_FOUND")),
    "namesrv-keeps-old-ids": OfShipped("made-up-brokers-come-and-go", WRONG, ("the route", '"0"')),
    "group-believes-every-disk": OfShipped("dledger-foreign-member-is-refused-strict", LOST, OF_MEMBERS),
    "group-answers-strangers": OfShipped("dledger-members-answer", WRONG, ("that is not for it", "nobody")),
    "group-obeys-old-leaders": OfShipped("dledger-members-answer", WRONG, ("TRUNCATE of an old term",)),
    "group-recovers-from-zero": Exhibit("group-expired-begins-anew", MISSING, ("the slave has not got these",)),
    "namesrv-takes-topics-of-slaves": OfShipped("made-up-brokers-come-and-go", WRONG, ("had to show", "namesrv-")),
    "ha-no-heartbeats": OfShipped(SPEAKS, ("heartbeat-missing",), ("slave of broker-a-0", "not even a heartbeat")),
    "ha-heartbeats-all-the-time": OfShipped(SPEAKS, ("heartbeat-early",), ("slave of broker-a-0", "are due")),
    "ha-keeps-the-silent": OfShipped(SPEAKS, ("silent-kept",), ("slave of broker-a-0", "was connected")),
    "ha-throws-out-everybody": OfShipped(SPEAKS, ("thrown-out",), ("broker-a-0", "thr")),
    "index-of-bytes": OfShipped(
        "messages-are-looked-up", ("disk-malformed",), ("disk of broker-a-0", "by a hash of none of its keys")
    ),
    "units-across-files": OfShipped("batches-cross-file-borders", LOST, ("broker-a gone",)),
    "disk-full-unseen": OfShipped("disk-fills-up", ("taken-when-full",), ("broker-a-0", "93 % full")),
    "full-disk-deletes-nothing": OfShipped("disk-fills-up", ("kept-when-full",), ("broker-a-0", "88 % full")),
    "delayed-one-a-look": OfShipped("messages-of-all-shapes", WRONG, ("where the queue ends",)),
    "answers-without-limit": OfShipped("messages-of-all-shapes", WRONG, ("pull TAG *",)),
    "waits-for-what-need-not": OfShipped(
        "messages-of-all-shapes", ("kept-waiting",), ("broker-a-0", "waits for no disk")
    ),
}


NOT_TO_BE_HAD: Final = {
    "A06": (
        "dledger#85, a preferred leader that takes over while it is behind. A leader hands over to a member "
        "that has answered a heart beat, at the earliest a second later, when its entries are there since "
        "long. What keeps them away longer is a disk that takes nothing, which cannot keep the new term "
        "either, or connections that are reset; and then a member without this bug throws its leader out as "
        "well, since the leader takes the lost answer for a refusal and goes on. Tried with full, dead and "
        "new disks, resets and long absences."
    ),
}
"""Entries of the catalogue's part on groups that no planted bug stands for, and why."""


@cache
def scenario_of(path: Path) -> Scenario:
    """A scenario file, read once."""
    return load(path)


def run(defect: str, seed: int, *, clean: bool = False) -> Judged:
    """One run of the exhibit of *defect*, or of its twin without the bug."""
    return EXHIBITS[defect].run(() if clean else (defect,), seed)


def command(defect: str, seed: int) -> str:
    """What a person types to see it."""
    return EXHIBITS[defect].command(defect, seed)


def proof(defect: str, result: Judged) -> Anomaly | None:
    """What proves that *defect* was found in *result*; ``None``: it was not."""
    exhibit = EXHIBITS[defect]
    verdict = next((v for v in result.verdicts if v.check == DEFECTS[defect].check), Verdict("none", Outcome.PASS))
    for anomaly in verdict.anomalies:
        if not anomaly.allowed and anomaly.kind in exhibit.kinds and all(w in anomaly.sentence for w in exhibit.words):
            return anomaly
    return None
