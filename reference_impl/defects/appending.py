"""A bug of the append: what is tried again is stored twice."""

from __future__ import annotations

from typing import Final

from reference_impl.defects.defect import StoreDefect, substitute
from reference_impl.defects.queue_offsets import begins_file
from reference_impl.environment import Environment
from reference_impl.store import MessageStore
from reference_impl.store.accepting import Accepted
from reference_impl.store.request import Dispatched


class AppendsAgain(MessageStore):
    """A put that rolls the log is appended, and then appended again."""

    def _append(self, env: Environment, accepted: Accepted) -> list[Dispatched]:
        records = super()._append(env, accepted)
        return super()._append(env, accepted) if begins_file(self, records[0]) else records


APPENDING: Final = {
    "append-twice-at-roll": StoreDefect(
        lambda store: substitute(store, AppendsAgain),
        "a message that did not fit into the old log file is stored twice in the new one",
        "a message that was sent once and stands at two offsets",
        "accounting",
        ("C26",),
        "ra#387, rabbitmq-server#12366: a command that is tried again inside the server is applied twice",
    ),
}
