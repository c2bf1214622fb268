# fleet_sim with ROS 2's Python API (pocket_ros), pictures and planners: docker build -t fleet_sim . && docker run --rm -it fleet_sim
# By its digest, as a tag can be moved. With --build-arg BASE=python:... it is another one.
ARG BASE=python:3.11.13-slim-bookworm@sha256:86adf8dbadc3d6e82ee5dd2c74bec2e1c2467cdad47886280501df722372d2e1
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
