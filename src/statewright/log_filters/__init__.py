"""Filters of log groups: metrics of their events, and subscriptions of functions."""
