"""What changes a host's releases: switch, commit, prune, and the dead-man that switches back by itself.

Standard library only, Python 3.9 and later. The role's modules (`library/`) run it through Ansible; the module
`ddtree_deadman` also installs it to /opt/ddtree/host, where systemd runs it without a controller, outside of every release.
"""
