"""The simulator, started for real, against what was recorded of SGLang on GPUs."""
