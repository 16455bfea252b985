"""The metrics of supervisors; docs/performance.md says what each one is."""

import gzip
import re
import shutil
import subprocess
import time
from pathlib import Path

import machine
from judge import faults, read_receipt
from peers import BARE, Peer
from pen import LARGE_WEIGHT, USUAL_WEIGHT
from rig import Held, RunnerFailed, say

WORKER_CODE = 7
LITTER = 1000
# Who only ever fails need not fail for ever.
GIVE_UP_AFTER = 2
# A storm ends by itself after this time, and is killed from outside a little later.
STORM_SECONDS = 29
STORM_PROCESSES = {"comet": 10_000, "bomb": 400}
STORM_MEMORY = 3 << 30


def given_up(cell):
    return cell.has_only_failed and cell.failed >= GIVE_UP_AFTER


def milliseconds(row, begin, end):
    return (row[end] - row[begin]) / 1e6


class Supervisors:
    def __init__(self, rig, book, plan, peers, means_of_quietus):
        self.rig = rig
        self.book = book
        self.plan = plan
        self.peers = peers
        self.bare = Peer(BARE, "{cmd}")
        self.means_of_quietus = means_of_quietus  # of killing, as `quietus probe` says

    def takers(self, metric, variant, needs=(), floor=False):
        """The peers that are measured; why the others are not goes into the book."""
        takers = [self.bare] if floor else []
        for peer in self.peers:
            if not peer.takes(metric) or self.book.cell(metric, variant, peer.name).absent:
                continue
            missing = [field for field in needs if not peer.has(field)]
            if missing:
                self.book.cell(metric, variant, peer.name).absent = "has no " + ", ".join(missing)
            else:
                takers.append(peer)
        return takers

    def turns(self, metric, variant, takers, rounds):
        """(round, peer, its cell), the peers of a round in random order."""
        say(f"{metric} {variant}: {rounds} rounds, {len(takers)} peers")
        until = time.monotonic() + self.plan.variant_seconds
        for round_ in range(rounds):
            if time.monotonic() > until:
                say(f"    no more than {round_} rounds: the machine is slow")
                return
            self.rig.dice.shuffle(takers)
            for peer in takers:
                cell = self.book.cell(metric, variant, peer.name)
                if not given_up(cell):
                    yield round_, peer, cell

    def measure(self, metric, variant, work, values, *, rounds, runs=1, needs=(), floor=False,
                timeout=600.0, cleanup=10.0, act="none", limit=60.0, contained=False, extra=None,
                **expected):  # fmt: skip
        """Runs each peer in turn; values(row, peer) is what a run that counts tells.

        work: words for the worker; None: true(1). expected: see judge.faults.
        """
        takers = self.takers(metric, variant, needs, floor)
        block = runs
        for round_, peer, cell in self.turns(metric, variant, takers, rounds):
            runs = 1 if peer.lingers else block
            folder = self.rig.fresh_folder()
            command = self.rig.work(folder, *work) if work else [shutil.which("true")]
            options = ["--runs", str(runs), "--limit", str(limit), "--act", act]
            if work:
                options += self.rig.page_options(folder)
            if peer.has("receipt"):
                options += ["--receipt", f"{folder}/receipt.@I@"]
            if peer.has("stop"):
                options += ["--stop", f"{folder}/stop.@I@"]
            argv = peer.argv(command, folder, timeout, cleanup)
            for row in self.rows(cell, options, argv, runs, limit, contained=contained):
                self.enter(cell, round_, peer, row, folder, values, extra, expected)

    def rows(self, cell, options, argv, runs, limit, **how):
        """What the runner tells of these runs; what it cannot tell is a failure of the cell."""
        limit = runs * (limit + 12) + 20
        try:
            rows = self.rig.call(options, argv, limit=limit, **how)
        except RunnerFailed as error:
            cell.fail([str(error)])
            return []
        if len(rows) < runs and not any(row["act_lost"] for row in rows):
            cell.fail([f"killed from outside after {limit:.0f} s"])
        return rows

    def enter(self, cell, round_, peer, row, folder, values, extra, expected):
        if row["fork_failed"]:
            cell.absent = f"this machine lets the worker make no more (errno {row['fork_failed']})"
            return
        receipt, problem = None, ""
        if peer.has("receipt"):
            receipt, problem = read_receipt(folder / f"receipt.{row['run']}")
        wrong = faults(row, receipt, problem, writes_receipt=peer.has("receipt"), **expected)
        wrong += extra(row) if extra else []
        if wrong:
            cell.fail(wrong)
            return
        if row["left_now"]:
            cell.note("runs that left dying processes")
        cell.add(round_, values(row, peer))

    # --- how fast

    def startup(self):
        self.measure(
            "startup", "to the worker's first instruction", ["exit", WORKER_CODE],
            lambda row, _: {"ms": milliseconds(row, "start", "worker_start")},
            rounds=self.plan.rounds, runs=self.plan.block, code=WORKER_CODE, floor=True,
        )  # fmt: skip
        self.measure(
            "startup", "true, from spawn to exit", None,
            lambda row, _: {
                "ms": milliseconds(row, "start", "exit"), "CPU ms": row["cpu_us"] / 1e3,
            },
            rounds=self.plan.rounds, runs=self.plan.block, code=0, must_run=False, floor=True,
        )  # fmt: skip

    def exit_to_receipt(self):
        def values(row, peer):
            known = {"to supervisor's exit ms": milliseconds(row, "worker_exit", "exit")}
            if peer.has("receipt"):
                known["to receipt ms"] = milliseconds(row, "worker_exit", "receipt")
            return known

        self.measure(
            "exit_to_receipt", "the worker runs 0-20 ms", ["nap", WORKER_CODE, 0.02], values,
            rounds=self.plan.rounds, runs=self.plan.block, code=WORKER_CODE, timed_out=False,
        )  # fmt: skip

    def deadline_overshoot(self):
        for deadline in self.plan.deadlines:

            def early(row, deadline=deadline):
                waited = row["worker_term"] - row["start"]
                return [] if waited >= deadline * 1e9 else ["TERM came early, or never"]

            def values(row, _, deadline=deadline):
                return {"ms": milliseconds(row, "worker_start", "worker_term") - deadline * 1e3}

            self.measure(
                "deadline_overshoot", f"{deadline:g} s", ["hold", 0], values, extra=early,
                rounds=self.plan.rounds, runs=2, timeout=deadline, needs=("timeout",),
                timed_out=True,
            )  # fmt: skip

    def kill_overshoot(self):
        deadline, grace = 0.31, 0.37
        self.measure(
            "kill_overshoot", f"deadline {deadline} s, grace {grace} s, TERM ignored", ["stubborn"],
            lambda row, _: {
                "ms": milliseconds(row, "worker_start", "exit") - (deadline + grace) * 1e3
            },
            rounds=self.plan.rounds // 2, timeout=deadline, cleanup=grace,
            needs=("timeout", "cleanup"), timed_out=True, must_be_gone=True,
            extra=lambda row: [] if row["worker_term"] else ["no TERM reached the worker"],
        )  # fmt: skip

    def stop_latency(self):
        def values(row, _):
            return {
                "to TERM ms": milliseconds(row, "act", "worker_term"),
                "to supervisor's exit ms": milliseconds(row, "act", "exit"),
            }

        for variant, act, needs in (
            ("SIGTERM to the supervisor", "term", ()),
            ("stop file made", "stop", ("stop",)),
        ):
            self.measure(
                "stop_latency", variant, ["hold", 0], values, act=act, needs=needs,
                rounds=self.plan.rounds, runs=self.plan.block,
                extra=lambda row: [] if row["worker_term"] else ["no TERM reached the worker"],
            )  # fmt: skip

    # --- how surely

    def drain(self):
        self.drain_of("drain", "flock", self.plan.drain)

    def chain(self):
        self.drain_of("chain", "chain", self.plan.chain)

    def drain_of(self, metric, verb, sizes):
        """Who is given up at a size is not asked for more: that takes its time from the others."""
        given_up_at = {}
        for size, rounds in sizes.items():
            for name, smaller in given_up_at.items():
                self.book.cell(metric, str(size), name).absent = f"failed at {smaller}"
            def too_few(row, size=size):
                return [] if row["ready"] == size else [f"only {row['ready']} descendants came up"]

            self.measure(
                metric, str(size), [verb, size],
                lambda row, _: {"ms": milliseconds(row, "worker_exit", "exit")},
                rounds=rounds, cleanup=60, limit=90, code=0, extra=too_few, must_be_gone=True,
                contained=True,
            )  # fmt: skip
            for peer in self.peers:
                if given_up(self.book.cell(metric, str(size), peer.name)):
                    given_up_at[peer.name] = size

    def storm(self):
        if not self.rig.container:
            self.rig.notes.append("no storms: no PID namespace to be had (not root?)")
            return
        self.rig.pen.set_weight(USUAL_WEIGHT)
        try:
            for variant, verb, number in self.plan.storms:
                if verb == "bomb" and not self.rig.pen.pids:
                    self.rig.notes.append("no bomb: no pids limit to be had")
                    continue
                self.rig.pen.bound(STORM_PROCESSES[verb], STORM_MEMORY)
                self.storm_of(variant, verb, number)
        finally:
            self.rig.pen.bound(None, None)
            self.rig.pen.set_weight(LARGE_WEIGHT)

    def storm_of(self, variant, verb, number):
        takers = self.takers("storm", variant)
        if not self.means_of_quietus["cgroup"]:
            takers = [peer for peer in takers if peer.name != "quietus"]
            cell = self.book.cell("storm", variant, "quietus")
            cell.absent = "promises nothing here: no writable cgroup"
        for round_, peer, cell in self.turns("storm", variant, takers, self.plan.storm_rounds):
            folder = self.rig.fresh_folder()
            work = self.rig.work(folder, verb, number, STORM_SECONDS)
            argv = peer.argv(work, folder, timeout=20, cleanup=10)
            options = ["--limit", "24", *self.rig.page_options(folder)]
            if peer.has("receipt"):
                options += ["--receipt", f"{folder}/receipt.@I@"]
            for row in self.rows(cell, options, argv, 1, 24, contained=True, bounded=True):
                self.enter(
                    cell, round_, peer, row, folder,
                    lambda row, _: {
                        "ms": milliseconds(row, "worker_exit", "exit"), "forks": row["forks"],
                    },
                    lambda row: [] if row["forks"] else ["the storm did not begin"],
                    {"must_be_gone": True},
                )  # fmt: skip

    def zombies(self):
        """Detached processes that ended while the worker still runs: who collects them?"""
        variant = f"{LITTER} orphans have ended"
        takers = self.takers("zombies", variant)
        for round_, peer, cell in self.turns("zombies", variant, takers, 1):
            held = Held(self.rig, peer, 1, "litter", LITTER)
            left = machine.zombies_below(held.process.pid)
            until = time.monotonic() + 5
            while left and time.monotonic() < until:
                time.sleep(0.2)
                left, before = machine.zombies_below(held.process.pid), left
                if left == before:
                    break
            held.release()
            if held.up:
                cell.add(round_, {"zombies": left})
            else:
                cell.fail(["the worker did not run"])

    # --- what it costs to have one

    def idle(self):
        rounds, seconds = self.plan.idle
        variant = f"{seconds:g} s"
        takers = self.takers("idle", variant)
        say(f"idle {variant}: {rounds} rounds, {len(takers)} peers at once")
        for round_ in range(rounds):
            all_held = [
                (peer, Held(self.rig, peer, 1, "hold", 0, name=f"idle.{number}"))
                for number, peer in enumerate(takers)
            ]
            time.sleep(1)
            before = []
            for _, held in all_held:
                pids = held.supervisors()
                uses = [machine.processor_use(pid) for pid in pids]
                before.append((time.monotonic(), pids, uses))
            time.sleep(seconds)
            for (peer, held), (began, pids, uses) in zip(all_held, before):
                uses_now = [machine.processor_use(pid) for pid in pids]
                took = time.monotonic() - began
                self.enter_idle(peer, variant, round_, held, took, uses, uses_now)
            for _, held in all_held:
                held.release()
            self.rig.leftovers += self.rig.pen.clear()

    def enter_idle(self, peer, variant, round_, held, took, before, after):
        cell = self.book.cell("idle", variant, peer.name)
        if not held.up:
            cell.fail(["the worker did not run"])
        elif None in before or None in after:
            cell.fail(["the supervisor vanished"])
        elif not before:
            cell.absent = "nothing stays behind"
        else:
            nanoseconds, switches = (
                sum(now[k] - then[k] for then, now in zip(before, after)) for k in (0, 1)
            )
            cell.add(round_, {
                "wake-ups a minute": switches * 60 / took,
                "CPU ms a minute": nanoseconds / 1e6 * 60 / took,
            })  # fmt: skip

    def memory(self):
        for number, rounds in ((1, 3), (self.plan.crowd, 1)):
            variant = "one" if number == 1 else f"{number} at once"
            takers = self.takers("memory", variant)
            for round_, peer, cell in self.turns("memory", variant, takers, rounds):
                held = Held(self.rig, peer, number, "hold", 0)
                pids = held.supervisors()
                uses = [machine.memory_use(pid) for pid in pids]
                row = held.release()
                self.rig.leftovers += self.rig.pen.clear()
                if held.up != number or row["alive"] != number:
                    cell.fail([f"{held.up} of {number} workers ran"])
                elif not pids:
                    cell.absent = "nothing stays behind"
                elif None in uses:
                    cell.absent = "the kernel does not show it (not root?)"
                else:
                    peak, shared = (sum(use[k] for use in uses) for k in (0, 1))
                    cell.add(round_, {
                        "PSS KiB": shared, "peak RSS KiB": peak, "processes": len(pids),
                    })  # fmt: skip

    def throughput(self):
        seconds = self.plan.rate_seconds
        for at_once in (1, 2):
            variant = f"true, {at_once} at a time"
            takers = self.takers("throughput", variant, floor=True)
            for round_, peer, cell in self.turns("throughput", variant, takers, 3):
                folder = self.rig.fresh_folder()
                argv = peer.argv([shutil.which("true")], folder)
                options = ["--mode", "rate", "--seconds", str(seconds), "--at-once", str(at_once)]
                rows = self.rows(cell, options, argv, 1, seconds + 60)
                if not rows:
                    continue
                wrong = self.faults_of_rate(rows, peer, folder)
                if wrong:
                    cell.fail(wrong)
                else:
                    cell.add(round_, {"runs a second": rows[0]["runs"] / (rows[0]["ns"] / 1e9)})

    def faults_of_rate(self, rows, peer, folder):
        if not rows[0]["runs"]:
            return ["no run ended"]
        row, wrong = rows[0], []
        if row["bad"]:
            wrong.append(f"{row['bad']} runs failed, one with wait status {row['bad_status']}")
        if row["left"]:
            wrong.append(f"{row['left']} survivors")
        if peer.has("receipt"):
            receipts = (read_receipt(folder / f"receipt.{run}")[0] for run in range(row["runs"]))
            good = sum(
                1
                for receipt in receipts
                if receipt
                and receipt.get("cleanup_confirmed") is True
                and receipt.get("return_code") == 0
            )
            if good != row["runs"]:
                wrong.append(f"{row['runs'] - good} receipts are missing or wrong")
        return wrong

    # --- what has to be there

    def size(self):
        can_trace = self.can_trace()
        if not can_trace:
            self.rig.notes.append("size: no strace to be had, so what a peer opens is not listed")
        for peer in self.takers("size", "files"):
            cell = self.book.cell("size", "files", peer.name)
            carried = peer.carried()
            values = {
                "to carry in, bytes": sum(path.stat().st_size for path in carried),
                "gzip, bytes": sum(len(gzip.compress(path.read_bytes(), 9)) for path in carried),
            }
            if can_trace:
                opened = self.opened(peer) - set(carried)
                values["besides, files"] = len(opened)
                values["besides, bytes"] = sum(path.stat().st_size for path in opened)
            cell.add(0, values)

    def can_trace(self):
        if not shutil.which("strace"):
            return False
        tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True)
        return tried.returncode == 0

    def opened(self, peer):
        """Regular files that a run of the peer opens or executes, but for the worker's."""
        folder = self.rig.fresh_folder()
        argv = peer.argv(self.rig.work(folder, "exit", 0), folder)
        trace = folder / "trace"
        calls = "trace=execve,open,openat,openat2"
        line = ["strace", "-f", "-q", "-o", str(trace), "-e", calls, *argv]
        self.rig.call(["--limit", "5", *self.rig.page_options(folder)], line, limit=30)
        found = set()
        call = r'(?:execve\(|open\(|openat\([^,]*, |openat2\([^,]*, )"([^"]+)".*= \d+'
        for match in re.finditer(call, trace.read_text(errors="replace")):
            path = Path(match[1]).resolve()
            ours = (self.rig.folder, self.rig.worker)
            virtual = str(path).startswith(("/proc/", "/sys/", "/dev/"))
            if path.is_file() and not virtual and not any(path.is_relative_to(own) for own in ours):
                found.add(path)
        return found
