"""Models of klab: parameters as NumPy arrays, settings, and pictures of radiance fields.

Units are those of klab/radiance.h: a scene is turned, moved and scaled so that its box of interest is the cube [0,1]^3, lengths are in
sides of it, colors sRGB-encoded from 0 to 1, angles in degrees.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np

from ._error import Error
from ._worker import Path, Worker, path_text, reader


@dataclasses.dataclass(frozen=True)
class Camera:
    """A pinhole camera with OpenCV's lens distortion. Lengths in the picture are in pixels; (0,0) is the upper left corner of the
    upper left pixel, whose center is (0.5, 0.5).

    fx, fy, cx, cy: focal lengths and principal point. k1, k2, p1, p2: radial and tangential distortion, 0 for none.
    pose: camera to scene, [3,4] or its 12 numbers, rows of [R | t]. It sees along its -z, with +y up (as in OpenGL and Blender).
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float
    pose: Any = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    k1: float = 0.0
    k2: float = 0.0
    p1: float = 0.0
    p2: float = 0.0

    def _request(self) -> Dict[str, Any]:
        pose = np.asarray(self.pose, dtype=float)
        if pose.shape == (4, 4):
            pose = pose[:3]
        if pose.size != 12:
            raise Error(f"camera: pose has the shape {list(pose.shape)}: give [3,4], camera to scene", field="pose")
        numbers = {name: _finite(name, getattr(self, name)) for name in ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2")}
        if not np.all(np.isfinite(pose)):
            raise Error("camera: pose has a value that is not finite: give [3,4], camera to scene", field="pose")
        return {"width": _whole("width", self.width), "height": _whole("height", self.height), **numbers,
                "pose": [float(v) for v in pose.reshape(-1)]}


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or abs(number) > 3e38:
        raise Error(f"{name} is {value!r}: give a finite number", field=name)
    return number


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or abs(int(value)) > 2**31 - 1:
        raise Error(f"{name} is {value!r}: give a whole number", field=name)
    return int(value)


def _point(name: str, value: Any) -> List[float]:
    if np.shape(value) != (3,):
        raise Error(f"{name} has the shape {list(np.shape(value))}: give three numbers", field=name)
    return [_finite(name, v) for v in value]


_AT_ONCE = 1 << 20  # points of a request


def _points(name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        raise Error(f"{name} is no array of numbers: give [n,3]", field=name) from None
    if array.ndim < 1 or array.shape[-1] != 3:
        raise Error(f"{name} has the shape {list(array.shape)}: give three numbers for each, [n,3]", field=name)
    if not np.all(np.isfinite(array)):
        raise Error(f"{name} has a value that is not finite: give finite numbers", field=name)
    return array


def _camera(reply: Mapping[str, Any]) -> Camera:
    return Camera(**{**reply, "pose": tuple(reply["pose"])})


def look_at(eye: Sequence[float], target: Sequence[float], width: int, height: int, field_of_view: float) -> Camera:
    """Returns a camera at `eye` that points to `target`, with +z up. `field_of_view` is the horizontal one, 1 to 170 degrees."""
    value, _ = reader.call("camera", eye=_point("eye", eye), target=_point("target", target), width=_whole("width", width),
                           height=_whole("height", height), field_of_view=_finite("field_of_view", field_of_view))
    return _camera(value)


def _scene(scene: Path, downscale: int, holdout: int) -> Dict[str, Any]:
    name = scene if scene == "built-in" else path_text(scene, "scene")
    return {"scene": name, "downscale": _whole("downscale", downscale), "holdout": _whole("holdout", holdout)}


def views(scene: Path, *, downscale: int = 1, holdout: int = 8) -> Dict[str, Any]:
    """Returns a scene's cameras: {"train": {name: Camera}, "test": {name: Camera}, "notes": [...]}.

    scene: a folder with a transforms JSON or a COLMAP model, such a JSON, or "built-in". downscale: shrink pictures, 1 to 64.
    holdout: without a test set every N-th view is for testing; 0: none.
    """
    value, _ = reader.call("views", **_scene(scene, downscale, holdout))
    return {"train": {v["name"]: _camera(v["camera"]) for v in value["train"]},
            "test": {v["name"]: _camera(v["camera"]) for v in value["test"]}, "notes": value["notes"]}


@dataclasses.dataclass(frozen=True)
class Picture:
    """rgb: [height,width,3] sRGB-encoded, may be slightly outside of 0 to 1. opacity: [height,width], 0 to 1. depth: [height,width],
    distance along the ray times opacity. All float32."""

    rgb: np.ndarray
    opacity: np.ndarray
    depth: np.ndarray

    def __repr__(self) -> str:
        height, width = self.opacity.shape
        return f"Picture of {width} x {height} pixels: rgb, opacity, depth"


@dataclasses.dataclass(frozen=True)
class ViewScore:
    name: str
    psnr: float
    ssim: float


@dataclasses.dataclass(frozen=True)
class Score:
    """psnr: dB, of colors rounded to 8 bits; ssim: at most 1; means over `views`. protocol: how they were computed, in words."""

    psnr: float
    ssim: float
    protocol: str
    views: Tuple[ViewScore, ...]


class Model:
    """A trained model.

    kind: "hash", "voxels", "frequency" or "gaussians", else the classifier's network. parameters: arrays by name, as the file has them
    (docs/files.md), bfloat16 widened to float32; a tensor in fewer bits comes with its `<name>.scale`. settings: the recipe it was
    trained with. metadata: everything else that the file says, as text.
    """

    def __init__(self, file: str, kind: str, renders: bool, parameters: Dict[str, np.ndarray], settings: Dict[str, Any],
                 metadata: Dict[str, str]) -> None:
        self.file = file
        self.kind = kind
        self.parameters = parameters
        self.settings = settings
        self.metadata = metadata
        self._renders = renders
        self._worker = Worker()
        self._opened: Any = None

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {list(array.shape)} {array.dtype}" for name, array in self.parameters.items())
        return f"Model {self.kind} of {self.file}: {sizes}"

    def _open(self, rungs: str, threads: int, precision: str) -> Worker:
        if not self._renders:
            raise Error(f"{self.file}: is a classifier, which has no pictures: load a model that klab train wrote", file=self.file,
                        field="model")
        named = rungs in ("best", "last", "naive")
        wanted = {"rungs": rungs if named else path_text(rungs, "rungs"), "threads": _whole("threads", threads), "precision": precision}
        if not self._worker.alive or self._opened != wanted:
            self._opened = None
            self._worker.call("open", file=self.file, **wanted)
            self._opened = wanted
        return self._worker

    def render(self, camera: Camera, *, rungs: str = "best", threads: int = 0, precision: str = "f32") -> Picture:
        """Returns the picture that a camera sees.

        rungs: which variant does each operation: "best" times unknown ones once on this machine, "last" and "naive" time nothing, else a
        JSON file {"operation": "variant id"}. threads: 0 for all. precision: "f32", "bf16", "f16" or "int8" in memory.
        """
        if not isinstance(camera, Camera):
            raise Error(f"camera is of type {type(camera).__name__}: give a klab.Camera, from klab.look_at or klab.views", field="camera")
        request = camera._request()
        _, arrays = self._open(rungs, threads, precision).call("render", camera=request)
        return Picture(**arrays)

    def density(self, points: Any, *, rungs: str = "best", threads: int = 0) -> np.ndarray:
        """Returns the density at points [...,3] as float32 [...], per side of the scene's cube: over a length s in which it is constant it
        absorbs 1 - exp(-density * s) of the light.

        It is 0 where pictures see nothing: outside of the field's box, and in cells that its grid leaves out. Gaussians have no density.
        rungs, threads: as in render().
        """
        return self._at_points("density", [_points("points", points)], rungs, threads)

    def colors(self, points: Any, directions: Any, *, rungs: str = "best", threads: int = 0) -> np.ndarray:
        """Returns the colors of points [...,3] as float32 [...,3], seen by rays that pass them in these directions.

        directions: [...,3] like the points, or [3] for all of them; from the camera into the scene, of any length above 0. Where the
        density is 0, a color means nothing. For the same fields as density().
        """
        at, along = _points("points", points), _points("directions", directions)
        if along.shape != at.shape:
            if along.shape != (3,):
                raise Error(f"directions has the shape {list(along.shape)} and points has {list(at.shape)}: give one for each point, or [3]",
                            field="directions")
            along = np.broadcast_to(along, at.shape)
        return self._at_points("colors", [at, along], rungs, threads)

    def _at_points(self, what: str, arrays: List[np.ndarray], rungs: str, threads: int) -> np.ndarray:
        worker, shape = self._open(rungs, threads, "f32"), arrays[0].shape
        flat = [np.ascontiguousarray(a.reshape(-1, 3)) for a in arrays]
        parts = [worker.call(what, points=[a[i:i + _AT_ONCE] for a in flat])[1][what] for i in range(0, max(1, len(flat[0])), _AT_ONCE)]
        return np.concatenate(parts).reshape(shape if what == "colors" else shape[:-1])

    def score(self, scene: Path, *, downscale: int = 1, holdout: int = 8, rungs: str = "best", threads: int = 0,
              precision: str = "f32") -> Score:
        """Compares pictures with the test views of the scene that the model was trained on, loaded with the same options."""
        request = _scene(scene, downscale, holdout)
        value, _ = self._open(rungs, threads, precision).call("score", **request)
        return Score(value["psnr"], value["ssim"], value["protocol"], tuple(ViewScore(**v) for v in value["views"]))

    def close(self) -> None:
        """Ends the process that renders; the next picture starts it again."""
        self._worker.close()
        self._opened = None


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def load(path: Path) -> Model:
    """Reads a model: a model.safetensors of klab train or klab classify, the folder of a run, or Gaussians (.ply, .splat, .spz)."""
    file = path_text(path, "model")
    if os.path.isdir(file):
        file = os.path.join(file, "model.safetensors")
    if file.endswith((".ply", ".splat", ".spz")):
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "model.safetensors")
            reader.call("convert", file=file, to=copy)
            metadata, parameters = reader.call("tensors", file=copy)
    else:
        metadata, parameters = reader.call("tensors", file=file)
    if "klab" in metadata:
        kind = metadata["klab"].split()[0]
        kind = "hash" if kind == "hash-nerf" else kind
        return Model(file, kind, True, parameters, _decoded(metadata.get("config", "{}")), metadata)
    if "model" in metadata:
        settings = {name: _decoded(metadata[name]) for name in metadata}
        return Model(file, metadata["model"], False, parameters, settings, metadata)
    raise Error(f'{file}: has tensors, but neither "klab" nor "model" in its metadata: name a model.safetensors that klab train or klab '
                "classify wrote", file=file, field="klab")
