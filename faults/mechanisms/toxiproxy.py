"""toxiproxy: a server of it, or ours that speaks the same, and a client that may be trusted in a run.

Question: toxiproxy-python works, but hangs for ever on a stuck server, moves every client when one is pointed
elsewhere, and turns a refusal into a ``KeyError``. What must stand between it and a fault? This client uses the
package's calls and values and wraps what was measured:

    its address is a class attribute              a sub-class a client
    no timeout anywhere                           every call has one
    only 400, 404 and 409 are told                every other refusal is one, too, with the server's sentence
    no update of a toxic                          ``update``: in force without an instant in between
    nothing is returned for a new toxic           what the server made of it is
    a new TCP connection a call                   left: 1 ms, and in whichever namespace the calling thread is

The server: ``toxiproxy-server`` on PATH, else one that was built from the Go module into the cache, else our own
(``frameproxy``), which can more: only it knows *jam*, *frames* and *sources*.

Limits. One call at a time a client. A server's output goes to a file: it stops when nobody reads its pipe.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

import requests
from toxiproxy.api import APIConsumer
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists
from toxiproxy.proxy import Proxy
from toxiproxy.toxic import Toxic

from faults.errors import FaultTrouble
from faults.mechanisms import pidfd
from faults.mechanisms.command import find_tool

VERSION: Final = "2.12.0"
MODULE: Final = f"github.com/Shopify/toxiproxy/v2/cmd/server@v{VERSION}"
SERVER: Final = "toxiproxy-server"
PORT: Final = 8474
CALL_TIMEOUT_S: Final = 5.0
START_TIMEOUT_S: Final = 15.0
GO_TIMEOUT_S: Final = 600.0
_POLL_S: Final = 0.01


class ToxiproxyError(FaultTrouble):
    """The server refused, or does not answer. ``status`` −1: it does not answer."""

    def __init__(self, what: str, status: int = -1) -> None:
        super().__init__(what)
        self.status = status


class Toxiproxy:
    """A client of the server at *host*:*port*."""

    def __init__(self, host: str = "127.0.0.1", port: int = PORT) -> None:
        self.address = f"{host}:{port}"
        self._api: type[Any] = type("Api", (APIConsumer,), {"host": host, "port": port})

    def version(self) -> str:
        return str(self._call("get", "/version").get("version", ""))

    @property
    def is_ours(self) -> bool:
        """Whether it is the server that knows frames."""
        return self.version().endswith("+frames")

    def create(self, name: str, upstream: str, listen: str = "127.0.0.1:0") -> Proxy:
        """A new proxy; its ``listen`` names the real port."""
        return _proxy(self._call("post", "/proxies", {"name": name, "upstream": upstream, "listen": listen}))

    def proxies(self) -> dict[str, Proxy]:
        return {name: _proxy(document) for name, document in self._call("get", "/proxies").items()}

    def destroy(self, name: str) -> None:
        """Silent where it is gone."""
        self._remove(f"/proxies/{name}")

    def enable(self, name: str, is_enabled: bool) -> None:
        """Disabled: no listener, no connection; its port is kept."""
        self._call("post", f"/proxies/{name}", {"enabled": is_enabled})

    def add(
        self,
        proxy: str,
        kind: str,
        stream: str,
        attributes: Mapping[str, int | str],
        *,
        name: str = "",
        toxicity: float = 1.0,
    ) -> Toxic:
        """A new toxic, as the server has it."""
        document = {"type": kind, "stream": stream, "attributes": dict(attributes), "toxicity": toxicity}
        return Toxic(**self._call("post", f"/proxies/{proxy}/toxics", {**document, **({"name": name} if name else {})}))

    def update(self, proxy: str, toxic: str, attributes: Mapping[str, int | str]) -> Toxic:
        """Other attributes; it stays in force meanwhile."""
        return Toxic(**self._call("post", f"/proxies/{proxy}/toxics/{toxic}", {"attributes": dict(attributes)}))

    def remove(self, proxy: str, toxic: str) -> None:
        """Silent where it is gone."""
        self._remove(f"/proxies/{proxy}/toxics/{toxic}")

    def toxics(self, proxy: str) -> dict[str, Toxic]:
        return {entry["name"]: Toxic(**entry) for entry in self._call("get", f"/proxies/{proxy}/toxics")}

    def reset(self) -> None:
        """All proxies enabled, no toxic left."""
        self._call("post", "/reset")

    def _remove(self, path: str) -> None:
        try:
            self._call("delete", path)
        except ToxiproxyError as error:
            if error.status != 404:
                raise

    def _call(self, method: str, path: str, document: Mapping[str, Any] | None = None) -> Any:
        body = {"json": document} if document is not None else {}
        try:
            response = getattr(self._api, method)(path, timeout=CALL_TIMEOUT_S, **body)
        except (ProxyExists, NotFound, InvalidToxic) as error:
            status = {ProxyExists: 409, NotFound: 404, InvalidToxic: 400}[type(error)]
            raise self._refused(path, status, _sentence(error.args[0])) from error
        except requests.RequestException as error:
            raise ToxiproxyError(f"toxiproxy at {self.address} does not answer {path}: {error}") from error
        if not response.ok:
            raise self._refused(path, response.status_code, _sentence(response.content))
        return response.json() if response.content else {}

    def _refused(self, path: str, status: int, sentence: str) -> ToxiproxyError:
        return ToxiproxyError(f"toxiproxy at {self.address} refuses {path}: {status} {sentence}", status)


def _proxy(document: Mapping[str, Any]) -> Proxy:
    return Proxy(**{name: document[name] for name in ("name", "upstream", "enabled", "listen")})


def _sentence(content: bytes) -> str:
    return content.decode(errors="replace").strip()


# -- servers -----------------------------------------------------------------------------------------------------------


def own_argv() -> list[str]:
    """The server that is always there."""
    return [sys.executable, "-m", f"{__package__}.frameproxy"]


def find_server(cache: Path) -> Path | None:
    """The real server: on PATH, or built before; ``None`` if there is none."""
    if found := find_tool(SERVER):
        return Path(found)
    built = _built(cache)
    return built if built.exists() else None


def fetch_server(cache: Path) -> Path:
    """The real server; built with Go if it is not here. ``FaultTrouble`` with the compiler's complaint."""
    if found := find_server(cache):
        return found
    go = shutil.which("go")
    if go is None:
        raise FaultTrouble(f"no {SERVER} on PATH, and no Go to build one", "install toxiproxy, or Go 1.23 or later")
    folder = _built(cache).parent
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"}
    done = subprocess.run(
        [go, "install", MODULE], env=environment, capture_output=True, text=True, timeout=GO_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise FaultTrouble(f"Go cannot build {MODULE}: {done.stderr.strip()[-300:]}")
    (folder / "server").rename(_built(cache))
    return _built(cache)


def start(argv: Sequence[str], host: str, port: int, log: Path, environment: Mapping[str, str]) -> pidfd.ProcessId:
    """Start the server *argv*; on return it listens at *host*:*port*. ``ToxiproxyError`` with its last words."""
    with log.open("ab") as output:
        child = subprocess.Popen(
            [*argv, "-host", host, "-port", str(port)],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _CHILDREN.append(child)
    return pidfd.identify(child.pid)


_CHILDREN: list[subprocess.Popen[bytes]] = []
"""Servers of ours: a child that nobody waits for stays a zombie, and ``Popen`` complains about a forgotten one."""


def wait_ready(client: Toxiproxy, process: pidfd.ProcessId, log: Path) -> None:
    """Until it answers; ``ToxiproxyError`` if it ends before, or does not in time."""
    deadline_s = monotonic() + START_TIMEOUT_S
    while True:
        try:
            client.version()
            return
        except ToxiproxyError as error:
            if pidfd.state(process) == "dead" or monotonic() >= deadline_s:
                words = log.read_text(errors="replace").strip()[-300:]
                raise ToxiproxyError(f"the proxy's server did not start: {words or error.what}") from error
        sleep(_POLL_S)


def _built(cache: Path) -> Path:
    return cache / f"toxiproxy-{VERSION}" / SERVER
