"""The host side: launcher, serve, check and manifest, as real processes."""
