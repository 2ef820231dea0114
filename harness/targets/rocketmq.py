"""Apache RocketMQ's own NameServer and broker as a target, in any version whose servers are on Maven Central.

Question: how does a node's specification become a running node of the real thing? Its jars are fetched once by Maven
into a cache and run with the same property names as the reference.

    $XDG_CACHE_HOME/mqchaos/rocketmq-4.9.7/lib/*.jar      (~/.cache by default)
    <node>/config/{namesrv.conf,broker.conf}              what we tell it
    <node>/config/conf/logback_*.xml                      4.9.7 refuses to start without
    <node>/data/store                                     its store, on the disk that can lose its power
    <node>/log                                            its home: 5.x writes its log files below

Limits. 4.9.7 and 5.3.3 were run; servers of 4.9.8 and 5.3.2 are not published. 4.9.x listens on all addresses whatever
it is told, so without namespaces only one of each kind fits on a machine. Writes no notes.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from harness.backends.backend import NodeSpec, Target
from harness.cache import cache_folder
from harness.errors import BackendUnavailable
from harness.java import find_java
from reference_impl.environment import Role

COMPLAINT_MAX = 240
MAVEN_TIMEOUT_S = 900.0

MAIN_CLASSES = {
    "namesrv": "org.apache.rocketmq.namesrv.NamesrvStartup",
    "broker": "org.apache.rocketmq.broker.BrokerStartup",
}

JVM_OPTIONS = (
    "-Xms128m",
    "-Xmx256m",
    # With less direct memory 4.9.7 runs out of it and stops delivering delayed messages after a while.
    "-XX:MaxDirectMemorySize=1g",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
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

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>mqchaos</groupId><artifactId>rocketmq</artifactId><version>{version}</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-namesrv</artifactId><version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.rocketmq</groupId><artifactId>rocketmq-broker</artifactId><version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""


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
        program = [str(find_java().executable), *JVM_OPTIONS, "-cp", f"{jar_folder(self.version)}/*"]
        return [*program, *words], environment


def properties(spec: NodeSpec, folder: Path) -> dict[str, str]:
    """What the node is told: paths of ours, small files, then the specification, which wins."""
    data = folder / "data"
    if spec.kind == "namesrv":
        ours = {"kvConfigPath": f"{data}/kvConfig.json", "configStorePath": f"{data}/namesrv.properties"}
        return ours | dict(spec.properties)
    ours = {"storePathRootDir": f"{data}/store", "storePathCommitLog": f"{data}/store/commitlog"} | BROKER_DEFAULTS
    if host := spec.properties.get("brokerIP1"):
        ours |= {"brokerIP2": host, "bindAddress": host}
    return ours | dict(spec.properties)


def jar_folder(version: str) -> Path:
    """Where the jars of a version lie, or would."""
    return cache_folder() / f"rocketmq-{version}" / "lib"


def fetch_jars(version: str) -> Path:
    """The folder with all jars; fetched by Maven if it is not there. ``BackendUnavailable`` with Maven's complaint."""
    jars = jar_folder(version)
    if jars.is_dir():
        return jars
    jars.parent.mkdir(parents=True, exist_ok=True)
    with (jars.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once: the second finds what the first has fetched
        if not jars.is_dir():
            _fetch(version, jars)
    return jars


def _fetch(version: str, jars: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise BackendUnavailable(
            f"the jars of RocketMQ {version} are not in {jars} and Maven is not installed",
            hint="apt-get install maven (needed once a version)",
        )
    unfinished = jars.with_name("lib.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    pom = jars.parent / "pom.xml"
    pom.write_text(POM.format(version=version))
    argv = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=MAVEN_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise BackendUnavailable(f"Maven did not fetch RocketMQ {version} within {MAVEN_TIMEOUT_S:g} s") from None
    if done.returncode != 0:
        raise BackendUnavailable(
            f"Maven could not fetch RocketMQ {version}: {_complaint(done.stdout)}",
            hint="not every release has both server artifacts; 4.9.7, 5.1.4, 5.2.0, 5.3.3, 5.4.0 and 5.5.0 have",
        )
    unfinished.rename(jars)


def _complaint(output: str) -> str:
    """Maven's first sentence, cut to a line or two; even in batch mode it may begin with an escape code."""
    errors = [line.partition("[ERROR] ")[2].strip() for line in output.splitlines()]
    complaint = next((error for error in errors if error), output.strip()[-COMPLAINT_MAX:])
    return complaint if len(complaint) <= COMPLAINT_MAX else f"{complaint[:COMPLAINT_MAX]} …"
