#!/usr/bin/env python3
"""Checks with TensorFlow's own readers that a data set says what dataset.json says.

  check_tfrecord.py FOLDER      a folder that `toroid prepare` wrote

Reads every record of every shard (TensorFlow checks the CRCs), parses the tf.Example, decodes the
picture, and compares counts per shard and per class, labels, sizes and channels with dataset.json.
Needs the PyPI package tensorflow-cpu. Prints one line per split; exits 1 at the first difference.
"""

import collections
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf  # noqa: E402  (the log level must be set before)

FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    "image/format": tf.io.FixedLenFeature([], tf.string),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/width": tf.io.FixedLenFeature([], tf.int64),
    "image/filename": tf.io.FixedLenFeature([], tf.string),
}


def expect(what, found, stated):
    if found != stated:
        sys.exit(f"{what}: TensorFlow finds {found}, dataset.json says {stated}")


def check_example(where, payload, info):
    example = tf.io.parse_single_example(payload, FEATURES)
    picture = tf.io.decode_image(example["image/encoded"], expand_animations=False)
    height, width, channels = picture.shape
    expect(f"{where} height", height, int(example["image/height"]))
    expect(f"{where} width", width, int(example["image/width"]))
    if info["height"]:
        expect(f"{where} size", [height, width], [info["height"], info["width"]])
    if info["channels"] == 1:
        expect(f"{where} channels", channels, 1)
    return int(example["image/class/label"])


def check_split(folder, name, split, info):
    per_class = collections.Counter()
    for shard in split["shards"]:
        count = 0
        for payload in tf.data.TFRecordDataset(str(folder / shard["file"])):
            per_class[check_example(f"{shard['file']} record {count}", payload, info)] += 1
            count += 1
        expect(f"{shard['file']} examples", count, shard["examples"])
    labels = range(len(info["classes"]))
    expect(f"{name} labels", set(per_class) <= set(labels), True)
    expect(f"{name} examples per class", [per_class[c] for c in labels],
           split["examples_per_class"])
    expect(f"{name} examples", sum(per_class.values()), split["examples"])
    print(f"{name}: {split['examples']} examples in {len(split['shards'])} shards: as stated")


def check_dataset(folder):
    info = json.loads((folder / "dataset.json").read_text())
    for name, split in info["splits"].items():
        check_split(folder, name, split, info)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    check_dataset(pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    main()
