"""What the kernel's log says of GPUs and memory, counted once."""
