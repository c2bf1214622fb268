"""The messages of each version of the standard, as tables: checking, decoding and encoding.

A shape is declared once, with our own names for the fields. `read` checks a message and returns its values under our
names; `write` is the way back. A version of the standard that calls a field otherwise, or adds one, is a shape made
from the one before with `but`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from fleet_sim.base.errors import InvalidValueError, brief

LONGEST_ID = 1000
"""Characters of an id or another text in a message."""
DEEPEST = 8
"""Of lists and objects in the value of a parameter."""


class MalformedMessage(InvalidValueError):
    """A message breaks its table: `where` names the field."""

    def __init__(self, where: str, reason: str) -> None:
        self.where, self.reason = where, reason
        super().__init__(f"{where}: {reason}" if where else reason)


class WireKind(Protocol):
    """What a field may hold."""

    def read(self, value: object, where: str) -> Any:
        """Return the value under our names; raises MalformedMessage."""

    def write(self, value: Any) -> Any:
        """Return a value as the message has it."""


@dataclass(frozen=True)
class WireText:
    """A text. `words` are the only ones allowed, where there are some: ours, and those of the message."""

    words: Mapping[str, str] = field(default_factory=dict)

    def read(self, value: object, where: str) -> str:
        """Return our word for the text."""
        if not isinstance(value, str) or len(value) > LONGEST_ID:
            raise MalformedMessage(where, f"expected a text of at most {LONGEST_ID} characters, got {brief(value)}")
        if not self.words:
            return value
        for ours, theirs in self.words.items():
            if value == theirs:
                return ours
        raise MalformedMessage(where, f"expected one of {', '.join(self.words.values())}, got {brief(value)}")

    def write(self, value: str) -> str:
        """Return the word of the message."""
        return self.words[value] if self.words else value


@dataclass(frozen=True)
class WireNumber:
    """A finite number from `low` to `high`; `whole` ones have no fraction."""

    low: float = -1e9
    high: float = 1e9
    whole: bool = False

    def read(self, value: object, where: str) -> float | int:
        """Return the number."""
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        # Compared before it is converted: a whole number may be too large for a float.
        if good and self.low <= value <= self.high and math.isfinite(value):  # type: ignore[operator,arg-type]
            if not self.whole:
                return float(value)  # type: ignore[arg-type]
            if value == int(value):  # type: ignore[call-overload]
                return int(value)  # type: ignore[call-overload]
        kind = "a whole number" if self.whole else "a number"
        raise MalformedMessage(where, f"expected {kind} from {self.low:g} to {self.high:g}, got {brief(value)}")

    def write(self, value: float) -> float | int:
        """Return the number, rounded to what a vehicle could know."""
        return int(value) if self.whole else round(float(value), 6)


class WireAngle(WireNumber):
    """An angle in rad: half a turn, rounded, is more than half a turn, which readers may refuse."""

    def write(self, value: float) -> float | int:
        """Return the number, rounded, at most half a turn."""
        return min(max(super().write(value), -math.pi), math.pi)


@dataclass(frozen=True)
class WireTruth:
    """True or false."""

    def read(self, value: object, where: str) -> bool:
        """Return the value."""
        if not isinstance(value, bool):
            raise MalformedMessage(where, f"expected true or false, got {brief(value)}")
        return value

    def write(self, value: bool) -> bool:
        """Return the value."""
        return bool(value)


@dataclass(frozen=True)
class WireValue:
    """Any value of JSON but null, of bounded depth and with finite numbers: the value of a parameter."""

    objects: bool = True

    def read(self, value: object, where: str) -> Any:
        """Return the value."""
        if value is None or (isinstance(value, dict) and not self.objects):
            raise MalformedMessage(where, f"expected a text, number, truth value or list, got {brief(value)}")
        self._check(value, where, DEEPEST)
        return value

    def write(self, value: Any) -> Any:
        """Return the value."""
        return value

    def _check(self, value: object, where: str, depth: int) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            raise MalformedMessage(where, f"expected a finite number, got {value!r}")
        if isinstance(value, (list, dict)):
            if depth == 0:
                raise MalformedMessage(where, f"nested deeper than {DEEPEST} lists or objects")
            for item in value.values() if isinstance(value, dict) else value:
                self._check(item, where, depth - 1)


@dataclass(frozen=True)
class WireMany:
    """A list of at most `most` values of a kind."""

    kind: WireKind
    most: int = 1000
    least: int = 0

    def read(self, value: object, where: str) -> list[Any]:
        """Return the values."""
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            count = f"{len(value)} of them" if isinstance(value, list) else brief(value)
            raise MalformedMessage(where, f"expected a list of {self.least} to {self.most}, got {count}")
        return [self.kind.read(item, f"{where}[{index}]") for index, item in enumerate(value)]

    def write(self, value: Any) -> list[Any]:
        """Return the values as the message has them."""
        return [self.kind.write(item) for item in value]


@dataclass(frozen=True)
class WireField:
    """One field: what it holds, what the message calls it ("" as we do), and other names that are understood."""

    kind: WireKind
    required: bool = True
    wire: str = ""
    aliases: tuple[str, ...] = ()


def maybe(kind: WireKind, wire: str = "", *aliases: str) -> WireField:
    """Return a field that may be missing."""
    return WireField(kind, False, wire, aliases)


def each(kind: WireKind | WireField, *names: str) -> dict[str, WireKind | WireField]:
    """Return fields of one kind, to be taken over into a shape with `**`."""
    return dict.fromkeys(names, kind)


class WireShape:
    """An object with fields. Unknown keys of a message are left aside: the standard lets others add some."""

    def __init__(self, **fields: WireField | WireKind) -> None:
        self.fields = {name: item if isinstance(item, WireField) else WireField(item) for name, item in fields.items()}
        self._names = [(name, item.wire or name, item) for name, item in self.fields.items()]

    def but(
        self,
        *,
        removed: tuple[str, ...] = (),
        renamed: Mapping[str, str] | None = None,
        **changed: WireField | WireKind,
    ) -> WireShape:
        """Return this shape without some fields, with others called otherwise in messages, or with other kinds."""
        fields: dict[str, WireField | WireKind] = {}
        for name, item in self.fields.items():
            if name not in removed:
                fields[name] = replace(item, wire=(renamed or {}).get(name, item.wire))
        return WireShape(**(fields | changed))

    def read(self, value: object, where: str = "") -> dict[str, Any]:
        """Return the values of a message by our names; raises MalformedMessage."""
        if not isinstance(value, dict):
            raise MalformedMessage(where, f"expected an object, got {brief(value)}")
        found: dict[str, Any] = {}
        for name, wire, item in self._names:
            key = next((known for known in (wire, *item.aliases) if known in value), None)
            if key is not None:
                found[name] = item.kind.read(value[key], f"{where}.{key}" if where else key)
            elif item.required:
                raise MalformedMessage(f"{where}.{wire}" if where else wire, "is missing")
        return found

    def write(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message of values by our names; those that the version has no field for are left out."""
        written: dict[str, Any] = {}
        for name, wire, item in self._names:
            given = value.get(name)
            if given is not None:
                written[wire] = item.kind.write(given)
            elif item.required:
                raise InvalidValueError(f"a message needs {name!r}; given are {', '.join(value)}")
        return written


# The tables of what a master control sends: order, instantActions, zoneSet, responses. One per difference.


TEXT = WireText()
TRUTH = WireTruth()
NUMBER = WireNumber()
COUNT = WireNumber(0, 2**32 - 1, whole=True)
LENGTH = WireNumber(low=0.0)
HALF_TURN = 3.1416
"""A little more than pi: what senders round it to."""
ANGLE = WireAngle(-HALF_TURN, HALF_TURN)

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


NODE_20 = WireShape(**part_of_order("node"), nodePosition=maybe(POSITION_20), actions=WireMany(ACTION_20, MOST_ACTIONS))
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


# The tables of what vehicles send often: connection, state, visualization. One per difference between versions.


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
AGV_POSITION_20 = WireShape(
    x=NUMBER,
    y=NUMBER,
    theta=ANGLE,
    mapId=TEXT,
    positionInitialized=TRUTH,
    localizationScore=maybe(WireNumber(0.0, 1.0)),
    deviationRange=maybe(NUMBER),
)
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
    infoType=TEXT, infoReferences=maybe(_REFERENCES), infoDescription=maybe(TEXT), infoLevel=words("INFO", "DEBUG")
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
STATE_21 = STATE_20.but(maps=maybe(WireMany(MAP_21)), nodeStates=WireMany(NODE_STATE_21))
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


# The tables of the factsheet: what a vehicle is, and what it understands. One per difference between versions.


TYPE_20 = WireShape(
    seriesName=TEXT,
    seriesDescription=maybe(TEXT),
    agvKinematic=words("DIFF", "OMNI", "THREEWHEEL"),
    agvClass=words("FORKLIFT", "CONVEYOR", "TUGGER", "CARRIER"),
    maxLoadMass=LENGTH,
    localizationTypes=WireMany(words("NATURAL", "REFLECTOR", "RFID", "DMC", "SPOT", "GRID")),
    navigationTypes=WireMany(words("PHYSICAL_LINE_GUIDED", "VIRTUAL_LINE_GUIDED", "AUTONOMOUS")),
)
TYPE_30 = TYPE_20.but(
    # Its schema demands mobileRobotKinematic and declares mobileRobotKinematics: both are written.
    renamed={"agvClass": "mobileRobotClass", "maxLoadMass": "maximumLoadMass"},
    agvKinematic=maybe(TEXT, "mobileRobotKinematic"),
    kinematics=maybe(TEXT, "mobileRobotKinematics"),
    agvClass=maybe(TEXT, "mobileRobotClass"),
    navigationTypes=WireMany(TEXT),
    supportedZones=maybe(WireMany(TEXT)),
)
PHYSICAL_20 = WireShape(
    **each(NUMBER, "speedMin", "speedMax", "accelerationMax", "decelerationMax"),
    heightMin=maybe(NUMBER),
    **each(NUMBER, "heightMax", "width", "length"),
)
PHYSICAL_30 = PHYSICAL_20.but(
    renamed={
        "speedMin": "minimumSpeed",
        "speedMax": "maximumSpeed",
        "accelerationMax": "maximumAcceleration",
        "decelerationMax": "maximumDeceleration",
        "heightMin": "minimumHeight",
        "heightMax": "maximumHeight",
    },
    maximumAngularSpeed=maybe(LENGTH),
)
TIMING_20 = WireShape(
    **each(NUMBER, "minOrderInterval", "minStateInterval"),
    **each(maybe(NUMBER), "defaultStateInterval", "visualizationInterval"),
)
LIMITS_20 = WireShape(
    maxStringLens=WireShape(
        **each(COUNT, "msgLen", "topicSerialLen", "topicElemLen", "idLen"),
        idNumericalOnly=TRUTH,
        enumLen=maybe(COUNT),
        loadIdLen=COUNT,
    ),
    maxArrayLens=WireValue(),
    timing=TIMING_20,
)
LIMITS_30 = LIMITS_20.but(
    renamed={"maxArrayLens": "maximumArrayLengths"},
    maxStringLens=maybe(
        WireShape(
            msgLen=maybe(COUNT, "maximumMessageLength"),
            topicSerialLen=maybe(COUNT, "maximumTopicSerialLength"),
            topicElemLen=maybe(COUNT, "maximumTopicElementLength"),
            idLen=maybe(COUNT, "maximumIdLength"),
            idNumericalOnly=TRUTH,
            loadIdLen=maybe(COUNT, "maximumLoadIdLength"),
        ),
        "maximumStringLengths",
    ),
    timing=TIMING_20.but(
        renamed={"minOrderInterval": "minimumOrderInterval", "minStateInterval": "minimumStateInterval"}
    ),
)
_OFFERED_PARAMETER = WireShape(
    key=TEXT,
    valueDataType=words("BOOL", "NUMBER", "INTEGER", "FLOAT", "STRING", "OBJECT", "ARRAY"),
    description=maybe(TEXT),
    isOptional=maybe(TRUTH),
)
OFFERED_20 = WireShape(
    actionType=TEXT,
    actionDescription=maybe(TEXT),
    actionScopes=WireMany(words("INSTANT", "NODE", "EDGE")),
    actionParameters=maybe(WireMany(_OFFERED_PARAMETER)),
    resultDescription=maybe(TEXT),
)
# blockingTypes of 2.1 cannot be written: its schema allows neither a text nor a list.
OFFERED_30 = OFFERED_20.but(
    renamed={"resultDescription": "actionResult"},
    actionScopes=WireMany(words("INSTANT", "NODE", "EDGE", "ZONE")),
    blockingTypes=maybe(WireMany(TEXT)),
    pauseAllowed=TEXT,
    cancelAllowed=TEXT,
)
FEATURES_20 = WireShape(
    optionalParameters=WireMany(
        WireShape(parameter=TEXT, support=words("SUPPORTED", "REQUIRED"), description=maybe(TEXT))
    ),
    agvActions=WireMany(OFFERED_20),
)
FEATURES_30 = FEATURES_20.but(agvActions=maybe(WireMany(OFFERED_30), "mobileRobotActions"))
GEOMETRY_20 = WireShape(
    envelopes2d=maybe(
        WireMany(WireShape(set=TEXT, polygonPoints=WireMany(WireShape(x=NUMBER, y=NUMBER)), description=maybe(TEXT)))
    )
)
GEOMETRY_30 = WireShape(
    envelopes2d=maybe(
        WireMany(
            WireShape(
                set=maybe(TEXT, "envelope2dId"),
                polygonPoints=maybe(WireMany(WireShape(x=NUMBER, y=NUMBER)), "vertices"),
                description=maybe(TEXT),
            )
        )
    )
)
LOAD_SPECIFICATION = WireShape(loadPositions=maybe(WireMany(TEXT)))

FACTSHEET_20 = WireShape(
    **HEADER,
    typeSpecification=TYPE_20,
    physicalParameters=PHYSICAL_20,
    protocolLimits=LIMITS_20,
    protocolFeatures=FEATURES_20,
    agvGeometry=GEOMETRY_20,
    loadSpecification=LOAD_SPECIFICATION,
)
FACTSHEET_30 = FACTSHEET_20.but(
    typeSpecification=TYPE_30,
    physicalParameters=PHYSICAL_30,
    protocolLimits=LIMITS_30,
    protocolFeatures=FEATURES_30,
    agvGeometry=maybe(GEOMETRY_30, "mobileRobotGeometry"),
)


# The versions of the standard that vehicles speak: their tables, and the number that stands in their topics.


@dataclass(frozen=True)
class WireVersion:
    """One version. `number` stands in the header of messages, `topic` in the names of topics."""

    number: str
    topic: str
    order: WireShape
    instant_actions: WireShape
    connection: WireShape
    state: WireShape
    visualization: WireShape
    factsheet: WireShape
    zone_set: WireShape | None = None
    responses: WireShape | None = None

    @property
    def is_third(self) -> bool:
        """Whether it is of the third generation, whose rules for errors and for instant actions differ."""
        return self.topic == "v3"

    @property
    def incoming(self) -> dict[str, WireShape]:
        """The messages that a vehicle listens to, by topic."""
        shapes = {"order": self.order, "instantActions": self.instant_actions}
        if self.zone_set is not None and self.responses is not None:
            shapes |= {"zoneSet": self.zone_set, "responses": self.responses}
        return shapes

    def body(self, topic: str) -> WireShape:
        """Return the shape of a message that vehicles send, without the header, which is added when it is sent."""
        shapes = {"state": self.state, "visualization": self.visualization, "factsheet": self.factsheet}
        return shapes[topic].but(removed=(*HEADER, "referenceStateHeaderId"))

    def accepts(self, version: str) -> bool:
        """Return whether a message with `version` in its header is meant for this one: the major number counts."""
        return version.split(".")[0] == self.number.split(".")[0]


VERSIONS: dict[str, WireVersion] = {
    "2.0": WireVersion(
        *("2.0.0", "v2", ORDER_20, INSTANT_ACTIONS_20), *(CONNECTION_20, STATE_20, VISUALIZATION_20, FACTSHEET_20)
    ),
    "2.1": WireVersion(
        *("2.1.0", "v2", ORDER_21, INSTANT_ACTIONS_21), *(CONNECTION_20, STATE_21, VISUALIZATION_20, FACTSHEET_20)
    ),
    "3.0": WireVersion(
        *("3.0.0", "v3", ORDER_30, INSTANT_ACTIONS_30),
        *(CONNECTION_30, STATE_30, VISUALIZATION_30, FACTSHEET_30),
        *(ZONE_SET_30, RESPONSES_30),
    ),
}
