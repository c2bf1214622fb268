"""Nav2 as its clients see it: actions, topics and services of each robot; navigate_to_pose always, the rest on request.

The robots drive by their own laws along routes of the scenario's site. Behaviour trees and plugins are not run.
"""
