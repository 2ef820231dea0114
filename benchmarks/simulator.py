"""How fast is simulated time, and is it the same time twice?

One thread. Events a second: the heap alone (``heapq`` with tuples and one call an event, the ceiling in Python),
timers, messages (send, latency, arrival, a step of the role), messages that are also written and synced. Simulated
seconds a second: two NameServers and three brokers of the reference, 100 messages a second sent and read, recorded and
checked, without faults. Ratios are events a second beside the heap alone, measured in the same minute, so that a busy
machine does not tell another story. Processor time, not wall time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from time import process_time_ns
from typing import Any

from benchmarks.figure import Figure, processor_seconds
from harness.backends.backend import NodeSpec
from harness.backends.sim.world import SimBackend
from harness.run import Progress, RunResult, run_scenario
from harness.scenario import Scenario
from harness.scenario_file import parse
from reference_impl.environment import MS, SECOND, Environment, Link

EVENTS = 200_000
TIMES = 3
SIMULATED_SECONDS = 30
AIM = 100
CLIENTS = 8
PORT = 10911


class Silent:
    """A role that ignores everything."""

    def on_start(self, env: Environment) -> None: ...
    def on_connected(self, env: Environment, link: Link) -> None: ...
    def on_closed(self, env: Environment, link: Link) -> None: ...
    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None: ...
    def on_timer(self, env: Environment, key: Hashable) -> None: ...
    def on_synced(self, env: Environment, file: str, token: Hashable) -> None: ...
    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...
    def on_stop(self, env: Environment) -> None: ...


class Ticker(Silent):
    """Sets a timer whenever one is due."""

    def on_start(self, env: Environment) -> None:
        env.set_timer("tick", MS)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        env.set_timer("tick", MS)


class Echo(Silent):
    """Answers whatever comes."""

    def on_start(self, env: Environment) -> None:
        env.listen(f"0.0.0.0:{PORT}")

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        env.send(link, b"ok")


class Append(Echo):
    """Writes whatever comes, syncs every 500 ms, answers."""

    end = 0

    def on_start(self, env: Environment) -> None:
        super().on_start(env)
        env.set_timer("flush", 500 * MS)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        env.write("log", self.end, data)
        self.end += len(data)
        env.send(link, b"ok")

    def on_timer(self, env: Environment, key: Hashable) -> None:
        env.sync("log", 0)
        env.set_timer("flush", 500 * MS)


class Asker(Silent):
    """Sends 200 bytes, and again for every answer."""

    def __init__(self, address: str) -> None:
        self.address = address

    def on_start(self, env: Environment) -> None:
        env.connect(self.address)

    def on_connected(self, env: Environment, link: Link) -> None:
        env.send(link, b"x" * 200)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        env.send(link, b"x" * 200)


@dataclass
class OneRole:
    """A target that makes one kind of role."""

    make: Callable[[], Any]
    name = "benchmark"

    def prepare(self) -> None: ...

    def role(self, spec: NodeSpec) -> Any:
        return self.make()

    def command(self, spec: NodeSpec, folder: Path) -> Any:
        raise NotImplementedError("simulator only")


def heap_alone(event_count: int) -> float:
    """Events a second of the plainest loop there is."""
    heap: list[tuple[int, int, Any, int, None]] = []
    following = count().__next__

    def tick(now: int, _: None) -> None:
        heappush(heap, (now + 100, following(), tick, now + 100, None))

    def loop() -> None:
        for _ in range(event_count):
            _, _, call, a, b = heappop(heap)
            call(a, b)

    for start in range(100):
        tick(start, None)
    return event_count / processor_seconds(loop)


def toy_events(event_count: int, server: Callable[[], Any], client: Callable[[str], Any]) -> float:
    """Events a second of eight clients and a server."""
    world = SimBackend(OneRole(server), 1)
    world.add_node(NodeSpec("broker-a-0", "broker", {}))
    world.levers.start("broker-a-0")
    world.run_until(lambda: False, SECOND)
    for number in range(CLIENTS):
        world.add_client(f"client-{number + 1}", client(f"{world.host('broker-a-0')}:{PORT}"))
    last = world.scheduler.events + event_count
    return event_count / processor_seconds(
        lambda: world.run_until(lambda: world.scheduler.events >= last, 3600 * SECOND)
    )


CLUSTER = """
name: benchmark-cluster
mode: multi-master
topology: {{nameservers: 2, brokers: 3, flush: async}}
workload: {{kind: log, producers: 6, consumers: 3, queues: 4, rate: 100/s, for: {seconds}s}}
"""


def cluster(seconds: int) -> Scenario:
    """Two NameServers, three brokers, 100 messages a second."""
    return parse(CLUSTER.format(seconds=seconds), "benchmark")


def simulate(scenario: Scenario, seed: int) -> tuple[RunResult, float, float]:
    """(result, simulated seconds, seconds of processor time)."""
    last = [0]

    def progress(progress: Progress) -> None:
        last[0] = progress.now_ns

    begin = process_time_ns()
    result = run_scenario(scenario, seed=seed, keep="none", on_progress=progress)
    return result, last[0] / 1e9, (process_time_ns() - begin) / 1e9


def measure(quick: bool) -> Iterator[Figure]:
    times, event_count = (1, 5_000) if quick else (TIMES, EVENTS)
    heap = max(heap_alone(event_count) for _ in range(times))
    yield Figure("heap alone", heap, "events/s", 1.0, "heap")
    for label, server, client in [
        ("timers", Echo, lambda address: Ticker()),
        ("messages, answered", Echo, Asker),
        ("messages, written, answered, a sync each 500 ms", Append, Asker),
    ]:
        rate = max(toy_events(event_count, server, client) for _ in range(times))
        yield Figure(label, rate, "events/s", rate / heap, "heap")
    yield cluster_figure(2 if quick else SIMULATED_SECONDS, times)


def cluster_figure(seconds: int, times: int) -> Figure:
    """The best of several equal runs, which must be one and the same run."""
    simulate(cluster(2), 1)  # imports and first-time work are not the question
    runs = [simulate(cluster(seconds), 1) for _ in range(max(2, times))]
    histories = {(result.history_sha256, result.final_draw) for result, _, _ in runs}
    if len(histories) > 1:
        raise RuntimeError(f"one seed, {len(histories)} histories")
    result, simulated, _ = runs[0]
    used = min(used for _, _, used in runs)
    counts = f"{result.measures['sent']} sent, {result.measures['read']} read"
    note = f"{simulated:.1f} simulated seconds in {used:.2f} s; {counts}; {result.outcome.name}; one history each time"
    return Figure("2 NameServers, 3 brokers, 100 messages/s, checked", simulated / used, "s/s", at_least=AIM, note=note)
