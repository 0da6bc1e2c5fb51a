"""The benchmarks themselves: what they count, compare and write."""
