"""Prints the SHA-256 of everything that happens in one eventful simulated run: for ``test_determinism.py``.

python trace_of_a_run.py SEED
"""

from __future__ import annotations

import sys
from hashlib import sha256

from faults.levers import LinkSet
from harness.backends.sim.world import SimBackend
from reference_impl.environment import MS, SECOND
from suites.unit.sim.toys import PORT, LogClient, LogServer, ToyTarget, spec


def trace(seed: int) -> str:
    """Hash of every event, every note, the final draw and the answers to the clients."""
    digest = sha256()
    target = ToyTarget(lambda node: LogServer(dict(node.properties)))
    world = SimBackend(target, seed, trace=lambda *event: digest.update(repr(event).encode()))
    world.on_event = lambda *event: digest.update(repr(event).encode())
    servers = ["broker-a-0", "broker-b-0", "broker-c-0"]
    for name in servers:
        world.add_node(spec(name, flush="sync" if name != "broker-b-0" else "async"))
        world.levers.start(name)
    clients = [LogClient(f"{world.host(servers[number % 3])}:{PORT}", number << 20, 5 * MS) for number in range(6)]
    for number, client in enumerate(clients, 1):
        world.add_client(f"client-{number}", client)
    levers = world.all_levers
    for at, act in [
        (1, lambda: levers.kill("broker-a-0")),
        (2, lambda: levers.start("broker-a-0")),
        (3, lambda: levers.partition(LinkSet("c", ("client-1", "client-3"), tuple(servers)))),
        (4, lambda: levers.cut_power("broker-b-0")),
        (5, lambda: levers.heal_partition("c")),
        (6, lambda: levers.start("broker-b-0")),
        (7, lambda: levers.pause("broker-c-0")),
        (9, lambda: levers.resume("broker-c-0")),
        (10, lambda: levers.flip_bits("broker-c-0", "", 5)),
        (11, lambda: levers.die_in_step("broker-c-0", 3, power_cut=True)),
        (12, lambda: levers.start("broker-c-0")),
    ]:
        world.after(at * SECOND, act)
    world.run_until(lambda: False, 15 * SECOND)
    digest.update(repr([client.acknowledged for client in clients]).encode())
    digest.update(str(world.entropy()).encode())
    assert world.scheduler.events > 10_000
    return digest.hexdigest()


if __name__ == "__main__":
    sys.stdout.write(trace(int(sys.argv[1])))
