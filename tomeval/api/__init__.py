"""The Python API: runs that are played, and read as tables and figures.

`import tomeval` gives all of it; every name is loaded when it is first used.
"""
