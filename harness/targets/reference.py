"""The reference implementation as a target: role objects for the simulator, its command line for processes.

Question: how does a node's specification become a running node of our own broker? In the simulator as an object; as a
process by a configuration file of RocketMQ's property names and this command:

    python -m mqchaos.reference_impl namesrv|broker -c FILE --home DATA --notes NOTES [--defect NAME …]

``--home`` is the folder that the role's files are relative to, ``--notes`` takes the JSON lines of ``env.note``.

Limits. Defects of the other kind of node are left out: a scenario names them once for the whole cluster.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import reference_impl
from harness.backends.backend import NodeSpec, Target
from harness.errors import UsageError
from harness.targets.properties import Kind, of_reference, problem
from reference_impl.configuration import ConfigurationError
from reference_impl.environment import Role
from reference_impl.node import build_node


class ReferenceTarget:
    """``harness.backends.backend.Target`` of our own broker."""

    name = image = "reference"
    has_roles = has_defects = True

    def prepare(self) -> None:
        """Nothing is fetched."""

    def unknown_property(self, kind: Kind, name: str) -> str:
        return problem(name, of_reference(kind))

    def at(self, node: str) -> Target:
        return self

    def role(self, spec: NodeSpec) -> Role:
        """A fresh role; one object a life of the node. ``UsageError`` for a property that cannot be used."""
        if spec.kind == "client":
            raise UsageError(f"{spec.name} is no server", hint="clients are made by the workload")
        if spec.kind == "controller":
            raise UsageError(f"{spec.name}: the reference has no controllers", hint="--target rocketmq:5.3.3 or newer")
        try:
            return build_node(spec.kind, spec.properties, own_defects(spec))
        except ConfigurationError as error:
            raise UsageError(f"{spec.name}: {error}", hint="see properties in the scenario") from error

    def arguments(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        config = folder / "config" / f"{spec.kind}.conf"
        config.write_text("".join(f"{name}={value}\n" for name, value in spec.properties.items()))
        words = [spec.kind, "-c", str(config)]
        words += ["--home", str(folder / "data"), "--notes", str(folder / "log" / "notes.jsonl")]
        return [*words, *(word for name in own_defects(spec) for word in ("--defect", name))], {"PYTHONUNBUFFERED": "1"}

    def command(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        words, environment = self.arguments(spec, folder)
        program = [sys.executable, "-m", reference_impl.__name__]
        return [*program, *words], {**environment, "PYTHONPATH": import_path()}


def import_path() -> str:
    """A node's working folder is its own: it finds the package where the harness found it, then what we were told."""
    depth = reference_impl.__name__.count(".") + 1
    ours = str(Path(reference_impl.__file__).parents[depth])
    return os.pathsep.join([ours, *filter(None, [os.environ.get("PYTHONPATH")])])


def own_defects(spec: NodeSpec) -> tuple[str, ...]:
    """The defects that this kind of node can have, in the order given."""
    if not spec.defects:
        return ()
    from reference_impl.defects import DEFECTS

    return tuple(name for name in spec.defects if DEFECTS[name].node == spec.kind)
