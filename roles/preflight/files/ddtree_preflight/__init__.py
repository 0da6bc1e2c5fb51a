"""The look at a GPU host before anything is changed on it: what would stop a deploy, slow the server, or make it answer wrongly.

Runs on the host as root, with the standard library of Python 3.9 and newer only; changes nothing and loads no GPU. Sent as
one text (`ddtree_ops/fleet/host_program.py` and `templates/program.py.j2` pack it); start reading at `main.py`.
"""
