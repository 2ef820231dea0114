"""Effects of faults: all verbs against all that is asked of them, and what old histories do not tell."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from checkers.contract import contract_of, known_modes
from checkers.history.effects import HARMS, NO_HARM, OF_OLD_VERBS, Effect, effects_of, harm_of, of_verb
from checkers.history.faults import FaultFact
from faults.catalogue import VERBS
from faults.effects import HOW
from faults.effects import Effect as OfVerb

REQUIRED: Mapping[str, Mapping[str, str]] = {
    "reconfigure": {"set": "a=b"},
    "damage_files": {"of": "consume-queue"},
    "return_stale": {"behind": "1KiB"},
    "foreign_disk": {"from": "broker-b-1"},
}


def recorded(verb: str, **options: str) -> tuple[Effect, ...]:
    given = {**REQUIRED.get(verb, {}), **options}
    return effects_of({"do": verb, "with": given, "effects": VERBS[verb].effects_of(given)})


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_does_something_that_every_contract_speaks_of(verb: str) -> None:
    harm = harm_of(recorded(verb))
    assert harm != NO_HARM
    assert harm in HARMS
    for mode in known_modes():
        contract = contract_of(mode)
        assert contract is not None
        if any(guarantee.harm == harm for guarantee in contract.guarantees.values()):
            assert {flush for h, flush, _ in contract.guarantees if h == harm} == {"sync", "async"}


@pytest.mark.parametrize("verb", OF_OLD_VERBS)
def test_an_old_history_is_judged_as_one_that_tells_effects(verb: str) -> None:
    def plain(effects: tuple[Effect, ...]) -> set[tuple[str, str, str]]:
        return {(effect.does, effect.how, effect.at) for effect in effects}

    assert plain(of_verb(verb)) == plain(recorded(verb))


def test_how_a_process_ended_depends_on_the_options_of_a_restart() -> None:
    assert harm_of(recorded("restart")) == harm_of(recorded("stop"))
    assert harm_of(recorded("restart", how="kill")) == harm_of(recorded("kill"))
    assert harm_of(of_verb("restart", {"how": "kill"})) == harm_of(of_verb("kill"))


def test_a_verb_that_nobody_knows_is_judged_by_what_its_history_tells() -> None:
    detail = {"do": "melt_cpu", "effects": [{"does": "freezes", "at": "act"}]}
    assert harm_of(effects_of(detail)) == "frozen"
    assert effects_of({"do": "melt_cpu"}) == ()
    assert harm_of(()) == NO_HARM


def test_an_effect_says_only_what_its_word_allows() -> None:
    for does, ways in HOW.items():
        for how in ways:
            assert OfVerb(does, how).to_json({}).get("how", "") == how
        with pytest.raises(ValueError, match="cannot be"):
            OfVerb(does, "somehow")


@pytest.mark.parametrize("verb", VERBS)
def test_what_ends_a_process_starts_it_again_and_what_takes_data_ends_it_first(verb: str) -> None:
    fault = FaultFact("f", verb, ("n",), recorded=recorded(verb))
    starts = fault.does("starts") or fault.does("starts", at="heal")
    assert (fault.does("ends") or fault.does("ends", at="heal")) == starts
    assert not fault.takes() or fault.does("ends")
