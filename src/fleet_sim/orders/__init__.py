"""Orders: loads to be taken from station to station, and the fleet that serves them.

`orders.py` is what users call, `book.py` the only place where states of orders change, and `fleet.py` what sends robots
from stop to stop. Allocators, charging policies and sources of orders are in folders of their own and can be added by
name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.orders.allocation.allocators import ALLOCATORS as ALLOCATORS
    from fleet_sim.orders.allocation.allocators import Allocator as Allocator
    from fleet_sim.orders.allocation.allocators import Assignment as Assignment
    from fleet_sim.orders.allocation.allocators import Request as Request
    from fleet_sim.orders.charging.policies import CHARGING_POLICIES as CHARGING_POLICIES
    from fleet_sim.orders.charging.policies import ChargingPolicy as ChargingPolicy
    from fleet_sim.orders.charging.policies import ChargingRequest as ChargingRequest
    from fleet_sim.orders.commands import CancelOrders as CancelOrders
    from fleet_sim.orders.commands import SetStationsOpen as SetStationsOpen
    from fleet_sim.orders.commands import SubmitOrders as SubmitOrders
    from fleet_sim.orders.order import Order as Order
    from fleet_sim.orders.order import OrderStatus as OrderStatus
    from fleet_sim.orders.orders import Orders as Orders
    from fleet_sim.orders.pods.policies import POD_CHOICES as POD_CHOICES
    from fleet_sim.orders.pods.policies import REPLENISHMENTS as REPLENISHMENTS
    from fleet_sim.orders.pods.policies import STORAGE_POLICIES as STORAGE_POLICIES
    from fleet_sim.orders.pods.policies import PodChoice as PodChoice
    from fleet_sim.orders.pods.policies import PodRequest as PodRequest
    from fleet_sim.orders.pods.policies import ReplenishPolicy as ReplenishPolicy
    from fleet_sim.orders.pods.policies import ReplenishRequest as ReplenishRequest
    from fleet_sim.orders.pods.policies import StoragePolicy as StoragePolicy
    from fleet_sim.orders.pods.policies import StorageRequest as StorageRequest
    from fleet_sim.orders.pods.settings import PodsSettings as PodsSettings
    from fleet_sim.orders.run_figures import OrderRun as OrderRun
    from fleet_sim.orders.run_figures import figure_source as figure_source
    from fleet_sim.orders.section import offer_orders as offer_orders
    from fleet_sim.orders.settings import OrderRobotSettings as OrderRobotSettings
    from fleet_sim.orders.settings import OrdersSettings as OrdersSettings
    from fleet_sim.orders.states import OrderState as OrderState
    from fleet_sim.orders.states import RobotState as RobotState
    from fleet_sim.orders.transport import Transport as Transport
else:
    __all__, __getattr__, __dir__ = lazy(globals())
