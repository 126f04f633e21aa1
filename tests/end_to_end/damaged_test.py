"""Damaged, missing and unexpected files are named, and nothing half-written is left."""

import gzip
import json
import os
import shutil

import program
from program import CLASSES, SIZE, flip, pictures, png, records, write_folders, write_idx


class Sources(program.ProgramTest):
    """What `toroid prepare` cannot use."""

    def refuse(self, *arguments, says, status=1):
        self.assert_error("prepare", *arguments, status=status, says=says)
        self.assertFalse((self.folder / "out").exists())

    def test_idx_files(self):
        images, labels = write_idx(self.folder, pictures(40))
        self.refuse("idx", "nothing", labels, "out", says=["nothing: cannot open"])
        self.refuse("idx", self.folder, labels, "out", says=["Is a directory"])
        self.refuse("idx", labels, images, "out", says=["labels.gz", "swapped"])
        content = gzip.decompress(images.read_bytes())
        for name, damaged, says in (
                ("cut.gz", images.read_bytes()[:300], "cut off"),
                ("tail", content[:-1], "tail"), ("more", content + b"x", "more"),
                ("magic", b"junk" + content[4:], "begins with 6a756e6b"),
                ("huge", content[:4] + b"\x7f\xff\xff\xff" * 3 + content[16:], "huge"),
                ("none", content[:4] + b"\0\0\0\0" + content[8:16], "none"),
                ("flat", content[:8] + b"\0\0\0\0" + content[12:16], "flat"),
                ("empty", b"", "empty")):
            (self.folder / name).write_bytes(damaged)
            self.refuse("idx", name, labels, "out", says=[f"{name}", says])
        fewer = self.folder / "fewer"
        fewer.mkdir()
        _, others = write_idx(fewer, pictures(39))
        self.refuse("idx", images, others, "out", says=["40 pictures", "39 labels"])
        self.refuse("idx", images, labels, "out", "--class-names", "a,b", says=["has no name"])
        self.refuse("idx", images, labels, "out", "--class-names", "a,a,b,c", says=["two classes"])

    def test_folders(self):
        source = self.folder / "source"
        write_folders(source, pictures(8))
        odd = source / "class0" / "odd.png"
        whole = png(pictures(1)[0][1])
        for content, says in ((b"", "is empty"), (b"hello, this is text", "is text"),
                              (b"GIF89a" + b"\0" * 60, "GIF"), (os.urandom(400), "odd.png"),
                              (whole[:60], "odd.png"),
                              (whole[:50] + b"\xff" + whole[51:], "odd.png"),
                              (b"\xff\xd8\xff\xe0" + os.urandom(200), "odd.png")):
            odd.write_bytes(content)
            self.refuse("folder", "source", "out", says=[str(odd.relative_to(self.folder)), says])
        odd.unlink()
        odd.symlink_to("nowhere.png")
        self.refuse("folder", "source", "out", says=["odd.png: is neither a file nor a folder"])
        odd.unlink()
        (source / "none").mkdir()
        self.refuse("folder", "source", "out", says=["none: the class has no picture"])
        self.refuse("folder", "source/class0", "out", says=["has no subfolders"])
        self.refuse("folder", "nothing", "out", says=["nothing: cannot list"])

    def test_tables(self):
        write_folders(self.folder / "source", pictures(8))
        table = self.folder / "t.csv"
        for text, says in ((b"", "is empty"), (b"image,label\n", "no rows"),
                           (b"image,label\nclass0/0000,1\nclass0/9999,1\n", "line 3: there is no"),
                           (b"image,label\nclass0/0000\n", "line 2: has 1 fields"),
                           (b"image,label\nclass0/0000,-1\n", "line 2: label -1"),
                           (b"image,label\nclass0/0000,\n", "line 2: the label is empty"),
                           (b"image,label\nclass0/0000,caf\xe9\n", "is not UTF-8"),
                           (b'image,label\n"class0/0000,1\n', "line 2: a quoted field")):
            table.write_bytes(text)
            self.refuse("csv", "t.csv", "out", "--images", "source", says=["", says])
        table.write_text("picture,label\nclass0/0000,1\n")
        self.refuse("csv", "t.csv", "out", "--images", "source", status=2,
                    says=['t.csv: has no column "image"', "picture"])

    def test_an_output_in_the_way_is_left_alone(self):
        images, labels = write_idx(self.folder, pictures(8))
        (self.folder / "file").write_text("mine")
        (self.folder / "full").mkdir()
        (self.folder / "full" / "mine").write_text("mine")
        for out, says in (("file", "file: is no folder"), ("full", "full: is not empty"),
                          ("file/out", "Not a directory")):
            self.assert_error("prepare", "idx", images, labels, out, status=1, says=[says])
        self.assertEqual("mine", (self.folder / "file").read_text())
        self.assertEqual(["mine"], os.listdir(self.folder / "full"))


class Shards(program.ProgramTest):
    """What `toroid train` cannot use."""

    def test_damaged_records_are_named_by_file_number_and_offset(self):
        self.prepare(count=60)
        shard = next((self.folder / "data").glob("train-*"))
        whole, at = shard.read_bytes(), records(shard)
        for offset, says in ((at[7] + 40, "checksum of its payload"), (at[7] + 3, "of its length"),
                             (at[7] + 9, "checksum of its length"),
                             (at[8] - 1, "checksum of its payload")):
            flip(shard, offset)
            self.assert_error("train", self.recipe(), "--out", f"run-{offset}", status=1,
                              says=[f"{shard.name}: record 7 at byte {at[7]}", says])
            shard.write_bytes(whole)
        for cut in (at[-1] + 5, at[-1] + 20, len(whole) - 1):
            shard.write_bytes(whole[:cut])
            self.assert_error("train", self.recipe(), "--out", "run", status=1,
                              says=[f"record {len(at) - 1} at byte {at[-1]}", "cut off"])
        shard.write_bytes(whole[:at[-1]])  # a whole record is missing
        self.assert_error("train", self.recipe(), "--out", "run", status=1, says=["dataset.json"])
        shard.unlink()
        self.assert_error("train", self.recipe(), "--out", "run", status=1,
                          says=["no file matches"])
        self.assertFalse((self.folder / "run").exists())

    def test_labels_beyond_the_classes_are_named(self):
        self.prepare(count=60)
        (self.folder / "data" / "dataset.json").unlink()
        self.assert_error("train", self.recipe(model__classes=CLASSES - 1, data__image_size=SIZE),
                          "--out", "run", status=1, says=["record ", "label 3 is not in 0..2"])

    def test_one_picture_or_one_class_is_a_data_set(self):
        for name, some in (("one", pictures(1)), ("same", [(0, p) for _, p in pictures(60)])):
            folder = self.folder / name
            folder.mkdir()
            self.run_program("prepare", "idx", *write_idx(folder, some), f"{name}/data")
            recipe = self.recipe(data=f"{name}/data", data__validation=f"{name}/data/*.tfrecord")
            self.run_program("train", recipe, "--out", f"{name}/run")
            self.assertEqual(1, self.evaluation(f"{name}/run")["top1"])


class RunFolders(program.ProgramTest):
    """What `toroid eval` and `predict` cannot use, and `train` survives."""

    def test_damaged_files_of_a_run(self):
        self.prepare(count=96)
        self.run_program("train", self.recipe(model__name="mlp"), "--out", "whole")
        (self.folder / "a.png").write_bytes(png(pictures(1)[0][1]))
        run = self.folder / "run"
        newest = self.checkpoints("whole")[-1].name
        for name in ("recipe.toml", "model.json", f"{newest}/checkpoint.json",
                     f"{newest}/state.safetensors"):
            for content in (b"", os.urandom(300), (self.folder / "whole" / name).read_bytes()[:40],
                            b"{}", None):
                shutil.copytree(self.folder / "whole", run)
                for older in self.checkpoints("run")[:-1]:
                    shutil.rmtree(older)
                (run / name).unlink()
                if content is not None:
                    (run / name).write_bytes(content)
                status = 2 if name == "recipe.toml" and content is not None else 1
                for command in (("eval", "run"), ("predict", "run", "a.png")):
                    self.assert_error(*command, status=status, says=["run"])
                shutil.rmtree(run)

    def test_a_damaged_log_does_not_stop_a_run_from_going_on(self):
        self.prepare(count=96)
        recipe = self.recipe(model__name="mlp", train__epochs=1)
        self.run_program("train", recipe, "--out", "run")
        for name in ("metrics.jsonl", "summary.json", "recipe.toml", "model.json"):
            (self.folder / "run" / name).write_bytes(os.urandom(300))
        self.run_program("train", recipe, "--out", "run")
        self.assertEqual("done", json.loads(
            (self.folder / "run" / "summary.json").read_text())["attempts"][-1]["outcome"])
        self.evaluation("run")

    def test_what_is_no_run_and_no_picture(self):
        self.prepare(count=96)
        self.run_program("train", self.recipe(model__name="mlp"), "--out", "run")
        for folder, says in (("nothing", "no such folder"), ("data", "no recipe.toml"),
                             ("recipe.toml", "no such folder")):
            self.assert_error("eval", folder, status=1, says=[f"{folder}: ", says])
        (self.folder / "junk.png").write_bytes(os.urandom(500))
        (self.folder / "cut.png").write_bytes(png(pictures(1)[0][1])[:70])
        for name in ("junk.png", "cut.png", "recipe.toml", "nothing.png", "data"):
            self.assert_error("predict", "run", name, status=1, says=[name])
        self.assert_error("eval", "run", "--data", "nothing-*", status=1, says=["no file matches"])
        self.assert_error("train", self.recipe(), "--out", "recipe.toml", status=1,
                          says=["recipe.toml: cannot create the run folder"])


if __name__ == "__main__":
    program.main()
