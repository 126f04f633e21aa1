"""Starts the program as a user would; the base of every test in this folder.

  tests/end_to_end/x_test.py build/release/toroid [unittest's arguments]
"""

import gzip
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

TIMEOUT = 120  # seconds; a hang is a failure, not a hang of the tests
SIZE = 8       # pixels, height and width of the pictures
CLASSES = 4


def pictures(count, seed=1):
    """`count` pairs (label, 64 bytes): class k is bright in its quarter of the rows, with noise."""
    source = random.Random(seed)
    result = []
    for i in range(count):
        label = i % CLASSES
        pixels = bytearray(source.randrange(0, 120) for _ in range(SIZE * SIZE))
        for row in (2 * label, 2 * label + 1):
            for column in range(SIZE):
                pixels[row * SIZE + column] = source.randrange(100, 256)
        result.append((label, bytes(pixels)))
    return result


def png(pixels, width=SIZE, height=SIZE):
    """The bytes of a grey PNG."""
    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body
                + struct.pack(">I", zlib.crc32(kind + body)))
    rows = b"".join(b"\0" + pixels[r * width:(r + 1) * width] for r in range(height))
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_idx(folder, some, packed=True):
    """images.gz and labels.gz (or plain files) in the format of MNIST; gives both paths."""
    images = struct.pack(">IIII", 0x803, len(some), SIZE, SIZE) + b"".join(p for _, p in some)
    labels = struct.pack(">II", 0x801, len(some)) + bytes(label for label, _ in some)
    ending = ".gz" if packed else ""
    paths = folder / f"images{ending}", folder / f"labels{ending}"
    for path, content in zip(paths, (images, labels)):
        path.write_bytes(gzip.compress(content) if packed else content)
    return paths


def write_folders(folder, some):
    """One folder of PNG files per class."""
    for i, (label, pixels) in enumerate(some):
        path = folder / f"class{label}" / f"{i:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(pixels))


def records(shard):
    """Offsets of the records of a TFRecord file: 8 bytes of length, 4 of its CRC, payload, 4."""
    content = shard.read_bytes()
    offsets = []
    at = 0
    while at < len(content):
        offsets.append(at)
        at += 16 + struct.unpack_from("<Q", content, at)[0]
    return offsets


def flip(path, offset):
    """Flips a bit of the byte at `offset`."""
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def toml(value):
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)


class ProgramTest(unittest.TestCase):
    """Each test has a fresh folder, self.folder, which is also the program's working directory."""

    program = None  # set by main()

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="toroid-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self):
        """Two threads for a process, so that results do not depend on the machine."""
        return {**os.environ, "OMP_NUM_THREADS": "2"}

    def run_program(self, *arguments, status=0, timeout=TIMEOUT, **how):
        """Runs `toroid ARGUMENTS...`; fails unless it exits with `status`. Gives both outputs."""
        command = [self.program, *map(str, arguments)]
        how = {"cwd": self.folder, "stdout": subprocess.PIPE, "env": self.environment(), **how}
        result = subprocess.run(command, stderr=subprocess.PIPE, encoding="utf-8", timeout=timeout,
                                stdin=subprocess.DEVNULL, check=False, **how)
        self.assertEqual(status, result.returncode,
                         f"{' '.join(command)}\n{result.stdout}\n{result.stderr}")
        return result

    def start_program(self, *arguments):
        """Runs `toroid ARGUMENTS...` in the background; ended with the test at the latest."""
        process = subprocess.Popen(
            [self.program, *map(str, arguments)], cwd=self.folder, env=self.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            encoding="utf-8")
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        return process

    def assert_error(self, *arguments, status, says=(), **how):
        """The program fails with this status and one line that contains every text of `says`."""
        result = self.run_program(*arguments, status=status, **how)
        lines = result.stderr.splitlines()
        errors = [line for line in lines if "error: " in line]
        self.assertEqual(1, len(errors), result.stderr)
        self.assertRegex(errors[0], r"^(rank \d+: )?error: \S")
        self.assertEqual(errors[0], lines[-1], result.stderr)
        for text in says:
            self.assertIn(text, errors[0])
        for sign in ("terminate called", "Aborted", "what():", "unexpected:", "Segmentation"):
            self.assertNotIn(sign, result.stderr)
        self.assertEqual([], self.unfinished(), "nothing half-written is left")
        return errors[0]

    def unfinished(self):
        return [str(p) for p in self.folder.rglob(".*") if ".tmp" in p.name or "partial" in p.name]

    def prepare(self, count=240, out="data", seed=1, validation=0.2):
        """A data set in self.folder / out."""
        source = Path(tempfile.mkdtemp(dir=self.folder))
        self.run_program("prepare", "idx", *write_idx(source, pictures(count, seed)), out,
                         "--validation", validation)

    def recipe(self, name="recipe.toml", data="data", **changes):
        """Writes a recipe over that data set; `train__epochs=3` sets train.epochs, None leaves a
        key out. Gives its path."""
        values = {"model": {"name": "resnet8"},
                  "data": {"train": f"{data}/train-*.tfrecord",
                           "validation": f"{data}/validation-*.tfrecord"},
                  "train": {"epochs": 2, "global_batch": 48, "log_every": 1},
                  "optimizer": {"name": "sgd", "momentum": 0.9},
                  "schedule": {"name": "cosine", "rate": 0.1}}
        for key, value in changes.items():
            section, _, key = key.partition("__")
            values.setdefault(section, {})[key] = value
        text = ""
        for section, keys in values.items():
            text += f"[{section}]\n"
            text += "".join(f"{k} = {toml(v)}\n" for k, v in keys.items() if v is not None)
        path = self.folder / name
        path.write_text(text)
        return path

    def metrics(self, run, kind=None):
        """The objects of metrics.jsonl, of one kind or all."""
        lines = (self.folder / run / "metrics.jsonl").read_text().splitlines()
        return [m for m in map(json.loads, lines) if kind in (None, m["kind"])]

    def losses(self, run):
        return [m["loss"] for m in self.metrics(run, "train")]

    def checkpoints(self, run):
        return sorted((self.folder / run).glob("step-*"))

    def weights(self, run):
        """The bytes of the newest checkpoint's tensors."""
        return (self.checkpoints(run)[-1] / "state.safetensors").read_bytes()

    def evaluation(self, run, *flags):
        """What `toroid eval --json` says of a run."""
        return json.loads(self.run_program("eval", run, "--json", *flags).stdout)

    def assert_close(self, expected, found, relative):
        self.assertEqual(len(expected), len(found))
        for a, b in zip(expected, found):
            self.assertLessEqual(abs(a - b), relative * max(abs(a), abs(b)), f"{a} and {b}")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [unittest's arguments]")
    ProgramTest.program = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(module="__main__", verbosity=2)
