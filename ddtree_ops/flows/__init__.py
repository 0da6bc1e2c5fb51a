"""What the commands do, each flow a short list of named steps over the protocols of `ddtree_ops.ports`."""
