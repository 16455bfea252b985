"""Calls the runner (rig/runner.cpp) within bounds, and leaves nothing behind."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import machine
from pen import Pen

# A storm or a crowd that eats the machine is stopped at this much memory left.
LEAST_MEMORY_LEFT = 0.3
MARK = "QUIETUS_BENCH_MARK"


def say(text):
    print(text, file=sys.stderr, flush=True)


def container():
    """Words that run a command in a PID namespace that ends with us; none where not allowed."""
    # Only /proc gets another propagation: in a chroot / is no mount point, and has none to change.
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
             "--propagation", "unchanged"]  # fmt: skip
    if os.geteuid() != 0:
        words[1:1] = ["--map-root-user"]
    try:
        allowed = subprocess.run([*words, "true"], capture_output=True).returncode == 0
    except OSError:
        allowed = False
    return words if allowed else []


class RunnerFailed(Exception):
    """Mostly because it could not start the supervisor; the message says what it was."""


class Rig:
    def __init__(self, programs, seed):
        self.runner = programs / "bench_runner"
        self.worker = programs / "bench_worker"
        self.dice = random.Random(seed)
        self.mark = f"{MARK}={uuid.uuid4().hex}"
        self.environment = {**os.environ, MARK: self.mark.partition("=")[2]}
        self.folder = Path(tempfile.mkdtemp(prefix="quietus-bench-"))
        self.pen = Pen()
        self.container = container()
        self.leftovers = 0
        self.notes = []

    def close(self):
        self.pen.close()
        for pid in machine.kill_those(lambda: machine.marked(self.mark)):
            say(f"bench: still alive at the end, killed: pid {pid}")
        shutil.rmtree(self.folder, ignore_errors=True)

    def work(self, folder, *words):
        """The worker's command line; its page is where page_options says."""
        return [str(self.worker), words[0], f"{folder}/page.@I@", *map(str, words[1:])]

    def page_options(self, folder):
        return ["--page", f"{folder}/page.@I@"]

    def command(self, options, argv, *, contained=False, bounded=False):
        prefix = self.container if contained else []
        seed = str(self.dice.randrange(1 << 30))
        return [*prefix, str(self.runner), *self.pen.runner_options(bounded), "--seed", seed,
                *options, "--", *argv]  # fmt: skip

    def call(self, options, argv, *, limit, contained=False, bounded=False):
        """The rows of one call of the runner; fewer than asked for if it had to be killed."""
        out = self.folder / "rows"
        out.unlink(missing_ok=True)
        process = subprocess.Popen(
            self.command(["--out", str(out), *options], argv, contained=contained, bounded=bounded),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        killed = False
        until = time.monotonic() + limit
        try:
            while True:
                try:
                    _, errors = process.communicate(timeout=0.25)
                    break
                except subprocess.TimeoutExpired:
                    scarce = machine.memory_left_share() < LEAST_MEMORY_LEFT
                    if scarce:
                        self.notes.append(f"stopped, memory ran short: {' '.join(argv)[:80]}")
                    if scarce or time.monotonic() > until:
                        killed = True
                        process.kill()
                        self.pen.clear()
        finally:
            process.kill()
            process.wait()
            self.leftovers += self.pen.clear()
        if process.returncode != 0 and not killed:
            raise RunnerFailed(errors.strip())
        lines = out.read_text().splitlines() if out.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def fresh_folder(self, name="run"):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder


class Held:
    """Supervisors that wait for their workers, until they are released."""

    def __init__(self, rig, peer, number, *work, name="held"):
        self.rig = rig
        self.folder = rig.fresh_folder(name)
        argv = peer.argv(rig.work(self.folder, *work), self.folder, cleanup=10)
        options = ["--mode", "hold", "--out", f"{self.folder}/rows", "--runs", str(number),
                   *rig.page_options(self.folder)]  # fmt: skip
        self.process = subprocess.Popen(
            rig.command(options, argv, contained=number > 1),
            env=rig.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        words = self.process.stdout.readline().split()
        self.up = int(words[1]) if words[:1] == ["READY"] else 0

    def supervisors(self):
        """All that was started, but for the workers, the runner and what contains it."""
        own = (self.rig.worker, self.rig.runner)
        return [
            pid
            for pid in machine.descendants(self.process.pid)
            if not any(machine.runs_program(pid, program) for program in own)
        ]

    def release(self):
        """The runner's row: how many were up, how many had stayed alive."""
        self.process.stdin.close()
        try:
            self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.process.wait()
        rows = self.folder / "rows"
        row = json.loads(rows.read_text()) if rows.exists() else {"up": 0, "alive": 0}
        shutil.rmtree(self.folder, ignore_errors=True)
        return row
