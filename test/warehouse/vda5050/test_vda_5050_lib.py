"""The master controller of the npm package vda-5050-lib drives two vehicles: it checks all that it hears by itself.

Runs where Node.js finds the package: npm install vda-5050-lib, and NODE_PATH=that folder's node_modules.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqtt_broker import TestBroker
from vehicle_fleet import vehicle_fleet

NODE = shutil.which("node")
SCENARIO = """
simulation: {timestep: 0.05, monitor: false}
robots:
  - name: carrier
    grid: {count: 2, columns: 1, spacing: [0.0, 3.0, 0.0]}
    shape: {shape_type: box, half_extents: [0.5, 0.35, 0.15]}
    controller: {type: differential, max_linear_vel: 1.5, max_linear_accel: 1.0, navigation_2d: true}
vda5050: {fleets: [{robots: all, version: 2.0, manufacturer: carriers, visualization_rate: 5}]}
"""
MASTER = """
const { MasterController, BlockingType } = require("vda-5050-lib");
const master = new MasterController({
  interfaceName: "uagv", transport: { brokerUrl: process.argv[2] }, vdaVersion: "2.0.0" }, {});
const agv = (name) => ({ manufacturer: "carriers", serialNumber: name });
const states = {}, waiting = [];
const say = (text) => console.log(text);
const until = (what, condition) => new Promise((resolve) => {
  waiting.push({ condition, resolve: () => { say(what); resolve(); } }); look(); });
const look = () => { for (const one of waiting.splice(0)) one.condition() ? one.resolve() : waiting.push(one); };

function line(order, y, places, base, first = 0, update = 0) {
  const nodes = places.map((x, i) => ({ nodeId: `n${first + i}`, sequenceId: 2 * (first + i), released: i <= base,
    nodePosition: { x, y, mapId: "map" }, actions: [] }));
  const edges = nodes.slice(1).map((node, i) => ({ edgeId: `e${first + i}`, sequenceId: 2 * (first + i) + 1,
    startNodeId: nodes[i].nodeId, endNodeId: node.nodeId, released: i < base, actions: [] }));
  return { orderId: order, orderUpdateId: update, nodes, edges };
}

async function main() {
  await master.start();
  await master.trackAgvs((id, connection) => { states[id.serialNumber] ??= {};
    states[id.serialNumber].connection = connection; look(); });
  await master.subscribe("state", { manufacturer: "carriers" }, (state) => {
    Object.assign(states[state.serialNumber] ??= {}, { state }); look(); });
  const names = ["carrier_0", "carrier_1"];
  await until("online", () => names.every((name) => states[name]?.connection === "ONLINE"));
  const passed = {}, done = {};
  const events = (name, key) => ({
    onNodeTraversed: (node) => { (passed[name] ??= []).push(node.nodeId); look(); },
    onOrderProcessed: (error, cancelled, active) => {
      if (!active) done[`${name} ${key}`] = { error: !!error, cancelled: !!cancelled }; look(); } });
  const map = (await until("positions", () => names.every((name) => states[name].state?.agvPosition)),
    states.carrier_0.state.agvPosition.mapId);
  const send = (name, order, key) => {
    order.nodes.forEach((node) => { node.nodePosition.mapId = map; });
    return master.assignOrder(agv(name), order, events(name, key)); };
  const instant = (name, kind) => { let status;
    master.initiateInstantActions(agv(name), { instantActions: [{ actionId: master.createUuid(), actionType: kind,
      blockingType: BlockingType.Hard, actionParameters: [] }] }, {
      onActionStateChanged: (told) => { status = told.actionStatus; look(); },
      onActionError: (error) => { say(`error: ${JSON.stringify(error)}`); } });
    return () => status; };

  for (const [i, name] of names.entries()) await send(name, line("tour", 3 * i, [0, 4, 8, 12], 2), "first");
  await until("driven", () => names.every((name) => passed[name]?.includes("n1")));
  const pause = instant("carrier_0", "startPause");
  await until("paused", () => pause() === "FINISHED"
    && states.carrier_0.state.paused && !states.carrier_0.state.driving);
  const resume = instant("carrier_0", "stopPause");
  await until("resumed", () => resume() === "FINISHED" && !states.carrier_0.state.paused);
  for (const [i, name] of names.entries())
    await send(name, line("tour", 3 * i, [8, 12, 40], name === "carrier_0" ? 1 : 2, 2, 1), "update");
  await until("updated", () => names.every((name) => passed[name].includes("n3")));
  const cancel = instant("carrier_1", "cancelOrder");
  await until("cancelled", () => cancel() === "FINISHED" && !states.carrier_1.state.driving
    && states.carrier_1.state.nodeStates.length === 0 && done["carrier_1 update"]?.cancelled);
  if (states.carrier_1.state.agvPosition.x > 38) throw new Error("it drove on");
  if (Object.values(states).some((one) => one.state.errors.length)) throw new Error(JSON.stringify(states));
  say("done");
  await master.stop();
}
main().catch((error) => { console.error(error); process.exit(1); });
"""


def _finds_package() -> bool:
    command = [str(NODE), "-e", 'require.resolve("vda-5050-lib")']
    return NODE is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _finds_package(), reason="needs Node.js that finds vda-5050-lib, as by NODE_PATH"),
]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TestBroker]:
    broker = TestBroker()
    scenario = tmp_path / "vehicles.yaml"
    scenario.write_text(SCENARIO)
    try:
        with vehicle_fleet(broker, str(scenario), 4):
            yield broker
    finally:
        broker.stop()


def test_two_vehicles_are_driven_paused_updated_and_cancelled(broker: TestBroker, tmp_path: Path) -> None:
    program = tmp_path / "master.js"
    program.write_text(MASTER)
    command = [str(NODE), str(program), f"mqtt://127.0.0.1:{broker.port}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    except subprocess.TimeoutExpired as error:
        pytest.fail(f"it hangs after: {error.stdout}")
    steps = ["online", "positions", "driven", "paused", "resumed", "updated", "cancelled", "done"]
    assert (done.returncode, done.stdout.split("\n")[:-1]) == (0, steps), done.stderr
