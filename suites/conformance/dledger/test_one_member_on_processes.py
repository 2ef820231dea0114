"""A member of the release is asked what a member of 4.9.7 was asked, and then leads: its answers and its own frames.

D06: the lines of ``golden/dledger/4.9.7/fake_member_asks.jsonl`` up to where it leads, in their order, over real
connections. D01: every frame that it wrote meanwhile and as a leader is decoded and encoded again. The reference is not
asked here: it deviates on purpose (``test_golden_follower.py``), and its frames are this code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.targets.releases import row_of
from harness.worlds import open_target, versions_in
from reference_impl.dledger.codes import PushType, RpcCode
from reference_impl.dledger.messages import ANSWERS, REQUESTS, PushRequest, decode, encode
from reference_impl.environment import MS, SECOND
from reference_impl.wire.frame import Command, decode_frame, encode_frame
from suites.conformance.dledger.one_member import BEAT_NS, OneMember, request_of
from suites.conformance.golden_dledger import lines

pytestmark = [pytest.mark.slow, pytest.mark.requires("process:network"), pytest.mark.xdist_group("group-on-processes")]

AS_FOLLOWER: Final = 81
FIRST_LINES: Final = 4
"""Heart beats of term 5 until one is accepted: how often depends on when they come."""
CANDIDATE_FROM: Final = "vote_larger_term"
"""From here on nobody leads."""
NOT_READY: Final = ("vote_larger_term_again", "REJECT_TERM_NOT_READY")
"""It takes the new term with its next look around."""
NO_ANSWER_NS: Final = 4 * SECOND
LEADS_WITHIN_NS: Final = 60 * SECOND
AT_REST_NS: Final = 7 * SECOND
"""A leader that has nothing to push sends heart beats, and what is committed."""

DIFFERENT: Final[Mapping[str, Mapping[str, tuple[Mapping[str, Any] | None, str]]]] = {
    "0.3.1.2": {},
    "0.3.2": {
        "append_gap_after_406": ({"code": 406}, "a push that was refused behind a gap is taken as a new one"),
        "push_to_candidate_compare": (None, "who follows nobody answers no push"),
    },
}
"""Version of DLedger → name → (what its answer has instead, or that there is none; why)."""

Answer = Mapping[str, Any] | None


@pytest.fixture(scope="module")
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """The whole talk, held once."""
    name = request.config.getoption("--target")
    if name == "reference":
        pytest.skip("it deviates on purpose: test_golden_follower.py")
    target, folder = open_target(name), tmp_path_factory.mktemp("member")
    target.prepare()
    journal = HealJournal.open("member", folder / "heal")
    backend = ProcessBackend("member", folder / "run", target, journal, isolation="auto")
    try:
        (release,) = versions_in(name)
        yield Talk(OneMember(backend, release))
    finally:
        backend.close()
        journal.close()


class Talk:
    """Questions in order; ``answers`` by name. A leader is alive all the time, until there is to be none."""

    def __init__(self, member: OneMember) -> None:
        self.member = member
        questions = [line for line in lines("4.9.7/fake_member_asks.jsonl")[:AS_FOLLOWER] if line["code"] in REQUESTS]
        self.heart_beat, self.questions = questions[0], questions[FIRST_LINES:]
        self.answers: dict[str, Answer] = {}
        self._is_led = True
        self._follow()
        for line in _in_order_of_asking(self.questions):
            self._ask(line)
        self._lead()

    def _follow(self) -> None:
        """A member without a leader takes the term first."""
        self.member.until(lambda: (self._once(self.heart_beat) or {}).get("code") == 200, LEADS_WITHIN_NS)

    def _once(self, line: Mapping[str, Any]) -> Answer:
        return _told(self.member.answer_of(self.member.tell(request_of(line)), SECOND))

    def _ask(self, line: Mapping[str, Any]) -> None:
        name = line["name"]
        if name == "compare_after_truncate_and_restart":
            self.member.kill()
            self.member.start("n0")
            self._follow()
        self._is_led = self._is_led and name != CANDIDATE_FROM
        self.answers[name] = self._waited(line)
        while (name, (self.answers[name] or {}).get("voteResult")) == NOT_READY:
            self.answers[name] = self._once(line)

    def _waited(self, line: Mapping[str, Any]) -> Answer:
        place = self.member.tell(request_of(line))
        if line["name"] == "append_gap":  # asked again while it waits
            self.member.answer_of(place, 300 * MS)
            again = next(other for other in self.questions if other["name"] == "append_gap_again")
            self.answers[again["name"]] = self._once(again)
        end_ns = self.member.backend.now() + NO_ANSWER_NS
        while (answer := self.member.answer_of(place, BEAT_NS)) is None and self.member.backend.now() < end_ns:
            if self._is_led:
                self._once(self.heart_beat)
        if self._is_led:
            self._once(self.heart_beat)
        return _told(answer)

    def _lead(self) -> None:
        """Its peers answer now: it is elected, brings them to what it has, and confirms."""
        for fake in self.member.fakes.values():
            fake.follower.is_silent = False
        count = 1 + max(int((answer or {}).get("endIndex", -1)) for answer in self.answers.values())
        followers = [fake.follower for fake in self.member.fakes.values()]
        self.member.until(lambda: all(len(one.entries) >= count for one in followers), LEADS_WITHIN_NS)
        self.member.sleep(AT_REST_NS)


def _in_order_of_asking(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """They are listed by the time of their answers; ``append_gap_again`` is asked within ``append_gap``."""
    return [line for line in questions if line["name"] != "append_gap_again"]


def _told(answer: Command | None) -> Answer:
    """The body without addresses, which are the place's."""
    if answer is None:
        return None
    told = json.loads(answer.body) if answer.body else {"header": answer.code, "remark": answer.remark}
    return {name: value for name, value in told.items() if name != "peers"}


@pytest.mark.conformance("D06", lane="target")
def test_a_member_answers_as_one_of_4_9_7_did(asked: Talk) -> None:
    expected = {line["name"]: _without_peers(line["answer"]) for line in asked.questions}
    for name, (instead, _) in DIFFERENT[row_of(asked.member.release).dledger].items():
        different = instead and {**(expected[name] or {}), **instead}
        assert different != expected[name]
        expected[name] = different
    assert asked.answers == expected


def _without_peers(answer: Answer) -> Answer:
    return answer and {name: value for name, value in answer.items() if name != "peers"}


@pytest.mark.conformance("D01", lane="target")
def test_what_a_member_writes_is_read_and_written_the_same(asked: Talk) -> None:
    written = asked.member.written()
    kinds: set[object] = set()
    for data in written:
        command = decode_frame(data)
        assert encode_frame(command) == data
        if command.body:
            code = command.code if not command.is_answer else asked.member.asked_code(command.opaque)
            message = decode((ANSWERS if command.is_answer else REQUESTS)[code], command.body)
            assert encode(message) == command.body
            kinds |= {(code, command.is_answer), *({message.type} if isinstance(message, PushRequest) else ())}
    assert kinds >= {(code, True) for code in set(RpcCode) - {RpcCode.PULL}}
    assert kinds >= {(code, False) for code in (RpcCode.VOTE, RpcCode.HEART_BEAT, RpcCode.PUSH)}
    assert kinds >= set(PushType)
