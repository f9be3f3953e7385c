"""Simulations: a scenario file, the real system in virtual time under its load, and a report.

`docs/simulation.md` describes them for users; start reading at `run.py`.
"""
