"""The tables of the factsheet: what a vehicle is, and what it understands. One per difference between versions."""

from __future__ import annotations

from fleet_sim.vda5050.wire.orders import COUNT, HEADER, LENGTH, NUMBER, TEXT, TRUTH, words
from fleet_sim.vda5050.wire.shapes import WireMany, WireShape, WireValue, each, maybe

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
