"""How values flow through a source tree: whole-program, on demand, from the facts of its files.

`program` resolves names over files and classes, `types` tells what a receiver is, `graph` has the edges of one function,
`binding` says which parameters a call's arguments become, `steps` where a value goes next, `search` follows it.
"""
