"""Which file systems several hosts may have mounted at once."""

from __future__ import annotations

import os
import re
from pathlib import Path

_SHARED = re.compile(
    "nfs4?|cifs|smb[23]|smbfs|lustre|beegfs|gpfs|ceph|glusterfs|orangefs|pvfs2|afs|openafs|coda|"
    r"panfs|wekafs|gfs2|ocfs2|9p|virtiofs|vboxsf|prl_fs|vmhgfs|drvfs|fuse(\..*)?"
)
"""Kinds of Linux that several hosts, or a host and its virtual machines, can mount at once."""

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def filesystem(folder: Path) -> str:
    """Return the kind of file system of a folder that exists, as Linux calls it.

    Empty where the system does not tell: it is not Linux, or ``/proc`` is hidden.

    Examples
    --------
    >>> filesystem(Path("/proc"))
    'proc'
    """
    try:
        held = os.open(folder, os.O_RDONLY)  # an automounter mounts what is opened
    except OSError:
        return ""
    try:
        mount = _mount(Path(f"/proc/self/fdinfo/{held}").read_text(encoding="utf-8"))
        return kind_of_mount(_MOUNTS.read_text(encoding="utf-8", errors="replace"), mount)
    except OSError:
        return ""
    finally:
        os.close(held)


def _mount(fdinfo: str) -> str:
    """Return the number of the mount that an open file is on."""
    number = re.search(r"^mnt_id:\s*(\d+)$", fdinfo, re.MULTILINE)
    return number[1] if number else ""


def kind_of_mount(mounts: str, number: str) -> str:
    r"""Return the kind of file system of a mount; empty if there is none of this number.

    `mounts` is in the form of ``/proc/self/mountinfo``: fields of a number that varies, a dash,
    then the kind.

    Examples
    --------
    >>> line = "36 35 98:0 / /my\\040runs rw,noatime master:1 shared:2 - nfs4 host:/runs rw"
    >>> kind_of_mount(line, "36")
    'nfs4'
    """
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        if fields.split(" ", 1)[0] == number and rest:
            return _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), rest.split(" ", 1)[0])
    return ""


def shared_by_hosts(kind: str) -> bool:
    """Tell whether other hosts may have a file system of this kind mounted too.

    Every file system of a program (``fuse.sshfs``, ``fuse.glusterfs``, ``fuse.rclone``, ...) counts
    as one, for its kind does not say what is behind it; a disk of this machine that a program
    mounts (``fuseblk``) does not.

    Examples
    --------
    >>> [kind for kind in ("ext4", "nfs4", "fuse.sshfs", "fuseblk", "") if shared_by_hosts(kind)]
    ['nfs4', 'fuse.sshfs']
    """
    return _SHARED.fullmatch(kind) is not None
