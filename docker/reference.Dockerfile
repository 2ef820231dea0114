# A node of the reference implementation, NameServer or broker:
#
#   docker run … mqchaos/reference namesrv -c /etc/mqchaos/namesrv.conf --home /data
#
# Built by scripts/images, which lays the context: the package, and wheels of what it needs. BASE: any image with Python 3.11.
ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}
COPY wheels /wheels
RUN python3 -m venv /opt/mqchaos \
 && /opt/mqchaos/bin/pip install --no-cache-dir --disable-pip-version-check --no-index --find-links /wheels msgspec \
 && useradd --uid 10001 --create-home mqchaos \
 && install -d -o mqchaos /data
COPY health /usr/local/bin/health
COPY source /opt/mqchaos/source
ENV PATH=/opt/mqchaos/bin:$PATH PYTHONPATH=/opt/mqchaos/source PYTHONUNBUFFERED=1
USER mqchaos
WORKDIR /data
ENTRYPOINT ["python3", "/opt/mqchaos/source"]
