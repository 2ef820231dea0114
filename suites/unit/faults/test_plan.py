"""Plans: faults as values, units, aliases, and every complaint with the key it belongs to."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.catalogue import VERBS
from faults.errors import PlanError
from faults.plan import ALIASES, Span, bind_fault
from faults.units import duration_ns, duration_text


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("6s", 6 * 10**9),
        ("500ms", 5 * 10**8),
        ("2m", 120 * 10**9),
        ("1.5s", 15 * 10**8),
        ("1h", 3600 * 10**9),
        ("0s", 0),
    ],
)
def test_a_duration_has_a_unit(text: str, ns: int) -> None:
    assert duration_ns(text) == ns


@pytest.mark.parametrize("text", ["10", "s", "-1s", "1 day", "1_0s", "12:30", "1s2s", "0.5ns", "1e3s", ""])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        duration_ns(text)


@given(st.integers(0, 10**15))
def test_durations_survive_being_written(ns: int) -> None:
    assert duration_ns(duration_text(ns)) == ns


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(0, 2**32))
def test_a_span_draws_within_its_ends_and_reads_back(one: int, other: int, seed: int) -> None:
    span = Span(min(one, other), max(one, other))
    assert span.low_ns <= span.draw(Random(seed)) <= span.high_ns
    assert Span.parse(str(span)) == span


def test_a_fixed_span_draws_nothing_so_that_other_draws_stay_where_they_are() -> None:
    rng, untouched = Random(3), Random(3)
    Span.parse("6s").draw(rng)
    assert rng.random() == untouched.random()


@pytest.mark.parametrize(
    ("fault", "key", "what", "hint"),
    [
        ({"do": "kil"}, "do", "unknown fault 'kil'", "did you mean 'kill'?"),
        ({"do": "melt"}, "do", "unknown fault 'melt'", "there are kill, stop, pause"),
        ({"at": "10"}, "at", "'10' is not a duration", ""),
        ({"at": "9s..4s"}, "at", "ends before it begins", ""),
        ({"hold": "soon"}, "for", "'soon' is not a duration", ""),
        ({"on": ""}, "on", "kill needs 'on'", ""),
        ({"on": "mastrs"}, "on", "unknown selector 'mastrs'", "did you mean 'masters'?"),
        ({"do": "restart", "hold": "3s"}, "for", "takes no 'for'", ""),
        ({"do": "partition"}, "on", "expected '|'", "isolate separates"),
        ({"options": {"ports": "ha"}}, "ports", "kill has no option 'ports'", "it takes none"),
        ({"do": "isolate", "options": {"port": "ha"}}, "port", "no option 'port'", "did you mean 'ports'?"),
        ({"do": "isolate", "options": {"ports": "hb"}}, "ports", "ports cannot be 'hb'", "known: any, broker"),
        ({"do": "stop", "options": {"timeout": "long"}}, "timeout", "'long' is not a duration", ""),
        ({"do": "restart", "options": {"how": "kil"}}, "how", "how cannot be 'kil'", "did you mean 'kill'?"),
        ({"do": "fixed-kill", "on": ""}, "on", "kill needs 'on'", ""),
        (
            {"do": "partition", "on": "link(masters, slaves, ha)", "options": {"ports": "ha"}},
            "ports",
            "named twice",
            "",
        ),
    ],
)
def test_a_complaint_names_its_key_and_what_was_meant(fault: dict[str, object], key: str, what: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        bind_fault(1, **({"at": "6s", "do": "kill", "on": "masters"} | fault))  # type: ignore[arg-type]
    assert caught.value.key == key
    assert what in caught.value.what
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_openchaos_names_are_ours_by_another_name(name: str) -> None:
    alias = ALIASES[name]
    fault = bind_fault(1, at="1s", do=name, on="" if alias.on else "masters")
    assert fault == bind_fault(1, at="1s", do=alias.verb, on=alias.on or "masters")


def test_an_alias_may_be_told_its_nodes() -> None:
    assert str(bind_fault(1, at="1s", do="minor-kill", on="slaves").on) == "slaves"


def test_every_verb_says_what_it_does_and_how_it_is_proved() -> None:
    assert list(VERBS) == [
        "kill", "stop", "pause", "restart", "starve_cpu", "exhaust_files", "out_of_memory", "cut_power", "fail_sync",
        "slow_disk", "hang_disk", "dead_disk", "read_only_disk", "flip_bits", "damage_files", "fill_disk", "wipe",
        "adopt_slave", "return_stale", "foreign_disk", "partition", "isolate", "ring", "bridge", "refuse_connects",
        "reset_links", "slow_link", "drop_frames", "step_clock", "reconfigure", "promote",
    ]  # fmt: skip
    for verb in VERBS.values():
        assert all((verb.summary, verb.takes_effect_when, verb.undone_by))
        assert all(option.choices == () or option.default in option.choices for option in verb.options.values())
