"""The only code that touches the world: SSH, Ansible, HTTP. Each file implements one protocol of `ddtree_ops.ports`."""
