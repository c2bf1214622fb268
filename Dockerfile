# fleet_sim with ROS 2's Python API (pocket_ros), pictures and planners: docker build -t fleet_sim . && docker run --rm -it fleet_sim
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends make gcc g++ git \
    libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/fleet_sim
COPY . .
RUN pip install --no-cache-dir ./src/pocket_ros '.[all,pocket]'
# Nobody needs to be root to simulate.
RUN useradd --create-home fleet
USER fleet
WORKDIR /home/fleet
CMD ["fleet-sim", "run", "demo.yaml", "--headless", "--duration", "20"]
