"""Checks that TensorBoard shows the scalars that a folder's event files should hold.

usage: check_events.py DIR EXPECTED
EXPECTED is a JSON file: {tag: [[step, value], ...]}, with "NaN", "Infinity", "-Infinity" as text.
"""

import json
import math
import pathlib
import struct
import sys
import time

from tensorboard.backend.event_processing import event_accumulator


def f32(value):
    return struct.unpack("<f", struct.pack("<f", float(value)))[0]


def same(left, right):
    return left == right or (math.isnan(left) and math.isnan(right))


def main():
    folder, expected = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text())
    shown = event_accumulator.EventAccumulator(folder, size_guidance={"scalars": 0})
    shown.Reload()
    tags = shown.Tags()["scalars"]
    assert sorted(tags) == sorted(expected), tags
    for tag, points in expected.items():
        got = shown.Scalars(tag)
        assert [event.step for event in got] == [step for step, _ in points], (tag, got)
        for event, (step, value) in zip(got, points):
            assert same(event.value, f32(value)), (tag, step, event.value, value)
            assert abs(event.wall_time - time.time()) < 3600, (tag, step, event.wall_time)
    print(f"TensorBoard shows {sum(map(len, expected.values()))} values of {len(expected)} tags")


if __name__ == "__main__":
    main()
