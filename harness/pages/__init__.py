"""How every page of the project looks and works: one layout, one style sheet, one meaning a colour, one chart library.

Question: how does a page open in any browser of the last years, without a network, a server or an installation, and
still let people zoom, filter and follow a link to one message?

Model. A page is one HTML file: a Jinja template that extends ``page.html``, the style sheet, some scripts, and data.
Charts are Apache ECharts, as it comes (``static/echarts``). It and the data are in the file as compressed text, and
unpacked by the browser when the page opens (``static/page.js``): a page without charts or data has neither. A content
security policy forbids the page to fetch anything; a page that comes from a server of this machine may ask that one
(block ``sources``).

Limits. Browsers from 2023 on (``DecompressionStream``). Without scripts a page shows what its template shows, and says
what is missing.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

STATIC: Final = Path(__file__).parent / "static"
COMPRESSION: Final = 6


def render(
    package: str, template: str, *, data: Mapping[str, bytes | object], scripts: Sequence[str], **facts: Any
) -> str:
    """The page *template* of *package* (its folder ``templates``) with its scripts (folder ``static``) and data.

    *data*: name → a value that JSON can say, or bytes; the page's scripts get them by name.
    """
    folder = Path(str(import_module(package).__file__)).parent
    packed = {name: pack(value) for name, value in data.items()}
    code = [
        (STATIC / "page.js").read_text("utf-8"),
        *((folder / "static" / name).read_text("utf-8") for name in scripts),
    ]
    return _environment(folder).get_template(template).render(
        style=Markup((STATIC / "page.css").read_text("utf-8")),
        code=Markup("\n".join(code)),
        charts=Markup(_charts()),
        data={name: Markup(text) for name, text in packed.items()},
        **facts,
    )  # fmt: skip


def pack(value: bytes | object) -> str:
    """Compressed, in letters that need no escaping; the same value always gives the same text."""
    plain = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(plain, COMPRESSION, mtime=0)).decode()


@cache
def _charts() -> str:
    return pack((STATIC / "echarts" / "echarts.min.js").read_bytes())


@cache
def _environment(folder: Path) -> Environment:
    loader = FileSystemLoader([folder / "templates", Path(__file__).parent / "templates"])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def put(out: Path, text: str) -> Path:
    """Write *text* as the file *out*, in one step; its folder is made. A device or a pipe is written to, never
    replaced: root could replace ``/dev/null`` for the whole machine."""
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.exists() and not out.is_file():
        out.write_text(text, encoding="utf-8")
        return out
    temporary = out.with_name(f".{out.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, out)
    return out
