"""Figures of a machine or an execution, read on request: heat, occupancy, costs."""
