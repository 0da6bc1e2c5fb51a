"""Staging one release on a host, as root, in one go. Standard library only; any Python from 3.9 on.

Order of reading: `order` (what is asked for), `drift` (is it there already), `build` (making it), `swap` (one rename).
A run may be killed, or the power may go, at any instant: what is left then is `.staging-*`, which the next run removes.
"""
