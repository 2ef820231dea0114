"""Our own code on its way to the executors of a cluster.

Question: a task runs on a machine that has never seen this checkout. Where does it import ``checkers`` from, in which
version?

Model. The packages of this process go with the session as one zip file that Spark unpacks into the working folder of
every executor (``spark.archives``), and that folder is on the path of its Python workers, before what is installed
there. It is unpacked, not imported from, since contracts and scenarios are files beside the code. So workers run the
code of the driver, whatever they have; numpy, pyarrow and the other libraries must be installed on them.

Limits. A Spark Connect server takes no archive at its start; its machines need mqchaos installed, in this version.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = "mqchaos-code"
"""Where executors unpack it, below their working folder."""


@contextmanager
def archive() -> Iterator[Path]:
    """The path of a zip file that :func:`pack` may fill; it is gone on leaving."""
    with TemporaryDirectory(prefix="mqchaos-code-") as folder:
        yield Path(folder) / "code.zip"


def settings_of(code: Path) -> Mapping[str, str]:
    """Settings of a session with our packages in *code*, which is written."""
    pack(code)
    return {"spark.archives": f"{code}#{FOLDER}", "spark.executorEnv.PYTHONPATH": FOLDER}


def pack(code: Path) -> None:
    """All files of our packages, under the names by which they are imported."""
    with zipfile.ZipFile(code, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for package, base in _packages():
            for path in sorted((base / package).rglob("*")):
                if path.is_file() and path.suffix != ".pyc":
                    file.write(path, str(path.relative_to(base)))


def _packages() -> list[tuple[str, Path]]:
    """Name and parent folder: the rooms of a checkout, or the one package of an installation."""
    if __name__.partition(".")[0] == "mqchaos":
        return [("mqchaos", ROOT.parent)]
    from mqchaos.checkout import ROOMS

    return [(name, ROOT) for name in (*ROOMS, "mqchaos")]
