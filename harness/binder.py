"""From YAML nodes to typed values, with a place for every complaint.

Question: how does a person who mistyped one word learn which word, where, and what he meant?

Model. ``yaml.compose`` gives nodes that carry line and column; a :class:`Binder` reads the *text* of a scalar by the
type that is wanted at that place, so YAML's own guesses (``on``: true, ``12:30``: 750, ``1_000``: 1000) never happen.
A reader that finds a problem notes it and returns its fallback, so one pass tells all problems; :meth:`Binder.finish`
raises them together, first the first.

Limits. Anchors, aliases and merge keys are refused: a file reads from top to bottom. One document a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import yaml

from faults.errors import suggestion
from harness.errors import ScenarioError

T = TypeVar("T")

Node = yaml.Node
_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

COMMA_HINT: Final = "it has no value; a comma within {…} separates keys: put quotes around a text that contains one"
TAB_HINT: Final = "indent with spaces: YAML takes no tabs"
COLON_HINT: Final = "put quotes around a text that contains a colon"


@dataclass(frozen=True, order=True)
class Problem:
    """One complaint; lines and columns count from 1."""

    line: int
    column: int
    what: str
    hint: str = ""


class Binder:
    """Reads one document; collects problems."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []

    def compose(self, text: str) -> Node | None:
        """The root node; ``None`` (and a problem) if the text is no YAML, is empty, or uses anchors."""
        try:
            for event in yaml.parse(text, Loader=_Loader):
                if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                    self._at(event.start_mark, "anchors and aliases are not used here", "write it out")
                    return None
            root: Node | None = yaml.compose(text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            problem = str(error.problem)
            hint = (
                COLON_HINT if "mapping values" in problem else TAB_HINT if "\\t" in problem or "tab" in problem else ""
            )
            self._at(error.problem_mark or error.context_mark, f"not YAML: {error.problem}", hint)
            return None
        except yaml.YAMLError as error:
            self.problems.append(Problem(1, 1, f"not YAML: {error}"))
            return None
        if root is None:
            self.problems.append(Problem(1, 1, "the file is empty"))
        return root

    def problem(self, node: Node, what: str, hint: str = "", offset: int = 0) -> None:
        """Note a complaint about *node*, *offset* characters into it."""
        self._at(node.start_mark, what, hint, offset)

    def _at(self, mark: Any, what: str, hint: str = "", offset: int = 0) -> None:
        line, column = (mark.line + 1, mark.column + 1 + offset) if mark is not None else (1, 1)
        self.problems.append(Problem(line, column, what, hint))

    def finish(self) -> None:
        """Raise everything that was noted as one :class:`ScenarioError`."""
        if not self.problems:
            return
        first, *others = sorted(self.problems)
        if not others:
            raise ScenarioError(first.what, place=self._place(first), hint=first.hint)
        lines = [f"{len(self.problems)} problems in {self.source}"]
        lines += [f"  {self._place(p)}: {p.what}{f' ({p.hint})' if p.hint else ''}" for p in (first, *others)]
        raise ScenarioError("\n".join(lines))

    def _place(self, problem: Problem) -> str:
        return f"{self.source}:{problem.line}:{problem.column}"

    def mapping(self, node: Node, what: str, known: Sequence[str], required: Sequence[str] = ()) -> dict[str, Node]:
        """Key → value node of a mapping; complains of other kinds, unknown, repeated and missing keys."""
        found = self.free_mapping(node, what)
        for key, (key_node, _) in list(found.items()):
            if key not in known:
                hint = COMMA_HINT if _is_empty(found[key][1]) else suggestion(key, known)
                self.problem(key_node, f"unknown key {key!r} in {what}", hint)
                del found[key]
        if missing := [key for key in required if key not in found and isinstance(node, yaml.MappingNode)]:
            self.problem(node, f"{what} lacks {', '.join(map(repr, missing))}")
        return {key: value for key, (_, value) in found.items()}

    def free_mapping(self, node: Node, what: str) -> dict[str, tuple[Node, Node]]:
        """Key → (key node, value node) of a mapping with any keys."""
        if not isinstance(node, yaml.MappingNode):
            hint = f"write its keys below it, or leave {what} out" if _is_empty(node) else ""
            self.problem(node, f"{what} must be a mapping of keys to values, not {_kind(node)}", hint)
            return {}
        found: dict[str, tuple[Node, Node]] = {}
        for key_node, value in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.problem(key_node, f"a key of {what} must be a word")
            elif key_node.value in found:
                first = found[key_node.value][0].start_mark.line + 1
                self.problem(key_node, f"key {key_node.value!r} is repeated", f"the first is in line {first}")
            else:
                found[key_node.value] = (key_node, value)
        return found

    def items(self, node: Node, what: str) -> list[Node]:
        """The nodes of a list."""
        if not isinstance(node, yaml.SequenceNode):
            self.problem(node, f"{what} must be a list, not {_kind(node)}")
            return []
        return list(node.value)

    def text(self, node: Node, what: str) -> str:
        """A scalar's text as written; complains of lists, mappings and nothing at all."""
        if not isinstance(node, yaml.ScalarNode):
            self.problem(node, f"{what} must be one value, not {_kind(node)}")
            return ""
        if node.value == "":
            self.problem(node, f"{what} has no value")
        return str(node.value)

    def read(self, node: Node, what: str, reader: Callable[[str], T], fallback: T) -> T:
        """*reader* on the text; its ``ValueError`` is the complaint."""
        text = self.text(node, what)
        if not text:
            return fallback
        try:
            return reader(text)
        except ValueError as error:
            self.problem(node, f"{what}: {error}")
            return fallback

    def choice(self, node: Node, what: str, choices: Sequence[str]) -> str:
        """One of *choices*."""
        text = self.text(node, what)
        if text in choices or not text:
            return text
        self.problem(node, f"{what} cannot be {text!r}", suggestion(text, choices))
        return ""


def _is_empty(node: Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value == "" and node.style not in ("'", '"')


def _kind(node: Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return "a list" if isinstance(node, yaml.SequenceNode) else "one value"


def offset_in(node: Node, offset: int) -> int:
    """Columns to add for a character of a scalar's text: an opening quote shifts by one."""
    return offset + (1 if getattr(node, "style", None) in ("'", '"') else 0)
