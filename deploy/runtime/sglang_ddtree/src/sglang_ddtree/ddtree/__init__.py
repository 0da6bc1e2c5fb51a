"""DDTree itself, in plain Python: tree, masks, acceptance, widths, options, refusals. Imports neither torch nor SGLang."""
