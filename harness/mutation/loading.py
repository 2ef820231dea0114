"""A module with another source than its file's, in this process only.

Question: how does a broker run with one changed line, while the tree and its cached byte code stay as they are?

Model. A finder stands before all others and answers for one module. Where that module is found by the usual way, its
loader is replaced by one that compiles a given tree under the file's own name, so that tracebacks and lines are those
of the file. A process has one change at most; it is installed before the module is imported for the first time.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType


def install(module: str, tree: ast.Module) -> None:
    """From now on *module* is what *tree* says; ``ImportError`` if it is imported already."""
    if module in sys.modules:
        raise ImportError(f"{module} is there already, and unchanged", name=module)
    sys.meta_path.insert(0, ChangedFinder(module, tree))


class ChangedFinder(MetaPathFinder):
    """Answers for one module; every other one is found by those behind it."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.module, self.tree = module, tree

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname == self.module else None
        if spec is None or spec.origin is None:
            return None
        spec.loader = _ChangedLoader(fullname, spec.origin, self.tree)
        spec.cached = None
        return spec


class _ChangedLoader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, tree: ast.Module) -> None:
        super().__init__(fullname, path)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._tree, self.path, "exec", dont_inherit=True)
