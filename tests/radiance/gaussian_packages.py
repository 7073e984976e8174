#!/usr/bin/env python3
"""Compares Gaussians that klab writes and reads with what a package of PyPI, gaussforge, makes of the same files.

  gaussian_packages.py write WANTED.ply [OPACITY]   varied Gaussians of degree 3, some of them at the ends of the formats' ranges; the first
                                                    one's raw opacity
  gaussian_packages.py written WANTED.ply FILES...   the package reads klab's .ply, .splat, .spz and .sog of them, within each format's steps
  gaussian_packages.py convert WANTED.ply FILES...   the package writes them: .sog, and .spz of the version in its name, w2.spz
  gaussian_packages.py read FILE KLAB.ply   what klab read from a file of the package is what the package reads from it
"""
import gzip, json, math, random, re, struct, sys, zipfile

from exported_files import fail, ply_of

COUNT, FUNCTIONS = 400, 15


def write(path, first_opacity="-12"):
    random.seed(5)
    names = ["x", "y", "z", "nx", "ny", "nz", *(f"f_dc_{k}" for k in range(3)), *(f"f_rest_{k}" for k in range(3 * FUNCTIONS)),
             "opacity", *(f"scale_{k}" for k in range(3)), *(f"rot_{k}" for k in range(4))]
    with open(path, "wb") as file:
        file.write("\n".join(["ply", "format binary_little_endian 1.0", f"element vertex {COUNT}", *(f"property float {n}" for n in names),
                              "end_header\n"]).encode())
        for i in range(COUNT):
            scales = [(-9.9, 5.8, -3)[(i + k) % 3] for k in range(3)] if i < 3 else [random.uniform(-7, -1) for _ in range(3)]
            opacity = (float(first_opacity), 12, 0)[i] if i < 3 else random.gauss(0, 2)
            row = [random.uniform(-3, 3) * (20 if i < 3 else 1) for _ in range(3)] + [0] * 3 + [random.uniform(-3, 3) for _ in range(3)]
            row += [random.uniform(-0.95, 0.95) for _ in range(3 * FUNCTIONS)] + [opacity] + scales
            file.write(struct.pack(f"<{len(names)}f", *row, *(random.gauss(0, 1) for _ in range(4))))


class Gaussian:
    def __init__(self, position, scales, rotation, opacity, color, harmonics):
        length = math.sqrt(sum(q * q for q in rotation))
        self.position, self.scales, self.color, self.harmonics = position, scales, color, harmonics
        self.rotation = [q / length for q in rotation]
        self.opacity = 1 / (1 + math.exp(-min(50, max(-50, opacity))))

    def turned(self):
        """Half a turn about x: from y down, z forward to the y up, z backward of SPZ, and back."""
        w, x, y, z = self.rotation
        # Functions with an odd power of y and z together change their sign.
        signs = [(-1) ** power for power in (1, 1, 0, 1, 2, 2, 1, 0, 1, 2, 3, 3, 2, 1, 0)]
        turned = Gaussian([a * b for a, b in zip(self.position, (1, -1, -1))], self.scales, [-x, w, -z, y], 0, self.color,
                          [c * signs[i // 3] for i, c in enumerate(self.harmonics)])
        turned.opacity = self.opacity
        return turned


def gaussians(path):
    """Returns what the package reads from a file."""
    import gaussforge
    package, data, form = gaussforge.GaussForge(), open(path, "rb").read(), path.rsplit(".", 1)[1]
    if form == "splat":  # read() returns nothing of degree 0; convert() knows these files
        converted = package.convert(data, "splat", "ply")
        if not converted.get("data"):
            fail(f"{path}: gaussforge: {converted.get('error')}")
        open(path + ".ply", "wb").write(converted["data"])
        return [Gaussian([v[k] for k in "xyz"], *([v[f"{name}_{k}"] for k in range(size)] for name, size in (("scale", 3), ("rot", 4))), v["opacity"],
                         [v[f"f_dc_{k}"] for k in range(3)], []) for v in ply_of(path + ".ply")[0]]
    found = package.read(data, form)
    if found.get("error"):
        fail(f"{path}: gaussforge: {found['error']}")
    found = found["data"]
    floats = {name: struct.unpack(f"<{len(value) // 4}f", value) for name, value in found.items() if isinstance(value, bytes)}
    n, functions = found["numPoints"], (found["meta"]["shDegree"] + 1) ** 2 - 1
    part = lambda name, i, size: floats[name][size * i:size * (i + 1)]
    return [Gaussian(part("positions", i, 3), part("scales", i, 3), part("rotations", i, 4), floats["alphas"][i], part("colors", i, 3),
                     part("sh", i, 3 * functions)) for i in range(n)]


def paired(wanted, found, words):
    """Yields each wanted Gaussian with the nearest one that was found; each must be somebody's, once."""
    if len(wanted) != len(found):
        fail(f"{words}: {len(found)} Gaussians, not {len(wanted)}")
    left = list(found)
    for a in wanted:
        b = min(left, key=lambda g: math.dist(g.position, a.position))
        left.remove(b)
        yield a, b


def near(a, b, within, words):
    for k, (x, y) in enumerate(zip(a, b)):
        if not abs(x - y) <= within(k, x) if callable(within) else not abs(x - y) <= within:
            fail(f"{words} {k}: wanted {x}, found {y}")
    if len(a) != len(b):
        fail(f"{words}: {len(b)} numbers, not {len(a)}")


def same_rotation(a, b, within, words):
    sign = 1 if sum(p * q for p, q in zip(a, b)) > 0 else -1
    distance = math.dist(a, [sign * q for q in b])
    if not distance <= within:
        fail(f"{words}: {a} and {b} are {distance} apart")


# A quaternion whose three smaller components are wrong by a step's half h has a largest one that is wrong by 3 h at most.
SMALLEST_THREE = 1.02 * math.sqrt(12)


def steps_of(path):
    """Returns by how much each number may be off: functions of the number's place and its wanted value."""
    form = path.rsplit(".", 1)[1]
    if form == "ply":
        exact = lambda k, x: 2e-6 * (1 + abs(x))
        return {"position": exact, "scale": exact, "color": exact, "harmonics": exact, "opacity": 1e-6, "rotation": 1e-6}
    if form == "splat":
        # Colors beyond 0 and 1 are clipped, so they are held to what is left of them.
        return {"position": lambda k, x: 1e-6 * (1 + abs(x)), "scale": 1e-4, "opacity": 0.5 / 255 + 1e-6, "rotation": 2 / 128,
                "color": lambda k, x: 0.5 / 255 / 0.28209479 + 1e-4 + max(0, 0.28209479 * abs(x) - 0.5) / 0.28209479}
    if form == "spz":
        head = open(path, "rb").read(16)
        fraction = (head if head.startswith(b"NGSP") else gzip.open(path).read(16))[13]  # version 4 is no gzip stream
        return {"position": 0.51 / 2 ** fraction + 4e-6, "scale": 0.51 / 16, "color": 0.51 / 38.25, "harmonics": 0.51 / 128,
                "opacity": 0.5 / 255 + 1e-6, "rotation": SMALLEST_THREE * 0.5 * math.sqrt(0.5) / 511}
    meta = json.loads(zipfile.ZipFile(path).read("meta.json"))
    nearest = lambda book: lambda k, x: min(abs(entry - x) for entry in meta[book]["codebook"]) + 1e-5
    step = [0.51 * (high - low) / 65535 + 1e-6 for low, high in zip(meta["means"]["mins"], meta["means"]["maxs"])]
    return {"position": lambda k, x: step[k] * (1 + abs(x)), "scale": nearest("scales"), "color": nearest("sh0"), "harmonics": nearest("shN"),
            "opacity": 0.5 / 255 + 1e-6, "rotation": SMALLEST_THREE / 255 / math.sqrt(2)}


def compare(wanted, found, steps, words):
    for a, b in paired(wanted, found, words):
        near(a.position, b.position, steps["position"], f"{words}: position")
        near(a.scales, b.scales, steps["scale"], f"{words}: scale")
        near(a.color, b.color, steps["color"], f"{words}: color")
        near([a.opacity], [b.opacity], steps["opacity"], f"{words}: opacity")
        same_rotation(a.rotation, b.rotation, steps["rotation"], f"{words}: rotation")
        if "harmonics" in steps:
            near(a.harmonics, b.harmonics, steps["harmonics"], f"{words}: harmonics")
    print(f"{words}: {len(found)} Gaussians agree")


def written(wanted, *files):
    for path in files:
        found = gaussians(path)
        compare(gaussians(wanted), [g.turned() for g in found] if path.endswith(".spz") else found, steps_of(path), path)


def convert(wanted, *files):
    import gaussforge
    for path in files:
        form = path.rsplit(".", 1)[1]
        version = re.search(r"(\d)\.spz$", path)
        result = gaussforge.GaussForge().convert(open(wanted, "rb").read(), "ply", form, spz_version=int(version[1]) if version else 3)
        if not result.get("data"):
            fail(f"{path}: gaussforge: {result.get('error')}")
        open(path, "wb").write(result["data"])


def read(path, by_klab):
    # Opacities of 0 and 255 are held apart from the ends by either reader in its own way, by half a step at most.
    exact = lambda k, x: 2e-5 * (1 + abs(x))
    steps = {"position": exact, "scale": exact, "color": exact, "harmonics": exact, "opacity": 0.5 / 255 + 1e-6, "rotation": 1e-4}
    found = gaussians(path)
    compare([g.turned() for g in found] if path.endswith(".spz") else found, gaussians(by_klab), steps, f"{path}, read by klab")


{"write": write, "written": written, "convert": convert, "read": read}[sys.argv[1]](*sys.argv[2:])
