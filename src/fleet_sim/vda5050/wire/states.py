"""The tables of what vehicles send often: connection, state, visualization. One per difference between versions."""

from __future__ import annotations

from fleet_sim.vda5050.wire.orders import (
    ANGLE,
    COUNT,
    HEADER,
    LENGTH,
    NUMBER,
    TEXT,
    TRAJECTORY_20,
    TRAJECTORY_30,
    TRUTH,
    WHICH_ORDER,
    part_of_order,
    words,
)
from fleet_sim.vda5050.wire.shapes import WireMany, WireNumber, WireShape, each, maybe

MOST_STATES = 10_000
"""States of actions in a state."""
PERCENT = WireNumber(0.0, 100.0)

CONNECTION_20 = WireShape(**HEADER, connectionState=words("ONLINE", "OFFLINE", "CONNECTIONBROKEN"))
CONNECTION_30 = CONNECTION_20.but(
    connectionState=words("ONLINE", "OFFLINE", "HIBERNATING", CONNECTIONBROKEN="CONNECTION_BROKEN")
)

# ---- parts of a state ------------------------------------------------------------------------------------------------

PLACE_20 = WireShape(x=NUMBER, y=NUMBER, theta=ANGLE, mapId=TEXT)
PLACE_21 = PLACE_20.but(theta=maybe(ANGLE))
NODE_STATE_20 = WireShape(**part_of_order("node"), nodePosition=maybe(PLACE_20))
NODE_STATE_21 = NODE_STATE_20.but(nodePosition=maybe(PLACE_21))
NODE_STATE_30 = NODE_STATE_21.but(renamed={"nodeDescription": "nodeDescriptor"})
EDGE_STATE_20 = WireShape(**part_of_order("edge"), trajectory=maybe(TRAJECTORY_20))
EDGE_STATE_30 = EDGE_STATE_20.but(renamed={"edgeDescription": "edgeDescriptor"}, trajectory=maybe(TRAJECTORY_30))
AGV_POSITION_20 = WireShape(x=NUMBER, y=NUMBER, theta=ANGLE, mapId=TEXT, positionInitialized=TRUTH)
AGV_POSITION_30 = AGV_POSITION_20.but(renamed={"positionInitialized": "localized"})
VELOCITY = WireShape(vx=NUMBER, vy=NUMBER, omega=NUMBER)
LOAD = WireShape(
    loadId=maybe(TEXT),
    loadType=maybe(TEXT),
    boundingBoxReference=maybe(WireShape(x=NUMBER, y=NUMBER, z=NUMBER, theta=maybe(ANGLE))),
    loadDimensions=maybe(WireShape(length=LENGTH, width=LENGTH, height=maybe(LENGTH))),
    weight=maybe(LENGTH),
)
ACTION_STATE_20 = WireShape(
    actionId=TEXT,
    actionType=maybe(TEXT),
    actionDescription=maybe(TEXT),
    # The schemas of 2.x have no word for a pause, which their texts have.
    actionStatus=words("WAITING", "INITIALIZING", "RUNNING", "FINISHED", "FAILED", PAUSED="RUNNING"),
    resultDescription=maybe(TEXT),
)
ACTION_STATE_30 = ACTION_STATE_20.but(
    renamed={"actionDescription": "actionDescriptor", "resultDescription": "actionResult"},
    actionStatus=words("WAITING", "INITIALIZING", "RUNNING", "PAUSED", "RETRIABLE", "FINISHED", "FAILED"),
)
BATTERY_20 = WireShape(batteryCharge=PERCENT, batteryVoltage=maybe(NUMBER), charging=TRUTH)
BATTERY_30 = BATTERY_20.but(renamed={"batteryCharge": "stateOfCharge"}, batteryCurrent=maybe(NUMBER))
_REFERENCES = WireMany(WireShape(referenceKey=TEXT, referenceValue=TEXT))
ERROR_20 = WireShape(
    errorType=TEXT,
    errorReferences=maybe(_REFERENCES),
    errorDescription=maybe(TEXT),
    errorLevel=words("WARNING", "FATAL"),
)
ERROR_30 = ERROR_20.but(errorLevel=words("WARNING", "URGENT", "CRITICAL", "FATAL"))
INFORMATION_20 = WireShape(
    infoType=TEXT,
    infoReferences=maybe(_REFERENCES),
    infoDescription=maybe(TEXT),
    infoLevel=words("INFO", "DEBUG"),
)
INFORMATION_30 = INFORMATION_20.but(renamed={"infoDescription": "infoDescriptor"})
SAFETY_20 = WireShape(eStop=words("AUTOACK", "MANUAL", "REMOTE", "NONE"), fieldViolation=TRUTH)
SAFETY_30 = WireShape(eStop=maybe(words("MANUAL", "REMOTE", "NONE"), "activeEmergencyStop"), fieldViolation=TRUTH)
MAP_21 = WireShape(mapId=TEXT, mapVersion=TEXT, mapStatus=words("ENABLED", "DISABLED"))
ZONE_SET_STATE_30 = WireShape(zoneSetId=TEXT, mapId=TEXT, zoneSetStatus=words("ENABLED", "DISABLED"))
ZONE_REQUEST_30 = WireShape(
    requestId=TEXT,
    requestType=words("ACCESS", "REPLANNING"),
    zoneId=TEXT,
    zoneSetId=TEXT,
    requestStatus=words("REQUESTED", "GRANTED", "REVOKED", "EXPIRED"),
)

# ---- state and visualization -----------------------------------------------------------------------------------------

STATE_20 = WireShape(
    **HEADER,
    **WHICH_ORDER,
    lastNodeId=TEXT,
    lastNodeSequenceId=COUNT,
    driving=TRUTH,
    **each(maybe(TRUTH), "paused", "newBaseRequest"),
    distanceSinceLastNode=maybe(LENGTH),
    operatingMode=words("AUTOMATIC", "SEMIAUTOMATIC", "MANUAL", "SERVICE", "TEACHIN"),
    nodeStates=WireMany(NODE_STATE_20),
    edgeStates=WireMany(EDGE_STATE_20),
    agvPosition=maybe(AGV_POSITION_20),
    velocity=maybe(VELOCITY),
    loads=maybe(WireMany(LOAD)),
    actionStates=WireMany(ACTION_STATE_20, MOST_STATES),
    batteryState=BATTERY_20,
    errors=WireMany(ERROR_20),
    information=maybe(WireMany(INFORMATION_20)),
    safetyState=SAFETY_20,
)
STATE_21 = STATE_20.but(
    maps=maybe(WireMany(MAP_21)),
    nodeStates=WireMany(NODE_STATE_21),
)
STATE_30 = STATE_21.but(
    renamed={"agvPosition": "mobileRobotPosition", "batteryState": "powerSupply"},
    operatingMode=words(
        *("STARTUP", "AUTOMATIC", "SEMIAUTOMATIC", "INTERVENED", "MANUAL", "SERVICE"), TEACHIN="TEACH_IN"
    ),
    nodeStates=WireMany(NODE_STATE_30),
    edgeStates=WireMany(EDGE_STATE_30),
    agvPosition=maybe(AGV_POSITION_30, "mobileRobotPosition"),
    actionStates=WireMany(ACTION_STATE_30, MOST_STATES),
    instantActionStates=WireMany(ACTION_STATE_30, MOST_STATES),
    batteryState=maybe(BATTERY_30, "powerSupply"),
    errors=WireMany(ERROR_30),
    information=maybe(WireMany(INFORMATION_30)),
    safetyState=SAFETY_30,
    zoneSets=maybe(WireMany(ZONE_SET_STATE_30)),
    zoneRequests=maybe(WireMany(ZONE_REQUEST_30)),
)
VISUALIZATION_20 = WireShape(**HEADER, agvPosition=maybe(AGV_POSITION_20), velocity=maybe(VELOCITY))
VISUALIZATION_30 = VISUALIZATION_20.but(
    # Its schema demands the number of the latest state.
    referenceStateHeaderId=COUNT,
    agvPosition=maybe(AGV_POSITION_30, "mobileRobotPosition"),
)
