"""Operations of the service `statewright`: what the cloud service has no API for."""
