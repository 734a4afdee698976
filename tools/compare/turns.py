"""The programs that take turns: frameworks in processes that stay, claret-bench anew each time."""
import json
import os
import selectors
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TITLES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "claret": "claret"}
PIP = {"torch": "pip install torch", "tensorflow": "pip install tensorflow-cpu"}
# Large blocks come and go with each step; handed back to the system each time, they cost a page fault per page.
# glibc's allocator told to keep them is tried beside its default.
ALLOCATORS = {"": {}, "malloc keeps memory": {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
                                              "MALLOC_TOP_PAD_": str(64 << 20)}}
ALTERNATIONS = 3  # between allocators
LIMIT = 900       # seconds for any one request; above it, something hangs


class Failed(Exception):
    """A program that takes part did not do its part."""


class Missing(Exception):
    """A framework is not installed."""


def environment(threads):
    """For claret: with fewer threads than CPUs, what drivers of OpenCL need to be told. (This process is bound to that
    many CPUs then, and so are its children.)"""
    env = dict(os.environ)
    if threads < os.cpu_count():
        # PoCL's variable by its old and its new name; Mesa's llvmpipe.
        env.update(POCL_MAX_PTHREAD_COUNT=str(threads), POCL_CPU_MAX_CU_COUNT=str(threads), LP_NUM_THREADS=str(threads))
    return env


def framework_environment(threads):
    return dict(os.environ, OMP_NUM_THREADS=str(threads), CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


class Worker:
    """A framework's process (worker.py)."""

    def __init__(self, python, framework, env, keep=None):
        self.title, self.errors = TITLES[framework], tempfile.TemporaryFile()
        try:
            self.process = subprocess.Popen(
                [python, os.path.join(HERE, "worker.py"), framework], env={**env, **(keep or {})},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0)
        except OSError as error:
            self.errors.close()
            raise Failed(f"{python}: {error.strerror}") from None
        self.pending = b""
        try:
            answer = self.ask("hello")
            if "missing" in answer:
                raise Missing(answer["missing"])
            self.version = answer["version"]
        except BaseException:
            self.close()
            raise

    def said(self):
        self.errors.seek(0)
        return last_line(self.errors.read().decode(errors="replace"))

    def line(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.pending:
                if not selector.select(LIMIT):
                    raise Failed(f"{self.title} did not answer in {LIMIT} s")
                piece = self.process.stdout.read(1 << 16)
                if not piece:
                    raise Failed(f"{self.title} ended (exit code {self.process.wait()}): {self.said()}")
                self.pending += piece
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def ask(self, what, **request):
        try:
            self.process.stdin.write(json.dumps({"do": what, **request}).encode() + b"\n")
        except BrokenPipeError:
            pass  # line() says why
        answer = json.loads(self.line())
        if "error" in answer:
            raise Failed(f"{self.title}: {answer['error']}")
        return answer

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()


class Framework:
    """PyTorch or TensorFlow in one case, in the fastest of its variants."""

    def __init__(self, framework, python, env, case, settings):
        self.key, self.settings, self.worker = framework, settings, None
        self.tried, best, workers = {}, {}, {}
        try:
            for name, keep in ALLOCATORS.items():
                worker = workers[name] = Worker(python, framework, env, keep)
                worker.ask("prepare", **case.request(settings))
                tried = worker.ask("try", seconds=settings.try_seconds)["tried"]
                best[name] = max(tried, key=tried.get)
                self.tried.update({self.label(variant, name): rate for variant, rate in tried.items()})
            rates = {name: [] for name in workers}
            for _ in range(ALTERNATIONS):
                for name, worker in workers.items():
                    rates[name] += worker.ask("measure", repeat=1, seconds=settings.try_seconds)["rates"]
            chosen = max(rates, key=lambda name: statistics.median(rates[name]))
            self.worker, self.variant = workers.pop(chosen), self.label(best[chosen], chosen)
        finally:
            for worker in workers.values():
                worker.close()

    @staticmethod
    def label(variant, allocator):
        return f"{variant}, {allocator}" if allocator else variant

    def losses(self, steps):
        return self.worker.ask("losses", steps=steps)["losses"]

    def measure(self):
        return self.worker.ask("measure", repeat=self.settings.repeat,
                               seconds=self.settings.seconds / self.settings.repeat)["rates"]

    def close(self):
        if self.worker:
            self.worker.close()


class Claret:
    """claret in one case; a process for each turn."""
    key, variant = "claret", None

    def __init__(self, bench, env, case, settings):
        self.bench, self.env, self.case, self.settings = bench, env, case, settings
        self.device = None

    def run(self, *words):
        command = [self.bench, "step", "--model", self.case.model, "--batch-size", str(self.case.batch), "--json",
                   "--init", self.case.weights, "--data-file", self.case.data, *words,
                   *self.settings.claret_options]
        return run_json(command, self.env)

    def losses(self, steps):
        answer = self.run("--losses", str(steps))
        if "losses" not in answer:
            raise Failed("claret-bench step gave no losses")
        return [float("nan") if loss is None else loss for loss in answer["losses"]]

    def measure(self):
        part = self.settings.seconds / self.settings.repeat
        answer = self.run("--repeat", str(self.settings.repeat), "--seconds", f"{part:g}")
        self.device = answer.get("device", self.device)
        # Of the parts it tells the median alone.
        return [answer["images_per_second"]["median"]]

    def close(self):
        pass


def run_json(command, env):
    """Runs a command of claret's that ends with an object in JSON; -> the object."""
    name = os.path.basename(command[0])
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=LIMIT, check=False)
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{name} was not done in {LIMIT} s") from None
    if done.returncode != 0:
        raise Failed(f"{name}: exit code {done.returncode}: {last_line(done.stderr.decode(errors='replace'))}")
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise Failed(f"{name} did not end with an object in JSON") from None


def find_framework(framework, pythons, env):
    """(interpreter, version) of the first that has it. Missing: none has; Failed: one has it, but it cannot run."""
    for python in pythons:
        try:
            worker = Worker(python, framework, env)
        except Missing:
            continue
        worker.close()
        return python, worker.version
    raise Missing(f"{TITLES[framework]} is not installed for {', '.join(pythons)}: {PIP[framework]}")


def find_claret(given, name, places):
    """The path of claret or claret-bench."""
    for path in [given] if given else [os.path.join(HERE, "..", "..", "build", *place) for place in places]:
        if os.access(path, os.X_OK):
            return os.path.abspath(path)
    if given:
        raise Failed(f"{given} is not a program")
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    raise Failed(f"{name} is not there: build it (meson setup build && ninja -C build), or give --{name} PATH")
