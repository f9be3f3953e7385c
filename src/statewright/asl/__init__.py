"""Amazon States Language: definition text to `Program`, and what is wrong with it. Pure."""
