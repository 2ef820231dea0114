"""The load ``group``: a consumer group of RocketMQ's pull consumers, which commit how far they are and go where the
broker sends them.

Question: what does a group get to see while masters and slaves come and go: each message, how often, from which node,
and from where does it go on after its offsets were written down and read again?

Model. Producers are those of the load ``log``. The members of the group host the reference's client
(``reference_impl.client.PullConsumer``), which asks the master first, then the broker id that the last answer
suggested, and any other of that name where that one is gone from its routes (RocketMQ: PullAPIWrapper,
findBrokerAddressInSubscribe). Members enter when an eighth of the load has been given, so that there is something to
catch up with; then, and again with each quarter of the load, the queues pass from member to member: the old owner
sends its offset, the new one asks for it and goes on from there. When seven eighths have been given, one more client
enters as a group of its own, and reads everything from the beginning. What the clients do becomes operations:

    pull            asked node and offset, answer, next offset, suggested broker id, what was read: all of it is
                    delivered, unless the queue had passed on meanwhile (detail ``taken away``)
    commit_offset   an offset that travelled with a pull of the master, or in a call of its own
    fetch_offset    the committed offset, as told to a new owner; −1: none known

Where there are slaves, somebody also sends a message to each of them every second (``stray_send``): a slave has to
refuse it. Where roles move nobody is a slave for good, and this is left out. After the last heal the group reads on
until its master has nothing more for it.

Limits. Members ask for routes every 5 s, not 30, so that a move to the slave fits into a short run. Offsets are sent as
calls, not one-way, so that an answered commit is known to have arrived. No heartbeats: queues pass on by timetable, not
by rebalancing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from checkers.history.schema import TAKEN_AWAY
from harness.workloads.log import LogWorkload
from harness.workloads.measuring import MeasuringClient, Process, recognised
from harness.workloads.offsets import TAKEN, OffsetRecorder, renew_number
from harness.workloads.parts import PartHost, lone_host
from harness.workloads.table import Companion
from harness.workloads.workload import QueueAddress, Stage
from reference_impl.client import (
    Client,
    ClientSettings,
    MessageQueue,
    PullConsumer,
    PullOutcome,
    PullSettings,
)
from reference_impl.client.client import Part
from reference_impl.environment import SECOND, Address, Environment

GROUP: Final = "readers"
NEWCOMERS: Final = "newcomers"
POLL_NAMESERVER_NS: Final = 5 * SECOND
SUSPEND_NS: Final = SECOND
PULL_TIMEOUT_NS: Final = 8 * SECOND
"""RocketMQ sweeps parked pulls every 5 s."""
IN_TIME_NS: Final = SECOND
"""Who enters so late is in time: a route was asked for."""

ASK_AGAIN_NS: Final = SECOND
STRAY_EVERY_NS: Final = SECOND
_TURN, _ENTER, _STRAY = ("group", "turn"), ("group", "enter"), "stray"


class GroupRecorder(OffsetRecorder):
    """Writes what a member's client does into the history."""

    def __init__(self, stage: Stage, group: str, counts: Counter[str]) -> None:
        super().__init__(stage, group)
        self._counts = counts

    def on_pulling(
        self, env: Environment, number: int, queue: MessageQueue, address: Address, offset: int, committed: int
    ) -> None:
        call = self.begin("pull", queue, address, offset)
        if committed >= 0:
            commit = self.begin("commit_offset", queue, address, committed)
            call = replace(call, commit=commit.op, committer=commit.process)
        self.calls[number] = call

    def on_pull(self, env: Environment, outcome: PullOutcome) -> None:
        self._pulled(outcome, "")
        self._counts["read"] += len(outcome.messages)

    def on_late_pull(self, env: Environment, outcome: PullOutcome) -> None:
        self._pulled(outcome, TAKEN_AWAY)

    def _pulled(self, outcome: PullOutcome, detail: str) -> None:
        call = self.calls.pop(outcome.number)
        status = {"OK": "FOUND", "DAMAGED_ANSWER": "MALFORMED_BODY"}.get(outcome.status, outcome.status)
        if status == "PULL_OFFSET_MOVED":
            detail = detail or f"next {outcome.next_offset}"
        elif status not in TAKEN:
            detail = detail or outcome.remark
        bodies = [(m.stored_in.topic, m.stored_in.queue_id, m.body) for m in outcome.messages]
        messages, unrecognised = recognised(bodies, self._recorder.run, self._stage.topic, outcome.queue.queue_id)
        one = self._stage.classify("pull", status)
        self._recorder.complete(
            call.op,
            one,
            status,
            count=len(messages) if status in TAKEN else -1,
            detail=detail,
            offsets=[message.queue_offset for message in outcome.messages],
            messages=messages,
            unrecognised=unrecognised,
            next_offset=outcome.next_offset,
            suggested=outcome.suggested_broker_id,
        )
        renew_number(self._recorder, call.process, one)
        if call.committer is not None:
            self.committed_with(call.commit, call.committer, status)


class Member(Part):
    """One member: takes its queues in turn, and in the end reads them to their ends and leaves."""

    def __init__(self, stage: Stage, name: str, number: int, counts: Counter[str], group: str = GROUP) -> None:
        """Member *number* of ``load.consumers``; of the group of newcomers there is only one."""
        self.name, self._stage, self._number = name, stage, number
        self._is_newcomer = group == NEWCOMERS
        self._members = 1 if self._is_newcomer else stage.load.consumers
        self._record = GroupRecorder(stage, group, counts)
        settings = ClientSettings(
            ip=stage.backend.host(name),
            nameservers=tuple(stage.nameservers.values()),
            instance=name,
            poll_nameserver_ns=POLL_NAMESERVER_NS,
        )
        self.client = Client(settings, self._record)
        pulls = PullSettings(
            group, suspend_ns=SUSPEND_NS, pull_timeout_ns=PULL_TIMEOUT_NS, from_last=False, confirm=True
        )
        self._consumer = PullConsumer(self.client, pulls, self._pulled)
        self.client.parts.append(self)
        self._due_ns = 0
        """When the next turn is due by the timetable, the same for all members."""
        self._turn = 0
        self._is_finishing = False
        self._asked_before = 0
        self._unread: dict[MessageQueue, None] = {}

    @property
    def is_gone(self) -> bool:
        """It has left, and nothing of it is under way."""
        return self._is_finishing and not self._consumer.assigned() and not self._record.calls

    def start(self, env: Environment) -> None:
        eighths = 7 if self._is_newcomer else 1
        after_ns = self._stage.load.duration_ns * eighths // 8
        self._due_ns = env.now() + after_ns
        env.set_timer(_ENTER, after_ns)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if key == _ENTER:
            self._enter(env)
        elif key == _TURN:
            self._take_turn(env)
        else:
            return False
        return True

    def finish(self, env: Environment) -> None:
        """Read on until the master has nothing more in any queue; then leave."""
        self._is_finishing = True
        env.cancel_timer(_TURN)
        env.cancel_timer(_ENTER)
        self._asked_before = max(self._record.calls, default=0)
        self._unread = dict.fromkeys(self._consumer.assigned())

    def _pulled(self, env: Environment, outcome: PullOutcome) -> None:
        is_end = outcome.status == "PULL_NOT_FOUND" and outcome.broker_id == 0
        if self._is_finishing and is_end and outcome.number > self._asked_before:
            self._unread.pop(outcome.queue, None)
            if not self._unread:
                self._consumer.assign(env, {})

    def _enter(self, env: Environment) -> None:
        """Routes first; without one it asks again."""

        def learned(env: Environment, status: str) -> None:
            if status == "OK":
                self._take_turn(env)
            elif not self._is_finishing:
                env.set_timer(_ENTER, ASK_AGAIN_NS)

        self.client.routes.refresh(env, self._stage.topic, learned)

    def _take_turn(self, env: Environment) -> None:
        """Queues of this turn; the only member puts all down and takes them up again."""
        if self._is_finishing:
            return
        wait_ns = self._next_turn(env)
        own = self._stage.queues[(self._number + self._turn) % self._members :: self._members]
        queues = [MessageQueue(self._stage.topic, queue.broker, queue.queue_id) for queue in own]
        self._stage.recorder.event(
            "note", node=self.name, step="assigned", detail={"queues": [queue.queue for queue in own]}
        )
        if self._members == 1:
            self._consumer.assign(env, {})
        self._consumer.assign(env, dict.fromkeys(queues, -1))
        self._turn += 1
        env.set_timer(_TURN, wait_ns)

    def _next_turn(self, env: Environment) -> int:
        """How long this turn lasts. A member that could not enter in time, since it learned no route, takes the turn of
        the others: out of step, two would read the same queues, and nobody the rest."""
        lasts_ns = self._stage.load.duration_ns // 4
        late_ns = env.now() - self._due_ns
        if late_ns < IN_TIME_NS:
            self._due_ns = env.now() + lasts_ns
            return lasts_ns
        missed, late_ns = divmod(late_ns, lasts_ns)
        self._turn += missed
        self._due_ns = env.now() + lasts_ns - late_ns
        return lasts_ns - late_ns


class Stray(MeasuringClient):
    """Sends to slaves, which have to refuse."""

    def __init__(self, stage: Stage, name: str, slaves: tuple[QueueAddress, ...]) -> None:
        super().__init__(stage, name)
        self._slaves = {slave.node: (slave, Process(stage.recorder.process())) for slave in slaves}
        self._busy: dict[str, None] = {}

    def on_start(self, env: Environment) -> None:
        env.set_timer(_STRAY, STRAY_EVERY_NS)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if key != _STRAY:
            super().on_timer(env, key)
        elif not self.stopped:
            for node, (slave, process) in self._slaves.items():
                if node not in self._busy:
                    self._busy[node] = None
                    self.send(env, process, slave, partial(self._answered, node), f="stray_send")
            env.set_timer(_STRAY, STRAY_EVERY_NS)

    def _answered(self, node: str, _env: Environment, _outcome: str) -> None:
        del self._busy[node]


class GroupWorkload(LogWorkload):
    """``Workload`` of the load ``group``: clients 1…P are producers, P+1…P+C the members of the group."""

    def __init__(self, stage: Stage, companions: Sequence[Companion] = ()) -> None:
        load = stage.load
        super().__init__(stage, companions)
        self._members = [
            Member(stage, f"client-{load.producers + number + 1}", number, self.counts)
            for number in range(load.consumers)
        ]
        if self._members:
            self._members.append(Member(stage, load.spare_client("newcomers"), 0, self.counts, NEWCOMERS))
        slaves = () if stage.addressing.roles_move else _slaves_of(stage)
        self._strays = [Stray(stage, load.spare_client("strays"), slaves)] if slaves else []

    def _make_readers(self, companions: Sequence[Companion]) -> Sequence[PartHost]:
        """Members read; companions have a node of their own."""
        return lone_host(self.stage, companions)

    def start(self) -> None:
        super().start()
        for member in self._members:
            self.stage.backend.add_client(member.name, member.client)

    def finish(self) -> None:
        for member in self._members:
            self.stage.backend.step(member.name, member.finish)

    def finished(self) -> bool:
        return all(member.is_gone for member in self._members)

    def _clients(self) -> list[MeasuringClient]:
        return [*super()._clients(), *self._strays]


def _slaves_of(stage: Stage) -> tuple[QueueAddress, ...]:
    """Every slave, with the first queue of its master."""
    first = {queue.broker: queue for queue in reversed(stage.queues)}
    slaves = (slave for broker in sorted(first) for slave in stage.addressing.replicas(broker))
    return tuple(replace(first[slave.broker], node=slave.node, address=slave.address) for slave in slaves)
