"""
What makes reading quick: the runs of a data folder, and the events of one run, known without being read again.

`runs` lists and filters many runs, `events` holds one run as columns, `search` finds text in it and `follow` gives what
is being written. Whatever is kept between processes lies in <data_dir>/index; it is never the truth, and anyone may
delete it.
"""
