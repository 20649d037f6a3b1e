# syntax=docker/dockerfile:1
# The image of the operator: one static binary, run by a user without a name. What each stage does is a script in
# deploy/image, which also runs without docker.
#
#   make interpreters
#   docker buildx build --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" -t boathook .
# For a build that others are to repeat byte by byte, name the builder by its digest.
ARG BUILDER=docker.io/library/rust:1.95-alpine

FROM ${BUILDER} AS build
RUN apk add --no-cache binutils ca-certificates gcc make musl-dev
WORKDIR /build
COPY . .
ARG SOURCE_DATE_EPOCH=0
ENV SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH}
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/target \
    CARGO_TARGET_DIR=/target deploy/image/build.sh /out
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    deploy/image/dependencies.sh | deploy/image/sbom.sh Cargo.lock interpreters/jq/Cargo.lock interpreters/js/Cargo.lock >/out/sbom.cdx.json
# Those that `make interpreters` built; compiled here, so that no Pod does it.
RUN deploy/image/check.sh /out/boathook && deploy/image/interpreters.sh /out && deploy/image/rootfs.sh /out /rootfs

FROM scratch
COPY --from=build /rootfs/ /
USER 65532:65532
# In a cluster the admin socket and the caches have directories of their own; without any of them it runs as well.
ENV TMPDIR=/tmp
ENTRYPOINT ["/usr/local/bin/boathook"]
CMD ["serve"]
LABEL org.opencontainers.image.title="boathook" \
      org.opencontainers.image.description="A Kubernetes operator that runs hooks as sandboxed WebAssembly components" \
      org.opencontainers.image.source="https://github.com/boathook/boathook" \
      org.opencontainers.image.licenses="Apache-2.0"
