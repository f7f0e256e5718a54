"""
Judge a run: what a gate asks of it, from how it ended to what it spent.

`facts` reads a run once, `policy` says what is asked, one module each makes one kind of check, and `gate` is the list
of them in rising strictness. All of it is pure: events and settings in, results out.
"""
