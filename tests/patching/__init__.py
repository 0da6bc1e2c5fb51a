"""Applying unified diffs exactly: golden folders, agreement with patch(1) and git apply, hostile input."""
