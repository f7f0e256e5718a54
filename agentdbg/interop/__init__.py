"""
Runs of other tools, made runs of ours.

`sources` finds and reads the files, one module in `importers` understands each format and drafts runs, and `importing`
takes every draft through redaction, counting and loop detection onto the disk, as if it had been recorded here.
"""
