"""What asking for one finding came to.

Question: does this broker still do it? "The test passed" is no answer where a test allows for both: so whoever asks
says one of five words, and a sentence with figures.

Model. *there*: it was seen. *gone*: what brings it about took place, to its end, and it was not seen. *changed*:
something else was seen that should not be. *undecided*: the attempt was not whole (a fault that did not take effect, a
broker that did not answer). *does not apply*: the release has not got what the finding is about.

Limits. *gone* is a statement about as many attempts as the table names; where chance decides it names several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

State = Literal["there", "gone", "changed", "undecided", "does not apply"]
DECIDED: Final = ("there", "gone", "changed", "does not apply")


@dataclass(frozen=True)
class Seen:
    """A state and why it is said."""

    state: State
    sentence: str = ""

    @property
    def is_decided(self) -> bool:
        return self.state in DECIDED


def there_if(condition: bool, sentence: str) -> Seen:
    """*there* or *gone*, with the same figures."""
    return Seen("there" if condition else "gone", sentence)
