# docker build -t nerode .  and  docker run --rm -v "$PWD:/work" nerode check "(aa)*"
# This file was not run where it was written.
FROM python:3.11-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[torch]" && useradd --create-home nerode
USER nerode
WORKDIR /work
ENTRYPOINT ["nerode"]
