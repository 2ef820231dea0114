"""SQL92 filters: what matches, what does not, what is refused."""

from __future__ import annotations

import pytest

from reference_impl.broker.sql92 import SqlRefused, compiled

MESSAGE = {"a": "5", "b": "eu", "c": "3.5", "t": "true", "q": "it's", "TAGS": "TagA"}


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("a = 5", True),
        ("a = 5.0", True),
        ("a > 4 AND a < 6", True),
        ("a > 5", False),
        ("a >= 5", True),
        ("c > 3 and c <= 3.5", True),
        ("a BETWEEN 1 AND 5", True),
        ("a NOT BETWEEN 1 AND 5", False),
        ("b = 'eu'", True),
        ("b <> 'eu'", False),
        ("b <> 'us'", True),
        ("b IN ('us', 'eu')", True),
        ("b NOT IN ('us', 'eu')", False),
        ("b IN ('us')", False),
        ("TAGS = 'TagA' OR a = 7", True),
        ("NOT (a = 5)", False),
        ("NOT a = 7", True),
        ("q = 'it''s'", True),
        ("t = TRUE", True),
        ("t = FALSE", False),
        ("TRUE", True),
        ("FALSE OR b IS NOT NULL", True),
        ("gone IS NULL", True),
        ("gone IS NOT NULL", False),
        ("gone = 5", False),
        ("gone <> 5", False),
        ("NOT gone = 5", False),
        ("gone > 1 OR a = 5", True),
        ("gone > 1 AND a = 5", False),
        ("gone NOT IN ('x')", False),
        ("b > 3", False),
        ("b = 3", False),
        ("(a = 5 OR gone = 1) AND NOT (b = 'us')", True),
        ("a > -1", True),
    ],
)
def test_conditions(expression: str, matches: bool) -> None:
    assert compiled(expression)(MESSAGE) is matches


@pytest.mark.parametrize(
    "expression",
    ["", "a =", "a = 'x", "= 5", "5", "'x'", "a > 'x'", "a > TRUE", "a IN ()", "a IN (5)", "a BETWEEN 'x' AND 'y'"],
)
def test_what_is_no_condition(expression: str) -> None:
    with pytest.raises(SqlRefused):
        compiled(expression)


@pytest.mark.parametrize("expression", ["(a = 5", "a NOT 5", "a = 5 AND", "a = 5 AND 5", "a IS 5", "NOT"])
def test_what_is_no_whole_condition(expression: str) -> None:
    with pytest.raises(SqlRefused):
        compiled(expression)


@pytest.mark.parametrize(
    "expression", ["a", "t", "a LIKE 'x%'", "a + 1 = 6", "a AND b", "a OR FALSE", "b CONTAINS 'e'"]
)
def test_a_property_alone_is_a_condition_that_is_never_true(expression: str) -> None:
    """As seen of 4.9.7 and 5.3.3: accepted, and nothing matches."""
    assert not compiled(expression)(MESSAGE)


def test_what_follows_a_condition_is_not_read() -> None:
    assert compiled("a = 5 b ? !")(MESSAGE)


def test_tests_of_texts_are_of_5x() -> None:
    def judge(expression: str) -> bool:
        return compiled(expression, with_text_tests=True)(MESSAGE)

    assert judge("b CONTAINS 'u'")
    assert judge("b STARTSWITH 'e' AND b ENDSWITH 'u'")
    assert judge("b NOT CONTAINS 'x'")
    assert not judge("gone CONTAINS 'x'")
