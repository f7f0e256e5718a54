"""
Stored runs in the forms other tools read, one file per form.

A form that is a stream of bytes has `write(runs, put, progress)`: it gives its bytes to `put` as they come, so that
memory does not grow with the run, and tells `progress` how much is done, from 0 to 1. Where the bytes go, and that a
file appears whole or not at all, is the caller's business.
"""
