"""The two members that are ours: what do they store and say, and are their peer's frames told apart?"""

from __future__ import annotations

import pytest

from reference_impl.dledger.codes import Code, PushType, RpcCode, Vote
from reference_impl.dledger.entry import Entry
from reference_impl.dledger.messages import HeartBeatRequest, PushResponse, VoteRequest, VoteResponse, encode, push
from reference_impl.wire.frame import Command, encode_frame
from suites.conformance.dledger.one_member import Follower, frames_in


def entry(index: int, body: bytes = b"x") -> Entry:
    return Entry(index=index, term=1, pos=100 * index, size=49, body=body)


@pytest.mark.parametrize(
    ("kind", "pushed", "code", "left"),
    [
        (PushType.COMPARE, entry(1), Code.SUCCESS, 2),
        (PushType.COMPARE, entry(1, b"y"), Code.INCONSISTENT_STATE, 2),
        (PushType.COMPARE, entry(2), Code.INCONSISTENT_STATE, 2),
        (PushType.TRUNCATE, entry(0, b"y"), Code.SUCCESS, 1),
        (PushType.APPEND, entry(2), Code.SUCCESS, 3),
        (PushType.APPEND, entry(1), Code.SUCCESS, 2),
        (PushType.APPEND, entry(3), Code.INCONSISTENT_STATE, 2),
        (PushType.COMMIT, None, Code.SUCCESS, 2),
    ],
)
def test_a_follower_takes_what_follows(kind: PushType, pushed: Entry | None, code: Code, left: int) -> None:
    follower = Follower([entry(0), entry(1)], is_silent=False)
    answer = follower.answer(RpcCode.PUSH, encode(push(kind, [pushed] if pushed else [], group="b", term=1)))
    assert isinstance(answer, PushResponse)
    assert (answer.code, answer.end_index, len(follower.entries)) == (code, left - 1, left)


def test_it_votes_for_whoever_asks_once_it_is_to_answer() -> None:
    follower, request = Follower(), encode(VoteRequest(group="b", leader_id="n0", term=7))
    assert follower.answer(RpcCode.VOTE, request) is None
    follower.is_silent = False
    vote = follower.answer(RpcCode.VOTE, request)
    assert isinstance(vote, VoteResponse)
    assert (vote.vote_result, vote.term) == (Vote.ACCEPT, 7)
    beat = follower.answer(RpcCode.HEART_BEAT, encode(HeartBeatRequest(group="b", leader_id="n0", term=7)))
    assert beat is not None
    assert beat.code == Code.SUCCESS


@pytest.mark.parametrize("cut", [0, 1, 5, 40])
def test_a_stream_is_told_apart_into_whole_frames(cut: int) -> None:
    frames = [encode_frame(Command(RpcCode.PUSH, body=b"b" * size)) for size in (0, 7, 300)]
    stream = b"".join(frames)
    assert list(frames_in(stream[: len(stream) - cut])) == (frames[:2] if cut else frames)
