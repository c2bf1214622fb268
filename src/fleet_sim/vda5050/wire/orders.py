"""The tables of what a master control sends: order, instantActions, zoneSet, responses. One per difference."""

from __future__ import annotations

from fleet_sim.vda5050.wire.shapes import (
    WireField,
    WireKind,
    WireMany,
    WireNumber,
    WireShape,
    WireText,
    WireTruth,
    WireValue,
    each,
    maybe,
)

TEXT = WireText()
TRUTH = WireTruth()
NUMBER = WireNumber()
COUNT = WireNumber(0, 2**32 - 1, whole=True)
LENGTH = WireNumber(low=0.0)
HALF_TURN = 3.1416
"""A little more than pi: what senders round it to."""
ANGLE = WireNumber(-HALF_TURN, HALF_TURN)

MOST_NODES, MOST_ACTIONS, MOST_PARAMETERS, MOST_POINTS, MOST_ZONES = 1000, 100, 100, 1000, 500
"""Of an order, of a node or edge, of an action, of a trajectory, of a zone set; factsheets tell them."""


def words(*texts: str, **other: str) -> WireText:
    """Return a text that is one of some words; `other` are ours with those of the message."""
    return WireText({text: text for text in texts} | other)


MOST_DEGREE = 10
"""Of a trajectory: the work for its points grows with the square."""

WHICH_ORDER = each(TEXT, "orderId") | each(COUNT, "orderUpdateId")
HEADER = each(COUNT, "headerId") | each(TEXT, "timestamp", "version", "manufacturer", "serialNumber")

# ---- actions ---------------------------------------------------------------------------------------------------------

ACTION_20 = WireShape(
    actionType=TEXT,
    actionId=TEXT,
    actionDescription=maybe(TEXT),
    blockingType=words("NONE", "SOFT", "HARD"),
    actionParameters=maybe(WireMany(WireShape(key=TEXT, value=WireValue(objects=False)), MOST_PARAMETERS)),
)
_PARAMETERS_21 = maybe(WireMany(WireShape(key=TEXT, value=WireValue()), MOST_PARAMETERS))
ACTION_21 = ACTION_20.but(actionParameters=_PARAMETERS_21)
ACTION_30 = ACTION_21.but(
    renamed={"actionDescription": "actionDescriptor"},
    blockingType=words("NONE", "SOFT", "SINGLE", "HARD"),
    retriable=maybe(TRUTH),
)

# ---- nodes -----------------------------------------------------------------------------------------------------------

POSITION_20 = WireShape(
    x=NUMBER,
    y=NUMBER,
    theta=maybe(ANGLE),
    # The text of 2.0 and its schema spell it in two ways.
    allowedDeviationXY=maybe(LENGTH, "allowedDeviationXy", "allowedDeviationXY"),
    allowedDeviationTheta=maybe(ANGLE),
    mapId=TEXT,
    mapDescription=maybe(TEXT),
)
POSITION_21 = POSITION_20.but(allowedDeviationXY=maybe(LENGTH))
POSITION_30 = POSITION_21.but(
    removed=("mapDescription",),
    allowedDeviationXY=maybe(WireShape(a=LENGTH, b=LENGTH, theta=ANGLE)),
    allowedDeviationTheta=maybe(WireNumber(0.0, HALF_TURN)),
)


def part_of_order(what: str) -> dict[str, WireKind | WireField]:
    """Return the fields that say which node or edge (`what`) of an order is meant, in orders and in states."""
    return {f"{what}Id": TEXT, "sequenceId": COUNT, f"{what}Description": maybe(TEXT), "released": TRUTH}


NODE_20 = WireShape(
    **part_of_order("node"),
    nodePosition=maybe(POSITION_20),
    actions=WireMany(ACTION_20, MOST_ACTIONS),
)
NODE_21 = NODE_20.but(nodePosition=maybe(POSITION_21), actions=WireMany(ACTION_21, MOST_ACTIONS))
NODE_30 = NODE_21.but(
    renamed={"nodeDescription": "nodeDescriptor"},
    nodePosition=maybe(POSITION_30),
    actions=WireMany(ACTION_30, MOST_ACTIONS),
)

# ---- edges -----------------------------------------------------------------------------------------------------------

_KNOTS = WireMany(WireNumber(0.0, 1.0), 2 * MOST_POINTS)
TRAJECTORY_20 = WireShape(
    degree=WireNumber(1, MOST_DEGREE, whole=True),
    knotVector=_KNOTS,
    controlPoints=WireMany(WireShape(x=NUMBER, y=NUMBER, weight=maybe(LENGTH)), MOST_POINTS, 2),
)
TRAJECTORY_30 = TRAJECTORY_20.but(degree=maybe(WireNumber(1, MOST_DEGREE, whole=True)), knotVector=maybe(_KNOTS))
CORRIDOR_21 = WireShape(
    leftWidth=LENGTH, rightWidth=LENGTH, corridorRefPoint=maybe(words("KINEMATICCENTER", "CONTOUR"))
)
CORRIDOR_30 = CORRIDOR_21.but(
    corridorRefPoint=maybe(words("CONTOUR", KINEMATICCENTER="KINEMATIC_CENTER"), "corridorReferencePoint"),
    releaseRequired=maybe(TRUTH),
    releaseLossBehavior=maybe(words("STOP", "RETURN")),
)
EDGE_20 = WireShape(
    **part_of_order("edge"),
    **each(TEXT, "startNodeId", "endNodeId"),
    maxSpeed=maybe(LENGTH),
    **each(maybe(NUMBER), "maxHeight", "minHeight"),
    orientation=maybe(ANGLE),
    # In the text of 2.0, not in its schema.
    orientationType=maybe(words("TANGENTIAL", "GLOBAL")),
    direction=maybe(TEXT),
    rotationAllowed=maybe(TRUTH),
    maxRotationSpeed=maybe(LENGTH),
    length=maybe(LENGTH),
    trajectory=maybe(TRAJECTORY_20),
    actions=WireMany(ACTION_20, MOST_ACTIONS),
)
EDGE_21 = EDGE_20.but(corridor=maybe(CORRIDOR_21), actions=WireMany(ACTION_21, MOST_ACTIONS))
EDGE_30 = EDGE_21.but(
    removed=("startNodeId", "endNodeId", "rotationAllowed"),
    renamed={
        "edgeDescription": "edgeDescriptor",
        "maxSpeed": "maximumSpeed",
        "maxHeight": "maximumMobileRobotHeight",
        "minHeight": "minimumLoadHandlingDeviceHeight",
    },
    reachOrientationBeforeEntering=maybe(TRUTH),
    trajectory=maybe(TRAJECTORY_30),
    corridor=maybe(CORRIDOR_30),
    actions=WireMany(ACTION_30, MOST_ACTIONS),
)

# ---- messages --------------------------------------------------------------------------------------------------------

ORDER_20 = WireShape(
    **HEADER,
    **WHICH_ORDER,
    zoneSetId=maybe(TEXT),
    nodes=WireMany(NODE_20, MOST_NODES, 1),
    edges=WireMany(EDGE_20, MOST_NODES),
)
ORDER_21 = ORDER_20.but(nodes=WireMany(NODE_21, MOST_NODES, 1), edges=WireMany(EDGE_21, MOST_NODES))
ORDER_30 = ORDER_21.but(
    removed=("zoneSetId",),
    orderDescription=maybe(TEXT),
    nodes=WireMany(NODE_30, MOST_NODES, 1),
    edges=WireMany(EDGE_30, MOST_NODES),
)

# The schema of 2.0 calls it actionName, its text and everybody else actionType.
_INSTANT_20 = ACTION_20.but(actionType=WireField(TEXT, aliases=("actionName",)))
# Widespread master controls still call the list as 1.1 did.
INSTANT_ACTIONS_20 = WireShape(
    **HEADER, actions=WireField(WireMany(_INSTANT_20, MOST_ACTIONS), aliases=("instantActions",))
)
INSTANT_ACTIONS_21 = INSTANT_ACTIONS_20.but(actions=WireMany(ACTION_21, MOST_ACTIONS))
INSTANT_ACTIONS_30 = INSTANT_ACTIONS_21.but(
    actions=WireMany(ACTION_30.but(removed=("retriable",), blockingType=words("NONE")), MOST_ACTIONS)
)

_ZONE_ACTION_30 = ACTION_30.but(removed=("actionId",))
ZONE_30 = WireShape(
    zoneId=TEXT,
    zoneType=words(
        *("BLOCKED", "LINE_GUIDED", "RELEASE", "COORDINATED_REPLANNING", "SPEED_LIMIT", "ACTION", "PRIORITY"),
        *("PENALTY", "DIRECTED", "BIDIRECTED"),
    ),
    zoneDescriptor=maybe(TEXT),
    vertices=WireMany(WireShape(x=NUMBER, y=NUMBER), MOST_POINTS, 3),
    maximumSpeed=maybe(LENGTH),
    releaseLossBehavior=maybe(words("STOP", "CONTINUE", "EVACUATE")),
    **each(maybe(WireMany(_ZONE_ACTION_30, MOST_ACTIONS)), "entryActions", "duringActions", "exitActions"),
)
ZONE_SET_30 = WireShape(
    **HEADER,
    zoneSet=WireShape(mapId=TEXT, zoneSetId=TEXT, zoneSetDescriptor=maybe(TEXT), zones=WireMany(ZONE_30, MOST_ZONES)),
)
RESPONSES_30 = WireShape(
    **HEADER,
    responses=WireMany(
        WireShape(requestId=TEXT, grantType=words("GRANTED", "QUEUED", "REVOKED", "REJECTED"), leaseExpiry=maybe(TEXT)),
        MOST_ACTIONS,
    ),
)
