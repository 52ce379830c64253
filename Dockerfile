# The program on Debian 12. `docker build -t adbrake .`; what it is run with is in docker-compose.yml.

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        g++ libcurl4-openssl-dev libmicrohttpd-dev librdkafka-dev libsimdjson-dev \
        libsqlite3-dev libssl-dev pkg-config zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY Package.swift ./
COPY Benchmarks Benchmarks
COPY Sources Sources
COPY Tests Tests
# As `make build`, with Swift's own libraries inside the program: the image below has none.
RUN swift build -c release -Xswiftc -cross-module-optimization --static-swift-stdlib \
        --explicit-target-dependency-import-check error --product adbrake \
    && cp .build/release/adbrake /adbrake \
    && strip /adbrake

FROM debian:bookworm-slim
# What `ldd adbrake` names, and certificates for brokers that public authorities vouch for.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates libcurl4 libmicrohttpd12 librdkafka1 libsimdjson14 libsqlite3-0 libssl3 \
        libstdc++6 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin adbrake \
    && install -d -o adbrake -g adbrake /data
COPY --from=build /adbrake /usr/local/bin/adbrake
USER adbrake
WORKDIR /data
VOLUME /data
# For the health check, and for `adbrake watch` inside; a stage on another port sets its own.
ENV ADBRAKE_EDGE=http://127.0.0.1:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["adbrake", "health"]
ENTRYPOINT ["adbrake"]
CMD ["run"]
