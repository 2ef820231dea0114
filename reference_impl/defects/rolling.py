"""A bug of the roll: a file that could not be made once is never made."""

from __future__ import annotations

from typing import Final

from reference_impl.defects.defect import StoreDefect, substitute
from reference_impl.environment import Environment
from reference_impl.store.commit_log import CommitLog, FileUnavailable
from reference_impl.store.mapped_files import MappedFile


class GivesUp(CommitLog):
    """After the first file that could not be made no other is asked for."""

    gave_up = ""

    def _room(self, env: Environment, size: int) -> MappedFile:
        if self.gave_up:
            raise FileUnavailable(self.gave_up)
        try:
            return super()._room(env, size)
        except FileUnavailable as error:
            self.gave_up = str(error)
            raise


ROLLING: Final = {
    "gives-up-at-roll": StoreDefect(
        lambda store: substitute(store.log, GivesUp),
        "a broker that could not make its next log file makes none ever after",
        "no message accepted after files could be opened again",
        "availability",
        (),
        "RocketMQ's AllocateMappedFileService answers nobody while its last attempt ended with an error",
    ),
}
