"""Where run folders lie: on a local disk, on a file system that hosts share, at an address.

SQLite's write-ahead log works where all processes are on one host. Elsewhere a rollback journal is
used (`journal`), readers copy before they read (`reading`), and a folder is held by a file that is
touched again and again (`holding`). A folder at an address is worked on in a copy (`mirror`).
"""
