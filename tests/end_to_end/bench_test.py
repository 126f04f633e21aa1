"""toroid bench: what a step costs, without data."""

import json
import unittest
from pathlib import Path

import program

SMALL = ("--size", 28, "--channels", 1, "--classes", 10, "--batch", 8, "--steps", 2)
ROOT = Path(__file__).resolve().parents[2]
WITHOUT_XLA = (None if (ROOT / ".deps/pjrt/xla_cpu_pjrt.so").exists()
               else "the PJRT plugin is absent (tools/fetch_pjrt.sh)")


class BenchStep(program.ProgramTest):

    def bench(self, *flags):
        return json.loads(self.run_program("bench", "step", *SMALL, "--json", *flags).stdout)

    def test_json_and_trace_tell_where_a_step_goes(self):
        found = self.bench("--model", "resnet8", "--profile", "trace.json")
        self.assertEqual(("resnet8", 8, 28, "f32", "cpu"),
                         tuple(found[k] for k in ("model", "batch", "size", "dtype", "backend")))
        for key in ("images_per_s", "step_ms", "arena_mb", "rss_mb"):
            self.assertGreater(found[key], 0, key)
        self.assertEqual(2, len(found["steps_ms"]))
        self.assertAlmostEqual(8000, found["step_ms"] * found["images_per_s"], delta=0.01)
        ops = {op["op"]: op for op in found["ops"]}
        self.assertIn("conv2d", ops)
        self.assertLessEqual(sum(op["ms"] for op in ops.values()), sum(found["steps_ms"]) / 2)

        trace = json.loads((self.folder / "trace.json").read_text())
        events = trace["traceEvents"]
        self.assertEqual({"X"}, {event["ph"] for event in events})
        self.assertEqual(sum(op["nodes"] for op in ops.values()), len(events))
        self.assertEqual(set(ops), {event["cat"] for event in events})
        names = [event["name"] for event in events if event["cat"] == "conv2d"]
        self.assertEqual("stem/conv/conv2d", names[0])
        self.assertLessEqual(sum(event["dur"] for event in events), found["steps_ms"][-1] * 1000)
        ends = [event["ts"] + event["dur"] for event in events]
        for end, after in zip(ends, events[1:]):
            self.assertLessEqual(end, after["ts"] + 0.01, "nodes run one after the other")

    def test_the_table_has_a_line_for_each_op(self):
        text = self.run_program("bench", "step", "--model", "mlp", *SMALL).stdout
        self.assertRegex(text, r"^mlp 28x28 batch 8 f32: [\d.]+ images/s, [\d.]+ ms a step")
        self.assertRegex(text, r"\nmemory: \d+ MB resident at most; arena \d+ MB")
        self.assertRegex(text, r"\nmatmul +\d+ +[\d.]+ +[\d.]+% +[\d.]+ +[\d.]+\n")

    def test_what_cannot_be_is_one_line(self):
        for says, flags in (("unknown model \"resnet9\"", ("--model", "resnet9")),
                            ("--batch", ("--batch", 0)),
                            ("--dtype", ("--dtype", "f16")),
                            ("--steps", ("--steps", "many")),
                            ("75x75 or larger", ("--model", "inception_v3")),
                            ("reference backend does not time its ops",
                             ("--model", "mlp", "--backend", "reference", "--profile", "t.json"))):
            self.assert_error("bench", "step", *SMALL[:2], *flags, status=2, says=[says])
        self.assert_error("bench", status=2)
        self.assert_error("bench", "step", "--model", "mlp", *SMALL, "--profile", "none/t.json",
                          status=1, says=["none/t.json"])

    @unittest.skipIf(WITHOUT_XLA, WITHOUT_XLA)
    def test_xla_tells_the_step_without_its_ops(self):
        xla = ("--model", "mlp", "--backend", "xla")
        found = self.bench(*xla)
        self.assertGreater(found["images_per_s"], 0)
        self.assertEqual([], found["ops"])
        text = self.run_program("bench", "step", *xla, *SMALL).stdout
        self.assertIn("ops: the xla backend does not tell what each of them takes\n", text)
        self.assert_error("bench", "step", *xla, *SMALL, "--profile", "t.json", status=2,
                          says=["the xla backend does not time its ops"])


if __name__ == "__main__":
    program.main()
