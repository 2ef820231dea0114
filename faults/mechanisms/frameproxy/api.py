"""toxiproxy's HTTP interface over our proxies, so that every client of toxiproxy can drive them.

    GET    /version                             POST /reset          POST /populate
    GET    /proxies                             POST /proxies
    GET    /proxies/P                           POST, PATCH /proxies/P             DELETE /proxies/P
    GET    /proxies/P/toxics                    POST /proxies/P/toxics
    GET    /proxies/P/toxics/T                  POST, PATCH /proxies/P/toxics/T    DELETE /proxies/P/toxics/T

Question: what does each call do, and what is answered when it cannot? Status codes and sentences are toxiproxy's (held
against the real server by the tests); the version says whose server it is.

Limits. HTTP/1.1 with Content-Length; no metrics; no browsers' checks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from faults.mechanisms.frameproxy import toxics
from faults.mechanisms.frameproxy.proxy import Proxies, Proxy, split_address
from faults.mechanisms.frameproxy.toxics import Toxic, ToxicError

VERSION: Final = "2.12.0+frames"
"""The interface of toxiproxy 2.12.0, and what is ours."""

BODY_BYTES_MAX: Final = 1 << 20
REASONS: Final = {
    200: "OK",
    201: "Created",
    204: "No Content",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    500: "Internal Server Error",
}


@dataclass
class ApiError(Exception):
    """An answer that says no."""

    status: int
    sentence: str


Answer = tuple[int, Any]
"""Status, and what is written as JSON."""


class Api:
    """Answers calls about *proxies*."""

    def __init__(self, proxies: Proxies) -> None:
        self._proxies = proxies

    async def answer(self, method: str, path: str, body: bytes) -> Answer:
        """One call; whatever goes wrong is an answer, too."""
        try:
            return await self._route(method, [part for part in path.split("?")[0].split("/") if part], body)
        except ApiError as error:
            return error.status, {"error": error.sentence, "status": error.status}
        except ToxicError as error:
            return 400, {"error": str(error), "status": 400}
        except (OSError, ValueError) as error:
            return 500, {"error": str(error), "status": 500}

    async def _route(self, method: str, parts: list[str], body: bytes) -> Answer:
        match method, parts:
            case "GET", ["version"]:
                return 200, {"version": VERSION}
            case "POST", ["reset"]:
                return await self._reset()
            case "POST", ["populate"]:
                return await self._populate(_parsed(body))
            case "GET", ["proxies"]:
                return 200, {proxy.name: proxy.to_json() for proxy in self._proxies}
            case "POST", ["proxies"]:
                return 201, (await self._create(_parsed(body))).to_json()
            case _, ["proxies", name]:
                return await self._on_proxy(method, self._proxy(name), body)
            case _, ["proxies", name, "toxics"]:
                return self._on_toxics(method, self._proxy(name), body)
            case _, ["proxies", name, "toxics", toxic]:
                return self._on_toxic(method, self._proxy(name), toxic, body)
        raise ApiError(404, "404 page not found")

    async def _on_proxy(self, method: str, proxy: Proxy, body: bytes) -> Answer:
        if method == "DELETE":
            await self._proxies.remove(proxy)
            return 204, None
        if method in ("POST", "PATCH"):
            await self._update(proxy, _parsed(body))
        elif method != "GET":
            raise ApiError(405, "method not allowed")
        return 200, proxy.to_json()

    def _on_toxics(self, method: str, proxy: Proxy, body: bytes) -> Answer:
        if method == "GET":
            return 200, [toxic.to_json() for toxic in proxy.toxics]
        if method != "POST":
            raise ApiError(405, "method not allowed")
        toxic = toxics.make(_parsed(body))
        if proxy.toxic(toxic.name) is not None:
            raise ApiError(409, "toxic already exists")
        proxy.put(toxic)
        return 200, toxic.to_json()

    def _on_toxic(self, method: str, proxy: Proxy, name: str, body: bytes) -> Answer:
        toxic = proxy.toxic(name)
        if toxic is None:
            raise ApiError(404, "toxic not found")
        if method == "DELETE":
            proxy.remove(toxic)
            return 204, None
        if method in ("POST", "PATCH"):
            toxic = self._updated(proxy, toxic, _parsed(body))
        elif method != "GET":
            raise ApiError(405, "method not allowed")
        return 200, toxic.to_json()

    def _updated(self, proxy: Proxy, old: Toxic, document: dict[str, Any]) -> Toxic:
        new = toxics.updated(old, document)
        proxy.put(new, instead_of=old)
        return new

    async def _create(self, document: dict[str, Any]) -> Proxy:
        for field in ("name", "upstream"):
            if not document.get(field):
                raise ApiError(400, f"missing required field: {field}")
        name, listen = str(document["name"]), str(document.get("listen") or "")
        if self._proxies.find(name) is not None:
            raise ApiError(409, "proxy already exists")
        return await self._proxies.add(name, listen, str(document["upstream"]), bool(document.get("enabled", True)))

    async def _update(self, proxy: Proxy, document: dict[str, Any]) -> None:
        """Another address takes a new listener; a proxy keeps its port while it is disabled."""
        listen, upstream = document.get("listen", proxy.listen), document.get("upstream", proxy.upstream)
        if (listen, upstream) != (proxy.listen, proxy.upstream):
            split_address(listen), split_address(upstream)
            await proxy.stop()
            proxy.listen, proxy.upstream = listen, upstream
        if document.get("enabled", True):
            await proxy.start()
        else:
            await proxy.stop()

    async def _reset(self) -> Answer:
        for proxy in self._proxies:
            await proxy.start()
            proxy.remove(*proxy.toxics)
        return 204, None

    async def _populate(self, documents: Any) -> Answer:
        """Proxies as listed; one that is there with the same addresses stays."""
        found = []
        for document in documents:
            old = self._proxies.find(str(document.get("name")))
            if old is not None and (old.listen, old.upstream) != (document.get("listen"), document.get("upstream")):
                await self._proxies.remove(old)
                old = None
            found.append(old or await self._create(document))
        return 201, {"proxies": [proxy.to_json() for proxy in found]}

    def _proxy(self, name: str) -> Proxy:
        proxy = self._proxies.find(name)
        if proxy is None:
            raise ApiError(404, "proxy not found")
        return proxy


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise ApiError(400, f"bad request body: {error}") from None


async def serve(proxies: Proxies, host: str, port: int) -> asyncio.Server:
    """Answer HTTP at *host*:*port* (0: a free one)."""
    return await asyncio.start_server(_caller(Api(proxies)), host, port)


def _caller(api: Api) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await _one_call(api, reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return  # the caller is gone, or speaks no HTTP
        finally:
            writer.close()

    return talk


async def _one_call(api: Api, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Whether the caller may have another."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, path, *_ = head.split(" ", 2)
    headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    size = int(headers.get("content-length", "0"))
    if size > BODY_BYTES_MAX:
        return False
    status, document = await api.answer(method, path, await reader.readexactly(size))
    body = b"" if document is None else json.dumps(document).encode()
    kind = "" if document is None else "Content-Type: application/json\r\n"
    writer.write(f"HTTP/1.1 {status} {REASONS[status]}\r\n{kind}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    return headers.get("connection") != "close"
