"""The metric of the controller: quietusctl with 1 to 1,000 local sessions at a time."""

import json
import os
import resource
import shutil
import subprocess
import time

import machine
from rig import say

# Enough for a steady state, and no more than a fresh machine does in some seconds.
JOBS = {1: 20, 10: 100, 100: 300, 1000: 1000}
LIMIT = 180


class Controller:
    def __init__(self, rig, book, plan, quietusctl, quietus):
        self.rig = rig
        self.book = book
        self.plan = plan
        self.quietusctl = quietusctl
        self.quietus = quietus

    def sessions(self):
        for number, rounds in self.plan.sessions.items():
            variant = f"{number} at a time"
            cell = self.book.cell("sessions", variant, "quietusctl")
            say(f"sessions {variant}: {rounds} rounds")
            for round_ in range(rounds):
                wrong, rate = self.rate(number)
                wrong_held, memory = self.held(number)
                if wrong or wrong_held:
                    cell.fail(wrong + wrong_held)
                else:
                    cell.add(round_, {"sessions a second": rate, **memory})

    def start(self, folder, commands, number):
        jobs = folder / "jobs"
        jobs.write_text("".join(json.dumps({"command": command}) + "\n" for command in commands))
        # Nothing of the caller's: no settings, no ledger.
        home = {
            name: str(folder / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")
        }
        own = {key: value for key, value in os.environ.items() if not key.startswith("QUIETUS_")}
        line = [self.quietusctl, "batch", jobs, "--sandbox", "local", "--parallel", str(number),
                "--payload", self.quietus, "--session-parent", folder, "--json"]  # fmt: skip
        with open(folder / "results", "w", encoding="utf-8") as out, \
                open(folder / "errors", "w", encoding="utf-8") as errors:  # fmt: skip
            return subprocess.Popen(
                [*self.rig.container, *map(str, line)],
                env={**own, **home, **dict([self.rig.mark.split("=")])},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                preexec_fn=more_files,
            )

    def finish(self, folder, process, count):
        """Waits for the batch; what is wrong with it."""
        try:
            code = process.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            process.kill()
            process.wait()
        lines = (folder / "results").read_text().splitlines()
        confirmed = sum(1 for line in lines if is_good(json.loads(line)))
        if code == 0 and confirmed == count:
            return []
        last = (folder / "errors").read_text().strip().splitlines()[-1:]
        return [f"exit code {code}, {confirmed} of {count} sessions good {' '.join(last)}".rstrip()]

    def rate(self, number):
        """What is wrong, and sessions a second of a command that ends at once."""
        folder = self.rig.fresh_folder("sessions")
        count = JOBS[number]
        began = time.monotonic()
        process = self.start(folder, [[shutil.which("true")]] * count, number)
        wrong = self.finish(folder, process, count)
        return wrong, count / (time.monotonic() - began)

    def held(self, number):
        """What is wrong, and the memory while that many commands run."""
        folder = self.rig.fresh_folder("sessions")
        gate = folder / "gate"
        os.mkfifo(gate)
        pages = [folder / f"page.{session}" for session in range(number)]
        for page in pages:
            page.write_bytes(bytes(4096))
        worker = str(self.rig.worker)
        commands = [[worker, "gate", str(page), str(gate)] for page in pages]
        process = self.start(folder, commands, number)
        until = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < until:
            # The first eight bytes of a page are the start of its worker.
            if all(page.read_bytes()[:8] != bytes(8) for page in pages):
                break
            time.sleep(0.05)
        memory = self.memory_of(process.pid, number)
        # As long as this end is open, whoever opens the other end goes on.
        writer = os.open(gate, os.O_RDWR)
        try:
            wrong = self.finish(folder, process, number)
        finally:
            os.close(writer)
        return wrong, memory

    def memory_of(self, pid, number):
        controller = inside = 0
        peak = 0
        for process in [pid, *machine.descendants(pid)]:
            use = machine.memory_use(process)
            if not use or machine.runs_program(process, self.rig.worker):
                continue
            if machine.runs_program(process, self.quietusctl):
                peak, controller = max(peak, use[0]), controller + use[1]
            elif machine.runs_program(process, self.quietus) or self.is_staged(process):
                inside += use[1]
        return {
            "controller PSS KiB": controller,
            "controller peak RSS KiB": peak,
            "supervisors PSS KiB a session": inside / number,
        }

    def is_staged(self, pid):
        """A copy of the payload, in a session directory."""
        try:
            return os.readlink(f"/proc/{pid}/exe").startswith(str(self.rig.folder))
        except OSError:
            return False


def more_files():
    """A session holds some descriptors; the usual soft limit is for one of them."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def is_good(session):
    receipt = session.get("receipt") or {}
    return (
        session.get("exit_code") == 0
        and session.get("released") is True
        and receipt.get("cleanup_confirmed") is True
    )
