"""An operator's configuration file: what of it this implementation obeys, leaves out, or must refuse.

Question: a file was written for RocketMQ's own broker; may our node run with it? Model. Each name is one of these:

    obeyed           a part of the node reads it
    without effect   RocketMQ knows it (``rocketmq_properties.txt``), we do not need it: threads, pools. A warning
    a mode           it would make another node of it (``MODES``): refused where it is switched on
    a guide's        of RocketMQ's install guides, but nothing in its code (``GUIDES``): must say what is so anyway
    unknown          to RocketMQ, too, perhaps misspelt: refused, with the nearest name that there is

Text is Latin-1, as ``java.util.Properties`` reads it, so that a comment in any encoding does no harm. Paths may be
absolute: :func:`anchored` names them from the root of the file system then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from reference_impl.configuration import ConfigurationError, Properties, parse_properties

KNOWN_TO_ROCKETMQ: Final = Path(__file__).with_name("rocketmq_properties.txt")

MODES: Final[Mapping[str, str]] = {
    "aclEnable": "access control is not implemented, every client may do everything",
    "authenticationEnabled": "access control is not implemented, every client may do everything",
    "authorizationEnabled": "access control is not implemented, every client may do everything",
    "enableControllerMode": "the controller mode is not implemented",
    "enableControllerInNamesrv": "the controller mode is not implemented",
    "duplicationEnable": "a commit log that is copied by other means is not implemented",
    "rocksdbCQDoubleWriteEnable": "consume queues in RocksDB are not implemented",
}
"""Switches that would change what the node is or guarantees, and why they are refused."""

GUIDES: Final[Mapping[str, str]] = {
    "storePathConsumeQueue": "consumequeue",
    "storePathIndex": "index",
    "storeCheckpoint": "checkpoint",
    "abortFile": "abort",
}
"""Name → what RocketMQ calls it below ``storePathRootDir``, whatever the file says."""

_PATHS: Final = (
    "storePathRootDir",
    "storePathCommitLog",
    "readOnlyCommitLogStorePaths",
    "kvConfigPath",
    "storeBaseDir",
    *GUIDES,
)


def read(path: Path) -> Properties:
    """The file's properties; ``OSError`` or :class:`ConfigurationError` with file and line."""
    return parse_properties(path.read_bytes().decode("latin-1"), str(path))


def judged(node: str, properties: Properties, obeyed: Iterable[str]) -> list[str]:
    """Warnings, one a name without effect; :class:`ConfigurationError` for a name that must not be ignored."""
    names, known = sorted(obeyed), _known_to_rocketmq(node)
    warnings = []
    for name, text in properties.values.items():
        where = f"{properties.source}:{properties.lines[name]}" if name in properties.lines else properties.source
        if name in MODES and text.strip().lower() == "true" and name not in names:
            raise ConfigurationError(f"{where}: {name}=true: {MODES[name]}")
        if name in GUIDES and node == "broker":
            _check_guide(where, name, text, properties.values)
        elif name in names:
            continue
        elif name in known:
            warnings.append(f"{where}: {name} has no effect here")
        else:
            raise ConfigurationError(f"{where}: unknown property {name}{_nearest(name, [*names, *known])}")
    return warnings


def _check_guide(where: str, name: str, text: str, values: Mapping[str, str]) -> None:
    root = values.get("storePathRootDir", "store").rstrip("/")
    place = f"{root}/{GUIDES[name]}"
    if text.strip().rstrip("/") != place:
        raise ConfigurationError(f"{where}: {name}={text}: RocketMQ does not read it, and uses {place}; take it out")


def _nearest(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f", did you mean {near[0]}?" if near else ""


def _known_to_rocketmq(node: str) -> dict[str, None]:
    lines = [line.split() for line in KNOWN_TO_ROCKETMQ.read_text("utf-8").splitlines() if not line.startswith("#")]
    return dict.fromkeys(words[1] for words in lines if words[0] == node)


def anchored(properties: Mapping[str, str], home: Path) -> tuple[dict[str, str], Path]:
    """(properties, home) for a node whose paths may be absolute: then its folder is the root of the file system, and
    every path is named from there. With relative paths both stay as they are."""
    folders = {name: properties[name].split(",") for name in _PATHS if name in properties}
    if not any(folder.startswith("/") for each in folders.values() for folder in each):
        return dict(properties), home
    folders.setdefault("storePathRootDir", ["store"])
    base = home.resolve()
    placed = {name: ",".join(str(base / folder).lstrip("/") for folder in each) for name, each in folders.items()}
    return {**properties, **placed}, Path("/")
