"""Hostile configurations: any file of properties becomes a node, or one line that says why not.

Question: whatever stands in a configuration file, is there ever anything but a node that lives, or an error of one
line? One seed is one file: names that nodes know or RocketMQ knows, disturbed ones, values at the edges, damaged bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from reference_impl.configuration import ConfigurationError
from reference_impl.environment import MS, SECOND, Role
from reference_impl.node import Kind, build_node, known_properties
from reference_impl.operators_file import KNOWN_TO_ROCKETMQ, anchored, judged, read
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command, encode_frame
from suites.fake_environment import FakeEnvironment
from suites.hostile.values import damaged, number, text

NAME = "configurations"
A_SEED = "one file of properties"

_VALUES = [
    "true",
    "false",
    "TRUE",
    "SLAVE",
    "SYNC_MASTER",
    "ASYNC_FLUSH",
    "SYNC_FLUSH",
    "4.9.7",
    "5.3.3",
    "/",
    "/a,b",
    "a,a",
    ",",
]
_VALUES += [
    "127.0.0.1",
    "::1",
    "localhost",
    "127.0.0.1:9876;x",
    "n0-127.0.0.1:40911",
    "04",
    "1s 5m",
    "$" + "{storePathRootDir}/x",
]

FILES = {"mappedFileSizeCommitLog": "65536", "mappedFileSizeConsumeQueue": "2000"}
FILES |= {"maxHashSlotNum": "100", "maxIndexNum": "400"}
NODES: list[Kind] = ["broker", "broker", "broker", "namesrv"]
SEND = {
    "a": "PG",
    "b": "T",
    "c": "TBW102",
    "d": "4",
    "e": "0",
    "f": "0",
    "g": "1",
    "h": "0",
    "i": "",
    "j": "0",
    "m": "false",
}


def attack(seed: int) -> None:
    """One seed."""
    rng = Random(seed)
    node: Kind = rng.choice(NODES)
    names = known_properties(node)
    if rng.random() < 0.3:
        words = [line.split()[1] for line in KNOWN_TO_ROCKETMQ.read_text("utf-8").splitlines() if line.startswith(node)]
        names = [*names, *words]
    lines = [f"{_name(rng, names)}{rng.choice(['=', ' = ', ':'])}{_value(rng)}" for _ in range(rng.randrange(6))]
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    if rng.random() < 0.1:
        content = damaged(rng, content)
    role, fault = _built(node, content)
    if role is None:
        assert fault.strip()
        assert "\n" not in fault.strip()
    else:
        _lives(role)


def _built(node: Kind, content: bytes) -> tuple[Role | None, str]:
    """The node of a file with that content, or what is said of it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "node.conf"
        path.write_bytes(content)
        try:
            properties = read(path)
            judged(node, properties, known_properties(node))
            values, _ = anchored(properties.values, Path(folder))
            build_node(node, values)
            return build_node(node, {**values, **_small(values)}), ""
        except ConfigurationError as error:
            return None, str(error)


def _small(values: Mapping[str, str]) -> dict[str, str]:
    """Files of this world lie in memory: those that a start makes are small."""
    return {name: size for name, size in FILES.items() if len(values.get(name, "9" * 9)) > 5}


def _lives(role: Role) -> None:
    """It comes up, time passes, a request of any kind is answered, it ends."""
    env = FakeEnvironment(role)
    role.on_start(env)
    assert env.exit_code is None or env.exit_reason
    if env.exit_code is not None:
        return
    link = env.accept()
    env.deliver(link, encode_frame(Command(Code.SEND_MESSAGE_V2, SEND, b"body", opaque=1)))
    for step in (MS, SECOND, 70 * SECOND):
        _sync(role, env)
        env.advance(step)
    role.on_stop(env)
    for _ in range(10):
        _sync(role, env)
        env.advance(SECOND)
    assert not env.noted("handler_failed"), env.noted("handler_failed")[0]


def _sync(role: Role, env: FakeEnvironment) -> None:
    while env.syncs:
        role.on_synced(env, *env.syncs.pop(0))


def _name(rng: Random, names: list[str]) -> str:
    name = rng.choice(names)
    return name if rng.random() < 0.95 else text(rng)


def _value(rng: Random) -> str:
    return rng.choice([number, text, lambda rng: rng.choice(_VALUES), lambda rng: rng.choice(_VALUES)])(rng)
