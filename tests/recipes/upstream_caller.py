"""A caller of process_supervisor, in our own words: its session, launch and stop, with a folder of this
machine as the sandbox. The lines of the recipe are executed where the session makes its command."""

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass


@dataclass
class SandboxCommand:
    argv: list
    interpreter: str


class Sandbox:
    """Runs shell text and copies files; what the recipe may use of upstream's."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        # A sandbox would have a /tmp of its own.
        return name.replace("/tmp/quietus", self.folder + "/tmp/quietus")

    async def upload(self, local, remote):
        shutil.copyfile(shutil.which(local) or local, self.path(remote))

    async def exec(self, command, timeout_s=180):
        return subprocess.run(["sh", "-c", self.path(command)], cwd=self.folder, timeout=timeout_s)


def launch_text(command, session, supervisor):
    words = [command.interpreter, "-I", supervisor]
    options = ["--timeout", "60.0", "--cleanup-timeout", "5.0", "--stop-file", session + "/stop.request",
               "--receipt", session + "/cleanup.json", "--"]
    preflight = shlex.join(words + ["--help"])
    run = shlex.join(words + options + command.argv)
    s = shlex.quote(session)
    return (f"[ -d {s} ] && [ ! -L {s}/launch.claim ] || exit 0; {preflight} >/dev/null || exit; "
            f"trap '' TERM; ln -s launch {s}/launch.claim 2>/dev/null || exit 0; "
            f"echo $$ >{s}/supervisor.pid && exec {run} >{s}/output.log 2>&1")


def stop_text(session):
    s = shlex.quote(session)
    return (f"[ ! -e {s}/cleanup.json ] || exit 0; touch {s}/stop.request; ln -s stop {s}/launch.claim 2>/dev/null; "
            f"[ ! -s {s}/supervisor.pid ] || kill -TERM $(cat {s}/supervisor.pid) 2>/dev/null; "
            f"for i in $(seq 8); do [ ! -e {s}/cleanup.json ] || exit 0; sleep 1; done; exit 1")


async def main(recipe, folder):
    os.makedirs(folder + "/tmp", exist_ok=True)
    session = folder + "/session"
    os.mkdir(session)
    # The supervisor that upstream uploads: never read by what takes the interpreter's place.
    supervisor = session + "/process_supervisor.py"
    with open(supervisor, "w", encoding="utf-8") as file:
        file.write("raise SystemExit('a Python interpreter ran the supervisor')\n")
    sandbox = Sandbox(folder)
    command = SandboxCommand(argv=[folder + "/harness"], interpreter="python3")

    lines = [line for line in open(recipe, encoding="utf-8").read().splitlines() if line]
    assert len(lines) == 3, "three lines are promised"
    scope = {"sandbox": sandbox, "command": command, "SandboxCommand": SandboxCommand}
    source = "async def recipe(sandbox, command):\n" + "".join(f"    {line}\n" for line in lines)
    exec(source + "    return command\n", scope)  # the page's own text
    command = await scope["recipe"](sandbox, command)
    command.interpreter = sandbox.path(command.interpreter)

    launch = subprocess.Popen(["sh", "-c", launch_text(command, session, supervisor)], cwd=folder)
    until = time.monotonic() + 20
    while not os.path.exists(folder + "/detached"):
        assert time.monotonic() < until, "the harness does not start"
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)  # for its pkill
    stop = await sandbox.exec(stop_text(session))
    assert stop.returncode == 0, "stop saw no receipt"
    launch.wait(20)
    print(open(session + "/output.log", encoding="utf-8").read(), end="")
    text = open(session + "/cleanup.json", encoding="utf-8").read()
    receipt = json.loads(text)
    print(text)
    assert list(receipt) == ["cleanup_confirmed", "return_code", "error", "timed_out"], "four keys"
    assert receipt == {"cleanup_confirmed": True, "return_code": 0, "error": None, "timed_out": False}
    assert launch.returncode == 0, "the supervision had an error"


asyncio.run(main(sys.argv[1], sys.argv[2]))
