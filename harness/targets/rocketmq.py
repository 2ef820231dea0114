"""Apache RocketMQ's own NameServer and broker as a target, in any version whose servers are on Maven Central.

Question: how does a node's specification become a running node of the real thing? Its jars are fetched once by Maven
into a cache and run with the same property names as the reference.

    <node>/config/{namesrv,controller,broker}.conf        what we tell it
    <node>/config/conf/logback_*.xml                      4.9.7 refuses to start without
    <node>/data/store                                     its store, on the disk that can lose its power
    <node>/log                                            its home: 5.x writes its log files below

Limits. Which releases were run stands in ``releases.yaml``. 4.9.x listens on all addresses whatever it is told, so
without namespaces only one of each kind fits on a machine. Writes no notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.backends.backend import NodeSpec, Target
from harness.errors import BackendUnavailable
from harness.java import find_java
from harness.targets.jars import fetch_jars, jar_folder
from harness.targets.properties import UNCHECKED, Kind, of_rocketmq, problem
from harness.targets.releases import row_of
from reference_impl.environment import Role

MAIN_CLASSES = {
    "namesrv": "org.apache.rocketmq.namesrv.NamesrvStartup",
    "controller": "org.apache.rocketmq.controller.ControllerStartup",
    "broker": "org.apache.rocketmq.broker.BrokerStartup",
}

_JVM_OPTIONS = (
    "-Xms128m",
    "-Xmx256m",
    # With less direct memory 4.9.7 runs out of it and stops delivering delayed messages after a while.
    "-XX:MaxDirectMemorySize=1g",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)

BROKER_DEFAULTS = {
    # Else files of 1 GB, 6 MB and 400 MB are made.
    "mappedFileSizeCommitLog": "1048576",
    "mappedFileSizeConsumeQueue": "20000",
    "maxIndexNum": "20000",
    "maxHashSlotNum": "5000",
    # On a full machine the broker would refuse to write.
    "diskMaxUsedSpaceRatio": "95",
}

LOGBACK = """<configuration>
  <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss.SSS} %-5level %logger{0} - %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="console"/></root>
</configuration>
"""


def jvm_options(version: str) -> tuple[str, ...]:
    """What its virtual machine is told."""
    return (*_JVM_OPTIONS, *(f"--add-opens={package}=ALL-UNNAMED" for package in row_of(version).opens))


class RocketmqTarget:
    """``harness.backends.backend.Target`` of Apache RocketMQ *version*."""

    has_roles = has_defects = False
    listens_everywhere = True
    """4.9.x with every port; 5.x obeys ``bindAddress`` but for its HA port."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.name = self.image = f"rocketmq:{version}"

    def prepare(self) -> None:
        find_java()
        fetch_jars(self.version)

    def unknown_property(self, kind: Kind, name: str) -> str:
        return "" if name.startswith(UNCHECKED) else problem(name, of_rocketmq(kind, self.version))

    def at(self, node: str) -> Target:
        return self

    def role(self, spec: NodeSpec) -> Role:
        raise BackendUnavailable(
            f"{self.name} is a Java program: the simulator cannot run it", hint="--backend process"
        )

    def arguments(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        if spec.defects:
            raise BackendUnavailable(f"{self.name} has no planted bugs", hint="--target reference")
        home = folder / "config"
        (home / "conf").mkdir(parents=True, exist_ok=True)
        for kind in MAIN_CLASSES:
            (home / "conf" / f"logback_{kind}.xml").write_text(LOGBACK)
        config = home / f"{spec.kind}.conf"
        config.write_text("".join(f"{name}={value}\n" for name, value in properties(spec, folder).items()))
        words = [f"-Duser.home={folder / 'log'}", MAIN_CLASSES[spec.kind], "-c", str(config)]
        return words, {"ROCKETMQ_HOME": str(home)}

    def command(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        words, environment = self.arguments(spec, folder)
        program = [str(find_java().executable), *jvm_options(self.version), "-cp", f"{jar_folder(self.version)}/*"]
        return [*program, *words], environment


def properties(spec: NodeSpec, folder: Path) -> dict[str, str]:
    """What the node is told: paths of ours, small files, then the specification, which wins."""
    data = folder / "data"
    told = {name.removeprefix(UNCHECKED): value for name, value in spec.properties.items()}
    if spec.kind == "controller":
        return {"controllerStorePath": f"{data}/controller"} | told
    if spec.kind == "namesrv":
        ours = {"kvConfigPath": f"{data}/kvConfig.json", "configStorePath": f"{data}/namesrv.properties"}
        if "enableControllerInNamesrv" in told:
            ours["controllerStorePath"] = f"{data}/controller"
        return ours | told
    ours = {"storePathRootDir": f"{data}/store", "storePathCommitLog": f"{data}/store/commitlog"} | BROKER_DEFAULTS
    if host := spec.properties.get("brokerIP1"):
        ours |= {"brokerIP2": host, "bindAddress": host}
    return ours | told
