"""Attacks on a running server: every hole that was found, and every one that was tried and did not open."""
