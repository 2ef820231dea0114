"""A transactional producer: what it sends for each status of its half, and for a broker's question."""

from __future__ import annotations

import pytest

from reference_impl.client import Message, ProducerSettings, SendResult, TransactionProducer, TransactionState
from reference_impl.environment import SECOND
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from reference_impl.wire.message import parse_properties
from suites.conformance.golden_wire import golden_frames
from suites.unit.client.client_by_hand import NS1, World, nameserver, route

A = "10.2.1.1:10911"
MESSAGE_ID = "0A0201010000" + "2A9F" + f"{4711:016X}"


class Setup:
    """One broker, whose answer to a send is *code*; the local transaction says *state*."""

    def __init__(self, code: int, state: TransactionState = TransactionState.COMMIT, group: str = "PG_T") -> None:
        self.world = World(start=False)
        self.world.scripts |= {NS1: nameserver({"T": route(broker_a=A)}), A: self._broker}
        self.code, self.state = code, state
        self.halves: list[Command] = []
        self.ends: list[Command] = []
        self.ran: list[SendResult] = []
        self.asked: list[bytes] = []
        settings = ProducerSettings(group=group)
        self.producer = TransactionProducer(self.world.client, settings, lambda env, half: self._word(half.body))
        self.world.start()

    def _broker(self, request: Command) -> Command | None:
        if request.code == Code.END_TRANSACTION:
            self.ends.append(request)
            return None
        if request.code == Code.SEND_MESSAGE_V2:
            self.halves.append(request)
            return Command(self.code, {"msgId": MESSAGE_ID, "queueId": request.fields["e"], "queueOffset": "12"})
        return Command(0)

    def _word(self, body: bytes) -> TransactionState:
        self.asked.append(body)
        return self.state

    def _local(self, result: SendResult) -> TransactionState:
        self.ran.append(result)
        return self.state

    def send(self, **properties: str) -> TransactionState | None:
        ended: list[TransactionState | None] = []
        self.producer.send_in_transaction(
            self.world.env,
            Message("T", b"half", properties),
            lambda env, result: self._local(result),
            lambda env, result, state: ended.append(state),
        )
        self.world.until(lambda: bool(ended), 20 * SECOND)
        self.world.pass_time(SECOND)
        return ended[0]


@pytest.mark.parametrize("state", list(TransactionState))
def test_the_word_of_the_local_transaction_is_the_end(state: TransactionState) -> None:
    setup = Setup(0, state)
    assert setup.send() is state
    (half,), (end,) = setup.halves, setup.ends
    told = parse_properties(half.fields["i"])
    assert (half.fields["f"], told["TRAN_MSG"], told["PGROUP"]) == ("4", "true", "PG_T")
    assert end.is_one_way
    assert end.fields == {
        "producerGroup": "PG_T",
        "bname": "broker-a",
        "commitLogOffset": "4711",
        "msgId": told["UNIQ_KEY"],
        "tranStateTableOffset": "12",
        "commitOrRollback": str(int(state)),
        "fromTransactionCheck": "false",
    }


@pytest.mark.parametrize("code", [10, 11, 12])
def test_a_half_that_is_not_promised_is_rolled_back_and_nothing_runs(code: int) -> None:
    setup = Setup(code)
    assert setup.send() is TransactionState.ROLLBACK
    assert setup.ran == []
    assert [end.fields["commitOrRollback"] for end in setup.ends] == ["12"]


def test_a_half_that_was_refused_has_no_end() -> None:
    setup = Setup(13)
    assert setup.send() is None
    assert (setup.ran, setup.ends) == ([], [])


def test_a_delay_is_taken_away() -> None:
    setup = Setup(0)
    setup.send(DELAY="3", TAGS="TagA")
    told = parse_properties(setup.halves[0].fields["i"])
    assert "DELAY" not in told
    assert told["TAGS"] == "TagA"


@pytest.mark.parametrize("group", ["PG_T", "PG_OTHER"])
@pytest.mark.parametrize("version", ["4.9.7", "5.3.3"])
def test_a_recorded_question_is_answered_as_the_java_client_did(version: str, group: str) -> None:
    """Question 39 of the real broker in, the fields of Java's answer out; other groups are left alone."""
    question = next(f for f in golden_frames(version) if f.name == "check_transaction_state_39").command
    setup = Setup(0, group=group)
    setup.send()
    setup.ends.clear()
    setup.world.tell(A, question)
    setup.world.pass_time(SECOND)
    if group == "PG_OTHER":
        assert (setup.asked, setup.ends) == ([], [])
        return
    assert setup.asked == [b"half3"]
    (end,) = setup.ends
    assert end.fields == {
        "producerGroup": "PG_T",
        "commitLogOffset": question.fields["commitLogOffset"],
        "msgId": question.fields["msgId"],
        "tranStateTableOffset": question.fields["tranStateTableOffset"],
        "commitOrRollback": "8",
        "transactionId": question.fields["transactionId"],
        "fromTransactionCheck": "true",
    }
