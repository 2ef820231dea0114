"""The body of a message: whose it is, and whether it is whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.payload import HEAD_SIZE, Body, Unrecognised, decode, encode

RUN = 0xC0FFEE
u64 = st.integers(0, 2**64 - 1)
bodies = st.builds(Body, st.just(RUN), u64, u64, st.integers(0, 2**32 - 1))


def test_layout_is_fixed():
    """Golden bytes, checked by hand: magic, run, message, process, sequence, CRC-32, filler."""
    data = encode(Body(1, 2, 3, 4), 44)
    assert data[:28].hex() == "4d514348000000010000000000000002000000000000000300000004"
    assert data[32:].hex() == "000000000000000200000000"


@given(bodies, st.integers(HEAD_SIZE, 300))
def test_decode_gives_back_what_was_encoded(body, size):
    data = encode(body, size)
    assert len(data) == size
    assert decode(data, RUN) == body


@given(bodies, st.integers(HEAD_SIZE, 80), st.data())
def test_any_changed_byte_is_seen(body, size, data):
    whole = encode(body, size)
    place = data.draw(st.integers(0, size - 1))
    flip = data.draw(st.integers(1, 255))
    broken = whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :]
    assert isinstance(decode(broken, RUN), Unrecognised)


@given(bodies, st.integers(HEAD_SIZE + 1, 80), st.data())
def test_a_shortened_body_is_seen(body, size, data):
    """The CRC covers the filler, so a body that was cut off is not whole."""
    assert isinstance(decode(encode(body, size)[: data.draw(st.integers(0, size - 1))], RUN), Unrecognised)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not ours"),
        (b"hello", "not ours"),
        (b"x" * 100, "not ours"),
        (encode(Body(RUN + 1, 7, 0, 0), 40), "of another run (0x00c0ffef)"),
        (encode(Body(RUN, 7, 0, 0), 40)[:-1] + b"!", "damaged (claims to be message 7)"),
    ],
)
def test_a_body_that_is_not_recognised_says_why(data, reason):
    answer = decode(data, RUN)
    assert isinstance(answer, Unrecognised)
    assert answer.reason == reason
    assert len(answer.digest) == 16


def test_a_size_below_the_head_is_refused():
    with pytest.raises(ValueError, match="at least 32 bytes, got 31"):
        encode(Body(RUN, 0, 0, 0), 31)
