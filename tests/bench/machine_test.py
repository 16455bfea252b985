"""Who is killed: processes that are named twice."""

import subprocess
import unittest

import machine


class Killing(unittest.TestCase):
    def setUp(self):
        self.pair = [subprocess.Popen(["sleep", "100"]) for _ in range(2)]

    def tearDown(self):
        for process in self.pair:
            process.kill()
            process.wait()

    def test_spares_who_is_not_named_again(self):
        first, second = (process.pid for process in self.pair)
        named = [[first, second], [first]]
        self.assertEqual(machine.kill_those(lambda: named.pop(0)), [first, second])
        self.assertEqual(self.pair[0].wait(), -9)
        self.assertIsNone(self.pair[1].poll())

    def test_passes_over_who_is_gone(self):
        self.pair[0].kill()
        self.pair[0].wait()
        self.assertEqual(machine.kill_those(lambda: [self.pair[0].pid]), [])
