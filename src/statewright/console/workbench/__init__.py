"""The Workbench and the page of a state machine: texts as graphs and findings, runs in virtual time, versions."""
