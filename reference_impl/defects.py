"""Planted bugs: how the reference can be made to break its promises, so that checkers can prove that they see it.

Question: which wrong behaviours exist, where were they seen before, and which check must find each? A defect is a name;
roles get the names of theirs and ask ``if "ack-before-fsync" in self.defects``. Without names the reference is honest.

Most are exhibits of a museum: bugs that replicated logs really had. Numbers name the catalogue's entries (B: RocketMQ's
own code, C: other logs and queues, R: what operators of RocketMQ lost); ``history`` says where and what in short, and
``docs/museum.md`` what it takes to reach each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

Kind = Literal["namesrv", "broker"]


@dataclass(frozen=True)
class Defect:
    """*what* goes wrong, in which kind of node, and *shows*: what a run must show for it to be found by *check*.

    ``exhibits``: entries of the catalogue that it stands for (none: our own); ``history``: what happened there.
    """

    node: Kind
    what: str
    shows: str
    check: str
    exhibits: tuple[str, ...] = ()
    history: str = ""


STORE: Final = {
    "ack-before-fsync": Defect(
        "broker",
        "SYNC_FLUSH acknowledges a message before it is forced to the disk",
        "acknowledged messages lost after a power cut in a mode that promises none",
        "accounting",
        ("C18", "C19"),
        "etcd#14370: a single node answered before its own write-ahead log was written; etcd#14140: with fsync "
        "switched off",
    ),
    "flush-loop-ends": Defect(
        "broker",
        "the flush loop of ASYNC_FLUSH ends after its first turn",
        "a power cut takes more than the flush interval can have left in memory",
        "accounting",
        ("C01", "R5"),
        "nats-server#7564: acknowledged messages of minutes lost, because nothing had been forced since; "
        "rocketmq#3129, #5235: a flush service that fails goes on being trusted",
    ),
    "failed-force-counts": Defect(
        "broker",
        "with strictFlush, too, what a failed force has covered counts as being on the disk",
        "SEND_OK although every force failed, and a power cut that proves it",
        "accounting",
        ("B27", "R5", "C21"),
        "rocketmq#9713, #3129: the flushed position advances though the force call failed; cockroach#37102: a force "
        "that is tried again succeeds and has written nothing",
    ),
    "roll-skips-flush": Defect(
        "broker",
        "when a new log file begins, what was not forced of the old one counts as forced",
        "acknowledged messages lost after a power cut in a mode that promises none, from a file border on",
        "accounting",
        ("R6",),
        "rocketmq#405, #1434: after a power cut messages at the border of two log files are gone",
    ),
    "checkpoint-before-force": Defect(
        "broker",
        "the checkpoint is written without the consume queues that it vouches for being forced",
        "messages that are in the log, but in no queue, after a power cut",
        "accounting",
        ("C20", "R6"),
        "etcd#12589, #10508: the file that says what is safe is written before that is safe; rocketmq#467: messages in "
        "the commit log that no consumer sees",
    ),
    "recovery-skips-dispatch": Defect(
        "broker",
        "an abnormal start finds the end of the log, but does not dispatch again what it finds",
        "messages that are in the log, but in no queue, after a power cut",
        "accounting",
        ("R6",),
        "rocketmq#678, #7355: power cut between the append to the log and the dispatch to the queue; the message is in "
        "the commit log and cannot be read",
    ),
    "recovery-stops-at-border": Defect(
        "broker",
        "the scan of an abnormal start ends at the end of the first log file that it reads",
        "acknowledged messages lost after a kill: all log files but one",
        "accounting",
        ("R6", "A16"),
        "rocketmq#6609, dledger#285: recovery computes a wrong end where a file ends",
    ),
    "queue-tail-not-cut": Defect(
        "broker",
        "after a power cut queues keep the units of records that the log has lost",
        "offsets that exist, but hold no message or one of another queue",
        "log",
        ("R6", "C28"),
        "rocketmq#1434: “logic queue order maybe wrong”; ra#562: the index is ahead of the log after a crash",
    ),
    "skip-last-record": Defect(
        "broker",
        "recovery drops the last good record of the commit log",
        "an acknowledged message lost after a restart that may lose none",
        "accounting",
        ("B10",),
        "rocketmq#9084: recovery steps on by the wrong size and ends before the end",
    ),
    "offset-table-ignores-tail": Defect(
        "broker",
        "the table of next queue offsets is made from the queues before the rest of the log is dispatched to them",
        "two messages get one queue offset, and one of them is never delivered",
        "log",
        ("B15", "R1"),
        "rocketmq#7689, fixed by #7690: brokers killed together come back, and an acknowledged message shares its "
        "queue offset with another",
    ),
    "reuse-offset": Defect(
        "broker",
        "after a restart a queue goes on one offset too low",
        "one queue offset that holds two messages",
        "log",
        ("R7",),
        "rocketmq#6703: offsets are given again after a restart",
    ),
    "batch-counts-as-one": Defect(
        "broker",
        "after a batch a queue goes on one offset behind its first message, not behind its last",
        "one queue offset that holds two messages, in a load of batches",
        "log",
        ("B30",),
        "rocketmq#2865, fixed by #2866: messages of a batch get queue offsets that were given already",
    ),
    "overflow-resets-to-zero": Defect(
        "broker",
        "a consumer that asks for more than its queue has is sent to the beginning of the queue, not to its end",
        "messages that a group has had, again from the first one on, after a power cut",
        "deliveries",
        ("B31",),
        "rocketmq#4215, #2181 (before 4.9.4), alibaba/RocketMQ#210: “offset overflow badly”, and the whole queue comes "
        "again",
    ),
    "offset-from-wrong-base": Defect(
        "broker",
        "the answer to the first message of a log file names the queue offset before its own",
        "one queue offset that holds two messages: the one read there, and the one acknowledged there",
        "log",
        ("C36",),
        "Jepsen's report on Redpanda 21.10.1: offsets told to producers differ from where the records are",
    ),
    "append-twice-at-roll": Defect(
        "broker",
        "a message that did not fit into the old log file is stored twice in the new one",
        "a message that was sent once and stands at two offsets",
        "accounting",
        ("C26",),
        "ra#387, rabbitmq-server#12366: a command that is tried again inside the server is applied twice",
    ),
    "retention-ignores-age": Defect(
        "broker",
        "the clean-up deletes every full log file, however young",
        "acknowledged messages lost although nothing was broken",
        "accounting",
        ("R10",),
        "rocketmq#1137, #1367, #2398: the broker deletes log files that nobody has consumed yet",
    ),
    "min-offset-from-dying-file": Defect(
        "broker",
        "the first offset of a queue is taken from a log file that is marked as deleted and cannot be deleted yet",
        "a reader that is sent to the first offset of its queue by the broker, and from there to the same",
        "minimum",
        ("B13",),
        "rocketmq#7283, fixed by #7284: after a deletion that has to be tried again the first file is not available, "
        "and the offset told to be the first is its",
    ),
    "disk-full-sticks": Defect(
        "broker",
        "a broker that has refused messages for a full disk goes on refusing when there is space again",
        "no message accepted after the disk was emptied",
        "availability",
        ("R10",),
        "alibaba/RocketMQ#331, rocketmq#1400: the disk was full and is not any more, and the broker never takes "
        "messages again",
    ),
    "offsets-saved-at-stop": Defect(
        "broker",
        "consumer offsets are written at an orderly stop only",
        "a group that is told less than it had committed long before its broker was killed",
        "offsets",
        ("B05", "R8", "R16"),
        "rocketmq#6881, fixed by #6882: the task that writes positions down hangs on an executor that does not run; "
        "rocketmq#3143: the same for offsets of consumers",
    ),
    "topics-saved-at-stop": Defect(
        "broker",
        "topics.json is written at an orderly stop only",
        "a broker that comes back from a kill does not know its topic",
        "accounting",
        ("R17", "C33"),
        "rocketmq-helm#33: no topic configuration on the broker that takes over; pulsar#18236: data are saved before "
        "what describes them",
    ),
    "orphan-cleanup-at-start": Defect(
        "broker",
        "a start deletes the queues of topics that it does not know, and topics.json may have been lost",
        "acknowledged messages lost after a power cut in a mode that promises none",
        "accounting",
        ("C05",),
        "nats-server#7545, #6888: streams that look like orphans while their metadata catch up are removed",
    ),
}
"""One broker and its files."""

REPLICATION: Final = {
    "ack-before-replication": Defect(
        "broker",
        "a SYNC_MASTER acknowledges a message before any slave has it",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("R3",),
        "rocketmq#5663: acknowledged with one copy, and the node that had it dies",
    ),
    "ha-new-slave-counts": Defect(
        "broker",
        "a slave counts as being up to date from its connection on, not from its first report",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("B17", "R3"),
        "rocketmq#5663, fixed by #5798: a slave is counted as in sync before it is",
    ),
    "ha-counts-sent": Defect(
        "broker",
        "a master takes what it has sent to a slave as received",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("R4", "C13"),
        "rocketmq#3015: positions that no slave has reached let a SYNC_MASTER acknowledge; aeron#2147: positions of "
        "others count toward the quorum",
    ),
    "slave-acks-in-memory": Defect(
        "broker",
        "a slave reports what it has received, and writes it into its log up to half a second later",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("R4", "A26"),
        "rocketmq#3015: a slave reports an offset ahead of its log",
    ),
    "transfer-acks-all": Defect(
        "broker",
        "a report of a slave ends the wait of every message, also of those behind what it reports",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("A13",),
        "dledger#142, #134: batches booked at the wrong index are acknowledged before a quorum has all of them",
    ),
    "slave-timeout-is-ok": Defect(
        "broker",
        "a message that no slave has taken within the time is answered with SEND_OK",
        "acknowledged messages lost when a slave's data takes the place of a lost disk",
        "accounting",
        ("B48",),
        "RocketMQ's mapping of results in DLedger mode: what is undecided is reported as if it were decided",
    ),
    "slave-takes-messages": Defect(
        "broker",
        "a slave takes messages as if it were a master",
        "a slave that says it has stored a message",
        "slaves",
        ("B20",),
        "rocketmq#4423: the store takes messages while its role does not let it",
    ),
    "slave-empties-topics": Defect(
        "broker",
        "a slave drops all its topics before it takes those of its master, and takes them with its next look",
        "topics that a slave has shown and then does not know any more",
        "effects",
        ("B49", "R17"),
        "RocketMQ's slave of 2025 deletes its topics one by one and puts its master's back; whoever promotes it in "
        "between has none",
    ),
    "slave-forgets-master": Defect(
        "broker",
        "a slave that was told that its master is gone copies no tables any more when there is one again",
        "tables of a slave that stay as they were before its master was away",
        "effects",
        ("B02",),
        "rocketmq#7790, #3210, #6427: after a change of roles the master's address stays empty, and the offsets of "
        "consumers are not copied until somebody sets it",
    ),
    "delay-offsets-not-kept": Defect(
        "broker",
        "a slave asks for the delay offsets of its master and does not write them down",
        "delay offsets that a slave has not got in its file, so that whoever takes its master's place begins at 0",
        "effects",
        ("B03",),
        "rocketmq#2518, #1934, #2259: the delay offsets that a slave has copied are not there when it becomes master, "
        "and delayed messages of days are delivered again",
    ),
    "suggests-slave-always": Defect(
        "broker",
        "every answer to a pull suggests the slave, whoever asks",
        "readers at the end of the log that are sent to the slave",
        "suggestions",
        ("B28",),
        "rocketmq#2165: consumers are sent to a slave's id that is not right for them",
    ),
    "ha-start-from-acked": Defect(
        "broker",
        "a master sends a slave that comes back what follows the greatest report ever, not what follows its own",
        "a slave that never follows again after it has lost something",
        "replicas",
        ("B23",),
        "rocketmq#3388: the slave never synchronises, its offset and the master's do not meet",
    ),
    "ha-start-from-last-file": Defect(
        "broker",
        "a master begins with the start of its last log file whatever the slave reports",
        "a slave that never follows again after it was away",
        "replicas",
        ("B23", "C40"),
        "rocketmq#3388: a loop of connections, none of which begins where the slave's log ends",
    ),
    "ha-skips-file-tail": Defect(
        "broker",
        "a master leaves out the last bytes of each full log file",
        "a slave that stops following at the end of a log file",
        "replicas",
        ("B23",),
        "rocketmq#2706, #3349: a slave lags for ever behind a place that it cannot pass",
    ),
    "ha-waits-for-the-gone": Defect(
        "broker",
        "a slave's connection that has ended stays among those that must have a message before it is acknowledged",
        "FLUSH_SLAVE_TIMEOUT although a slave is there and follows",
        "promised",
        ("B24",),
        "rocketmq#8875: a connection that ends early is put into the list of connections afterwards, and the master "
        "counts a slave that is not there",
    ),
    "slave-reports-only-progress": Defect(
        "broker",
        "a slave that has followed once does not say where it is when it connects again",
        "a slave that never follows again after its master was away",
        "replicas",
        ("B25",),
        "rocketmq#6306: the state of a connection is taken from the one before; it stays in its handshake and the "
        "slave falls behind",
    ),
}
"""A master and its slave."""

ROUTING: Final = {
    "registers-before-role": Defect(
        "broker",
        "a slave registers with brokerId 0 when it starts, and with its own ten seconds later",
        "a slave that NameServers list as master although nobody had made it one",
        "masters",
        ("B01",),
        "rocketmq#1464: a broker that comes back registers as master before it knows its role, and hides the real one",
    ),
    "registration-in-turn": Defect(
        "broker",
        "a broker registers with one NameServer after the other, and with none behind one that does not answer",
        "a broker that is well and missing in the routes of a NameServer that is well",
        "routes",
        ("C43",),
        "bookkeeper#1067: one node that does not answer blocks what the others could do",
    ),
    "unregister-drops-name": Defect(
        "namesrv",
        "whoever unregisters takes all brokers of his name with him",
        "a master that is well and missing in the routes after its slave was stopped",
        "routes",
        ("B43",),
        "rocketmq#5374, fixed by #5375: the farewell of one broker removes another of the same name",
    ),
    "slave-alone-is-read-only": Defect(
        "namesrv",
        "a slave that registers while its name has no master makes the topics read-only, and so they stay",
        "no message accepted by a master that is back, because nobody finds a queue of it to write to",
        "availability",
        ("B14",),
        "rocketmq#7626, fixed by #7661: a NameServer that has heard of a slave first shows permission 4 for all topics "
        "of its name, although there is a master",
    ),
    "namesrv-ignores-close": Defect(
        "namesrv",
        "a closed connection does not count, a broker leaves the routes only for silence",
        "a dead broker in the routes longer than a closed connection allows",
        "routes",
        ("R16",),
        "alibaba/RocketMQ#173: sends to a crashed broker fail for two minutes",
    ),
    "namesrv-never-expires": Defect(
        "namesrv",
        "a broker leaves the routes only by unregistering, never for silence or a closed connection",
        "a dead broker in the routes longer than its expiry allows",
        "routes",
        ("R16",),
        "alibaba/RocketMQ#173, rocketmq#3143: clients go on being sent to a broker that is gone",
    ),
}
"""Who finds whom."""

DEFECTS: Final[dict[str, Defect]] = {**STORE, **REPLICATION, **ROUTING}


def checked_defects(names: Iterable[str], node: Kind | None = None) -> frozenset[str]:
    """*names* as a set; ``ValueError`` for one that does not exist, or (given *node*) belongs to the other kind."""
    chosen = list(names)
    for name in chosen:
        if name not in DEFECTS:
            near = get_close_matches(name, DEFECTS, 1)
            raise ValueError(f"unknown defect {name!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        if node is not None and DEFECTS[name].node != node:
            raise ValueError(f"defect {name!r} is one of a {DEFECTS[name].node}, not of a {node}")
    return frozenset(chosen)
