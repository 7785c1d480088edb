# A node in a container, by default a contributor. Nothing in this repository's tests has an engine that builds it.
#
#   docker build -t gonode .
#   docker run -d --name gonode -v gonode:/home/gonode -p 4001:4001 gonode join TICKET --listen /ip4/0.0.0.0/tcp/4001
#   docker stop -t 600 gonode          # as Ctrl-C: it ends in order, and goes on from there with the next start

FROM python:3.11-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential libgmp-dev
COPY . /source
RUN pip wheel --no-cache-dir --constraint /source/constraints.txt --wheel-dir /wheels /source

FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends libgmp10 && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 gonode
RUN --mount=from=build,source=/wheels,target=/wheels pip install --no-cache-dir --no-index --find-links /wheels gonode
USER gonode
WORKDIR /home/gonode
VOLUME /home/gonode
STOPSIGNAL SIGINT
ENTRYPOINT ["gonode"]
CMD ["join"]
