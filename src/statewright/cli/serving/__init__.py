"""Commands that run a server, bring projects onto it, and keep its data folder and installation in order."""
