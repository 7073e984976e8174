"""The installed package: rows, counts, verdicts, models and the program, on klab's own files.

    KLAB_PROGRAM=build/release/klab KLAB_CHECKOUT=. KLAB_MODELS=DIR python3 test_package.py

DIR has runs of `klab train built-in --downscale 12 --holdout 4 --seed 3` for each kind of field: hash, voxels, gaussians; and
gaussians.ply. tests/python/test_python.sh makes them.
"""

import csv
import importlib.util
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

import klab

ROOT = pathlib.Path(os.environ["KLAB_CHECKOUT"]).resolve()
MODELS = pathlib.Path(os.environ["KLAB_MODELS"]).resolve()
RECORDED = ROOT / "reports" / "recorded"
RUN = sorted(RECORDED.glob("*/run.csv"))[0]
PANDAS = importlib.util.find_spec("pandas") is not None
KEPT = ["vector_add", "window_sum", "transpose"]  # operations none of whose rungs these rows know by another name
EVALUATION = dict(downscale=12, holdout=4)


def cells(file):
    with open(file, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refused(self, call, *words):
        with self.assertRaises(klab.Error) as caught:
            call()
        message = str(caught.exception)
        self.assertIsInstance(caught.exception, ValueError)
        self.assertNotIn("\n", message)
        for word in words:
            self.assertIn(word, message)
        return caught.exception

    def written(self, name, text):
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        return file


class Rows(Case):
    def test_values_are_those_of_the_file(self):
        table, raw = klab.rows(RUN), [r for r in cells(RUN) if r["op"] in KEPT]
        kept = np.flatnonzero(np.isin(np.asarray(table["op"], str), KEPT))
        table = {name: np.asarray(table[name])[kept] for name in table}
        self.assertGreater(len(raw), 20)
        self.assertEqual(list(table["variant"]), [r["variant"] for r in raw])
        for name in ("op", "size", "shape", "ceiling", "verdict", "fingerprint"):
            self.assertEqual(list(table[name]), [r[name] for r in raw], name)
        for name in ("seconds_median", "bytes", "of_ceiling", "over_naive", "worst_error"):
            np.testing.assert_array_equal(np.asarray(table[name], float), [float(r[name]) if r[name] else np.nan for r in raw])
        for mine, r in zip(table["seconds"], raw):
            self.assertEqual(list(mine), [float(s) for s in r["seconds"].split(";") if s])
        counted = [dict(p.split("=") for p in r["counts"].split(";") if p) for r in raw]
        self.assertEqual([{k: str(v) for k, v in c.items()} for c in table["counts"]], counted)
        self.assertTrue(any(counted))

    def test_former_names(self):
        """Of the trainer's operations on the processor; of several rows that now belong to one rung, one is kept."""
        listed = klab.run("list", json=True)["variants"]
        former = {was: v["id"] for v in listed for was in v["was"] if v["backend"] == "cpu" and v["op"] in ("composite_fwd", "hashgrid_bwd")}
        met = set()
        for file in RECORDED.glob("*/run.csv"):
            raw, table = {r["variant"] for r in cells(file)}, set(klab.rows(file)["variant"])
            self.assertFalse(table & set(former))
            self.assertTrue({former[v] for v in raw & set(former)} <= table)
            met |= raw & set(former)
        self.assertGreater(len(met), 2)

    def test_types(self):
        table = klab.rows(RUN)
        for name in ("row", "rows", "threads", "rounds", "iterations", "session"):
            self.assertEqual(table[name].dtype, np.int64, name)
        for name in ("seconds_low", "flops", "gb_per_s", "over_parent_low", "expected", "others"):
            self.assertEqual(table[name].dtype, np.float64, name)
        self.assertEqual(table["run"].dtype, bool)
        medians = np.array([np.median(s) if len(s) else np.nan for s in table["seconds"]])
        np.testing.assert_allclose(np.asarray(table["seconds_median"], float), medians, rtol=1e-9)
        self.assertEqual(type(table).__name__, "DataFrame" if PANDAS else "dict")

    def test_folder(self):
        table = klab.rows(RECORDED)
        files = {f for f in RECORDED.rglob("*.csv") if f.read_text(encoding="utf-8").startswith("row,rows,run")}
        self.assertGreater(len(files), 1)
        self.assertEqual(set(table["file"]), {str(f) for f in files})
        for file in files:
            here = np.asarray(table["file"]) == str(file)
            self.assertEqual(int(here.sum()), len(klab.rows(file)["row"]))

    def test_bad_files(self):
        lines = RUN.read_text(encoding="utf-8").splitlines(keepends=True)
        self.refused(lambda: klab.rows(self.folder / "none.csv"), "none.csv", "klab bench --out")
        self.refused(lambda: klab.rows(self.folder), "no file below this folder holds rows", "klab bench --out")
        self.refused(lambda: klab.rows(3), "int", "give a path")
        self.refused(lambda: klab.rows(self.written("a.csv", "a,b\n1,2\n")), "a.csv", "column", "record")
        self.refused(lambda: klab.rows(self.written("b.csv", "")), "b.csv", "is empty", "record")
        self.refused(lambda: klab.rows(self.written("b.json", "{}")), "b.json", "--out NAME.csv")
        head = lines[0].replace("seconds_median", "middle")
        error = self.refused(lambda: klab.rows(self.written("c.csv", head + "".join(lines[1:]))), "c.csv", "middle", "record")
        self.assertEqual(error.field, "middle")
        self.assertTrue(error.file.endswith("c.csv") and error.remedy)
        names = lines[0].rstrip().split(",")
        at = names.index("bytes")
        fewer = [",".join(c for i, c in enumerate(row) if i != at) for row in csv.reader([lines[0]])]
        error = self.refused(lambda: klab.rows(self.written("d.csv", fewer[0] + "\n" + "".join(lines[1:3]))), "d.csv",
                             "column 'bytes' is missing", "klab bench")
        self.assertEqual(error.field, "bytes")
        self.refused(lambda: klab.rows(self.written("e.csv", "".join(lines[:5]))), "e.csv", "cut off")
        interrupted = self.written("f.csv", "".join(lines).replace(",complete,", ",interrupted,"))
        self.refused(lambda: klab.rows(interrupted), "f.csv", "interrupted")
        self.assertFalse(np.any(klab.rows(interrupted, partial=True)["run"]))


class Counts(Case):
    def test_values_are_those_of_the_file(self):
        file = RECORDED / "counts" / "transpose.csv"
        table, raw = klab.counts(file), cells(file)
        self.assertEqual(sorted(zip(table["variant"], table["metric"], table["count"])),
                         sorted((r["variant"], r["metric"], int(r["count"])) for r in raw))
        self.assertTrue(np.any(table["line"] > 0))
        self.assertIn("GNU", list(table["compiler"])[0])
        everything = klab.counts(RECORDED / "counts")
        self.assertGreater(len(set(everything["file"])), 50)

    def test_trace(self):
        trace = klab.run("trace", "transpose.cuda.01_naive", "--shape", "99,134", json=True)
        file = self.written("trace.json", json.dumps(trace))
        now, was = klab.counts(file), klab.counts(RECORDED / "counts" / "transpose.csv")
        recorded = {m: c for v, p, m, c in zip(was["variant"], was["place"], was["metric"], was["count"])
                    if v == "transpose.cuda.01_naive" and p == "all"}
        mine = dict(zip(now["metric"], now["count"]))
        self.assertEqual(mine["global_store_sectors"], recorded["global_store_sectors"])

    def test_bad_files(self):
        self.refused(lambda: klab.counts(self.written("transpose.csv", "a,b\n1,2\n")), "transpose.csv", "record")
        self.refused(lambda: klab.counts(self.written("transpose.csv", "variant,shape,place,access,metric,count\nmatmul.x,,,,a,1\n")),
                     "no rung of transpose")
        self.refused(lambda: klab.counts(self.folder / "none.csv"), "none.csv", "reports/recorded/counts")
        self.refused(lambda: klab.counts(self.written("x.json", '{"schema": "list"}')), "x.json", '"schema"', "klab trace")
        error = self.refused(lambda: klab.counts(self.written("x.json", '{"schema": "trace", "schema_version": 99}')), "is 99, this package reads 1")
        self.assertEqual(error.field, "schema_version")
        self.refused(lambda: klab.counts(self.written("x.json", '{"schema": "trace", "schema_version": 1}')), '"counts" is missing')


class Verdicts(Case):
    def test_claims(self):
        file = next(RECORDED.glob("*/claims.json"))
        table, raw = klab.verdicts(RECORDED), json.loads(file.read_text(encoding="utf-8"))["claims"]
        self.assertGreaterEqual(len(table["claim"]), len(raw))
        mine = dict(zip(table["claim"], zip(table["verdict"], table["value"])))
        for claim in raw:
            self.assertEqual(mine[claim["claim"]][0], claim["verdict"])
            self.assertAlmostEqual(mine[claim["claim"]][1], claim["value"])

    def test_check(self):
        found = klab.run("check", "transpose.cpu.01_naive", "--quick", json=True)
        table = klab.verdicts(self.written("check.json", json.dumps(found)))
        self.assertEqual(list(table["variant"]), ["transpose.cpu.01_naive"])
        self.assertEqual(list(table["verdict"]), ["ok"])
        self.assertGreater(int(np.asarray(table["cases"])[0]), 3)

    def test_bad_files(self):
        file = next(RECORDED.glob("*/claims.json"))
        text = file.read_text(encoding="utf-8")
        self.refused(lambda: klab.verdicts(self.written("claims.json", text.replace('"verdict": "held"', '"verdict": "refuted"', 1))),
                     "claims.json", "its rule and values say", "record")
        self.refused(lambda: klab.verdicts(self.written("claims.json", text[:200])), "claims.json", "no JSON")
        self.refused(lambda: klab.verdicts(self.written("x.json", '{"schema": "claims", "schema_version": 99}')), "is 99")
        (self.folder / "claims.json").unlink()
        self.refused(lambda: klab.verdicts(self.folder), "no file below")


def tensors_of(file):
    data = file.read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    return json.loads(data[8:8 + size]), data[8 + size:]


class Models(Case):
    def test_parameters(self):
        for kind in ("hash", "voxels", "gaussians"):
            file = MODELS / kind / "model.safetensors"
            model = klab.load(file.parent)
            head, data = tensors_of(file)
            self.assertEqual(model.kind, kind)
            self.assertEqual(set(model.parameters), set(head) - {"__metadata__"})
            for name, array in model.parameters.items():
                self.assertEqual(list(array.shape), head[name]["shape"])
                begin, end = head[name]["data_offsets"]
                self.assertEqual(array.tobytes(), data[begin:end], name)
            self.assertEqual(model.settings, json.loads(head["__metadata__"]["config"]))
            self.assertIn(kind, repr(model))

    def test_render_and_score(self):
        model = klab.load(MODELS / "hash")
        views = klab.views("built-in", **EVALUATION)
        camera = next(iter(views["test"].values()))
        picture = model.render(camera, rungs="last")
        self.assertEqual(picture.rgb.shape, (camera.height, camera.width, 3))
        self.assertEqual(picture.depth.shape, picture.opacity.shape)
        self.assertTrue(np.all(np.isfinite(picture.rgb)) and picture.rgb.std() > 0)
        self.assertTrue(np.all((picture.opacity >= 0) & (picture.opacity <= 1.001)))
        np.testing.assert_array_equal(picture.rgb, model.render(camera, rungs="last").rgb)
        other = klab.look_at((1.6, 0.5, 1.2), (0.5, 0.5, 0.4), 40, 30, 45)
        self.assertEqual(model.render(other, rungs="last").opacity.shape, (30, 40))
        score = model.score("built-in", rungs="last", **EVALUATION)
        said = klab.run("eval", str(MODELS / "hash" / "model.safetensors"), "built-in", "--downscale", "12", "--holdout", "4", "--plan",
                        "last", json=True)
        self.assertAlmostEqual(score.psnr, said["psnr"], delta=1e-3)
        self.assertEqual([v.name for v in score.views], [v["name"] for v in said["views"]])
        narrow = model.render(camera, rungs="last", precision="int8")
        self.assertLess(np.abs(narrow.rgb - picture.rgb).max(), 0.5)
        self.assertGreater(np.abs(narrow.rgb - picture.rgb).max(), 0)

    def test_density_is_the_one_of_the_page_on_files(self):
        """docs/files.md has the way from a point to its density, in plain Python."""
        text = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
        code = text[:text.index("def density(p)")].rpartition("```python\n")[2] + text[text.index("def density(p)"):].partition("```")[0]
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(MODELS / "hash")
        page = {}
        exec(code, page)  # reads model.safetensors
        model = klab.load(MODELS / "hash")
        points = np.random.default_rng(5).uniform(0.1, 0.9, (300, 3)).astype(np.float32)
        mine = model.density(points, rungs="last")
        seen = np.flatnonzero(mine)
        self.assertGreater(len(seen), 20)
        np.testing.assert_allclose(mine[seen], [page["density"](points[i].tolist()) for i in seen], rtol=2e-3)
        self.assertEqual(float(model.density((0.5, 0.5, 7), rungs="last")), 0)

    def test_points_give_the_pixels_of_a_picture(self):
        """The integral over a ray: with steps finer than the renderer's the two differ by its steps."""
        camera = klab.look_at((1.6, 0.5, 1.2), (0.5, 0.5, 0.4), 33, 33, 30)
        eye = np.array((1.6, 0.5, 1.2))
        along = (0.5, 0.5, 0.4) - eye
        along /= np.linalg.norm(along)
        step = 1 / 4096
        points = eye + along * (np.arange(0, 2.4, step) + step / 2)[:, None]
        for kind in ("hash", "voxels"):
            model = klab.load(MODELS / kind)
            picture = model.render(camera, rungs="last")
            density, rgb = model.density(points, rungs="last"), model.colors(points, along, rungs="last")
            self.assertEqual((density.shape, rgb.shape), ((len(points),), (len(points), 3)))
            absorbed = np.cumsum(density.astype(float) * step)
            light = np.exp(-np.concatenate(([0], absorbed)))
            opacity = 1 - light[-1]
            self.assertGreater(opacity, 0.1, kind)
            self.assertAlmostEqual(opacity, picture.opacity[16, 16], delta=0.03)
            color = ((light[:-1] - light[1:])[:, None] * rgb).sum(0) + light[-1]  # the scene's background is white
            np.testing.assert_allclose(color, picture.rgb[16, 16], atol=0.04)
        grid = model.density(points[:24].reshape(2, 3, 4, 3), rungs="last")
        np.testing.assert_array_equal(grid.reshape(-1), density[:24])
        self.assertEqual(model.density(np.zeros((0, 3)), rungs="last").shape, (0,))
        self.refused(lambda: klab.load(MODELS / "gaussians").density(points, rungs="last"), "Gaussians have no density", "hash, voxels")
        self.refused(lambda: model.density([(0, 0)]), "points", "[n,3]")
        self.refused(lambda: model.density([(0, 0, float("inf"))]), "points", "finite")
        self.refused(lambda: model.colors(points, points[:3]), "directions", "one for each point")
        self.refused(lambda: model.colors(points[:2], (0, 0, 0), rungs="last"), "directions[0] has no length")

    def test_gaussians(self):
        model, again = klab.load(MODELS / "gaussians"), klab.load(MODELS / "gaussians.ply")
        self.assertEqual(model.parameters["position"].shape, again.parameters["position"].shape)
        np.testing.assert_allclose(np.sort(model.parameters["position"][0]), np.sort(again.parameters["position"][0]), atol=1e-4)
        camera = next(iter(klab.views("built-in", **EVALUATION)["test"].values()))
        pictures = [m.render(camera, rungs="last").rgb for m in (model, again)]
        self.assertGreater(pictures[0].std(), 0)
        np.testing.assert_allclose(*pictures, atol=0.02)

    def test_worker_that_dies_is_started_again(self):
        model = klab.load(MODELS / "hash")
        camera = klab.look_at((1.6, 0.5, 1.2), (0.5, 0.5, 0.4), 24, 16, 45)
        first = model.render(camera, rungs="last")
        process = model._worker._process
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        np.testing.assert_array_equal(model.render(camera, rungs="last").rgb, first.rgb)
        model.close()
        np.testing.assert_array_equal(model.render(camera, rungs="last").rgb, first.rgb)

    def test_interrupt(self):
        script = ("import klab, sys\nmodel = klab.load(sys.argv[1])\ncamera = klab.look_at((1.6, .5, 1.2), (.5, .5, .4), 24, 16, 45)\n"
                  "first = model.render(camera, rungs='last').rgb\nlarge = klab.look_at((1.6, .5, 1.2), (.5, .5, .4), 8000, 8000, 45)\n"
                  "print('begins', flush=True)\n"
                  "try:\n    model.render(large, rungs='last')\nexcept KeyboardInterrupt:\n"
                  "    print('interrupted', (model.render(camera, rungs='last').rgb == first).all())\n")
        child = subprocess.Popen([sys.executable, "-c", script, str(MODELS / "hash")], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "begins\n")
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=120)[0], "interrupted True\n")

    def test_classifier(self):
        file = self.folder / "classifier.safetensors"
        metadata = {"model": "mlp", "data": "digits", "names": '["0", "1"]', "classes": "2"}
        head = json.dumps({"__metadata__": metadata, "fc.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
        head += b" " * (-len(head) % 8)
        file.write_bytes(struct.pack("<Q", len(head)) + head + np.arange(6, dtype="<f4").tobytes())
        model = klab.load(file)
        np.testing.assert_array_equal(model.parameters["fc.weight"], [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(model.settings["names"], ["0", "1"])
        self.refused(lambda: model.render(klab.look_at((1, 0, 1), (0, 0, 0), 9, 9, 45)), "is a classifier", "klab train")
        head = head.replace(b'"model"', b'"mode1"')
        file.write_bytes(struct.pack("<Q", len(head)) + head + bytes(24))
        self.refused(lambda: klab.load(file), "neither", "klab train")

    def test_bad_input(self):
        model = klab.load(MODELS / "hash")
        camera = klab.look_at((1.6, 0.5, 1.2), (0.5, 0.5, 0.4), 24, 16, 45)
        whole = (MODELS / "hash" / "model.safetensors").read_bytes()
        (self.folder / "cut.safetensors").write_bytes(whole[:-7])
        (self.folder / "text.safetensors").write_bytes(b"a text and no model")
        for name in ("cut.safetensors", "text.safetensors", "none.safetensors", "none.ply"):
            self.refused(lambda: klab.load(self.folder / name), name, "klab train")
        self.refused(lambda: klab.load(self.folder), "model.safetensors", "klab train")
        self.refused(lambda: model.render("camera"), "klab.look_at")
        self.refused(lambda: model.render(klab.Camera(16, 16, 20, 20, 8, 8, pose=np.eye(2))), "pose", "[3,4]")
        self.refused(lambda: model.render(klab.Camera(0, 16, 20, 20, 8, 8), rungs="last"), "width", "from 1 to")
        self.refused(lambda: model.render(klab.Camera(16, 16, float("nan"), 20, 8, 8)), "fx", "finite")
        self.refused(lambda: model.render(camera, rungs=self.folder / "none.json"), "none.json")
        self.refused(lambda: model.render(camera, rungs="last", precision="f8"), "f8", "int8")
        self.refused(lambda: model.render(camera, rungs="last", threads=-1), "threads")
        self.refused(lambda: klab.look_at((0, 0), (0, 0, 0), 9, 9, 45), "eye", "three numbers")
        self.refused(lambda: klab.look_at((0, 0, 0), (0, 0, 0), 9, 9, 45), "same point")
        self.refused(lambda: klab.views(self.folder), "transforms_train.json")
        self.refused(lambda: model.score(self.folder / "none", rungs="last"), "no such folder or file for a scene")
        self.assertEqual(model.render(camera, rungs="last").rgb.shape, (16, 24, 3))


class Program(Case):
    def test_run(self):
        self.assertIn("transpose", klab.run("list", "transpose"))
        self.assertEqual(klab.run("list", "transpose", json=True)["schema"], "list")
        self.refused(lambda: klab.run("list", "no_such_lab"), "klab list no_such_lab", "no_such_lab")
        self.refused(lambda: klab.run("explain", "transpose", json=True), "explain")

    def test_no_program(self):
        was, os.environ["KLAB_PROGRAM"] = os.environ["KLAB_PROGRAM"], str(self.folder / "none")
        self.addCleanup(os.environ.__setitem__, "KLAB_PROGRAM", was)
        self.refused(lambda: klab.run("list"), "cannot be started", "KLAB_PROGRAM")


if __name__ == "__main__":
    unittest.main()
