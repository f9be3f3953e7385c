eval "$(statewright env)"
