"""Checks Toroid's safetensors files against the safetensors package, in both directions.

usage: check_safetensors.py DIR PROGRAM
DIR is what `PROGRAM write DIR` made; PROGRAM is reader_samples.
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy
import safetensors

NAMES = {"f64": "F64", "f32": "F32", "bf16": "BF16", "i32": "I32", "u32": "U32", "u8": "U8",
         "bool": "BOOL"}
# What safetensors.serialize calls them.
WRITTEN = {"F64": "float64", "F32": "float32", "BF16": "bfloat16", "I32": "int32",
           "U32": "uint32", "U8": "uint8", "BOOL": "bool"}


def split_type(text):
    """"f32[2,3]" -> ("F32", [2, 3])"""
    dtype, dims = text.rstrip("]").split("[")
    return NAMES[dtype], [int(dim) for dim in dims.split(",") if dim]


def check_written_by_toroid(path, expected):
    got = dict(safetensors.deserialize(path.read_bytes()))
    assert got.keys() == expected["tensors"].keys(), (path, list(got))
    for name, entry in expected["tensors"].items():
        dtype, shape = split_type(entry["type"])
        assert got[name]["dtype"] == dtype, (path, name, got[name]["dtype"])
        assert got[name]["shape"] == shape, (path, name, got[name]["shape"])
        assert bytes(got[name]["data"]).hex() == entry["bytes"], (path, name)
    with safetensors.safe_open(path, framework="np") as opened:
        assert (opened.metadata() or {}) == expected["metadata"], opened.metadata()
        for name in opened.keys():
            if "bf16" in expected["tensors"][name]["type"]:
                continue  # NumPy has no such type
            array = numpy.ascontiguousarray(opened.get_tensor(name))
            assert array.tobytes().hex() == expected["tensors"][name]["bytes"], (path, name)


def listed(program, path):
    return subprocess.run([program, "list", path], capture_output=True, text=True, check=False)


def check_read_by_toroid(path, expected, program, folder):
    tensors, buffers = {}, []
    for name, entry in expected["tensors"].items():
        dtype, shape = split_type(entry["type"])
        buffers.append(numpy.frombuffer(bytes.fromhex(entry["bytes"]), numpy.uint8))
        tensors[name] = safetensors.TensorSpec(dtype=WRITTEN[dtype], shape=shape,
                                               data_ptr=buffers[-1].ctypes.data,
                                               data_len=buffers[-1].nbytes)
    copy = folder / path.name
    copy.write_bytes(safetensors.serialize(tensors, expected["metadata"] or None))
    result = listed(program, copy)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == expected, (path, result.stdout)


def malformed():
    """Files that both must refuse: name -> bytes."""
    def file(header, data):
        text = json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    def tensor(begin, end, shape=(4,)):
        return {"dtype": "U8", "shape": list(shape), "data_offsets": [begin, end]}

    good = file({"a": tensor(0, 4), "b": tensor(4, 8)}, bytes(8))
    return {
        "empty": b"",
        "cut in the length": good[:5],
        "cut in the header": good[:40],
        "cut in the data": good[:-1],
        "trailing byte": good + b"\0",
        "header of 2^60 bytes": struct.pack("<Q", 1 << 60) + good[8:],
        "begin behind end": file({"a": tensor(4, 0)}, bytes(4)),
        "overlap": file({"a": tensor(0, 4), "b": tensor(3, 7)}, bytes(7)),
        "hole": file({"a": tensor(0, 4), "b": tensor(5, 9)}, bytes(9)),
        "end behind the file": file({"a": tensor(0, 8, (8,))}, bytes(4)),
        "shape and bytes differ": file({"a": tensor(0, 4, (5,))}, bytes(4)),
        "shape overflows": file({"a": tensor(0, 4, (1 << 62, 8))}, bytes(4)),
        "negative dimension": file({"a": tensor(0, 4, (-4,))}, bytes(4)),
        "unknown dtype": file({"a": dict(tensor(0, 4), dtype="Q4")}, bytes(4)),
        "metadata of a wrong kind": file({"__metadata__": {"a": 1}}, b""),
        "not an object": file([1], b""),
    }


def check_refused(name, content, program, folder):
    try:
        safetensors.deserialize(content)
    except safetensors.SafetensorError:
        pass
    else:
        raise AssertionError(f"the safetensors package accepts: {name}")
    path = folder / "bad.safetensors"
    path.write_bytes(content)
    result = listed(program, path)
    assert result.returncode == 1, (name, result)
    assert result.stderr.startswith(f"error: {path}: "), (name, result.stderr)
    assert result.stderr.count("\n") == 1, (name, result.stderr)


def main():
    samples, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    files = {"types.safetensors": "types.json", "nothing.safetensors": "nothing.json",
             "step-000012/state.safetensors": "step-000012.json"}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for file, description in files.items():
            expected = json.loads((samples / description).read_text())
            check_written_by_toroid(samples / file, expected)
            check_read_by_toroid(samples / file, expected, program, folder)
        cases = malformed()
        for name, content in cases.items():
            check_refused(name, content, program, folder)
    print(f"safetensors {safetensors.__version__}: {len(files)} files read alike in both "
          f"directions, {len(cases)} malformed ones refused by both")


if __name__ == "__main__":
    main()
