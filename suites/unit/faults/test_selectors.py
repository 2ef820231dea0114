"""Selectors: what each word means, what a person reads when he mistypes one, and that draws follow the seed."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.errors import SelectorError
from faults.selectors import Node, Topology, parse_nodes, parse_sides, resolve, resolve_sides

PAIR = Topology.of(
    (
        "namesrv-1",
        "namesrv-2",
        "broker-a-0",
        "broker-a-1",
        "broker-b-0",
        "broker-b-1",
        "client-1",
        "client-2",
        "operator",
    )
)
SERVERS = ("namesrv-1", "namesrv-2", "broker-a-0", "broker-a-1", "broker-b-0", "broker-b-1")


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("all", SERVERS),
        ("brokers", SERVERS[2:]),
        ("masters", ("broker-a-0", "broker-b-0")),
        ("slaves", ("broker-a-1", "broker-b-1")),
        ("nameservers", ("namesrv-1", "namesrv-2")),
        ("clients", ("client-1", "client-2")),
        ("broker(broker-b)", ("broker-b-0", "broker-b-1")),
        ("master(broker-a)", ("broker-a-0",)),
        ("slave( broker-a )", ("broker-a-1",)),
        ("nameserver(2)", ("namesrv-2",)),
        ("client(1)", ("client-1",)),
        ("broker-a-1", ("broker-a-1",)),
        ("operator", ("operator",)),
        ("master(broker-b), nameserver(1), masters", ("namesrv-1", "broker-a-0", "broker-b-0")),
        ("minority(nameservers, client(1))", None),
        ("majority(brokers)", None),
    ],
)
def test_a_selector_means_these_nodes_in_the_clusters_order(text: str, nodes: tuple[str, ...] | None) -> None:
    found = resolve(parse_nodes(text), PAIR, Random(1))
    assert found == (nodes if nodes is not None else PAIR.ordered(found))


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("one of masters", {1}),
        ("one(clients)", {1}),
        ("minority(brokers)", {1}),
        ("majority(brokers)", {3}),
        ("some(brokers)", {1, 2, 3, 4}),
        ("one of some(brokers)", {1}),
    ],
)
def test_a_drawn_selector_takes_so_many_and_every_one_of_them_sometimes(text: str, counts: set[int]) -> None:
    drawn = [resolve(parse_nodes(text), PAIR, Random(seed)) for seed in range(200)]
    assert {len(nodes) for nodes in drawn} == counts
    pool = "clients" if "clients" in text else "masters" if "masters" in text else "brokers"
    assert {name for nodes in drawn for name in nodes} == set(resolve(parse_nodes(pool), PAIR, Random()))


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [
        ("clients | masters", ("client-1", "client-2"), ("broker-a-0", "broker-b-0")),
        ("broker(broker-a) | rest", SERVERS[2:4], (*SERVERS[:2], *SERVERS[4:], "client-1", "client-2", "operator")),
        ("link(master(broker-a), slave(broker-a), ha)", ("broker-a-0",), ("broker-a-1",)),
        ("link(clients, masters)", ("client-1", "client-2"), ("broker-a-0", "broker-b-0")),
    ],
)
def test_a_cut_has_two_sides(text: str, left: tuple[str, ...], right: tuple[str, ...]) -> None:
    assert resolve_sides(parse_sides(text), PAIR, Random(1)) == (left, right)


def test_a_link_names_its_ports_and_two_sides_alone_do_not() -> None:
    assert parse_sides("link(masters, slaves, ha)").ports == "ha"
    assert parse_sides("link(masters, slaves)").ports == "any"
    assert parse_sides("masters | slaves").ports is None


@pytest.mark.parametrize(
    ("text", "what", "hint", "offset"),
    [
        ("mastr(broker-a)", "unknown selector 'mastr'", "did you mean 'master'?", 0),
        ("masters, slavs", "unknown selector 'slavs'", "did you mean 'slaves'?", 9),
        ("one of", "expected a selector, found the end", "", 6),
        ("master(", "expected a selector, found the end", "", 7),
        ("master(broker-a", "expected ')', found the end", "", 15),
        ("masters slaves", "unexpected 'slaves'", "", 8),
        ("masters | slaves", "unexpected '|'", "", 8),
        ("masters; slaves", "unexpected ';'", "", 7),
        ("", "expected a selector, found the end", "", 0),
        (", masters", "expected a selector, found ','", "", 0),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, what: str, hint: str, offset: int) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_nodes(text)
    assert (caught.value.what, caught.value.hint, caught.value.offset) == (what, hint, offset)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("masters", "expected '|', found the end"),
        ("link(masters, slaves, hb)", "unknown port class 'hb'"),
        ("link(masters)", "expected ',', found ')'"),
        ("masters | slaves | clients", "unexpected '|'"),
    ],
)
def test_a_cut_that_is_none_is_told(text: str, what: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_sides(text)
    assert caught.value.what == what


@pytest.mark.parametrize("text", ["slave(broker-c)", "nameserver(3)", "broker-c-0", "minority(master(broker-a))"])
def test_a_selector_that_fits_nobody_is_an_error_never_an_empty_fault(text: str) -> None:
    with pytest.raises(SelectorError, match="fits no node"):
        resolve(parse_nodes(text), PAIR, Random(1))


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("controllers", ("controller-1", "controller-2")),
        ("controller(2)", ("controller-2",)),
        ("nameservers", ("namesrv-1",)),
        ("all", ("namesrv-1", "controller-1", "controller-2", "broker-a-0")),
    ],
)
def test_controllers_that_stand_apart_are_servers_and_no_nameservers(text: str, nodes: tuple[str, ...]) -> None:
    apart = Topology.of(("namesrv-1", "controller-1", "controller-2", "broker-a-0", "client-1"))
    assert resolve(parse_nodes(text), apart, Random(1)) == nodes


def test_nobody_can_be_cut_from_himself() -> None:
    with pytest.raises(SelectorError, match="broker-a-0 is on both sides"):
        resolve_sides(parse_sides("masters | broker(broker-a)"), PAIR, Random(1))
    with pytest.raises(SelectorError, match="nobody is on the right"):
        resolve_sides(parse_sides("all, clients, operator | rest"), PAIR, Random(1))


@pytest.mark.parametrize("name", ["broker", "7", "-1", "broker-a-x", ""])
def test_a_name_without_a_number_is_no_node(name: str) -> None:
    with pytest.raises(ValueError, match="not a node name"):
        Node.named(name)


GROUP = Topology.of((*(f"broker-{name}-{number}" for name in "ab" for number in range(3)), "client-1")).with_roles(
    {f"broker-{name}-{number}": "leader" if number == 2 else "follower" for name in "ab" for number in range(3)}
)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("leader", ("broker-a-2", "broker-b-2")),
        ("masters", ("broker-a-2", "broker-b-2")),
        ("leader(broker-b)", ("broker-b-2",)),
        ("followers", ("broker-a-0", "broker-a-1", "broker-b-0", "broker-b-1")),
        ("slave(broker-a)", ("broker-a-0", "broker-a-1")),
        ("follower(broker-a)", ("broker-a-0", "broker-a-1")),
    ],
)
def test_roles_are_those_of_the_moment(text: str, nodes: tuple[str, ...]) -> None:
    assert resolve(parse_nodes(text), GROUP, Random(1)) == nodes


@pytest.mark.parametrize(("text", "count"), [("minority", 1), ("majority", 2)])
def test_a_minority_that_stands_alone_is_one_of_each_broker_name(text: str, count: int) -> None:
    drawn = [resolve(parse_nodes(text), GROUP, Random(seed)) for seed in range(100)]
    assert {tuple(sum(name in node for node in nodes) for name in ("-a-", "-b-")) for nodes in drawn} == {
        (count, count)
    }
    assert {node for nodes in drawn for node in nodes} == {f"broker-{n}-{number}" for n in "ab" for number in range(3)}


@pytest.mark.parametrize("text", ["leader", "followers", "leader(broker-a)", "minority"])
def test_nobody_leads_where_nobody_is_elected(text: str) -> None:
    with pytest.raises(SelectorError, match="fits no node"):
        resolve(parse_nodes(text), PAIR, Random(1))


words = st.sampled_from(
    ["all", "brokers", "masters", "slaves", "nameservers", "clients", "master(broker-a)", "broker-b-0", "majority"]
)
selectors = st.recursive(
    words,
    lambda inner: st.one_of(
        inner.map(lambda text: f"one({text})"),
        inner.map(lambda text: f"some({text})"),
        st.lists(inner, min_size=2, max_size=3).map(", ".join),
    ),
    max_leaves=6,
)


@given(selectors, st.integers(0, 2**32))
def test_printed_and_read_again_a_selector_means_the_same(text: str, seed: int) -> None:
    selector = parse_nodes(text)
    again = parse_nodes(str(selector))
    assert again == selector
    assert resolve(again, PAIR, Random(seed)) == resolve(selector, PAIR, Random(seed))


@given(selectors, selectors)
def test_a_cut_printed_and_read_again_is_the_same(left: str, right: str) -> None:
    sides = parse_sides(f"{left} | {right}")
    assert parse_sides(str(sides)) == sides
