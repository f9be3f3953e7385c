"""Services that Statewright does not have, called by tasks: at configured endpoints, or played by moto."""
