# A node of Apache RocketMQ, NameServer or broker, of the release whose jars are in the context:
#
#   docker run … mqchaos/rocketmq:5.3.3 org.apache.rocketmq.broker.BrokerStartup -c /etc/mqchaos/broker.conf
#
# Built by scripts/images, which lays the context: jars, JVM options, logging. BASE: any image with Java 17 and bash.
ARG BASE=eclipse-temurin:17-jre
FROM ${BASE}
RUN useradd --uid 10001 --create-home mqchaos && install -d -o mqchaos /data
COPY health /usr/local/bin/health
COPY conf /opt/rocketmq/conf
COPY jvm.options /opt/rocketmq/jvm.options
COPY lib /opt/rocketmq/lib
ENV ROCKETMQ_HOME=/opt/rocketmq
USER mqchaos
WORKDIR /data
ENTRYPOINT ["java", "@/opt/rocketmq/jvm.options", "-Duser.home=/data", "-cp", "/opt/rocketmq/lib/*"]
