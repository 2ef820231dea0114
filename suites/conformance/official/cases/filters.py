"""Tags and SQL92: which of twelve messages a listener gets."""

from __future__ import annotations

from typing import Any

from suites.conformance.official.case import BOTH, JAVA, Observation, case
from suites.conformance.official.cases.sending import listener, message, producer
from suites.conformance.official.place import SECOND, OfficialClient, Place


def send_twelve(client: OfficialClient, place: Place, topic: str) -> None:
    """Numbers 0 to 11 with property ``a``, ``b`` for the even ones, tags by number modulo three, then an end mark."""
    opened = producer(client, place)
    for number in range(12):
        properties = {"a": str(number)} | ({"b": f"x{number}"} if number % 2 == 0 else {})
        sent = message(topic, b"%02d" % number, tags=f"Tag{'ABC'[number % 3]}", properties=properties)
        client.do("send", **{"from": opened}, broker="broker-a", queue=0, message=sent)


def passing(client: OfficialClient, place: Place, **wanted: Any) -> Observation:
    """What gets through; quiet for two seconds is the end."""
    topic = place.topic()
    send_twelve(client, place, topic)
    listener(client, place, topic, **wanted)
    place.wait(lambda: bool(client.given), 8 * SECOND)
    place.pass_time(SECOND)
    return sorted(client.bodies())


@case(BOTH)
def tag(place: Place, client: OfficialClient) -> Observation:
    """TagA."""
    return passing(client, place, expression="TagA")


@case(BOTH)
def two_tags(place: Place, client: OfficialClient) -> Observation:
    """TagA || TagC."""
    return passing(client, place, expression="TagA || TagC")


@case(BOTH)
def a_tag_that_nobody_has(place: Place, client: OfficialClient) -> Observation:
    """TagZ."""
    return passing(client, place, expression="TagZ")


CONDITIONS = {
    "sql-number": "a > 8",
    "sql-between": "a BETWEEN 3 AND 5",
    "sql-not-between": "a NOT BETWEEN 1 AND 10",
    "sql-and-or": "(a < 2 OR a > 9) AND TAGS <> 'TagB'",
    "sql-in": "b IN ('x2', 'x4', 'y')",
    "sql-not-in": "b NOT IN ('x2', 'x4')",
    "sql-text-equal": "b = 'x6'",
    "sql-text-not-equal": "b <> 'x6'",
    "sql-null": "b IS NULL",
    "sql-not-null": "b IS NOT NULL",
    "sql-not": "NOT (a > 3)",
    "sql-not-of-null": "NOT (b = 'x6')",
    "sql-number-of-text": "b > 3",
    "sql-text-as-number": "a = '5'",
    "sql-null-or": "b = 'x0' OR a = 1",
    "sql-true": "TRUE",
    "sql-decimal": "a >= 9.5",
    "sql-negative": "a > -1 AND a < 2",
}


def _condition(name: str, text: str) -> None:
    def steps(place: Place, client: OfficialClient) -> Observation:
        return passing(client, place, sql=text)

    steps.__name__, steps.__doc__ = name, f"SQL92: ``{text}``."
    case(BOTH if name in ("sql-number", "sql-in", "sql-and-or", "sql-null") else JAVA)(steps)


def _refused(name: str, text: str) -> None:
    def steps(place: Place, client: OfficialClient) -> Observation:
        fields = {"group": place.unique("G"), "topic": place.topic(), "from_where": "first", "sql": text}
        common = {"role": "consumer", "nameservers": place.namesrv, "instance": place.unique("i")}
        done = client.do("open", **common, **fields)
        return [done.status, done.code]

    steps.__name__, steps.__doc__ = name, f"SQL92 that is refused: ``{text}``."
    case(JAVA)(steps)


for _name, _text in CONDITIONS.items():
    _condition(_name, _text)
for _name, _text in {
    "sql-refused-value": "a",
    "sql-refused-order-of-texts": "b > 'x'",
    "sql-refused-arithmetic": "a + 1 > 3",
    "sql-refused-like": "b LIKE 'x%'",
    "sql-refused-open": "(a > 3",
    "sql-refused-in-numbers": "a IN (1, 2)",
}.items():
    _refused(_name, _text)
