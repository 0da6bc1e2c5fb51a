"""Unified diffs, applied to a tree exactly or not at all: `diffs` reads them, `lines` applies them, `series` writes files.

No fuzz and no offset: a hunk's lines stand where its header says, or the patch was made for another release. The readers are
links to the controller's, which reads each patch before anything changes.
"""
