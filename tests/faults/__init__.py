"""Faults at every step of a deploy, on real lab hosts: what serves, what is left, what is said, does a second run mend it."""
