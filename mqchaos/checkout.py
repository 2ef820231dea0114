"""The names of the installed package in a checkout: ``mqchaos.checkers`` is the package ``checkers`` beside this one.

Question: how does ``from mqchaos.checkers.verdict import Outcome`` work where the rooms are top-level packages, without
any class existing twice?

Model. A finder answers for the names of rooms below ``mqchaos``. It imports the module under its short name and enters
the *same object* under the long one, so both names are one module, whichever is imported first.

Limits. Only in a checkout or an editable install: a wheel has the rooms below ``mqchaos`` and lacks this file. Static
tools see the short names only. A module that is run (``python -m mqchaos.reference_impl``) is executed as ``__main__``,
as always.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Final

ROOMS: Final = ("checkers", "faults", "harness", "reference_impl", "results")
"""The packages that the wheel has below ``mqchaos``."""
PREFIX: Final = f"{__package__}."


def install() -> None:
    """Answer for ``mqchaos.<room>`` from now on."""
    if not any(isinstance(finder, RoomFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, RoomFinder())


class RoomFinder(MetaPathFinder):
    """Finds ``mqchaos.<room>`` and what is below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.removeprefix(PREFIX)
        if name == fullname or name.partition(".")[0] not in ROOMS:
            return None
        found = find_spec(name)
        if found is None or not isinstance(found.loader, InspectLoader):
            return None
        is_package = found.submodule_search_locations is not None
        return ModuleSpec(fullname, _SameModule(found, found.loader), origin=found.origin, is_package=is_package)


class _SameModule(InspectLoader):
    """Loads the module of the short name. Import gives every module it returns a new ``__spec__``; this one keeps its
    own."""

    def __init__(self, short: ModuleSpec, loader: InspectLoader) -> None:
        self._short, self._loader = short, loader
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._short.name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec

    def get_code(self, fullname: str) -> CodeType | None:
        """For ``python -m``."""
        return self._loader.get_code(self._short.name)

    def get_source(self, fullname: str) -> str | None:
        """For tracebacks of ``python -m``."""
        return self._loader.get_source(self._short.name)
