"""Reading unified diffs: `diffs` splits a patch into sections, `hunks` counts lines, `paths` says which file is meant.

The modules have no dependencies: they are shipped in the wheel `sglang-ddtree` as well, so that controller and host read
a patch alike.
"""
