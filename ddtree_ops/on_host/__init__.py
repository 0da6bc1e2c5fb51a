"""What runs on a host: one read-only program, sent as text over SSH, with the standard library of the host's own python3.

`fleet/look.py` packs these modules and parses their answer. They import nothing but each other and what Python 3.9 brings,
and avoid slow imports: every module is compiled anew on each look.
"""
