"""Whose store is this? A file beside it that names group and member (ours; Apache has none).

Question: does the disk that this member was started with belong to it?

Model. No file of DLedger's names its group: a record, a unit, ``currterm`` and ``checkpoint`` say which term and index,
never whose. A member on the disk of another group is one with another log; if its last term is the larger one, it is
elected, and its group takes over what the other had. With ``dLegerStrictIdentity`` the store folder has one more file,

    dledger-identity    group=broker-a   selfId=n1

written before the member first takes part, and a start on a disk whose file names somebody else is refused. So is one
where no file is, but the log of another member lies.

Limits. A store that was begun without the file gets it at the first start that asks for it, whosever it was.
"""

from __future__ import annotations

from typing import Final

from reference_impl.configuration import parse_properties, properties_text
from reference_impl.dledger.config import DLedgerConfig
from reference_impl.dledger.small_files import SmallFile
from reference_impl.environment import Environment
from reference_impl.store.forcing import Forcing

IDENTITY_FILE: Final = "dledger-identity"
_GROUP: Final = "group"
_SELF: Final = "selfId"


class ForeignStore(Exception):
    """The disk belongs to another member."""


class Identity:
    """The file of one store."""

    def __init__(self, config: DLedgerConfig, forcing: Forcing) -> None:
        self._config = config
        self._file = SmallFile(f"{config.store_base_dir}/{IDENTITY_FILE}", forcing, is_forced=True)

    def check(self, env: Environment) -> None:
        """:class:`ForeignStore` for the disk of somebody else; without a file the store is ours from now on."""
        if not self._config.d_leger_strict_identity:
            return
        text, ours = self._file.load(env), (self._config.d_leger_group, self._config.d_leger_self_id)
        owner = _owner(text)
        if owner is None:
            self._refuse_others(env)
            self._file.save(env, properties_text({_GROUP: ours[0], _SELF: ours[1]}), _nothing)
        elif owner != ours:
            raise ForeignStore(
                f"this disk belongs to member {owner[1]} of group {owner[0]}, not to {ours[1]} of {ours[0]}"
            )

    def _refuse_others(self, env: Environment) -> None:
        """A log under another member's name: each member has a store folder of its own."""
        own, prefix = f"{self._config.folder}/", f"{self._config.store_base_dir}/dledger-"
        others = [file for file in env.files(prefix) if not file.startswith(own) and "/" in file[len(prefix) :]]
        if others:
            member = others[0][len(prefix) :].partition("/")[0]
            raise ForeignStore(f"this disk has the log of member {member}, not of {self._config.d_leger_self_id}")


def _owner(text: str) -> tuple[str, str] | None:
    values = parse_properties(text).values
    return (values[_GROUP], values[_SELF]) if _GROUP in values and _SELF in values else None


def _nothing(env: Environment) -> None:
    """Nobody waits."""
