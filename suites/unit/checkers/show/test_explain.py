"""Drawings of proofs: small, the same on every machine, and safe to put into a page."""

from __future__ import annotations

from xml.etree import ElementTree

from checkers.show.explain import DRAWN_MAX, timeline
from suites.unit.checkers.build import Build


def drawn(build: Build, ops: list[int], title: str = "t") -> str:
    return timeline(build.history(), build.facts(), ops, title)


def history() -> Build:
    build = Build()
    build.send(0, 10, 0, 0)
    build.send(20, None, 1)
    build.pull(40, 41, 0, [0])
    build.fault("kill", "broker-a-0", 25, 26, heal=35)
    return build


def test_a_drawing_is_well_formed_and_names_its_operations() -> None:
    svg = drawn(history(), [0, 1, 2], "two <values> & one offset")
    texts = [text.text or "" for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "two <values> & one offset"
    assert [text for text in texts if text.startswith("op ")] == [
        "op 0: send m0 t/broker-a/0 @0 SEND_OK [0.000 s, 0.010 s]",
        "op 1: send m1 t/broker-a/0 TIMEOUT [0.020 s, never]",
        "op 2: pull t/broker-a/0 @0 FOUND [0.040 s, 0.041 s]",
    ]
    assert "kill" in texts


def test_an_open_operation_is_dashed_and_reaches_the_end() -> None:
    assert drawn(history(), [0, 1, 2]).count("stroke-dasharray") == 1


def test_the_same_history_gives_the_same_drawing() -> None:
    assert drawn(history(), [0, 1, 2]) == drawn(history(), [0, 1, 2])


def test_only_so_many_operations_are_drawn() -> None:
    build = Build()
    for number in range(40):
        build.send(number, number + 1, number, number)
    assert drawn(build, list(range(40))).count("op ") == DRAWN_MAX


def test_unknown_operations_are_left_out() -> None:
    assert drawn(history(), [-1, 0, 0]).count("op 0") == 1
