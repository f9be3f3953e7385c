"""Operations of the service `statewright`, for features that the cloud service has no API for."""
