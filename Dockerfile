# fleet_sim with ROS 2's Python API (pocket_ros), pictures and planners: docker build -t fleet_sim . && docker run --rm -it fleet_sim
# A tag can be moved: for an image that is the same for ever give its digest, --build-arg BASE=python@sha256:...
ARG BASE=python:3.11.13-slim-bookworm
FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends make gcc g++ git \
    libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/fleet_sim
COPY . .
# First what others made, by the hashes in docker.lock, then the project itself, which asks no index for anything.
RUN pip install --no-cache-dir --require-hashes -r docker.lock && \
    pip install --no-cache-dir --no-deps --no-build-isolation ./src/pocket_ros .
# Nobody needs to be root to simulate.
RUN useradd --create-home fleet
USER fleet
WORKDIR /home/fleet
CMD ["fleet-sim", "run", "demo.yaml", "--headless", "--duration", "20"]
