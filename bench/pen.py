"""The cgroups that hold whatever a run starts.

One finds and kills survivors, two bound a storm, and one gives the runs a large share of the CPUs,
so that others on the machine disturb them less; it also keeps the scheduler's autogroups out of
the picture, as in a container. In version 2 all are the same one, with what controllers it was given.
A storm gets no such share: the kernel's own threads that free what it leaves must keep up.
"""

import os
import sys
import time
from pathlib import Path

import machine

USUAL_WEIGHT = 100
LARGE_WEIGHT = 1000


def cgroup_mounts():
    """Where version 2 is mounted, if at all, and each controller of version 1."""
    unified, controllers = None, {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        where, kind = Path(left.split()[4]), right.split()[0]
        if kind == "cgroup2":
            unified = unified or where
        elif kind == "cgroup":
            for option in right.split()[2].split(","):
                controllers[option] = where
    return unified, controllers


def made(parent, name):
    """A cgroup of ours in there, or None where we may not."""
    if parent is None:
        return None
    try:
        (parent / name).mkdir()
    except OSError:
        return None
    return parent / name


class Pen:
    def __init__(self):
        unified, controllers = cgroup_mounts()
        name = f"quietus-bench-{os.getpid()}"
        self.group = made(unified, name)

        def having(file, controller):
            if self.group and (self.group / file).exists():
                return self.group
            return made(controllers.get(controller), name)

        self.pids = having("pids.max", "pids")
        self.memory = having("memory.max", "memory")
        self.cpu = having("cpu.weight", "cpu")
        self.set_weight(LARGE_WEIGHT)

    def groups(self):
        return {self.group, self.pids, self.memory, self.cpu} - {None}

    def runner_options(self, bounded):
        inside = {self.group, self.cpu} | ({self.pids, self.memory} if bounded else set())
        options = []
        for group in sorted(inside - {None}):
            options += ["--join", str(group / "cgroup.procs")]
        return options + (["--cgroup", str(self.group)] if self.group else [])

    def bound(self, processes, memory_bytes):
        """For a storm. None is no bound."""
        if self.pids:
            (self.pids / "pids.max").write_text("max" if processes is None else str(processes))
        if self.memory and (self.memory / "memory.max").exists():
            (self.memory / "memory.max").write_text(
                "max" if memory_bytes is None else str(memory_bytes)
            )
        elif self.memory:
            (self.memory / "memory.limit_in_bytes").write_text(
                "-1" if memory_bytes is None else str(memory_bytes)
            )

    def set_weight(self, weight):
        if self.cpu and (self.cpu / "cpu.weight").exists():
            (self.cpu / "cpu.weight").write_text(str(weight))
        elif self.cpu:
            (self.cpu / "cpu.shares").write_text(str(weight * 1024 // USUAL_WEIGHT))

    def members(self):
        """Also of the cgroups that supervisors have made in there."""
        if not self.group:
            return []
        found = []
        for folder, _, _ in os.walk(self.group):
            try:
                found += [int(pid) for pid in Path(folder, "cgroup.procs").read_text().split()]
            except OSError:
                pass  # it was removed meanwhile
        return found

    def clear(self):
        """Kills whatever is inside; returns how many processes that were."""
        first = self.members()
        until = time.monotonic() + 20
        while self.members() and time.monotonic() < until:
            try:
                (self.group / "cgroup.kill").write_text("1")
            except OSError:  # before Linux 5.14
                machine.kill_those(self.members)
            time.sleep(0.005)
        return len(first)

    def close(self):
        self.clear()
        for group in self.groups():
            for folder, _, _ in os.walk(group, topdown=False):
                if not removed(Path(folder)):
                    print(f"bench: cannot remove {folder}", file=sys.stderr)


def removed(folder):
    for _ in range(100):
        try:
            folder.rmdir()
            return True
        except FileNotFoundError:
            return True
        except OSError:
            time.sleep(0.02)
    return False
