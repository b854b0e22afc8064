# The base install: docker build -t tomeval . && docker run --rm -v "$PWD:/work" tomeval run known_players
# With models on this machine: docker build --build-arg EXTRAS='[local]' -t tomeval .
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
ARG EXTRAS=""
# Without a GPU the builds of PyTorch for CUDA are gigabytes for nothing.
ARG INDEX="https://download.pytorch.org/whl/cpu"
COPY --from=build /wheels /tmp/wheels
COPY constraints.txt /tmp/
RUN pip install --no-cache-dir --constraint /tmp/constraints.txt --extra-index-url "$INDEX" \
        "$(ls /tmp/wheels/*.whl)$EXTRAS" \
    && rm -r /tmp/wheels /tmp/constraints.txt \
    && useradd --create-home tomeval \
    && install --directory --owner tomeval /work
USER tomeval
WORKDIR /work
ENTRYPOINT ["tomeval"]
CMD ["--help"]
