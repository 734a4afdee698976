"""SIGINT, SIGTERM, and what is shown on a terminal."""
import os
import pty
import select
import signal
import time

import harness
from harness import TRAIN

LONG = (*TRAIN, "--epochs", "1000000", "--log-every", "1")


class Signals(harness.Case):
    def begin(self, *words, **keywords):
        """A training that has begun."""
        process = self.start(*LONG, *words, **keywords)
        line = last = os.read(process.stdout.fileno(), 1)
        while last not in (b"", b"\n"):  # a byte at a time: what follows is left for communicate()
            last = os.read(process.stdout.fileno(), 1)
            line += last
        self.assertRegex(line.decode(), r"\A\[1,     1\] loss: ")
        return process

    def usable(self, folder):
        files = [name for name in self.files(folder) if not name.startswith("checkpoint-")]
        self.assertEqual(files, ["config.ini", "log.csv", "weights.safetensors"])
        self.run_claret("eval", "--data", "shapes", "--limit-test", "20", "--weights",
                        folder + "/weights.safetensors")

    def test_one(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            folder = f"run-{number}"
            process = self.begin("-o", folder)
            process.send_signal(number)
            result = self.finish(process)
            self.assertEqual(result.code, -number, str(result))
            self.assertNotIn("Finished", result.out)
            self.assertEqual(self.weights_line(result.out)[0], folder + "/weights.safetensors")
            self.assertRegex(result.err, "stopped after [0-9]+ steps")
            self.usable(folder)
            with open(self.path(folder, "log.csv"), encoding="ascii") as file:
                rows = file.read().splitlines()
            self.assertEqual(len(rows) - 1, result.out.count("loss:") + 1)

    def test_two(self):
        """The second one ends it at once: whole weights or none."""
        process = self.begin("-o", "run")
        process.send_signal(signal.SIGINT)
        time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        result = self.finish(process)
        self.assertIn(result.code, (-signal.SIGINT, -signal.SIGTERM), str(result))
        self.assertLess(time.monotonic() - began, 20)
        if os.path.exists(self.path("run/weights.safetensors")):
            self.run_claret("eval", "--data", "shapes", "--limit-test", "20", "--weights",
                            "run/weights.safetensors")

    def test_ignored_from_the_start(self):
        """As under nohup, or in the background of a script: it stays ignored."""
        process = self.begin("-o", "run",
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        process.send_signal(signal.SIGINT)
        for _ in range(20):
            self.assertRegex(process.stdout.readline(), r"\A\[\d+, +\d+\] loss: ")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, -signal.SIGTERM)
        self.usable("run")

    def test_before_training(self):
        """While it is still getting ready nothing has been made."""
        process = self.start(*LONG, "-o", "run")
        time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        result = self.finish(process)
        self.assertEqual(result.code, -signal.SIGTERM, str(result))
        if os.path.exists(self.path("run")):
            self.usable("run")


class Terminal(harness.Case):
    def on_terminal(self, *words):
        """What a terminal of 60 columns gets, stdout and stderr."""
        try:
            master, slave = pty.openpty()
        except OSError as fault:  # a chroot without /dev/pts
            self.skipTest(f"no pseudo-terminal to be had: {fault}")
        import fcntl
        import struct
        import termios
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        process = self.start(*words, stdin=slave, stdout=slave, stderr=slave, env={"TERM": "xterm"})
        os.close(slave)
        text, deadline = b"", time.monotonic() + harness.TIMEOUT
        while time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                try:
                    data = os.read(master, 65536)
                except OSError:
                    break
                if not data:
                    break
                text += data
        os.close(master)
        return process.wait(harness.TIMEOUT), text.decode(errors="replace")

    def test_progress_line(self):
        words = (*TRAIN, "--limit-train", "800", "--log-every", "100")
        code, text = self.on_terminal(*words)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"\r\x1b\[Kepoch 1/1  step \d+/200  \d+ images/s  ")
        self.assertRegex(text, r"[\nK]\[1,   100\] loss: \d\.\d{3}\r\n")
        for line in text.replace("\r\n", "\n").split("\n"):
            if "step " in line:
                for piece in line.split("\r\x1b[K"):
                    self.assertTrue(not piece.startswith("epoch 1/") or len(piece) < 60, piece)
        for word in ("--no-progress", "--quiet"):
            code, text = self.on_terminal(*words, word)
            self.assertEqual(code, 0, text)
            self.assertNotIn("\r\x1b[K", text)
            self.assertNotIn("step ", text)

    def test_colours(self):
        code, text = self.on_terminal("trian")
        self.assertEqual(code, 2)
        self.assertIn("\x1b[", text)


if __name__ == "__main__":
    harness.main()
