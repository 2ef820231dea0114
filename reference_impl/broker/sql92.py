"""SQL92 filters: which messages does ``price > 10 AND region IN ('eu', 'us')`` want?

Question: is this expression one that RocketMQ accepts, and does a message with these properties match it?

Model (RocketMQ: SelectorParser, ComparisonExpression, after ActiveMQ's selectors). Three-valued logic over properties
of the message: a missing property is NULL, a comparison with NULL is NULL, and only TRUE is a match.

    or      := and (OR and)*            and := not (AND not)*            not := NOT not | comparison
    comparison := value [= <> < <= > >= value | [NOT] BETWEEN value AND value | [NOT] IN (text, …) | IS [NOT] NULL
                        | [NOT] CONTAINS text | [NOT] STARTSWITH text | [NOT] ENDSWITH text]
    value   := number | 'text' | TRUE | FALSE | NULL | property | (or)

A property alone is a condition that is never TRUE (RocketMQ casts it, and only a truth is one). What follows a whole
condition is not read, as in RocketMQ: ``a LIKE 'x'`` is the condition ``a``.

Properties are texts. Compared with a number they are read as one; what is no number is NULL there. Texts are only equal
or not: ``<`` and its kin take numbers, and a text constant beside them is refused, as are expressions that are no
condition. Key words in any case; property names as they are, with ``$`` and ``_``.

Limits. No arithmetic and no LIKE: RocketMQ has neither. CONTAINS and its kin are 5.x's (``release=5.3.3``).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

Value = str | int | float | bool | None
Properties = Mapping[str, str]
Node = Callable[[Properties], Value]

_TOKEN: Final = re.compile(
    r"\s+|(?P<number>-?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[lL]?)|(?P<text>'(?:[^']|'')*')"
    r"|(?P<sign><>|<=|>=|=|<|>|\(|\)|,)|(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)",
    re.ASCII,
)
_TRUTH_WORDS: Final = ("NOT", "AND", "OR", "TRUE", "FALSE", "NULL", "IS")
_TEST_WORDS: Final = ("BETWEEN", "IN", "CONTAINS", "STARTSWITH", "ENDSWITH")
_WORDS: Final = frozenset(_TRUTH_WORDS + _TEST_WORDS)
_ORDERS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_TEXT_TESTS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "CONTAINS": lambda text, part: part in text,
    "STARTSWITH": str.startswith,
    "ENDSWITH": str.endswith,
}
_END: Final = ("end", "")


class SqlRefused(ValueError):
    """No expression of the language; says where."""


@lru_cache(maxsize=1024)
def compiled(expression: str, *, with_text_tests: bool = False) -> Callable[[Properties], bool]:
    """The condition as a predicate over properties; :class:`SqlRefused` for what is none."""
    parser = _Parser(_tokens(expression), with_text_tests)
    condition = parser.whole()
    return lambda properties: condition(properties) is True


def _tokens(expression: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    place = 0
    while place < len(expression):
        found = _TOKEN.match(expression, place)
        if found is None:  # an error only if somebody has to read it
            return [*tokens, ("unreadable", expression[place])]
        place = found.end()
        if found.lastgroup is None:
            continue
        word = found[0].upper()
        tokens.append(("word", word) if found.lastgroup == "name" and word in _WORDS else (found.lastgroup, found[0]))
    return tokens


class _Parser:
    """Recursive descent; each method returns a node. ``_is_condition`` of the node read last: it can be TRUE."""

    def __init__(self, tokens: list[tuple[str, str]], with_text_tests: bool) -> None:
        self._tokens, self._place, self._with_text_tests = tokens, 0, with_text_tests
        self._is_condition = False

    def whole(self) -> Node:
        return self._checked(self._or)

    # --- conditions -------------------------------------------------------------------------------------------------

    def _or(self) -> Node:
        node = self._and()
        while self._took("word", "OR"):
            node = _either(self._condition(node), self._checked(self._and))
        return node

    def _and(self) -> Node:
        node = self._not()
        while self._took("word", "AND"):
            node = _both(self._condition(node), self._checked(self._not))
        return node

    def _not(self) -> Node:
        if self._took("word", "NOT"):
            return _opposite(self._checked(self._not))
        return self._comparison()

    def _checked(self, read: Callable[[], Node]) -> Node:
        return self._condition(read())

    def _condition(self, node: Node) -> Node:
        if not self._is_condition:
            raise SqlRefused("a value stands where a condition should")
        return node

    def _comparison(self) -> Node:
        left_kind = self._next()
        left = self._value()
        kind, sign = self._next()
        if kind == "sign" and sign in ("=", "<>", *_ORDERS):
            self._place += 1
            right_kind = self._next()
            right = self._value()
            return self._compared(sign, left, left_kind, right, right_kind)
        is_not = self._took("word", "NOT")
        if (node := self._worded(left, left_kind)) is not None:
            self._is_condition = True
            return _opposite(node) if is_not else node
        if is_not:
            raise SqlRefused(f"Encountered {self._next()[1]!r} after NOT")
        return left

    def _compared(
        self, sign: str, left: Node, left_kind: tuple[str, str], right: Node, right_kind: tuple[str, str]
    ) -> Node:
        self._is_condition = True
        if sign == "=":
            return _equal(left, right)
        if sign == "<>":
            return _opposite(_equal(left, right))
        if "text" in (left_kind[0], right_kind[0]) or {left_kind[1], right_kind[1]} & {"TRUE", "FALSE", "NULL"}:
            raise SqlRefused(f"{sign} compares numbers")
        return _ordered(_ORDERS[sign], left, right)

    def _worded(self, left: Node, left_kind: tuple[str, str]) -> Node | None:
        """BETWEEN, IN, IS and the tests of texts, after a value."""
        if self._took("word", "BETWEEN"):
            low = self._number()
            self._expect("word", "AND")
            high = self._number()
            return _both(_ordered(operator.ge, left, low), _ordered(operator.le, left, high))
        if self._took("word", "IN"):
            return _among(left, self._texts())
        if self._took("word", "IS"):
            return self._null_test(left)
        kind, word = self._next()
        if kind == "word" and word in _TEXT_TESTS and self._with_text_tests:
            self._place += 1
            if left_kind[0] == "number":
                raise SqlRefused(f"{word} tests texts")
            return _tested(_TEXT_TESTS[word], left, self._text())
        return None

    def _null_test(self, left: Node) -> Node:
        is_not = self._took("word", "NOT")
        self._expect("word", "NULL")
        return (lambda p: left(p) is not None) if is_not else (lambda p: left(p) is None)

    # --- values -----------------------------------------------------------------------------------------------------

    def _value(self) -> Node:
        kind, token = self._next()
        self._place += 1
        self._is_condition = False
        if kind == "number":
            return _constant(_number_of(token))
        if kind == "text":
            return _constant(_unquoted(token))
        if kind == "name":
            self._is_condition = True  # cast: a text is never TRUE
            return lambda properties: properties.get(token)
        if (kind, token) == ("sign", "("):
            node = self._or()
            self._expect("sign", ")")
            return node
        if kind == "word" and token in ("TRUE", "FALSE"):
            self._is_condition = True
            return _constant(token == "TRUE")
        if (kind, token) == ("word", "NULL"):
            return _constant(None)
        raise SqlRefused(f"Encountered {token!r} where a value should stand" if token else "the expression ends early")

    def _number(self) -> Node:
        kind = self._next()[0]
        if kind not in ("number", "name"):
            raise SqlRefused("BETWEEN takes numbers")
        return self._value()

    def _texts(self) -> frozenset[str]:
        self._expect("sign", "(")
        texts = [self._text()]
        while self._took("sign", ","):
            texts.append(self._text())
        self._expect("sign", ")")
        return frozenset(texts)

    def _text(self) -> str:
        kind, token = self._next()
        if kind != "text":
            raise SqlRefused(f"Encountered {token!r} where a text should stand")
        self._place += 1
        return _unquoted(token)

    # --- tokens -----------------------------------------------------------------------------------------------------

    def _next(self) -> tuple[str, str]:
        return self._tokens[self._place] if self._place < len(self._tokens) else _END

    def _took(self, kind: str, token: str) -> bool:
        if self._next() != (kind, token):
            return False
        self._place += 1
        return True

    def _expect(self, kind: str, token: str) -> None:
        if not self._took(kind, token):
            raise SqlRefused(f"Encountered {self._next()[1]!r} where {token} should stand")


def _number_of(token: str) -> int | float:
    digits = token.rstrip("lL")
    return float(digits) if any(sign in digits for sign in ".eE") else int(digits)


def _unquoted(token: str) -> str:
    return token[1:-1].replace("''", "'")


def _constant(value: Value) -> Node:
    return lambda _properties: value


def _opposite(node: Node) -> Node:
    def judge(properties: Properties) -> Value:
        value = _cast(node(properties))
        return None if value is None else not value

    return judge


def _cast(value: Value) -> Value:
    """A property where a condition stands (RocketMQ: BooleanCastExpression)."""
    return value if value is None or isinstance(value, bool) else False


def _both(left: Node, right: Node) -> Node:
    def judge(properties: Properties) -> Value:
        values = _cast(left(properties)), _cast(right(properties))
        return False if False in values else None if None in values else True

    return judge


def _either(left: Node, right: Node) -> Node:
    def judge(properties: Properties) -> Value:
        values = _cast(left(properties)), _cast(right(properties))
        return True if True in values else None if None in values else False

    return judge


def _equal(left: Node, right: Node) -> Node:
    def judge(properties: Properties) -> Value:
        one, other = _alike(left(properties), right(properties))
        return None if one is None or other is None else one == other

    return judge


def _ordered(compare: Callable[[float, float], bool], left: Node, right: Node) -> Node:
    def judge(properties: Properties) -> Value:
        one, other = _numeric(left(properties)), _numeric(right(properties))
        return None if one is None or other is None else compare(one, other)

    return judge


def _among(left: Node, texts: frozenset[str]) -> Node:
    def judge(properties: Properties) -> Value:
        value = left(properties)
        return None if value is None else str(value) in texts

    return judge


def _tested(test: Callable[[str, str], bool], left: Node, part: str) -> Node:
    def judge(properties: Properties) -> Value:
        value = left(properties)
        return test(value, part) if isinstance(value, str) else False

    return judge


def _alike(one: Value, other: Value) -> tuple[Value, Value]:
    """A property is a text: beside a number it is read as one, beside TRUE or FALSE as a truth."""
    for_number = [value for value in (one, other) if isinstance(value, int | float) and not isinstance(value, bool)]
    if for_number:
        return _numeric(one), _numeric(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return _truth(one), _truth(other)
    return one, other


def _numeric(value: Value) -> int | float | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        try:
            return int(value) if value.lstrip("+-").isdigit() else float(value)
        except ValueError:
            return None
    return value


def _truth(value: Value) -> Value:
    return value.lower() == "true" if isinstance(value, str) else value if isinstance(value, bool) else None
