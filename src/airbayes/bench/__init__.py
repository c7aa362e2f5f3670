"""Benchmarks: airbayes beside its peers and against the floors of the machine, in one process, interleaved.

`suite.run_suite` runs the sections a to e; each is a function (sizes, tell) that yields rows.
"""
