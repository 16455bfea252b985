#!/usr/bin/env python3
"""Measures quietus and quietusctl beside the supervisors of Debian, and any other.

Writes results.json, results.md, drain.svg and stop-latency.svg into the output folder. A run counts
only if the supervisor did its work; every other is told as failed. docs/performance.md says what
each metric is.
"""

import argparse
import datetime
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import document
import gate
import machine
import plan as plans
import plots
import tables
from book import Book
from controller import Controller
from functions import Functions
from peers import BARE, Peer, debian_peers, our_peers
from rig import Rig, say
from supervisors import Supervisors

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = "quietus"
# A noisy machine may break a ratio once, not three times in a row.
GATE_TRIES = 3
QUIET = 0.15  # of the CPUs in use by others, and we begin


def named(text):
    name, sign, value = text.partition("=")
    if not sign or not name or not value:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def metric_list(text):
    metrics = text.split(",")
    for metric in metrics:
        if metric not in plans.ALL_METRICS:
            raise argparse.ArgumentTypeError(
                f"no metric '{metric}'; there are: {', '.join(plans.ALL_METRICS)}"
            )
    return metrics


def peer_from(option):
    try:
        return Peer(*named(option))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def program(text):
    path = Path(text).resolve()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file '{text}'")
    return path


def parser():
    result = argparse.ArgumentParser(
        prog="bench.sh",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        epilog="Exit codes: 0 all is well; 1 a program of ours failed a cell, or a bound is\n"
        "broken; 2 wrong usage.",
    )
    add = result.add_argument
    add("--short", action="store_true", help="fewer runs, metrics and peers: about a minute")
    add("--gate", action="store_true",
        help="compare with bench/bounds.toml; a line for each bound that is broken")
    add("--document", action="store_true",
        help="also write the results into docs/performance.md and the plots into docs/plots")
    add("--peer", action="append", type=peer_from, default=[], metavar="NAME=TEMPLATE",
        help="one more supervisor: its command line, with {timeout} {timeout_int} {cleanup} "
             "{receipt} {stop} {workdir} where it takes them, and {cmd} as a word of its own")
    add("--metric", action="append", type=metric_list, metavar="METRIC,...",
        help="only these: " + ", ".join(plans.ALL_METRICS))
    add("--output", type=Path, default=ROOT / "build/bench/results", metavar="FOLDER",
        help="where the results go (default: build/bench/results)")
    add("--from", dest="source", type=program, metavar="FILE",
        help="measure nothing: take an earlier results.json")
    add("--quietus", type=program, metavar="FILE", help="measure this program, build none")
    add("--quietusctl", type=program, metavar="FILE", help="measure this program, build none")
    add("--seed", type=int, default=1, metavar="N", help="of the order of the runs (default: 1)")
    return result  # fmt: skip


def parsed(words):
    options = parser().parse_args(words)
    if options.source and (options.gate or options.short or options.peer or options.metric):
        parser().error("--from measures nothing: it goes with --output and --document only")
    if options.document and (options.short or options.metric):
        parser().error("--document shows a whole run: not with --short or --metric")
    names = [peer.name for peer in (*options.peer, *debian_peers(), *our_peers("x"))]
    for peer in options.peer:
        if names.count(peer.name) > 1 or peer.name == BARE:
            parser().error(f"argument --peer: the name '{peer.name}' is taken")
    return options


def built(preset, target=None):
    """Builds a preset as tools/test.sh does; its folder."""
    say(f"building {preset}")
    log = ROOT / "build" / f"bench-{preset}.log"
    log.parent.mkdir(exist_ok=True)
    configure = ["cmake", "--preset", preset]
    build = ["cmake", "--build", "--preset", preset] + (["--target", target] if target else [])
    with open(log, "w", encoding="utf-8") as out:
        for line in (configure, build):
            if subprocess.run(line, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT).returncode != 0:
                sys.exit("\n".join([*log.read_text().splitlines()[-40:], f"bench: see {log}"]))
    return ROOT / "build" / preset


class Session:
    """One call of the bench: what is measured, with what, and the book of the results."""

    def __init__(self, options):
        self.options = options
        plan = plans.SHORT if options.short else plans.FULL
        self.metrics = plan.metrics
        if options.metric:
            chosen = {metric for group in options.metric for metric in group}
            self.metrics = [metric for metric in plans.ALL_METRICS if metric in chosen]
        self.quietus = options.quietus or built("musl", "quietus") / "quietus"
        quietusctl = options.quietusctl
        if not quietusctl and "sessions" in self.metrics:
            quietusctl = built("release", "quietusctl") / "quietusctl"
        programs = built("bench") / "bench"
        self.began = time.monotonic()
        self.book = Book(REFERENCE)
        self.rig = Rig(programs, options.seed)
        self.left_out = {}
        self.peers = self.usable_peers(plan)
        self.busy = []
        self.patience = plan.patience
        supervisors = Supervisors(self.rig, self.book, plan, self.peers, self.means_of_quietus())
        controller = Controller(self.rig, self.book, plan, quietusctl, self.quietus)
        functions = Functions(self.rig, self.book, plan, programs)
        self.ways = {
            metric: getattr(owner, metric)
            for owner in (supervisors, controller, functions)
            for metric in plans.ALL_METRICS
            if hasattr(owner, metric)
        }

    def usable_peers(self, plan):
        usable = []
        for peer in [*our_peers(self.quietus), *self.options.peer, *debian_peers()]:
            if plan.peers and peer.name not in plan.peers and peer not in self.options.peer:
                continue
            trouble = peer.trouble(self.rig.fresh_folder("trial"))
            if not trouble:
                usable.append(peer)
            elif peer.name == REFERENCE:
                sys.exit(f"bench: {trouble}")
            else:
                self.left_out[peer.name] = trouble
                say(f"left out: {peer.name}: {trouble}")
        return usable

    def means_of_quietus(self):
        done = subprocess.run([self.quietus, "probe", "--json"], capture_output=True, check=True)
        killing = json.loads(done.stdout)["killing"]
        return {means: killing[means]["works"] for means in killing}

    def settle(self):
        """Waits for a quiet machine as long as patience lasts, and notes how busy it is."""
        busy = machine.busy_share(0.2)
        while busy > QUIET and self.patience > 0:
            began = time.monotonic()
            busy = machine.busy_share(0.5)
            self.patience -= time.monotonic() - began
        self.busy.append(busy)

    def measure(self, metrics):
        self.book.forget(metrics)
        for metric in metrics:
            self.settle()
            began = time.monotonic()
            self.ways[metric]()
            say(f"    {time.monotonic() - began:.0f} s")

    def data(self):
        done = subprocess.run([self.quietus, "--version"], capture_output=True, text=True)
        return {
            "date": datetime.date.today().isoformat(),
            "version": done.stdout.split()[-1] if done.stdout.split() else "?",
            "seconds": time.monotonic() - self.began,
            "machine": machine.describe(self.rig.folder),
            "others_busy": sum(self.busy) / max(1, len(self.busy)),
            "reference": REFERENCE,
            "seed": self.options.seed,
            "peers": {
                peer.name: {
                    "template": peer.shown(),
                    "version": peer.version(),
                    "ours": peer.ours,
                    "metrics": list(peer.metrics),
                }
                for peer in self.peers
            },
            "left_out": self.left_out,
            "notes": list(dict.fromkeys(self.rig.notes)),
            "survivors_ended_by_the_bench": self.rig.leftovers,
            "results": self.book.results(),
        }

    def complaints(self):
        """Of our own programs: cells that failed, and, if asked, bounds that are broken."""
        ours = {peer.name for peer in self.peers if peer.ours} | {"quietusctl"}
        failed = [
            f"{cell.metric} ({cell.variant}): {cell.peer} failed {cell.failed} of "
            f"{cell.attempted}: {'; '.join(cell.reasons)}"
            for cell in self.book.cells.values()
            if cell.peer in ours and cell.failed
        ]
        return failed + (self.gate() if self.options.gate else [])

    def gate(self):
        bounds = gate.read_bounds(ROOT / "bench/bounds.toml")
        broken = gate.broken_bounds(bounds, self.book, self.metrics, self.left_out)
        for _ in range(GATE_TRIES - 1):
            if not broken:
                break
            suspects = sorted({metric for metric, _ in broken}, key=plans.ALL_METRICS.index)
            say(f"gate: measuring again: {', '.join(suspects)}")
            self.measure(suspects)
            broken = gate.broken_bounds(bounds, self.book, self.metrics, self.left_out)
        for line in gate.excused_bounds(bounds, self.book, self.metrics, self.left_out):
            print(f"gate: not judged here: {line}")
        return [f"gate: {line}" for _, line in broken]


def publish(data, options):
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "results.json").write_text(json.dumps(data, indent=1) + "\n")
    (options.output / "results.md").write_text(tables.whole(data))
    plots.write(data, options.output)
    if options.document:
        document.write(data, ROOT / "docs")


def leave(number, _):
    """Not at once: what runs is ended first."""
    say(f"bench: ended by {signal.Signals(number).name}")
    sys.exit(128 + number)


def main(words):
    options = parsed(words)
    if options.source:
        publish(json.loads(options.source.read_text()), options)
        return 0
    subprocess.run(["bash", ROOT / "tools/setup.sh", "bench"], check=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    session = Session(options)
    try:
        session.measure(session.metrics)
        complaints = session.complaints()
        data = session.data()
    finally:
        session.rig.close()
    publish(data, options)
    print(tables.overview(data))
    print(f"{options.output}/results.md has the rest; {data['seconds']:.0f} s")
    for line in complaints:
        print(f"FAILED  {line}")
    if options.gate and not complaints:
        print("gate: every bound holds")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
