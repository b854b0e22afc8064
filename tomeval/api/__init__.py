"""The Python API: verbs, runs that are read as tables and figures, and what notebooks show of both.

`import tomeval` gives all of it; every name is loaded when it is first used.
"""
