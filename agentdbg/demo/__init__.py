"""
Five small agents to look at: one healthy, one that fails, one that loops, one with parallel work, one still running.

They are ordinary programs that use the public verbs of this package. Their model is a script, so they need no key and
no network; their tools do real, small work.
"""
