#!/usr/bin/env python3
"""Runs commands that print images/s in turn, and prints their medians and ratios to the first.

  bench/compare.py --rounds 3 -- "build/release/toroid bench step --json" \\
      "PEERS/bin/python bench/peer_torch.py"

A command prints one JSON document with "images_per_s", as `toroid bench step --json` does, or a
number before "images/s", as the scripts here do; what else it prints does not matter.
"""

import argparse
import json
import re
import shlex
import statistics
import subprocess
import sys

NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?) images/s")


def images_per_second(output):
    """The last rate in a command's output, or None."""
    rate = None
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                rate = float(json.loads(line)["images_per_s"])
                continue
            except (ValueError, KeyError):
                pass  # another line that begins so
        for number in NUMBER.findall(line):
            rate = float(number)
    return rate


def run(command):
    """The rate of one run; its last line of messages says why it failed."""
    try:
        done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    except OSError as error:
        raise SystemExit(f"compare.py: cannot start {command}: {error.strerror}") from None
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SystemExit(f"compare.py: {command}: exit status {done.returncode}: {reason}")
    rate = images_per_second(done.stdout)
    if not rate:
        raise SystemExit(f"compare.py: {command}: no images/s in its output")
    return rate


def table(commands, rates):
    """A line for each command: median, least and most, and the median's ratio to the first's."""
    first = statistics.median(rates[0])
    lines = [f"{'median':>10} {'least':>10} {'most':>10} {'ratio':>7}  images/s of"]
    for command, own in zip(commands, rates):
        median = statistics.median(own)
        lines.append(f"{median:10.2f} {min(own):10.2f} {max(own):10.2f} {median / first:7.3f}  "
                     f"{command}")
    return "\n".join(lines)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (%(default)s)")
    parser.add_argument("commands", nargs="+", metavar="COMMAND")
    flags = parser.parse_args(arguments)
    if flags.rounds < 1:
        parser.error("--rounds is at least 1")
    rates = [[] for _ in flags.commands]
    for number in range(1, flags.rounds + 1):
        for command, own in zip(flags.commands, rates):
            own.append(run(command))
            print(f"round {number}: {own[-1]:.2f} images/s: {command}", file=sys.stderr)
    print(table(flags.commands, rates))


if __name__ == "__main__":
    main(sys.argv[1:])
