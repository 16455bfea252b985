"""Who is believed: the judgement on a run, the templates of peers, and what callgrind leaves."""

import pathlib
import tempfile
import unittest

from functions import read_counts
from judge import faults, read_receipt
from peers import Peer, debian_peers, our_peers

GOOD = {"cleanup_confirmed": True, "return_code": 7, "error": None, "timed_out": False}


def row(**more):
    return {
        "hung": 0, "left_now": 0, "left_later": 0, "worker_start": 1, "act_lost": 0, "torn": 0,
        "code": 7, "signal": 0, **more,
    }  # fmt: skip


class Judgement(unittest.TestCase):
    def confirmed(self, row_, receipt=None, **more):
        return faults(row_, {**GOOD, **(receipt or {})}, "", writes_receipt=True, code=7, **more)

    def test_a_run_whose_supervisor_did_its_work_counts(self):
        self.assertEqual(self.confirmed(row(), timed_out=False), [])
        self.assertEqual(faults(row(), code=7), [])

    def test_a_false_receipt_is_called_that(self):
        for left in ({"left_now": 3, "left_later": 3}, {"left_now": 1}):
            with self.subTest(left):
                self.assertIn(
                    "FALSE RECEIPT: confirmed, and something lives", self.confirmed(row(**left))
                )

    def test_survivors_are_a_failure_with_and_without_a_receipt(self):
        survivors = row(left_now=3, left_later=3)
        self.assertIn("survivors", faults(survivors, code=7))
        self.assertIn("survivors", self.confirmed(survivors))

    def test_who_only_dies_is_a_failure_where_an_end_was_asked_for(self):
        dying = row(left_now=3)
        self.assertEqual(faults(dying, code=7), [])
        self.assertEqual(faults(dying, code=7, must_be_gone=True), ["descendants still dying"])

    def test_each_other_fault_is_told(self):
        for words, found in (
            ("did not exit in time", faults(row(hung=1))),
            ("the worker did not run", faults(row(worker_start=0))),
            ("no TERM reached the worker", faults(row(act_lost=1))),
            ("exit code 0, signal 9, instead of 7", faults(row(code=0, signal=9), code=7)),
            ("not confirmed (too late)",
             self.confirmed(row(), {"cleanup_confirmed": False, "error": "too late"})),
            # What is not exactly true confirms nothing.
            ("not confirmed (None)", self.confirmed(row(), {"cleanup_confirmed": 1})),
            ("the receipt has an error (x)", self.confirmed(row(), {"error": "x"})),
            ("the receipt could be read before it was whole", self.confirmed(row(torn=1))),
            ("the receipt says return code 0, not 7", self.confirmed(row(), {"return_code": 0})),
            ("the receipt says timed_out False", self.confirmed(row(), timed_out=True)),
            ("no receipt", faults(row(), None, "no receipt", writes_receipt=True)),
        ):  # fmt: skip
            with self.subTest(words):
                self.assertEqual(found, [words])

    def test_a_worker_that_was_not_meant_to_run_need_not(self):
        self.assertEqual(faults(row(worker_start=0), must_run=False), [])

    def test_a_receipt_that_is_none_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "receipt")
            self.assertEqual(read_receipt(path), (None, "no receipt"))
            path.write_text('{"cleanup_confirmed": tr')
            self.assertRegex(read_receipt(path)[1], "^unreadable receipt: ")
            path.write_text("[]")
            self.assertEqual(read_receipt(path), (None, "the receipt is no JSON object"))
            path.write_text("{}")
            self.assertEqual(read_receipt(path), ({}, ""))


class Templates(unittest.TestCase):
    def test_fields_become_values_and_the_command_stays_words(self):
        peer = Peer("p", "x -t {timeout} -T{timeout_int} --r={receipt} -- {cmd}")
        self.assertEqual(
            peer.argv(["a b", "{stop}"], "/f", timeout=0.21),
            ["x", "-t", "0.21", "-T1", "--r=/f/receipt.@I@", "--", "a b", "{stop}"],
        )
        self.assertTrue(peer.has("receipt"))
        self.assertFalse(peer.has("stop"))

    def test_a_template_that_cannot_work_is_refused(self):
        for template in ("x", "x cmd", "x --c={cmd}", "x {receit} {cmd}"):
            with self.subTest(template), self.assertRaises(ValueError):
                Peer("p", template)

    def test_a_peer_that_is_not_there_or_fails_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder, "trial")
            self.assertEqual(Peer("p", "no-such {cmd}").trouble(place), "there is no no-such")
            self.assertEqual(Peer("p", "env {cmd}").trouble(place), "")
            talker = "sh -c 'echo not here >&2; exit 3' {cmd}"
            self.assertEqual(Peer("p", talker).trouble(place), "does not run here: not here")

    def test_what_is_shown_names_no_folder_of_this_machine(self):
        peer = Peer("p", "/opt/some/thing --at={receipt} --dev-bind / / -I /a/b.py -- {cmd}")
        self.assertEqual(peer.shown(), "thing --at={receipt} --dev-bind / / -I b.py -- {cmd}")

    def test_names_are_names(self):
        names = [peer.name for peer in (*our_peers("quietus"), *debian_peers())]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(names[0], "quietus")


class Callgrind(unittest.TestCase):
    def test_only_dumps_that_were_asked_for_by_name_count(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (
                ("dump", "totals: 1\n"),
                ("dump.1", "desc: Trigger: Client Request: parse, all\nsummary: 9\ntotals: 10\n"),
                ("dump.2", "desc: Trigger: Program termination\ntotals: 99\n"),
            ):
                pathlib.Path(folder, name).write_text(text)
            self.assertEqual(read_counts(pathlib.Path(folder)), {"parse, all": 10})


if __name__ == "__main__":
    unittest.main()
