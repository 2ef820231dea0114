"""A Docker engine: which one, and how to remove what is ours from it without ever touching anything else.

Question: a machine may have an engine of its owner with containers that are none of our business. Which engine do we
talk to, and how do we know our own things there? By address and by label.

    address   $DOCKER_HOST, else the engine that ``scripts/engine`` starts, else the usual socket. The Docker *context*
              of the user is not followed: it may point to another machine, and faults would strike there.
    label     every container and network of a run carries ``org.mqchaos.run`` with the tag of the run. Nothing is
              removed whose label does not say the tag that the caller knows.

Limits. Local engines (Unix sockets) only: faults reach into a container through the kernel (pids, namespaces, mounts),
which must be this machine's.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import docker
import docker.errors
import requests.exceptions

from faults.errors import FaultTrouble, UndoFailed

RUN_LABEL: Final = "org.mqchaos.run"
NODE_LABEL: Final = "org.mqchaos.node"

USUAL: Final = "unix:///var/run/docker.sock"
TIMEOUT_S: Final = 60
LOOK_TIMEOUT_S: Final = 5


class EngineUnavailable(FaultTrouble):
    """No engine answers, or not one that can be used here."""


def address() -> str:
    """The address of the engine to talk to; whether anybody answers there is another question."""
    if given := os.environ.get("DOCKER_HOST"):
        return given
    own = Path(os.environ.get("MQCHAOS_ENGINE_RUN", "/run/mqchaos")) / "docker.sock"
    return f"unix://{own}" if own.is_socket() else USUAL


def connect(url: str = "", timeout_s: float = TIMEOUT_S) -> docker.DockerClient:
    """A client of the engine at *url* (by default :func:`address`); ``EngineUnavailable`` if none answers."""
    url = url or address()
    if not url.startswith("unix://"):
        raise EngineUnavailable(f"the engine at {url} is not known to be this machine's", "use one with a Unix socket")
    try:
        client = docker.DockerClient(base_url=url, timeout=int(timeout_s))
        client.ping()
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        why = f"no Docker engine answers at {url}: {_first_line(error)}"
        raise EngineUnavailable(why, "scripts/setup --docker") from error
    return client


def lack() -> str:
    """Why no engine can be used here, and how to get one; empty if one answers."""
    try:
        connect(timeout_s=LOOK_TIMEOUT_S).close()
    except EngineUnavailable as error:
        return f"{error.what} ({error.hint})" if error.hint else error.what
    return ""


def labels(tag: str, node: str = "") -> dict[str, str]:
    """What everything of a run carries."""
    return {RUN_LABEL: tag, **({NODE_LABEL: node} if node else {})}


def remove_container(url: str, name: str, tag: str) -> bool:
    """End and remove a container of the run *tag*; False if there is none. A frozen one is thawed by its removal."""
    client = connect(url)
    try:
        container = client.containers.get(name)
        _check_ours(name, container.labels, tag)
        container.remove(force=True, v=True)
    except docker.errors.NotFound:
        return False
    except docker.errors.APIError as error:
        raise UndoFailed(f"container {name} is still there: {_first_line(error)}") from error
    finally:
        client.close()
    return True


def remove_network(url: str, name: str, tag: str) -> bool:
    """Remove a network of the run *tag*; False if there is none."""
    client = connect(url)
    try:
        network = client.networks.get(name)
        _check_ours(name, (network.attrs or {}).get("Labels") or {}, tag)
        network.remove()
    except docker.errors.NotFound:
        return False
    except docker.errors.APIError as error:
        raise UndoFailed(f"network {name} is still there: {_first_line(error)}") from error
    finally:
        client.close()
    return True


def things_of_ours(client: docker.DockerClient) -> list[tuple[str, str]]:
    """(tag, name) of every container and network that carries our label, whoever made it."""
    return sorted([*containers_of_ours(client), *networks_of_ours(client)])


def containers_of_ours(client: docker.DockerClient) -> list[tuple[str, str]]:
    """(tag, name) of every container with our label, running or not."""
    found = client.containers.list(all=True, filters={"label": RUN_LABEL}, ignore_removed=True)
    return sorted((container.labels[RUN_LABEL], str(container.name)) for container in found)


def networks_of_ours(client: docker.DockerClient) -> list[tuple[str, str]]:
    """(tag, name) of every network with our label."""
    found = client.networks.list(filters={"label": RUN_LABEL})
    return sorted((network.attrs["Labels"][RUN_LABEL], str(network.name)) for network in found)


def _check_ours(name: str, labels: dict[str, Any], tag: str) -> None:
    if labels.get(RUN_LABEL) != tag:
        raise UndoFailed(f"{name} is not of the run {tag}: its label says {labels.get(RUN_LABEL, 'nothing')}")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
