# The server in a container: see docs/install.md. Built for amd64 and arm64, for which all packages have wheels.
FROM python:3.13-slim AS build
WORKDIR /build
COPY requirements-image.lock ./
RUN python -m venv /opt/statewright \
    && /opt/statewright/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes \
        --requirement requirements-image.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/statewright/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps .

FROM python:3.13-slim
RUN groupadd --gid 10001 statewright \
    && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin statewright \
    && install --directory --owner 10001 --group 10001 --mode 0700 /data \
    && install --directory /etc/statewright
COPY --from=build /opt/statewright /opt/statewright
ENV PATH=/opt/statewright/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1
USER 10001:10001
# statewright.toml is read from here.
WORKDIR /etc/statewright
VOLUME /data
EXPOSE 4566
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:4566/health', timeout=4)"]
ENTRYPOINT ["statewright"]
CMD ["serve", "--host", "0.0.0.0", "--data", "/data"]
