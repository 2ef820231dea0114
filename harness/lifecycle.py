"""One run in the world: nodes, load, faults, healing, the way back, the last look.

Question: what happens in each phase, what may it wait for, and what if that does not come?

    prepare    homes of all nodes; the operator enters             (nothing runs)
    start      NameServers, brokers, topic, routes, slaves follow  ready deadline, else ClusterError
    steady     load, until the first fault is due
    faults     load and faults, until the load has been given
    heal       no new operations; everything active is undone; what is in flight completes
    converge   every broker registered and settled (``operator``)  converge deadline, else a note "incomplete"
               what is dead by now is started once
    drain      every queue read to its recorded end, on masters    drain deadline, else a note "incomplete"
               by consumer groups, and then on slaves; then the logs of
               groups are looked at on the disks of their members
    dump       what nodes leave is collected (by the caller, if the run is kept)
    check      the history is complete; what comes later is no part of it

Whatever goes wrong, faults are healed before the exception leaves. Acts of levers on nodes (start, kill, pause …) are
events ``node``; they are written when the act is over, because acts may run beside the recorder's thread.

Limits. A deadline that passes does not end the run: it is written down, and the run cannot be PASS. A budget of the
simulator that is reached ends the load at once: nothing more can happen in that world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from random import Random
from typing import Any, Final, TypeVar

from checkers.contract import classify
from checkers.runs.broker_disks import STEP as BROKER_ON_DISK
from checkers.runs.member_logs import STEP as LOG_ON_DISK
from faults.errors import FaultTrouble, UndoFailed
from faults.injector import Injector
from faults.journal import HealJournal
from faults.levers import LeverRefused
from faults.selectors import Node, Topology
from harness.addressing import SERVING_ID, Addressing, BrokerNode, configured
from harness.backends.backend import Backend, ShowsStores, Store
from harness.broker_disks import broker_disk
from harness.cluster import Cluster
from harness.drain import REPLICA, Drainer
from harness.errors import BackendUnavailable, BudgetExceeded, FaultError, UndoError
from harness.member_logs import has_log, last_index, member_log
from harness.modes import MODES
from harness.node_events import LeverEvents, ended_by_itself
from harness.operator import NAME as OPERATOR
from harness.operator import Operator
from harness.recorder import Recorder
from harness.scenario import Scenario, topology_of
from harness.workloads.table import make_workload
from harness.workloads.workload import Load, QueueAddress, Stage, Workload
from reference_impl.environment import SECOND

T = TypeVar("T")

IDLE_WAIT_NS: Final = 15 * SECOND
"""Longer than any time-out of a client."""

OVERTIME_NS: Final = 30 * SECOND
"""How long a load may last beyond its duration before it is ended."""

PROGRESS_NS: Final = SECOND // 2

WRITTEN_LATE_NS: Final = SECOND // 100
"""An act of a node that is written down so much later says when it was."""

NOTED_WITHIN_NS: Final = 5 * SECOND
"""A member of a group notes what is committed every three seconds, a second after it has heard of it at most."""

HURRY_NS: Final = 10 * SECOND
"""Converge and drain after an interrupt."""


class Interrupt:
    """Ctrl-C as a value, pressed by a signal handler: once for an early orderly end, twice to leave.

    After the first the load stops, faults are healed, what can be is drained, and the history is judged; after the
    second faults are healed and the run ends without a verdict (``KeyboardInterrupt``).
    """

    def __init__(self) -> None:
        self.presses = 0

    def press(self) -> None:
        self.presses += 1


@dataclass(frozen=True)
class Progress:
    """For a live display, twice a second of the run's clock."""

    phase: str
    now_ns: int
    """On the scenario's clock: 0 when the load begins."""
    faults: tuple[str, ...]
    """Faults that are active now, as sentences."""
    measures: Mapping[str, int]


@dataclass
class Life:
    """One run between its first node and its last line; ``live`` is called once."""

    scenario: Scenario
    cluster: Cluster
    backend: Backend
    recorder: Recorder
    child: Callable[[str], Random]
    """The run's generators, by name."""
    heal_journal: HealJournal | None = None
    interrupt: Interrupt = field(default_factory=Interrupt)
    on_progress: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        self.phase = ""
        self.phases: list[tuple[str, int]] = []
        self.backend.on_event = self._noted
        self._acts = LeverEvents(self.backend.levers, self.backend.now)
        self._levers = self._acts.levers
        self._addressing = Addressing(
            [self._broker_node(node) for node in self.cluster.broker_addresses],
            MODES[self.scenario.mode],
            self._serves_now,
        )
        stage = self._stage()
        queues = self.scenario.workload.queues
        self._crashed: dict[str, str] = {}
        self._revived: set[str] = set()
        self._stripped: set[str] = set()
        self._operator = Operator(stage, queues, self._run_until, lambda: list(self._crashed.values()))
        load = self.scenario.workload
        self._workload: Workload = make_workload(stage, load.kind, load.operators, load.observers)
        self._stage_value = stage
        self._injector = Injector(
            self.scenario.faults,
            self._levers,
            rng=self.child("faults"),
            emit=self._emit,
            now=self.backend.now,
            perform=self._perform,
            journal=self.heal_journal,
            topology=self._topology,
        )

    @property
    def measures(self) -> Mapping[str, int]:
        """Counts of the workload."""
        return self._workload.measures()

    def live(self) -> None:
        """All phases. ``HarnessError`` for what is no verdict, ``KeyboardInterrupt`` after a second press."""
        try:
            self._phases()
        except BudgetExceeded as error:
            self._incomplete("budget", str(error))
            self._undo_everything()
        except BaseException as error:
            self._undo_in_passing(error)
            raise
        self._enter("dump")
        self._enter("check")

    def _phases(self) -> None:
        self._prepare()
        self._start()
        self._load()
        self._heal()
        self._converge()
        self._drain()
        self._look_at_logs()
        self._look_at_disks()

    # Phases ----------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self._enter("prepare")
        for spec in self.cluster.nodes:
            self.backend.add_node(spec)
        self._operator.enter()

    def _start(self) -> None:
        self._enter("start")
        deadline_ns = self.backend.now() + self.scenario.deadlines.ready_ns
        self._start_kind("namesrv")
        self._start_kind("controller")
        self._operator.wait_nameservers(deadline_ns)
        self._start_kind("broker")
        self._operator.wait_registered(deadline_ns)
        self._learn_roles()
        self._operator.create_topics(deadline_ns)
        self._operator.wait_slaves(deadline_ns)

    def _start_kind(self, kind: str) -> None:
        for spec in self.cluster.nodes:
            if spec.kind == kind:
                self._perform(partial(self._levers.start, spec.name))

    def _load(self) -> None:
        self._enter("steady")
        self._workload.start()
        self._injector.begin()
        end_ns = self.backend.now() + self.scenario.workload.duration_ns + OVERTIME_NS
        while (due_ns := self._injector.next_ns()) is not None and due_ns < end_ns:
            if self._run_until(self._load_is_over, due_ns):
                break
            if self.phase == "steady":
                self._enter("faults")
            self._act()
        if not self._run_until(self._load_is_over, end_ns):
            self._incomplete("load", "the load did not end in time")
        self._workload.stop()

    def _load_is_over(self) -> bool:
        return self._workload.done() or self.interrupt.presses > 0

    def _act(self) -> None:
        try:
            self._injector.act()
        except LeverRefused as refused:
            raise BackendUnavailable(refused.reason, place=f"backend {self.backend.name}", hint=refused.hint) from None
        except UndoFailed as error:
            raise UndoError(error.what, hint=error.hint) from error
        except FaultTrouble as error:
            raise FaultError(error.what, hint=error.hint) from error
        self._mend()

    def _mend(self) -> None:
        started = self._acts.take_started()
        if started:
            self._learn_roles()
        for node in started:
            self._operator.mend(node)

    def _heal(self) -> None:
        self._enter("heal")
        if self.interrupt.presses:
            self.recorder.event("note", step="interrupted")
        self._undo_everything()
        self._mend()
        if not self._run_until(self._is_quiet, self.backend.now() + IDLE_WAIT_NS):
            self._incomplete("idle", "operations were still in flight when the load had ended")

    def _is_quiet(self) -> bool:
        return self._workload.idle() or self.interrupt.presses > 1

    def _converge(self) -> None:
        self._enter("converge")
        deadline_ns = self._deadline(self.scenario.deadlines.converge_ns)
        self._learn_roles()
        late = self._operator.settle(deadline_ns, self._must_leave, self._tend)
        if late:
            self._incomplete("converge", "; ".join(late))

    def _tend(self) -> None:
        self._revive()
        self._learn_roles()

    def _revive(self) -> None:
        """Start what is dead although every fault is healed: a broker that was asked to stop while it was paused ends
        when it goes on. Once each, else a broker that cannot start would be started for ever; but a broker that cannot
        read its tables after a power cut says so and ends (RocketMQ: ConfigManager#load), and an operator then
        removes them, also once."""
        for spec in self.cluster.nodes:
            if self._levers.state(spec.name) != "dead":
                continue
            if spec.name not in self._revived:
                self._revived.add(spec.name)
                self.recorder.event("note", node=spec.name, step="revived")
                self._perform(partial(self._levers.start, spec.name))
            elif spec.kind == "broker" and spec.name in self._crashed and spec.name not in self._stripped:
                self._stripped.add(spec.name)
                self.recorder.event("note", node=spec.name, step="tables_removed")
                self._perform(partial(self._levers.remove_tables, spec.name))
                self._perform(partial(self._levers.start, spec.name))

    def _drain(self) -> None:
        self._enter("drain")
        self._learn_roles()
        stage = self._stage_value
        queues = (*stage.queues, *self._queues_since(stage))
        self._drain_by(Drainer(stage, stage.load.spare_client("drain"), queues, self._addressing.at))
        self._finish()
        if replicas := self._replicas(queues):
            name = stage.load.spare_client("replica drain")
            self._drain_by(Drainer(stage, name, replicas, lambda queue: queue, REPLICA))

    def _queues_since(self, stage: Stage) -> list[QueueAddress]:
        """Queues that the topic had not at the start and that somebody wrote to: one that is made again by a client has
        as many as brokers give it by default."""
        known = {queue.queue for queue in stage.queues}
        found = []
        for topic, broker, queue_id in self.recorder.queues():
            number = self.recorder.queue(topic, broker, queue_id)
            node = self._addressing.serves(broker)
            if topic == stage.topic and number not in known and node is not None:
                found.append(QueueAddress(number, broker, queue_id, node.node, node.address))
        return found

    def _finish(self) -> None:
        """Let those who still read come to the end."""
        self._workload.finish()
        if not self._workload.finished():
            deadline_ns = self._deadline(self.scenario.deadlines.drain_ns)
            self._run_until(lambda: self._workload.finished() or self._must_leave(), deadline_ns)
        if not self._workload.finished():
            self._incomplete("readers", "a consumer group had not read everything when its time was over")

    def _drain_by(self, drainer: Drainer) -> None:
        self.backend.add_client(drainer.name, drainer)
        deadline_ns = self._deadline(self.scenario.deadlines.drain_ns)
        self._run_until(lambda: drainer.is_done or self._must_leave(), deadline_ns)
        drainer.stopped = True
        if not drainer.is_done:
            self._incomplete("drain", f"not read to the end: {', '.join(drainer.left())}")

    def _look_at_logs(self) -> None:
        """What members of groups have on their disks, when everything that is written late is written."""
        backend = self.backend
        members = {spec.name: spec.properties for spec in self.cluster.nodes if has_log(spec.properties)}
        if not members or not isinstance(backend, ShowsStores):
            return
        expected = {node: self._look(node, last_index, properties) for node, properties in members.items()}
        self._run_until(self._must_leave, self._deadline(NOTED_WITHIN_NS))
        for node, properties in members.items():
            found = self._look(node, member_log, properties)
            if found is not None and expected[node] is not None:
                self.recorder.event("note", node=node, step=LOG_ON_DISK, detail={**found, "expected": expected[node]})

    def _look_at_disks(self) -> None:
        """What brokers that are members of no group have on theirs."""
        if not isinstance(self.backend, ShowsStores):
            return
        for spec in self.cluster.nodes:
            if spec.kind == "broker" and not has_log(spec.properties):
                found = self._look(spec.name, broker_disk, spec.properties)
                if found is not None:
                    self.recorder.event("note", node=spec.name, step=BROKER_ON_DISK, detail=found)

    def _look(
        self, node: str, how: Callable[[Store, Mapping[str, str]], T | None], properties: Mapping[str, str]
    ) -> T | None:
        """``None`` where the disk cannot be read, which is said, or has no log."""
        assert isinstance(self.backend, ShowsStores)
        try:
            return how(self.backend.store(node), properties)
        except OSError as error:  # a disk that is dead for good, or a file that went between two looks
            self._incomplete("logs", f"the log of {node} could not be read: {error}")
            return None

    # Inside ----------------------------------------------------------------------------------------------------------

    def _must_leave(self) -> bool:
        return self.interrupt.presses > 1

    def _deadline(self, patience_ns: int) -> int:
        return self.backend.now() + (min(patience_ns, HURRY_NS) if self.interrupt.presses else patience_ns)

    def _enter(self, phase: str) -> None:
        if self._must_leave():
            raise KeyboardInterrupt
        self.phase = phase
        self.phases.append((phase, self.backend.now()))
        self.recorder.phase(phase)

    def _incomplete(self, what: str, why: str) -> None:
        self.recorder.event("note", step="incomplete", detail={"phase": self.phase, "what": what, "why": why})

    def _undo_in_passing(self, first: BaseException) -> None:
        """Heal while another exception is under way; what goes wrong now is said beside it, not instead of it."""
        try:
            self._injector.heal_all()
        except FaultTrouble as error:
            first.add_note(f"while healing: {error}")

    def _undo_everything(self) -> None:
        try:
            self._injector.heal_all()
        except UndoFailed as error:
            raise UndoError(error.what, hint=error.hint) from error

    def _perform(self, work: Callable[[], T]) -> T:
        try:
            return self.backend.perform(work)
        finally:
            now_ns = self.backend.now()
            for node, act, ns in self._acts.take_events():
                detail = {"at_ns": ns} if now_ns - ns > WRITTEN_LATE_NS else {}
                self.recorder.event("node", node=node, step=act, detail=detail)

    def _emit(self, fault: str, step: str, node: str, effective: int, detail: dict[str, Any]) -> None:
        self.recorder.event("fault", node=node, fault=fault, step=step, effective=effective, detail=detail)

    def _noted(self, node: str, event: str, fields: dict[str, Any]) -> None:
        self.recorder.event("role", node=node, step=event, detail=fields)
        if why := ended_by_itself(event, fields):
            self._crashed[node] = f"{node} {why}"

    def _run_until(self, done: Callable[[], bool], deadline_ns: int) -> bool:
        """``Backend.run_until``, in slices where somebody watches; slices change nothing in the world."""
        if self.on_progress is None:
            return self.backend.run_until(done, deadline_ns)
        while not self.backend.run_until(done, min(deadline_ns, self.backend.now() + PROGRESS_NS)):
            self._tell(self.on_progress)
            if self.backend.now() >= deadline_ns:
                return False
        return True

    def _tell(self, on_progress: Callable[[Progress], None]) -> None:
        began = next((ns for phase, ns in self.phases if phase == "steady"), 0)
        on_progress(Progress(self.phase, self.backend.now() - began, self._injector.active, self.measures))

    # Roles -----------------------------------------------------------------------------------------------------------

    def _broker_node(self, node: str) -> BrokerNode:
        named = Node.named(node)
        return BrokerNode(node, named.broker, named.number, self.cluster.broker_addresses[node])

    def _topology(self) -> Topology:
        """Who is what at this moment, for selectors."""
        self._learn_roles()
        return self._addressing.topology(topology_of(self.scenario))

    def _learn_roles(self) -> None:
        """Ask who serves each broker name now. A world that cannot configure its nodes cannot move roles by it."""
        if self._addressing.roles_move:
            self._operator.ask_roles()
            return
        with suppress(LeverRefused):
            self._addressing.learn(configured(self._addressing.brokers, self._broker_id, self._runs))

    def _broker_id(self, node: str) -> str:
        return self._levers.properties(node)["brokerId"]

    def _runs(self, node: str) -> bool:
        return self._levers.state(node) != "dead"

    def _serves_now(self, node: BrokerNode) -> None:
        self.recorder.event("note", node=node.node, step="serves", detail={"broker": node.broker})

    def _stage(self) -> Stage:
        workload = self.scenario.workload
        load = Load(
            workload.producers,
            workload.consumers,
            workload.rate_per_s,
            workload.duration_ns,
            workload.size_bytes,
            workload.spread_bytes,
            workload.client,
        )
        namesrvs = [spec.name for spec in self.cluster.nodes if spec.kind == "namesrv"]
        return Stage(
            backend=self.backend,
            recorder=self.recorder,
            rng=self.child("workload"),
            topic=workload.topic,
            load=load,
            queues=tuple(self._queues()),
            nameservers=dict(zip(namesrvs, self.cluster.namesrv_addresses, strict=True)),
            classify=cache(classify),
            addressing=self._addressing,
            defects=self.cluster.defects,
        )

    def _replicas(self, queues: Sequence[QueueAddress]) -> tuple[QueueAddress, ...]:
        """*queues* on every slave that may be read, under the numbers of its master's (5.x refuses the others)."""
        readable = {spec.name for spec in self.cluster.nodes if spec.properties.get("slaveReadEnable") == "true"}
        serving = [self._addressing.serves(queue.broker) for queue in queues]
        slaves = [node for node in self._addressing.brokers if node not in serving and node.node in readable]
        return tuple(
            replace(queue, node=slave.node, address=slave.address)
            for slave in slaves
            for queue in queues
            if queue.broker == slave.broker
        )

    def _queues(self) -> list[QueueAddress]:
        """Every queue of every master, brokers alternating, so that round-robin spreads over them."""
        topic = self.scenario.workload.topic
        masters = [node for node in self._addressing.brokers if node.broker_id == SERVING_ID]
        return [
            QueueAddress(
                self.recorder.queue(topic, master.broker, queue), master.broker, queue, master.node, master.address
            )
            for queue in range(self.scenario.workload.queues)
            for master in masters
        ]


assert OPERATOR == "operator", "selectors know the operator by this name"
