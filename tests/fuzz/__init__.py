"""Coverage-guided fuzzing of everything that reads text or bytes from outside."""
