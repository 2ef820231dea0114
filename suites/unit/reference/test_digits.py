"""What is a number in a text from outside."""

from __future__ import annotations

import pytest

from reference_impl.broker.group_broker import _numeric_id
from reference_impl.configuration import ConfigurationError
from reference_impl.digits import is_number


@pytest.mark.parametrize("text", ["0", "007", "9" * 20])
def test_digits(text: str) -> None:
    assert is_number(text)


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1_0", "²", "٧", "1e3", "9" * 21, "9" * 5000])
def test_other_texts(text: str) -> None:
    assert not is_number(text)


@pytest.mark.parametrize("self_id", ["n", "n²", "n٧", "n" + "9" * 5000])
def test_a_member_whose_number_cannot_be_read_is_refused(self_id: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a letter and a number"):
        _numeric_id(self_id)
