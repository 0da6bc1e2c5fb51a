"""Source trees: where their files are, and an index of what stands in them."""
