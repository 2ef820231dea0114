"""The operators on sources of a few lines: what they change, what they leave alone, and that numbers stay."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest

from harness.mutation.operators import changed, changes


def function(body: str) -> str:
    return f"def f(self, a, b, c):\n{indent(dedent(body), '    ')}\n"


@pytest.mark.parametrize(
    ("body", "operator", "after"),
    [
        ("return a < b", "relation", ["a <= b"]),
        ("return a >= b", "relation", ["a > b"]),
        ("return a == b", "relation", ["a != b"]),
        ("return a is None", "relation", ["a is not None"]),
        ("return a in b", "relation", ["a not in b"]),
        ("return a < b < c", "relation", ["a <= b < c", "a < b <= c"]),
        ("if a:\n    b()", "negation", ["if not a:"]),
        ("while a < b:\n    c()", "negation", ["while not a < b:"]),
        ("return b if a() else c", "negation", ["b if not a() else c"]),
        ("return not a", "negation", ["a"]),
        ("return a and b", "connection", ["a or b"]),
        ("return a or b or c", "connection", ["a and b and c"]),
        ("return a + b", "arithmetic", ["a - b"]),
        ("a -= b", "arithmetic", ["a += b"]),
        ("return a & b", "arithmetic", ["a | b"]),
        ("return max(a, b)", "arithmetic", ["min(a, b)"]),
        ("return a[0]", "constant", ["1"]),
        ("return True", "constant", ["False"]),
        ("a.b(c)", "deletion", ["pass"]),
        ("self.a = b", "deletion", ["pass"]),
        ("a[b] = c", "deletion", ["pass"]),
        ("a += 1.5", "deletion", ["pass"]),
        ("raise a", "deletion", ["pass"]),
        ("for a in b:\n    continue", "deletion", ["pass"]),
    ],
)
def test_what_is_offered(body: str, operator: str, after: list[str]) -> None:
    found = [change.after for change in changes(function(body)) if change.operator == operator]
    assert found == after


@pytest.mark.parametrize(
    "source",
    [
        "LIMIT = 3 + 4\n",
        "class A:\n    size: int = 3\n    flag = not True\n",
        function('"""Text."""'),
        function("env.note('flushed', end=a + 1)"),
        function("return f'{a + b}'"),
        function("return a + 'text'"),
        function("a: tuple[Literal[1], int]"),
        function("import os"),
        "def f(a=1, b=not True): ...\n",
        "def f():\n    if TYPE_CHECKING:\n        a()\n",
        "class A:\n    def __init__(self, a):\n        self.a = a\n",
    ],
)
def test_what_is_left_alone(source: str) -> None:
    assert changes(source) == []


def test_a_comparison_is_turned_once() -> None:
    """``if a == b`` negated is ``if a != b``, which the relation gives already."""
    found = changes(function("if a == b:\n    c()"))
    assert [(change.operator, change.after) for change in found] == [("relation", "a != b"), ("deletion", "pass")]


def test_functions_are_named_with_what_they_are_in() -> None:
    source = """
    class A:
        def f(self):
            def g():
                return 1
            return g() < 2
    """
    assert [change.function for change in changes(dedent(source))] == ["A.f.g", "A.f", "A.f"]


def test_equal_changes_of_a_function_are_counted() -> None:
    found = changes(function("a.b()\nc()\na.b()"))
    assert [(change.before, change.occurrence) for change in found] == [("a.b()", 0), ("c()", 0), ("a.b()", 1)]


def test_exactly_one_place_is_changed() -> None:
    source = function("if a < b and b < c:\n    a.b()\nreturn a + 1")
    plain = ast.unparse(ast.parse(source)).splitlines()
    for change in changes(source):
        lines = ast.unparse(changed(source, change.number)).splitlines()
        assert len(lines) == len(plain)
        assert sum(old != new for old, new in zip(plain, lines, strict=True)) == 1, change


def test_every_change_of_the_reference_compiles() -> None:
    from harness.mutation.population import ROOT

    for path in (ROOT / "reference_impl" / "namesrv").glob("*.py"):
        source = path.read_text(encoding="utf-8")
        for change in changes(source)[::7]:
            compile(changed(source, change.number), str(path), "exec")
