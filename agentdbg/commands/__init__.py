"""
The commands of `agentdbg`, one file each.

A command's module has a function `command`, whose docstring is its help, and `EXAMPLES`. It is imported when that
command runs, and imports what it needs then, so that listing runs does not load a web server.
"""
