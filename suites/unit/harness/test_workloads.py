"""Loads, observers and operators: any of them together, the words of former files, one more as a stranger adds it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers.verdict import Outcome
from faults.plan import bind_fault
from harness.errors import ScenarioError
from harness.run import RunResult, run_scenario
from harness.scenario import SECOND, Scenario, Topology, Workload
from harness.scenario_file import dump, parse
from harness.workloads.group import GroupRecorder
from harness.workloads.measuring import QUERY_TIMEOUT_NS, Process, status_of
from harness.workloads.parts import PartHost
from harness.workloads.table import LOADS, OBSERVERS, OPERATORS, SHORTHANDS, Companion
from reference_impl.client import MessageQueue, PullOutcome
from reference_impl.client.consumer import pulled
from reference_impl.environment import Environment
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.frame import Command
from reference_impl.wire.message import Message
from reference_impl.wire.remoting import Answer

SIMULATED = tuple(name for name in LOADS if not name.startswith("external"))
PEACEFUL = tuple(name for name, row in OPERATORS.items() if not (row.attacks or row.is_alone))
SEEN = {"routes": "route", "ends": "end", "masters": "master"}


def scenario(load: str, duration_s: int = 10, **changes: Any) -> Scenario:
    workload = Workload(load, producers=2, consumers=2, queues=2, rate_per_s=20, duration_ns=duration_s * SECOND)
    pair = Topology(nameservers=2, brokers=1, slaves=1)
    properties = {"namesrv": {"orderMessageEnable": "true"}, "broker": LOADS[load].broker}
    return Scenario(
        "together", "multi-master-multi-slave-async", pair, replace(workload, **changes), properties=properties
    )


def journal(result: RunResult) -> list[dict[str, Any]]:
    assert result.folder is not None
    return [json.loads(line) for line in (result.folder / "journal.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("load", SIMULATED)
def test_every_load_goes_with_all_observers_and_peaceful_operators_at_once(load: str, tmp_path: Path) -> None:
    everybody = scenario(load, operators=PEACEFUL, observers=tuple(OBSERVERS))
    result = run_scenario(everybody, seed=1, out=tmp_path)
    events = journal(result)
    done = Counter(event.get("f") for event in events)
    assert all(done[f] >= 10 for f in SEEN.values()), done
    acts = {event["detail"]["act"] for event in events if "act" in (event.get("detail") or {})}
    assert {"wipe_write_permission", "put_order", "change_topic"} <= acts
    failed = [verdict.check for verdict in result.verdicts if verdict.outcome is Outcome.FAIL]
    assert failed == [], "they do not disturb each other"


def test_who_asks_for_all_that_there_is_has_no_other_operator_beside_it() -> None:
    text = "{name: a, mode: multi-master, workload: {kind: log, operators: [metadata, lookups]}}"
    with pytest.raises(ScenarioError, match="lookups asks for all that there is: not together with metadata"):
        parse(text, "a")


def test_where_nobody_measures_companions_have_a_node_of_their_own(tmp_path: Path) -> None:
    events = journal(run_scenario(scenario("log", 3, consumers=0, observers=("routes",)), seed=1, out=tmp_path))
    assert sum(event.get("f") == "route" for event in events) >= 4


@pytest.mark.parametrize("kind", SHORTHANDS)
def test_a_kind_of_former_files_is_the_load_with_its_companions(kind: str) -> None:
    made = SHORTHANDS[kind]
    former = parse(f"{{name: a, mode: multi-master, workload: {{kind: {kind}, observers: [routes]}}}}", "a")
    load = former.workload
    assert (load.kind, load.operators) == (made.load, made.operators)
    assert load.observers == tuple(dict.fromkeys((*made.observers, "routes")))
    assert parse(dump(former), "a") == former
    assert kind not in LOADS


# -- one more, as a stranger adds it: a class, and a row --------------------------------------------------------------


class Pings:
    """Asks every broker for its version once a second (``Part``)."""

    def __init__(self, host: PartHost) -> None:
        self._host, self._process = host, Process(host.recorder.process())

    def on_start(self, env: Environment) -> None:
        env.set_timer(("pings", "tick"), SECOND)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if key != ("pings", "tick"):
            return False
        for node, address in self._host.stage.brokers.items():
            self._ask(env, node, address)
        env.set_timer(key, SECOND)
        return True

    def _ask(self, env: Environment, node: str, address: str) -> None:
        op = self._host.recorder.invoke(self._host.recorder.process(), "look", node=node)

        def answered(env: Environment, answer: Answer) -> None:
            self._host.complete(op, "look", status_of(answer, "OK"), self._process, detail={"alive": "yes"})

        request = Command(RequestCode.GET_BROKER_RUNTIME_INFO)
        self._host.remoting.call(env, address, request, QUERY_TIMEOUT_NS, answered)


def test_an_observer_of_somebody_elses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(OBSERVERS, "pings", Companion("pings", "whether brokers answer", f"{__name__}:Pings"))
    events = journal(run_scenario(scenario("group", 4, observers=("pings",)), seed=1, out=tmp_path))
    assert sum(event.get("f") == "look" for event in events) >= 6


# -- what groups read --------------------------------------------------------------------------------------------------


class Told:
    """As much of a stage and its recorder as a group's recorder needs, which keeps what it is told."""

    topic, run, addressing, queues, brokers = "chaos", 7, None, (), {}

    def __init__(self) -> None:
        self.recorder, self.completed = self, []  # type: ignore[var-annotated]

    def classify(self, f: str, status: str) -> str:
        return "ok"

    def process(self) -> int:
        return 1

    def queue(self, topic: str, broker: str, queue_id: int) -> int:
        return queue_id

    def invoke(self, *arguments: Any, **fields: Any) -> int:
        return 3

    def complete(self, *arguments: Any, **fields: Any) -> None:
        self.completed.append((arguments, fields))


def test_a_record_of_another_queue_is_recognised_by_what_it_says_itself() -> None:
    """Not by the queue that was asked, which would be right whatever the broker sent."""
    from harness.payload import Body, encode
    from harness.workloads.workload import QueueAddress

    stage: Any = Told()
    stage.queues = (QueueAddress(0, "broker-a", 0, "broker-a-0", "10.0.0.1:10911"),)
    asked = MessageQueue("chaos", "broker-a", 0)
    records = [Message(topic="chaos", queue_id=queue, body=encode(Body(7, 40 + queue, 1, 0), 64)) for queue in (0, 1)]
    record = GroupRecorder(stage, "readers", Counter())
    record.on_pulling(None, 1, asked, "10.0.0.1:10911", 0, -1)  # type: ignore[arg-type]
    outcome = PullOutcome(
        asked, "10.0.0.1:10911", 0, 0, "OK", 2, 0, 2, 0, tuple(pulled(asked, r) for r in records), 0, 1, number=1
    )
    record.on_pull(None, outcome)  # type: ignore[arg-type]
    ((_, fields),) = stage.completed
    assert fields["messages"] == [40, -1]
    assert fields["unrecognised"] == [(1, "message 41 of chaos/1")]


def test_a_member_that_enters_late_takes_the_turn_of_the_others(tmp_path: Path) -> None:
    """The first NameServer starts again when the members enter, and knows no routes yet: who asked it enters later, and
    then the queues are shared as if it had come in time."""
    gone = bind_fault(1, at="4900ms", do="restart", on="nameserver(1)")
    pair = Topology(nameservers=2, brokers=1, slaves=1)
    load = replace(scenario("group", 40, rate_per_s=4), topology=pair, faults=(gone,))
    result = run_scenario(load, seed=1, out=tmp_path)
    entered: dict[str, int] = {}
    owned: dict[str, list[int]] = {}
    for turn in (event for event in journal(result) if event.get("step") == "assigned"):
        entered.setdefault(turn["node"], turn["ns"])
        owned[turn["node"]] = turn["detail"]["queues"]
    first, second = (node for node, queues in owned.items() if len(queues) == 1)
    assert abs(entered[first] - entered[second]) > 2 * SECOND, "one was late"
    assert sorted([*owned[first], *owned[second]]) == [0, 1]
    assert result.outcome is Outcome.PASS
