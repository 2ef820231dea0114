"""Tiny nodes (``tiny_role.py``) as a target, of processes and of containers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from harness.backends.backend import NodeSpec
from harness.targets.reference import import_path
from reference_impl.environment import Role
from suites.unit.process import tiny_role
from suites.unit.process.tiny_role import TinyNode

RECIPE = """FROM {reference}
COPY tiny_role.py /opt/tiny/tiny_role.py
ENTRYPOINT ["python3", "/opt/tiny/tiny_role.py"]
"""


class TinyTarget:
    """``Target`` of tiny nodes; ``program`` may be replaced to see what a bad one does."""

    name = "tiny"
    image = "mqchaos/tiny:test"
    has_roles = has_defects = False

    def __init__(self, program: str = sys.executable) -> None:
        self.program = program
        self.listens_everywhere = False

    def prepare(self) -> None: ...

    def unknown_property(self, kind: str, name: str) -> str:
        return ""

    def at(self, node: str) -> TinyTarget:
        return self

    def role(self, spec: NodeSpec) -> Role:
        return TinyNode(spec.properties["address"])

    def arguments(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        return [spec.properties["address"], str(folder / "data"), str(folder / "log" / "notes.jsonl")], {}

    def command(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        words, _ = self.arguments(spec, folder)
        return [self.program, "-m", tiny_role.__name__, *words], {"PYTHONPATH": import_path()}


@cache
def make_image() -> None:
    """The image of tiny nodes, on top of the reference's."""
    from faults.mechanisms import engine
    from harness.backends.docker import images

    client = engine.connect()
    recipe = RECIPE.format(reference=images.image(client, "reference"))
    images.build(client, TinyTarget.image, recipe, {"tiny_role.py": Path(tiny_role.__file__)})
    client.close()
