"""Small changes of a Python source.

Question: which mistakes of one line could somebody have made here, and what does the source look like with one of them?

Model. Every operator looks at one node of the syntax tree and offers other nodes for it. The walk is in the order of
the source, so change number n of a source is the same change on every machine. A change is told by the function that
it is in, the text before and after, and how many equal ones come before it there: edits elsewhere in the file leave
its name as it is. In the literature the operators are ROR (relation), COI (negation), LCR (connection), AOR
(arithmetic), CRP (constant) and SDL (deletion).

Limits. Only bodies of functions: what stands in a module or a class is executed by every run, whoever uses it.
Annotations, texts, what only tells (``note``, exceptions' messages) and imports for types are left alone.

mutmut and cosmic-ray were looked at: both judge by tests, write the changed source into the tree, and have no
deletion of statements, the change that resembles forgotten work most. Their operators are tied to syntax trees of other
libraries; these are one function each over the standard one.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

TELLING: Final = frozenset({"note"})
"""Methods whose calls leave a trace for people: without them a broker behaves the same."""
BEGINNINGS: Final = frozenset({"__init__", "__post_init__"})
TEXT_MAX: Final = 100

_ORDER: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_EXTREMES: Final = {"min": "max", "max": "min"}


@dataclass(frozen=True)
class Change:
    """One change: its *number* in its source, and what makes it recognisable in other versions of that source."""

    number: int
    operator: str
    function: str
    line: int
    before: str
    after: str
    occurrence: int


@dataclass(frozen=True)
class _Site:
    operator: str
    function: str
    node: ast.AST
    other: ast.AST


def changes(source: str) -> list[Change]:
    """Every change that the operators offer, in the order of the source."""
    seen: Counter[tuple[str, str, str, str]] = Counter()
    found = []
    for number, site in enumerate(_sites(ast.parse(source))):
        told = (site.operator, site.function, _text(site.node), _text(site.other))
        line: int = site.node.lineno  # type: ignore[attr-defined]
        found.append(Change(number, site.operator, site.function, line, told[2], told[3], seen[told]))
        seen[told] += 1
    return found


def changed(source: str, number: int) -> ast.Module:
    """The tree of *source* with change *number*, ready to be compiled."""
    tree = ast.parse(source)
    site = next(site for index, site in enumerate(_sites(tree)) if index == number)
    _Swap(site).visit(tree)
    return ast.fix_missing_locations(tree)


class _Swap(ast.NodeTransformer):
    def __init__(self, site: _Site) -> None:
        self.site = site

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.site.node:
            return ast.copy_location(self.site.other, node)
        return self.generic_visit(node)


def _sites(tree: ast.AST, function: str = "", scope: str = "") -> Iterator[_Site]:
    """Depth first. *function* is empty outside of one; *scope* names classes and functions around."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{scope}.{node.name}".lstrip(".")
            for statement in node.body:
                is_function = not isinstance(node, ast.ClassDef)
                yield from _at(statement, inner if is_function else "", inner)
        else:
            yield from _at(node, function, scope)


def _at(node: ast.AST, function: str, scope: str) -> Iterator[_Site]:
    if _is_silent(node):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from _sites(ast.Module([node], []), function, scope)
        return
    if isinstance(node, ast.AnnAssign):
        yield from _at(node.value, function, scope) if node.value else ()
        return
    if function:
        for name, operator in OPERATORS.items():
            for other in operator(node) if not _is_missed_at_once(name, function) else ():
                yield _Site(name, function, node, other)
    yield from _sites(node, function, scope)


def _is_silent(node: ast.AST) -> bool:
    """What no run can notice, or only a reader: traces, messages of exceptions, annotations, texts."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _called(node.value) in TELLING
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.JoinedStr | ast.arguments | ast.Import | ast.ImportFrom)


def _is_missed_at_once(operator: str, function: str) -> bool:
    """Whoever leaves an attribute out where an object begins has an error at its first use: that would flatter."""
    return operator == "deletion" and function.rpartition(".")[2] in BEGINNINGS


def _called(node: ast.AST) -> str:
    """The name of what is called, without what it belongs to."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _relation(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            others = [*node.ops]
            others[place] = _ORDER[type(operator)]()
            yield ast.Compare(node.left, others, node.comparators)


def _negation(node: ast.AST) -> Iterator[ast.AST]:
    """Conditions that are no single comparison: those are turned around as relations."""
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not _is_turned_elsewhere(node.test):
        test = ast.UnaryOp(ast.Not(), node.test)
        if isinstance(node, ast.IfExp):
            yield ast.IfExp(test, node.body, node.orelse)
        else:
            yield type(node)(test=test, body=node.body, orelse=node.orelse)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def _is_turned_elsewhere(test: ast.expr) -> bool:
    turned = ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn
    is_comparison = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], turned)
    return is_comparison or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))


def _connection(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not (_is_text(node.left, node.right)):
        yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    if isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC and not _is_text(node.value):
        yield ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _EXTREMES:
        yield ast.Call(ast.Name(_EXTREMES[node.func.id], ast.Load()), node.args, node.keywords)


def _is_text(*nodes: ast.expr) -> bool:
    """Of ``+`` and ``%`` between texts: the other operator would only be a type error."""
    return any(
        isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
        for node in nodes
    )


def _constant(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)


def _deletion(node: ast.AST) -> Iterator[ast.AST]:
    """Calls for their effect, and what is kept for later: attributes, entries, counts."""
    is_kept = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript)
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if is_call or is_kept or isinstance(node, ast.AugAssign | ast.Delete | ast.Raise | ast.Continue | ast.Break):
        yield ast.Pass()


OPERATORS: Final[dict[str, Callable[[ast.AST], Iterator[ast.AST]]]] = {
    "relation": _relation,
    "negation": _negation,
    "connection": _connection,
    "arithmetic": _arithmetic,
    "constant": _constant,
    "deletion": _deletion,
}


def _text(node: ast.AST) -> str:
    """One line; of a statement with a body its head."""
    shown = ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]
    return shown if len(shown) <= TEXT_MAX else f"{shown[: TEXT_MAX - 1]}…"
