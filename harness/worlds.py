"""Targets by name, and a world for one: ``--backend process --target rocketmq:4.9.7``, which objects are these?

Which backends there are is told by their table (``harness/backends/table.py``).

Limits. Imports are late: the simulator must not load asyncio, and ``--help`` loads neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.backends.backend import Target
from harness.backends.opening import Order, World
from harness.backends.table import backend_named
from harness.errors import UsageError

TARGETS: Final = ("reference", "rocketmq:VERSION", "a mix as reference,slaves=rocketmq:VERSION")
VERSION: Final = re.compile(r"\d+(\.\d+)+(-[A-Za-z0-9.]+)?")
"""Of Apache's releases: it becomes part of a folder's name and of a Maven project."""


def open_target(name: str, servers: Sequence[str] = ()) -> Target:
    """``reference``, ``rocketmq:VERSION``, or a mix for a cluster of these *servers*; ``UsageError`` for others."""
    from harness.targets import mixed

    if mixed.is_mix(name):
        return mixed.placed(mixed.parse(name), servers, _one_target)
    return _one_target(name)


def parts_of(name: str) -> tuple[Target, ...]:
    """Every target that is named in *name*, whoever it is for."""
    from harness.targets import mixed

    if not mixed.is_mix(name):
        return (_one_target(name),)
    mix = mixed.parse(name)
    return tuple(_one_target(part) for part in (mix.rest, *(target for _, target in mix.parts)))


def versions_in(name: str) -> tuple[str, ...]:
    """Apache's releases that *name* is about, each once."""
    versions = (getattr(part, "version", "") for part in parts_of(name))
    return tuple(dict.fromkeys(version for version in versions if version))


def _one_target(name: str) -> Target:
    kind, _, version = name.partition(":")
    if name == "reference":
        from harness.targets.reference import ReferenceTarget

        return ReferenceTarget()
    if kind == "rocketmq" and VERSION.fullmatch(version):
        from harness.targets.rocketmq import RocketmqTarget

        return RocketmqTarget(version)
    raise UsageError(f"unknown target {name!r}", hint=f"known: {', '.join(TARGETS)}")


def open_world(name: str, target: Target, seed: int, run: str, folder: Path | None) -> World:
    """A world with no node in it. *folder* (of the run) may be ``None`` where nodes write no files."""
    return backend_named(name).open_world(Order(run, target, seed, folder))
