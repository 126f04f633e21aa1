"""TensorFlow reads what `toroid prepare` writes, and `toroid prepare` keeps what it was given."""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import check_tfrecord

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "toroid"
COUNT, SIDE = 60, 5


def write_idx(folder):
    """60 pictures of 5x5 pixels with labels 0..6."""
    images, labels = folder / "images", folder / "labels"
    pixels = bytes(i * 7 % 256 for i in range(COUNT * SIDE * SIDE))
    images.write_bytes(struct.pack(">4I", 0x803, COUNT, SIDE, SIDE) + pixels)
    labels.write_bytes(struct.pack(">2I", 0x801, COUNT) + bytes(i % 7 for i in range(COUNT)))
    return str(images), str(labels)


class TfRecord(unittest.TestCase):
    def test_tensorflow_reads_what_prepare_writes(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            out = folder / "out"
            subprocess.run(
                [PROGRAM, "prepare", "idx", *write_idx(folder), str(out), "--validation", "0.2",
                 "--shard-size", "20"],
                check=True, stdout=subprocess.DEVNULL, stderr=sys.stderr)
            check_tfrecord.check_dataset(out)
            splits = json.loads((out / "dataset.json").read_text())["splits"]
            self.assertEqual({name: split["examples"] for name, split in splits.items()},
                             {"train": 48, "validation": 12})


if __name__ == "__main__":
    unittest.main()
