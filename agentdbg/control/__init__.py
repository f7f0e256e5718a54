"""
Acting on a program that runs: replaying a recording, forking it, pausing at breakpoints.

Everything here stands at the recorder's one door as a `Decider`. The recorder knows nothing of it.
"""
