"""What a runtime does with its parameters, read from its source without importing it."""
