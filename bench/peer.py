"""What the peers' scripts share: their arguments, the timing, the line that they print."""

import time

START = time.monotonic()  # before a framework is imported: its import is part of the start

import argparse  # noqa: E402
import os  # noqa: E402
import resource  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402


def parse_arguments(description, models):
    """`models`: the size of the pictures by the model's name."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", choices=models, default="resnet50")
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--batch", type=int, default=32, help="examples a step (%(default)s)")
    parser.add_argument("--steps", type=int, default=5, help="timed steps (%(default)s)")
    parser.add_argument("--warm-up", type=int, default=2, help="steps before them (%(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="default: the CPUs of this process (%(default)s)")
    parser.add_argument("--size", type=int, help="of the pictures; default: the model's own")
    parser.add_argument("--compile", action="store_true", help="with the framework's compiler")
    arguments = parser.parse_args()
    if min(arguments.batch, arguments.steps, arguments.warm_up, arguments.threads) < 1:
        parser.error("batch, steps, warm-up and threads are at least 1")
    arguments.size = arguments.size or models[arguments.model]
    return arguments


def peak_resident_mb():
    """The process's largest resident set, in 10^6 bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def measure(framework, model, arguments, step):
    """Times step(), which returns when its work is done, and prints the one line."""
    step()
    first = time.monotonic() - START
    for _ in range(arguments.warm_up - 1):
        step()
    seconds = []
    for _ in range(arguments.steps):
        start = time.monotonic()
        step()
        seconds.append(time.monotonic() - start)
    a = arguments
    print(f"{framework}{' compiled' if a.compile else ''}, {model} {a.size}x{a.size}, {a.dtype}, "
          f"batch {a.batch}: {a.batch / statistics.median(seconds):.2f} images/s "
          f"(median of {a.steps} steps), peak RSS {peak_resident_mb():.0f} MB, "
          f"first step done after {first:.1f} s, {a.threads} threads")


def fail(message):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")
