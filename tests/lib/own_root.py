#!/usr/bin/env python3
"""own_root.py CMD...: makes / the root of this mount namespace, and becomes CMD.

In a chroot the two differ, and whoever enters the namespace, as podman exec does, finds himself
outside of the chroot: in the files of the real machine. Needs a mount namespace of one's own, and /
to be a mount point.
"""

import ctypes
import os
import sys

CLONE_NEWNS = 0x20000
MS_MOVE = 0x2000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


folder = os.getcwd()
root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
call("setns", os.open("/proc/self/ns/mnt", os.O_RDONLY), CLONE_NEWNS)
if not os.path.samestat(os.fstat(root), os.stat("/")):
    # Or others, the real machine among them, would get what is mounted here.
    call("mount", None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    os.fchdir(root)
    call("mount", b".", b"/", None, ctypes.c_ulong(MS_MOVE), None)
    os.chroot(".")
os.chdir(folder)
os.execvp(sys.argv[1], sys.argv[1:])
