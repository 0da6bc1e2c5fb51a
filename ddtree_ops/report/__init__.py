"""Reports: what happened, as JSON, Markdown and terminal text."""
