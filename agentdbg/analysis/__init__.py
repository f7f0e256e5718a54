"""
Understand recorded runs: pure functions over events, with no clock and no file.

`columns` says what an index of a run's events offers; everything else here is written against that, so that the
server (which indexes a file) and tests (which hold events in memory) get the same sentences.
"""
