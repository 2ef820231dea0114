"""The images of nodes: which there are, what goes into each, and how they are made from what this machine has.

Question: a container needs an image, and there may be no registry to pull one from. What is the least that has to come
from elsewhere? A base image (``docker/base-image`` makes one by debootstrap, public ones do as well); everything else
is laid into the build context here: the package and its wheel, or Apache's jars, or toxiproxy's binary. Nothing inside
a build asks the network.

    mqchaos/reference:DIGEST, :latest     docker/reference.Dockerfile    the very package that runs, a checkout's or
                                                                         the installed one
    mqchaos/rocketmq:VERSION-DIGEST       docker/rocketmq.Dockerfile     any release whose servers are on Maven Central;
                                                                         also as :VERSION
    mqchaos/toxiproxy:VERSION             docker/toxiproxy.Dockerfile    from the Go module

The digest in a tag is that of all that went in (but the jars, which never change), so several working copies share an
engine, and no run takes the image of an older source.

Limits. Old digests stay until somebody prunes them (``docker image prune``); each costs the size of the source.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

import docker
import docker.errors

import reference_impl
from faults.errors import FaultTrouble
from faults.mechanisms import engine, toxiproxy
from harness.cache import cache_folder
from harness.errors import BackendUnavailable
from harness.targets.jars import fetch_jars
from harness.targets.rocketmq import LOGBACK, jvm_options

RECIPES: Final = Path(__file__).parents[3] / "docker"
"""In a checkout beside the rooms, and in the installed package as well."""
MAIN: Final = 'from runpy import run_module\n\nrun_module("{module}", run_name="__main__", alter_sys=True)\n'
OWN_BASE: Final = "mqchaos/base:bookworm"
BASE_VARIABLE: Final = "MQCHAOS_BASE_IMAGE"
PYTHON: Final = "3.11"
"""Of the base image: the wheels are for it."""
PIP_TIMEOUT_S: Final = 300.0

Entries = Mapping[str, Path | bytes]
"""Path in the build context → a file, a folder, or what is to be in the file."""


def reference(client: docker.DockerClient) -> str:
    """The image of this source tree, built if the engine does not have it; its name."""
    recipe = _recipe("reference")
    entries: dict[str, Path | bytes] = {"health": RECIPES / "health", **_files_of(reference_impl)}
    name = f"mqchaos/reference:{_digest({**entries, 'recipe': recipe.encode()})}"
    if not is_there(client, name):
        build(client, name, recipe, {**entries, "wheels": _wheels()})
        client.images.get(name).tag("mqchaos/reference", "latest")
    return name


def rocketmq(client: docker.DockerClient, version: str) -> str:
    """The image of a release of Apache RocketMQ, built if the engine does not have it; its name."""
    recipe = _recipe("rocketmq")
    small: dict[str, Path | bytes] = {
        "health": RECIPES / "health",
        "jvm.options": "".join(f"{option}\n" for option in jvm_options(version)).encode(),
        **{f"conf/logback_{kind}.xml": LOGBACK.encode() for kind in ("namesrv", "broker", "tools")},
    }
    name = f"mqchaos/rocketmq:{version}-{_digest({**small, 'recipe': recipe.encode()})}"
    if not is_there(client, name):
        build(client, name, recipe, {**small, "lib": fetch_jars(version)})
        client.images.get(name).tag("mqchaos/rocketmq", version)
    return name


def toxiproxy_server(client: docker.DockerClient) -> str:
    """The image of toxiproxy's server; its name."""
    name = f"mqchaos/toxiproxy:{toxiproxy.VERSION}"
    if not is_there(client, name):
        try:
            binary = toxiproxy.fetch_server(cache_folder())
        except FaultTrouble as error:
            raise BackendUnavailable(error.what, hint=error.hint) from error
        build(client, name, _recipe("toxiproxy"), {"toxiproxy-server": binary})
    return name


def is_there(client: docker.DockerClient, name: str) -> bool:
    """Whether the engine has an image of that name."""
    try:
        client.images.get(name)
    except docker.errors.ImageNotFound:
        return False
    return True


def build(client: docker.DockerClient, name: str, recipe: str, entries: Entries) -> None:
    """Build the text *recipe* with *entries* as its context; ``BackendUnavailable`` with the builder's complaint."""
    base = _base(client)
    arguments = {"BASE": base} if base and "ARG BASE" in recipe else {}
    with io.BytesIO() as context:
        _pack(context, {**entries, "Dockerfile": recipe.encode()})
        context.seek(0)
        try:
            client.images.build(
                fileobj=context, custom_context=True, tag=name, buildargs=arguments, network_mode="none", rm=True
            )
        except (docker.errors.BuildError, docker.errors.APIError) as error:
            hint = (
                f"base image: {base or 'the public one'}; another one by {BASE_VARIABLE}=…, or {RECIPES / 'base-image'}"
            )
            raise BackendUnavailable(f"cannot build {name}: {error}", hint=hint) from error


def _recipe(name: str) -> str:
    return (RECIPES / f"{name}.Dockerfile").read_text()


def _base(client: docker.DockerClient) -> str:
    """What was asked for, else the one that ``docker/base-image`` made, else the recipe's own (public) default."""
    return os.environ.get(BASE_VARIABLE) or (OWN_BASE if is_there(client, OWN_BASE) else "")


def _files_of(package: ModuleType) -> dict[str, Path | bytes]:
    """Its modules and its data, below the name that they are imported by, and what starts them: a folder ``source``
    that Python runs. What the interpreter leaves beside modules is not among them."""
    folder, name = Path(str(package.__file__)).parent, package.__name__
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "__pycache__")
    below = f"source/{name.replace('.', '/')}"
    files: dict[str, Path | bytes] = {f"{below}/{path.relative_to(folder)}": path for path in found}
    return {"source/__main__.py": MAIN.format(module=name).encode(), **files}


def _digest(entries: Entries) -> str:
    total = hashlib.sha256()
    for name, content in sorted(entries.items()):
        data = content if isinstance(content, bytes) else content.read_bytes()
        total.update(f"{name}\0{len(data)}\0".encode() + data)
    return total.hexdigest()[:16]


def _wheels() -> Path:
    """A folder with the wheels that a node of the reference needs, fetched once by pip."""
    folder = cache_folder() / f"wheels-{PYTHON}"
    if not folder.is_dir():
        unfinished = folder.with_name(f"{folder.name}.unfinished-{os.getpid()}")
        argv = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        argv += ["--only-binary", ":all:", "--python-version", PYTHON, "-d", str(unfinished), "msgspec"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PIP_TIMEOUT_S, check=False)
        if done.returncode:
            raise BackendUnavailable(f"pip cannot fetch msgspec for Python {PYTHON}: {done.stderr.strip()[-300:]}")
        _move_into_place(unfinished, folder)
    return folder


def _move_into_place(unfinished: Path, folder: Path) -> None:
    """Another build may have been faster: its folder is as good."""
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(unfinished)


def _pack(stream: io.BytesIO, entries: Entries) -> None:
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(entries.items()):
            if isinstance(content, Path):
                archive.add(content, name, filter=_anybodys)
            else:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(_anybodys(entry), io.BytesIO(content))


def _anybodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same bytes give the same layer, whoever builds it and when; readable by a node that is not root."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = "root"
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def image(client: docker.DockerClient, wanted: str) -> str:
    """The image that is *wanted* (``reference``, ``rocketmq:VERSION``, ``toxiproxy``), built if it must be, or any that
    the engine has; its name."""
    kind, _, version = wanted.partition(":")
    if kind == "rocketmq" and version:
        return rocketmq(client, version)
    makers = {"reference": reference, "toxiproxy": toxiproxy_server}
    if wanted not in makers and is_there(client, wanted):
        return wanted
    if wanted not in makers:
        raise BackendUnavailable(f"there is no image {wanted!r}", hint="reference, rocketmq:VERSION, toxiproxy")
    return makers[wanted](client)


def main(argv: Sequence[str]) -> None:
    """``scripts/images``: make these images and say their names."""
    parser = argparse.ArgumentParser(prog="scripts/images", description="Make the images of nodes.")
    parser.add_argument("image", nargs="+", help="reference, rocketmq:VERSION, toxiproxy")
    try:
        client = engine.connect()
        for wanted in parser.parse_args(argv).image:
            sys.stdout.write(f"{image(client, wanted)}\n")
    except (BackendUnavailable, FaultTrouble) as error:
        sys.exit(f"error: {error.what}\n  hint: {error.hint}")


if __name__ == "__main__":
    main(sys.argv[1:])
