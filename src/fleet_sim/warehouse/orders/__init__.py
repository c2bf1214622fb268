"""Orders: loads to be taken from station to station, and the fleet that serves them.

`orders.py` is what users call, `places.py` has the book of orders, the only place where their states change, and
`fleet.py` sends robots from stop to stop. Allocators, charging policies and sources of orders can be added by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.warehouse.orders.allocation import ALLOCATORS as ALLOCATORS
    from fleet_sim.warehouse.orders.allocation import Allocator as Allocator
    from fleet_sim.warehouse.orders.allocation import Assignment as Assignment
    from fleet_sim.warehouse.orders.allocation import Request as Request
    from fleet_sim.warehouse.orders.charging import CHARGING_POLICIES as CHARGING_POLICIES
    from fleet_sim.warehouse.orders.charging import ChargingPolicy as ChargingPolicy
    from fleet_sim.warehouse.orders.charging import ChargingRequest as ChargingRequest
    from fleet_sim.warehouse.orders.order import CancelOrders as CancelOrders
    from fleet_sim.warehouse.orders.order import Order as Order
    from fleet_sim.warehouse.orders.order import OrderState as OrderState
    from fleet_sim.warehouse.orders.order import OrderStatus as OrderStatus
    from fleet_sim.warehouse.orders.order import RobotState as RobotState
    from fleet_sim.warehouse.orders.order import SetStationsOpen as SetStationsOpen
    from fleet_sim.warehouse.orders.order import SubmitOrders as SubmitOrders
    from fleet_sim.warehouse.orders.orders import Orders as Orders
    from fleet_sim.warehouse.orders.pods.pods import POD_CHOICES as POD_CHOICES
    from fleet_sim.warehouse.orders.pods.pods import REPLENISHMENTS as REPLENISHMENTS
    from fleet_sim.warehouse.orders.pods.pods import STORAGE_POLICIES as STORAGE_POLICIES
    from fleet_sim.warehouse.orders.pods.pods import PodChoice as PodChoice
    from fleet_sim.warehouse.orders.pods.pods import PodRequest as PodRequest
    from fleet_sim.warehouse.orders.pods.pods import ReplenishPolicy as ReplenishPolicy
    from fleet_sim.warehouse.orders.pods.pods import ReplenishRequest as ReplenishRequest
    from fleet_sim.warehouse.orders.pods.pods import StoragePolicy as StoragePolicy
    from fleet_sim.warehouse.orders.pods.pods import StorageRequest as StorageRequest
    from fleet_sim.warehouse.orders.run_figures import OrderRun as OrderRun
    from fleet_sim.warehouse.orders.run_figures import figure_source as figure_source
    from fleet_sim.warehouse.orders.section import offer_orders as offer_orders
    from fleet_sim.warehouse.orders.settings import OrderRobotSettings as OrderRobotSettings
    from fleet_sim.warehouse.orders.settings import OrdersSettings as OrdersSettings
    from fleet_sim.warehouse.orders.settings import PodsSettings as PodsSettings
    from fleet_sim.warehouse.orders.transport import Transport as Transport
else:
    __all__, __getattr__, __dir__ = lazy(globals())
