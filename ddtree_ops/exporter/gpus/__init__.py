"""What the NVIDIA driver says of the GPUs: through NVML in this process, or through nvidia-smi."""
