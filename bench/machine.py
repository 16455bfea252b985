"""What this machine is, and what /proc says about it and its processes."""

import collections
import contextlib
import os
import platform
import re
import signal
import time
from pathlib import Path


def cpu_name():
    match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    return match[1] if match else platform.machine()


def system_name():
    try:
        match = re.search(r'^PRETTY_NAME="?([^"\n]+)', Path("/etc/os-release").read_text(), re.M)
    except OSError:
        match = None
    return match[1] if match else "?"


def filesystem_of(path):
    best, kind = "", "?"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        where = left.split()[4]
        if len(where) >= len(best) and Path(path).is_relative_to(where):
            best, kind = where, right.split()[0]
    return kind


def describe(work_folder):
    memory = re.search(r"^MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text(), re.M)
    return {
        "cpu": cpu_name(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(memory[1]) / 2**20, 1),
        "kernel": platform.release(),
        "system": system_name(),
        "machine": platform.machine(),
        "root": os.geteuid() == 0,
        "records_on": filesystem_of(work_folder),
    }


def cpu_times():
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return sum(fields[:8]), fields[3] + fields[4]


def busy_share(seconds):
    """How much of the CPUs is in use, by whomever, from 0 to 1."""
    total, idle = cpu_times()
    time.sleep(seconds)
    total_then, idle_then = cpu_times()
    return 1 - (idle_then - idle) / max(1, total_then - total)


def memory_left_share():
    text = Path("/proc/meminfo").read_text()
    total, left = (
        int(re.search(rf"^{key}:\s+(\d+)", text, re.M)[1]) for key in ("MemTotal", "MemAvailable")
    )
    return left / total


def parents(states="RSDTtI"):
    """The parent of every process that is in one of these states."""
    result = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text(errors="replace")
        except OSError:
            continue
        state, parent = text.rpartition(")")[2].split()[:2]
        if state in states:
            result[int(entry.name)] = int(parent)
    return result


def descendants(root):
    children = collections.defaultdict(list)
    for pid, parent in parents().items():
        children[parent].append(pid)
    found, queue = [], [root]
    while queue:
        for child in children[queue.pop()]:
            found.append(child)
            queue.append(child)
    return found


def zombies_below(root):
    """Of the processes below it; its own are not counted."""
    tree = set(descendants(root))
    return sum(1 for parent in parents("Z").values() if parent in tree)


def runs_program(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def processor_use(pid):
    """CPU nanoseconds and voluntary context switches of all threads; None if it is gone."""
    nanoseconds = switches = 0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            nanoseconds += int((task / "schedstat").read_text().split()[0])
            status = (task / "status").read_text()
            switches += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M)[1])
    except (OSError, TypeError):
        return None
    return nanoseconds, switches


def memory_use(pid):
    """Peak RSS and PSS in KiB; None if it is gone or the kernel does not tell us."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return None
    peak = re.search(r"^VmHWM:\s+(\d+)", status, re.M)
    shared = re.search(r"^Pss:\s+(\d+)", rollup, re.M)
    return (int(peak[1]), int(shared[1])) if peak and shared else None


def marked(variable):
    """Living processes, ourselves left out, with this NAME=VALUE in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if variable.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def kill_those(found):
    """KILLs the processes that found() names, and returns their numbers.

    A number may have become another's since it was read. So each process is held by a pidfd first,
    and killed only if it is named once more.
    """
    held = {}
    for pid in found():
        with contextlib.suppress(OSError):  # it is gone, or they are too many for one time
            held[pid] = os.pidfd_open(pid)
    still = set(found())
    for pid, pidfd in held.items():
        if pid in still:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.close(pidfd)
    return list(held)
