"""The supervisors that are measured, and how each is called."""

import dataclasses
import math
import re
import shlex
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIELDS = ("timeout", "timeout_int", "cleanup", "receipt", "stop", "workdir")
BARE = "bare"  # the command itself, unsupervised


@dataclasses.dataclass
class Peer:
    name: str
    template: str
    ours: bool = False
    metrics: tuple = ()  # what it is asked; empty: everything that it has the fields for
    files: list = dataclasses.field(default_factory=list)  # carried into a sandbox
    lingers: bool = False  # takes its time to leave when it is stopped: fewer runs

    def __post_init__(self):
        self.words = shlex.split(self.template)
        if "{cmd}" not in self.words:
            raise ValueError(f"peer {self.name}: {{cmd}} must be a word of the template")
        for field in re.findall(r"\{(\w+)\}", self.template):
            if field not in (*FIELDS, "cmd"):
                raise ValueError(f"peer {self.name}: no such field: {{{field}}}")

    @property
    def program(self):
        return self.words[0]

    def has(self, field):
        return any("{%s}" % field in word for word in self.words)

    def takes(self, metric):
        return not self.metrics or metric in self.metrics

    def argv(self, command, folder, timeout=600.0, cleanup=10.0):
        """The runner replaces @I@ by the number of the run."""
        values = {
            "timeout": f"{timeout:g}",
            "timeout_int": str(math.ceil(timeout)),
            "cleanup": f"{cleanup:g}",
            "receipt": f"{folder}/receipt.@I@",
            "stop": f"{folder}/stop.@I@",
            "workdir": f"{folder}/work.@I@",
        }
        words = []
        for word in self.words:
            if word == "{cmd}":
                words += command
            else:
                words.append(re.sub(r"\{(\w+)\}", lambda field: values[field[1]], word))
        return words

    def carried(self):
        """The script of an interpreter, else the program itself."""
        if self.files:
            return self.files
        if re.match(r"(python|sh$|bash$)", Path(self.program).name):
            for word in self.words[1:]:
                if Path(word).is_file():
                    return [Path(word).resolve()]
        return [Path(shutil.which(self.program)).resolve()]

    def trouble(self, folder):
        """Why it cannot run here; empty if it can."""
        if not shutil.which(self.program):
            return f"there is no {Path(self.program).name}"
        if self.metrics and "startup" not in self.metrics:
            return ""  # runs a service, which does not end
        folder.mkdir(exist_ok=True)
        argv = [word.replace("@I@", "0") for word in self.argv(["true"], folder)]
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode == 0:
            return ""
        last = done.stderr.strip().splitlines()[-1:]
        return f"does not run here: {last[0] if last else f'exit code {done.returncode}'}"

    def version(self):
        if self.files:
            return package_version(str(self.files[0]))
        for flag in ("--version", "-V"):
            try:
                done = subprocess.run(
                    [self.program, flag],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=5,
                )
            except (OSError, subprocess.TimeoutExpired):
                continue
            lines = (done.stdout + done.stderr).strip().splitlines()
            if done.returncode == 0 and lines:
                return lines[0][:60]
        return package_version(self.program)

    def shown(self):
        """The template without the folders of this machine."""
        return re.sub(r"(?<![\w.}/-])/(?:[^\s/={}]+/)+(?=[^\s/])", "", self.template)


def package_version(program):
    path = shutil.which(program)
    if not path or not shutil.which("dpkg-query"):
        return "?"
    owner = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
    package = owner.stdout.partition(":")[0]
    if owner.returncode != 0:
        return "?"
    shown = subprocess.run(
        ["dpkg-query", "-W", "-f=${Package} ${Version}", package], capture_output=True, text=True
    )
    return shown.stdout or "?"


RECORDS = "--timeout {timeout} --cleanup-timeout {cleanup} --receipt {receipt} --stop-file {stop}"
# Where only the means of killing differs, the rest is the same as for the plain form.
MEANS_METRICS = (
    "startup", "exit_to_receipt", "drain", "chain", "storm", "memory", "throughput",
)  # fmt: skip
SERVICE_METRICS = ("stop_latency", "idle", "memory", "size")


def our_peers(quietus):
    form = f"{shlex.quote(str(quietus))} run{{means}} {RECORDS} -- {{cmd}}"
    return [
        Peer("quietus", form.replace("{means}", ""), ours=True),
        Peer("quietus --isolate", form.replace("{means}", " --isolate"), True, MEANS_METRICS),
        Peer("quietus --shield", form.replace("{means}", " --shield"), True, MEANS_METRICS),
    ]


def service(name, lingers=False):
    path = shutil.which(name)
    template = f"sh {shlex.quote(str(HERE))}/rig/service.sh {name} {{workdir}} -- {{cmd}}"
    files = [Path(path)] if path else []
    return Peer(name, template, metrics=SERVICE_METRICS, files=files, lingers=lingers)


def debian_peers():
    return [
        Peer("tini", "tini -s -g -- {cmd}"),
        Peer("dumb-init", "dumb-init -- {cmd}"),
        Peer("catatonit", "catatonit -- {cmd}"),
        Peer("timeout", "timeout -k {cleanup} {timeout} {cmd}"),
        Peer("bwrap", "bwrap --dev-bind / / --unshare-pid --die-with-parent -- {cmd}"),
        Peer("unshare", "unshare --pid --fork --kill-child -- {cmd}"),
        # It becomes the command: what it costs is its start.
        Peer("chpst", "chpst {cmd}", metrics=("startup", "throughput", "size")),
        # These two run a service, not a command: only what needs no end is asked of them.
        service("s6-supervise"),
        service("runsv", lingers=True),
    ]
