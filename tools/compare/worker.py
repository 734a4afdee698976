"""worker.py torch|tensorflow: one framework, kept ready between its turns. tools/compare_frameworks.py starts it.

A request is a line of JSON on stdin, its answer one on stdout: {"error": text} where it failed. In the order of use:
    {"do": "hello"}                       {"version"}, or {"missing": why}
    {"do": "prepare", "network", "weights", "data", "batch", "threads", "lr", "momentum"}   {}
    {"do": "try", "seconds"}              {"tried": {variant: images/s}}; the best is used from now on
    {"do": "losses", "steps"}             {"losses"}: of the first steps from the file's weights
    {"do": "measure", "repeat", "seconds"}    {"rates": [images/s]}: one for each of `repeat` parts of `seconds`
"""
import importlib
import json
import os
import statistics
import sys
import time
import traceback

PASSES = 3  # of all variants when they are tried


class Worker:
    def __init__(self, framework):
        self.framework = framework
        self.steps = self.request = None
        self.variants = {}

    def hello(self, _):
        try:
            package = importlib.import_module(self.framework)
        except ModuleNotFoundError as error:
            if error.name != self.framework:
                raise
            return {"missing": "not installed"}
        self.steps = importlib.import_module(self.framework + "_steps")
        return {"version": package.__version__}

    def prepare(self, request):
        self.request = request
        self.steps.use_threads(request["threads"])
        return {}

    def rate(self, training, seconds):
        start, done = time.perf_counter(), 0
        while True:
            training.step()
            done += 1
            elapsed = time.perf_counter() - start
            if elapsed >= seconds:
                training.last_loss()  # waits
                return done * self.request["batch"] / (time.perf_counter() - start)

    def best_of(self, request):
        self.variants, rates = {}, {}
        for name in self.steps.VARIANTS:
            try:
                training = self.steps.Training(self.request, name)
                training.step()
                training.step()
            except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
                print(f"{name}: {error}", file=sys.stderr)  # an older release may lack one of them
                continue
            self.variants[name], rates[name] = training, []
        if not rates:
            raise RuntimeError("this network runs in none of its variants")
        for _ in range(PASSES):
            for name, training in self.variants.items():
                rates[name].append(self.rate(training, request["seconds"]))
        medians = {name: statistics.median(values) for name, values in rates.items()}
        best = max(medians, key=medians.get)
        self.variants = {best: self.variants[best]}  # the others' memory goes
        return {"tried": medians}

    def losses(self, request):
        name, = self.variants
        training = self.steps.Training(self.request, name)
        result = []
        for _ in range(request["steps"]):
            training.step()
            result.append(training.last_loss())
        return {"losses": result}

    def measure(self, request):
        training, = self.variants.values()
        self.rate(training, min(0.2, request["seconds"]))  # its memory and threads come back to life
        return {"rates": [self.rate(training, request["seconds"]) for _ in range(request["repeat"])]}


def reason(error):
    """The message in one line; without the frames that TensorFlow puts into it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    plain = [line for line in str(error).splitlines() if line.strip() and not line[0].isspace() and line[-1] != ":"]
    return " ".join(plain or lines)[:300] or type(error).__name__


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a framework prints must not come between the answers
    worker = Worker(sys.argv[1])
    verbs = {"hello": worker.hello, "prepare": worker.prepare, "try": worker.best_of, "losses": worker.losses,
             "measure": worker.measure}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = verbs[request["do"]](request)
        except Exception as error:  # of any kind: the framework's own ones are not known here
            traceback.print_exc()
            answer = {"error": reason(error)}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
