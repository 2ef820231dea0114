"""How fast is simulated time, and is it the same time twice?

    python benchmarks/simulator.py [--seconds 60]

One thread. Events a second: the heap alone (``heapq`` with tuples and one call an event, the ceiling in Python),
timers, messages (send, latency, arrival, a step of the role), messages that are also written and synced. Simulated
seconds a second: two NameServers and three brokers of the reference, 100 messages a second sent and read, recorded and
checked, without faults; then a smaller run with three faults. Ratios are to the heap alone, measured in the same
minute, so that a busy machine does not tell another story. Processor time, not wall time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from time import process_time_ns
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.backends.backend import NodeSpec
from harness.backends.sim.world import SimBackend
from harness.run import Progress, RunResult, run_scenario
from harness.scenario import Scenario
from harness.scenario_file import parse
from reference_impl.environment import MS, SECOND, Environment, Link

EVENTS = 300_000
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


def heap_alone() -> float:
    """Events a second of the plainest loop there is."""
    heap: list[tuple[int, int, Callable[[int, None], None], int, None]] = []
    following = count().__next__

    def tick(now: int, _: None) -> None:
        heappush(heap, (now + 100, following(), tick, now + 100, None))

    for start in range(100):
        tick(start, None)
    begin = process_time_ns()
    for _ in range(EVENTS):
        _, _, call, a, b = heappop(heap)
        call(a, b)
    return EVENTS * 1e9 / (process_time_ns() - begin)


def events(server: Callable[[], Any], client: Callable[[str], Any]) -> float:
    """Events a second of eight clients and a server."""
    world = SimBackend(OneRole(server), 1)
    world.add_node(NodeSpec("broker-a-0", "broker", {}))
    world.levers.start("broker-a-0")
    world.run_until(lambda: False, SECOND)
    for number in range(CLIENTS):
        world.add_client(f"client-{number + 1}", client(f"{world.host('broker-a-0')}:{PORT}"))
    first, begin = world.scheduler.events, process_time_ns()
    world.run_until(lambda: world.scheduler.events - first >= EVENTS, 3600 * SECOND)
    return EVENTS * 1e9 / (process_time_ns() - begin)


CLUSTER = """
name: benchmark-cluster
mode: multi-master
topology: {{nameservers: 2, brokers: 3, flush: async}}
workload: {{kind: log, producers: 6, consumers: 3, queues: 4, rate: 100/s, for: {seconds}s}}
"""

SMALL_RUN = """
name: benchmark-run
mode: single-master
topology: {nameservers: 1, brokers: 1, flush: sync}
workload: {kind: log, producers: 2, consumers: 1, queues: 4, rate: 15/s, for: 20s}
faults:
  - {at: 3s..4s, do: kill, on: master(broker-a), for: 1s}
  - {at: 8s..9s, do: pause, on: master(broker-a), for: 2s}
  - {at: 13s..14s, do: cut_power, on: master(broker-a), for: 1s}
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="simulated load of the cluster run")
    seconds = parser.parse_args().seconds
    ceiling = heap_alone()
    print(f"{'heap alone':<52} {ceiling:>12,.0f} events/s   1.00")
    for label, server, client in [
        ("timers", Echo, lambda address: Ticker()),
        ("messages, answered", Echo, Asker),
        ("messages, written and answered, a sync each 500 ms", Append, Asker),
    ]:
        rate = events(server, client)
        print(f"{label:<52} {rate:>12,.0f} events/s   {rate / ceiling:.2f}")

    simulate(cluster(2), 1)  # imports and first-time work are not the question
    result, simulated, used = simulate(cluster(seconds), 1)
    again = simulate(cluster(seconds), 1)[0]
    sent, read = result.measures.get("sent", 0), result.measures.get("read", 0)
    print(f"{'2 NameServers, 3 brokers, 100 messages/s, checked':<52} {simulated / used:>12,.0f} s/s")
    print(f"    {simulated:.1f} simulated seconds in {used:.2f} s; {sent} sent, {read} read; {result.outcome.name}")
    same = (result.history_sha256, result.unseed) == (again.history_sha256, again.unseed)
    print(f"    history {result.history_sha256[:16]}, unseed {result.unseed:#018x}; twice the same: {same}")
    small = [simulate(parse(SMALL_RUN, "benchmark"), seed) for seed in range(2, 12)]
    each = sum(used for _, _, used in small) / len(small)
    outcomes = ", ".join(sorted({result.outcome.name for result, _, _ in small}))
    label = f"300 sends, all read, 20 s, three faults: {outcomes}"
    print(f"{label:<52} {60 / each:>12,.0f} runs a minute and core")
    if not same:
        raise SystemExit("the same seed was not the same run")


if __name__ == "__main__":
    main()
