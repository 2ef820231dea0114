"""Whatever befalls the network and the nodes: every connection delivers a prefix of what was sent on it, both ways, and
all of it where the connection was never closed and everything is healed. Actions and times are drawn.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from faults.levers import LinkSet
from harness.backends.sim.world import SimBackend
from reference_impl.environment import MS, SECOND, Environment, Link
from suites.unit.sim.toys import PORT, Silent, ToyTarget, spec

HELLO = 4
"""Bytes of the number with which the client names a connection."""


class Talker(Silent):
    """Knows, for every conversation, what it has sent and what it has got; ``ended`` are those it was told are over."""

    def __init__(self) -> None:
        self.got: dict[Link, bytes] = {}
        self.sent: dict[Link, bytes] = {}
        self.ended: list[Link] = []

    def on_connected(self, env: Environment, link: Link) -> None:
        self.got.setdefault(link, b"")

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self.got[link] = self.got.get(link, b"") + data

    def on_closed(self, env: Environment, link: Link) -> None:
        self.ended.append(link)

    def say(self, env: Environment, link: Link, data: bytes) -> None:
        if link not in self.ended:
            self.sent[link] = self.sent.get(link, b"") + data
            env.send(link, data)


class Server(Talker):
    def on_start(self, env: Environment) -> None:
        env.listen(f"0.0.0.0:{PORT}")


class Stage:
    """One server, one client, and what can be done to them."""

    def __init__(self, seed: int) -> None:
        self.target = ToyTarget(lambda node: Server())
        self.world = SimBackend(self.target, seed)
        self.world.add_node(spec("broker-a-0"))
        self.levers = self.world.all_levers
        self.levers.start("broker-a-0")
        self.wait(100 * MS)
        self.client = Talker()
        self.world.add_client("client-1", self.client)
        self.links: list[Link] = []
        self.letters = 0

    def wait(self, for_ns: int) -> None:
        self.world.run_until(lambda: False, self.world.now() + for_ns)

    def servers(self) -> list[Server]:
        return self.target.made["broker-a-0"]

    def connect(self) -> None:
        def action(env: Environment) -> None:
            link = env.connect(f"{self.world.host('broker-a-0')}:{PORT}")
            self.links.append(link)
            self.client.say(env, link, link.to_bytes(HELLO, "big"))

        self.world.step("client-1", action)

    def client_says(self) -> None:
        def action(env: Environment) -> None:
            for link in self.links:
                self.client.say(env, link, self._letters())

        self.world.step("client-1", action)

    def server_says(self) -> None:
        server, life = self.servers()[-1], self.world.node("broker-a-0").life
        assert life is not None

        def action(env: Environment) -> None:
            for link in server.got:
                server.say(env, link, self._letters())

        life.take_action(action)

    def _letters(self) -> bytes:
        self.letters += 1
        return self.letters.to_bytes(3, "big") * (1 + self.letters % 40)

    def partition(self, one_way: bool, forward: bool) -> None:
        left, right = ("client-1",), ("broker-a-0",)
        self.levers.partition(LinkSet("c", left if forward else right, right if forward else left, "any", one_way))

    def pause(self, node: str) -> None:
        if self.levers.state(node) == "running":
            self.levers.pause(node)

    def heal(self) -> None:
        self.levers.heal_partition("c"), self.levers.unjam("j")
        self.levers.resume("broker-a-0"), self.levers.resume("client-1")
        self.levers.start("broker-a-0")

    def conversations(self) -> list[tuple[bytes, bytes, bool]]:
        """(sent, got, whether neither end was closed) of every direction of every connection that was accepted."""
        result = []
        for number, server in enumerate(self.servers()):
            is_present = number == len(self.servers()) - 1
            for link, got in server.got.items():
                if len(got) < HELLO:
                    continue
                own = int.from_bytes(got[:HELLO], "big")
                whole = is_present and link not in server.ended and own not in self.client.ended
                result.append((self.client.sent[own], got, whole))
                result.append((server.sent.get(link, b""), self.client.got.get(own, b""), whole))
        return result


ACTIONS: dict[str, Callable[[Stage], None]] = {
    "connect": Stage.connect,
    "client says": Stage.client_says,
    "server says": Stage.server_says,
    "partition": lambda stage: stage.partition(False, True),
    "partition one way": lambda stage: stage.partition(True, True),
    "partition the other way": lambda stage: stage.partition(True, False),
    "heal_partition": lambda stage: stage.levers.heal_partition("c"),
    "jam": lambda stage: stage.levers.jam(LinkSet("j", ("client-1",), ("broker-a-0",))),
    "unjam": lambda stage: stage.levers.unjam("j"),
    "pause server": lambda stage: stage.pause("broker-a-0"),
    "pause client": lambda stage: stage.pause("client-1"),
    "resume": lambda stage: (stage.levers.resume("broker-a-0"), stage.levers.resume("client-1"), None)[-1],
    "kill": lambda stage: stage.levers.kill("broker-a-0"),
    "cut power": lambda stage: stage.levers.cut_power("broker-a-0"),
    "start": lambda stage: stage.levers.start("broker-a-0"),
    "reset": lambda stage: stage.levers.reset_connections(LinkSet("r", ("client-1",), ("broker-a-0",))),
}
WAITS = (0, MS // 20, MS // 5, 10 * MS, 300 * MS, 3 * SECOND, 40 * SECOND)

_often = ("connect", "client says", "client says", "client says", "server says", "server says")
_steps = st.lists(st.tuples(st.sampled_from((*_often, *ACTIONS)), st.sampled_from(WAITS)), max_size=30)


@settings(max_examples=300, deadline=None)
@given(_steps, st.integers(0, 2**32))
def test_streams_are_prefixes_and_whole_where_nothing_ended_them(steps: list[tuple[str, int]], seed: int) -> None:
    stage = Stage(seed)
    stage.connect()
    for action, wait_ns in steps:
        ACTIONS[action](stage)
        stage.wait(wait_ns)
    stage.heal()
    stage.wait(200 * SECOND)
    for sent, got, whole in stage.conversations():
        assert sent.startswith(got), "bytes were lost, repeated or reordered inside a stream"
        assert got == sent or not whole, "an open and healed connection has not delivered everything"


@settings(max_examples=100, deadline=None)
@given(_steps, st.integers(0, 2**32))
def test_after_everything_is_healed_a_new_connection_works(steps: list[tuple[str, int]], seed: int) -> None:
    stage = Stage(seed)
    for action, wait_ns in steps:
        ACTIONS[action](stage)
        stage.wait(wait_ns)
    stage.heal()
    stage.wait(SECOND)
    stage.connect()
    stage.wait(SECOND)
    link = stage.links[-1]
    assert link not in stage.client.ended
    assert any(got[:HELLO] == link.to_bytes(HELLO, "big") for got in stage.servers()[-1].got.values())
