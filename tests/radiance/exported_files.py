#!/usr/bin/env python3
"""Reads files of klab export with nothing of klab's: as docs/files.md describes them.

  exported_files.py mesh FILE.ply       closed, outwards, normals and colors; prints triangles and volume
  exported_files.py glb FILE.glb FILE.ply   the same mesh as the .ply
  exported_files.py points FILE.ply N   N points with normals of unit length
  exported_files.py gaussians FILE.ply FILE.splat FILE.spz   the same Gaussians, within the steps of each format
  exported_files.py sog FILE.ply FILE.sog   the same Gaussians; takes dwebp
  exported_files.py density FILES.md FILE.ply LEVEL   docs/files.md's own program, run next to a model, finds the level on the mesh
  exported_files.py snapshot FILES.md VALUES.json   docs/files.md's other program, run next to a snapshot.ingp, finds what klab finds
"""
import gzip, itertools, json, math, struct, subprocess, sys, zipfile


def fail(words):
    print("FAILED: " + words)
    sys.exit(1)


def ply_of(path):
    """Returns vertices as dicts of properties, and faces."""
    data = open(path, "rb").read()
    body = data.index(b"end_header\n") + len(b"end_header\n")
    lines = data[:body].decode().split("\n")
    if lines[0] != "ply" or lines[1] != "format binary_little_endian 1.0":
        fail(f"{path} is no binary .ply")
    counts, properties, element = {}, [], ""
    for words in (line.split() for line in lines):
        if words[:1] == ["element"]:
            element, counts[words[1]] = words[1], int(words[2])
        if words[:1] == ["property"] and element == "vertex":
            properties.append((words[2], {"float": "f", "uchar": "B"}[words[1]]))
    row = struct.Struct("<" + "".join(kind for _, kind in properties))
    names = [name for name, _ in properties]
    vertices = [dict(zip(names, row.unpack_from(data, body + i * row.size))) for i in range(counts["vertex"])]
    at, faces = body + counts["vertex"] * row.size, []
    for _ in range(counts.get("face", 0)):
        three, a, b, c = struct.unpack_from("<B3I", data, at)
        if three != 3:
            fail("a face is no triangle")
        faces.append((a, b, c))
        at += 13
    if at != len(data):
        fail(f"{len(data) - at} bytes of {path} are left over")
    return vertices, faces


def check_points(vertices):
    for v in vertices:
        if abs(math.hypot(v["nx"], v["ny"], v["nz"]) - 1) > 1e-4:
            fail(f"a normal is not of unit length: {v}")
    if len({(v["red"], v["green"], v["blue"]) for v in vertices}) < 8:
        fail("the colors are all alike")


def mesh(path):
    vertices, faces = ply_of(path)
    passed = set()
    for face in faces:
        for k in range(3):
            edge = (face[k], face[(k + 1) % 3])
            if edge in passed:
                fail(f"two triangles pass the edge {edge} in one direction")
            passed.add(edge)
    if any((b, a) not in passed for a, b in passed):
        fail("the mesh has a hole")
    volume = 0
    for face in faces:
        (a, b, c) = [[vertices[i][k] for k in "xyz"] for i in face]
        volume += sum(a[i] * (b[(i + 1) % 3] * c[(i + 2) % 3] - b[(i + 2) % 3] * c[(i + 1) % 3]) for i in range(3)) / 6
    if not volume > 0:
        fail("the triangles face inwards")
    check_points(vertices)
    print(f"{len(faces)} triangles, volume {volume:.6g}")
    return vertices, faces


def glb(path, other):
    vertices, faces = mesh(other)
    data = open(path, "rb").read()
    magic, version, length, json_length, kind = struct.unpack_from("<4sIII4s", data)
    if (magic, version, length, kind) != (b"glTF", 2, len(data), b"JSON"):
        fail(f"{path} is no glTF 2.0")
    document = json.loads(data[20:20 + json_length])
    binary_length, kind = struct.unpack_from("<I4s", data, 20 + json_length)
    binary = data[28 + json_length:]
    if kind != b"BIN\0" or binary_length != len(binary) or document["buffers"][0]["byteLength"] != len(binary):
        fail("the binary part has another length than the file says")
    forms = {(5126, "VEC3"): "<3f", (5123, "VEC4"): "<4H", (5125, "SCALAR"): "<I"}

    def read(index):
        accessor = document["accessors"][index]
        view, form = document["bufferViews"][accessor["bufferView"]], forms[accessor["componentType"], accessor["type"]]
        size = struct.calcsize(form)
        if view["byteLength"] != size * accessor["count"]:
            fail("a view has another length than its accessor")
        return [struct.unpack_from(form, binary, view["byteOffset"] + size * i) for i in range(accessor["count"])]

    primitive = document["meshes"][0]["primitives"][0]
    positions, colors = read(primitive["attributes"]["POSITION"]), read(primitive["attributes"]["COLOR_0"])
    indices = [i for (i,) in read(primitive["indices"])]
    if [tuple(v[k] for k in "xyz") for v in vertices] != positions or indices != [i for face in faces for i in face]:
        fail("the .glb holds another mesh than the .ply")
    accessor = document["accessors"][primitive["attributes"]["POSITION"]]
    for k in range(3):
        if (accessor["min"][k], accessor["max"][k]) != (min(p[k] for p in positions), max(p[k] for p in positions)):
            fail("the least or most position is another one")
    for v, color in zip(vertices, colors):
        s = v["red"] / 255
        linear = s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4
        if abs(color[0] / 65535 - linear) > 1e-4:
            fail("colors are not in linear light")
    x, y, z, w = document["nodes"][0]["rotation"]  # of (0,0,1), which must become (0,1,0)
    if max(abs(2 * (x * z + w * y)), abs(2 * (y * z - w * x) - 1), abs(1 - 2 * (x * x + y * y))) > 1e-6:
        fail("+z is not up")


def points(path, number):
    vertices, faces = ply_of(path)
    if len(vertices) != int(number) or faces:
        fail(f"{len(vertices)} points and {len(faces)} faces, not {number} points")
    check_points(vertices)


def logistic(x):
    return 1 / (1 + math.exp(-x))


def turned(q):
    """The rotation's matrix, which does not tell q from -q."""
    w, x, y, z = (part / math.sqrt(sum(p * p for p in q)) for part in q)
    return [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z),
            2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]


# Powers of y and z together in the functions above degree 0.
POWERS = (1, 1, 0, 1, 2, 2, 1, 0, 1, 2, 3, 3, 2, 1, 0)


def near(a, b, within, words):
    if not abs(a - b) <= within:
        fail(f"{words}: {a} and {b}")


def gaussians(ply, splat, spz):
    vertices, _ = ply_of(ply)
    data = gzip.open(spz).read()
    magic, version, n, degree, fraction, flags, _ = struct.unpack_from("<III4B", data)
    if (magic, version, n, flags) != (0x5053474E, 3, len(vertices), 0):
        fail(f"the header of {spz} is {magic:x} {version} {n} {flags}")
    functions = (degree + 1) ** 2 - 1
    at = [16, 16 + 9 * n, 16 + 10 * n, 16 + 13 * n, 16 + 16 * n, 16 + 20 * n]  # positions, opacities, colors, scales, rotations, harmonics
    if len(data) != at[5] + 3 * functions * n:
        fail(f"{spz} has {len(data)} bytes unpacked")
    flip = (1, -1, -1)  # from y down, z forward to y up, z backward
    for i, v in enumerate(vertices):
        for k in range(3):
            fixed = int.from_bytes(data[at[0] + 9 * i + 3 * k:at[0] + 9 * i + 3 * k + 3], "little", signed=True)
            near(flip[k] * fixed / 2 ** fraction, v["xyz"[k]], 0.51 / 2 ** fraction, "position")
            near((data[at[2] + 3 * i + k] / 255 - 0.5) / 0.15, min(3.34, max(-3.34, v[f"f_dc_{k}"])), 0.0132, "color")
            near(data[at[3] + 3 * i + k] / 16 - 10, min(6, max(-10, v[f"scale_{k}"])), 0.0625, "scale")
        near(data[at[1] + i] / 255, logistic(v["opacity"]), 0.5 / 255 + 1e-6, "opacity")
        packed, q = int.from_bytes(data[at[4] + 4 * i:at[4] + 4 * i + 4], "little"), [0] * 4
        largest = packed >> 30
        for k in (3, 2, 1, 0):
            if k != largest:
                q[k] = (packed & 511) / 511 * math.sqrt(0.5) * (-1 if packed >> 9 & 1 else 1)
                packed >>= 10
        q[largest] = math.sqrt(max(0, 1 - sum(p * p for p in q)))
        x, y, z, w = q
        # Half a turn of the world about x turns a rotation r into F·r with F = diag(1,-1,-1).
        there = turned((w, x, y, z))
        here = turned([v[f"rot_{k}"] for k in range(4)])
        for k in range(9):
            near(flip[k // 3] * there[k], here[k], 0.012, "rotation")
        # The world's y and z are turned around, and with them the sign of functions with an odd power of these.
        for f in range(functions):
            for k in range(3):
                stored = (data[at[5] + 3 * (functions * i + f) + k] - 128) / 128
                wanted = min(127 / 128, max(-1, (-1) ** POWERS[f] * v[f"f_rest_{15 * k + f}"]))
                near(stored, wanted, 0.5 / 128 + 1e-4, f"function {f}")
    # .splat has them in another order: by the nearest position.
    records = open(splat, "rb").read()
    if len(records) != 32 * n:
        fail(f"{splat} has {len(records)} bytes")
    sizes = []
    by_place = {tuple(v[k] for k in "xyz"): v for v in vertices}
    for i in range(n):
        x, y, z, *scales = struct.unpack_from("<6f", records, 32 * i)
        red, green, blue, opacity, *rotation = records[32 * i + 24:32 * i + 32]
        v = by_place.get((x, y, z))
        if v is None:
            fail(f"{splat} has a Gaussian at {x} {y} {z}, which {ply} lacks")
        for k in range(3):
            near(math.log(scales[k]), v[f"scale_{k}"], 1e-4, "scale")
            near((red, green, blue)[k] / 255, min(1, max(0, 0.5 + 0.28209479 * v[f"f_dc_{k}"])), 0.5 / 255 + 1e-5, "color")
        near(opacity / 255, logistic(v["opacity"]), 0.5 / 255 + 1e-6, "opacity")
        for a, b in zip(turned([(r - 128) / 128 for r in rotation]), turned([v[f"rot_{k}"] for k in range(4)])):
            near(a, b, 0.03, "rotation")
        sizes.append(math.prod(scales) * logistic(v["opacity"]))
    if any(a < b * 0.999 for a, b in zip(sizes, sizes[1:])):
        fail("the largest does not come first")
    print(f"{n} Gaussians of degree {degree} agree")


def sog(ply, archive):
    vertices, _ = ply_of(ply)
    files = zipfile.ZipFile(archive)
    meta = json.loads(files.read("meta.json"))
    n = meta["count"]
    if meta["version"] != 2 or n != len(vertices):
        fail(f"{archive} is version {meta['version']} with {n} Gaussians")

    def pixels(key, index=0):  # rows, each a list of bytes
        run = subprocess.run(["dwebp", "-quiet", "-pam", "-o", "-", "--", "-"], input=files.read(meta[key]["files"][index]), stdout=subprocess.PIPE, check=True)
        head, data = run.stdout.split(b"ENDHDR\n", 1)
        sizes = dict(line.split()[:2] for line in head.decode().splitlines()[1:])
        return int(sizes["WIDTH"]), [data[i:i + 4] for i in range(0, len(data), 4)]

    (_, low), (_, high), (_, rotations), (_, scales), (_, colors) = (pixels(*at) for at in (("means",), ("means", 1), ("quats",), ("scales",), ("sh0",)))
    means, places = meta["means"], {}
    for v in vertices:
        steps = [round(65535 * (math.copysign(math.log1p(abs(v[k])), v[k]) - a) / ((b - a) or 1)) for k, a, b in zip("xyz", means["mins"], means["maxs"])]
        places.setdefault(tuple(steps), []).append(v)

    def chosen(book, byte, value, words):  # the nearest of the codebook
        near(abs(book[byte] - value), min(abs(b - value) for b in book), 1e-5, words)

    bands = meta["shN"]["bands"] if "shN" in meta else 0
    functions = (bands + 1) ** 2 - 1
    if bands:
        (width, sets), (_, labels) = pixels("shN"), pixels("shN", 1)
        if width != 64 * functions:
            fail(f"sets of coefficients are {width} pixels wide")
    found = set()
    for i in range(n):
        at = [low[i][k] | high[i][k] << 8 for k in range(3)]
        # Single precision may round to the next step.
        v = next((v for off in sorted(itertools.product((0, -1, 1), repeat=3), key=lambda o: sum(map(abs, o)))
                  for v in places.get(tuple(a + o for a, o in zip(at, off)), []) if id(v) not in found), None)
        if v is None:
            fail(f"{archive} has a Gaussian at {at}, which {ply} lacks")
        found.add(id(v))
        for k in range(3):
            chosen(meta["scales"]["codebook"], scales[i][k], v[f"scale_{k}"], "scale")
            chosen(meta["sh0"]["codebook"], colors[i][k], v[f"f_dc_{k}"], "color")
        near(colors[i][3] / 255, logistic(v["opacity"]), 0.5 / 255 + 1e-5, "opacity")
        largest, q = rotations[i][3] - 252, [0] * 4
        kept = [k for k in range(4) if k != largest]
        for k, byte in zip(kept, rotations[i]):
            q[k] = (byte / 255 * 2 - 1) / math.sqrt(2)
        q[largest] = math.sqrt(max(0, 1 - sum(p * p for p in q)))
        for a, b in zip(turned(q), turned([v[f"rot_{k}"] for k in range(4)])):
            near(a, b, 0.03, "rotation")
        label = labels[i][0] | labels[i][1] << 8 if bands else 0
        for f in range(functions):
            for k in range(3):
                chosen(meta["shN"]["codebook"], sets[label * functions + f][k], v[f"f_rest_{15 * k + f}"], f"function {f}")
    print(f"{n} Gaussians of {archive} agree")


def density(page, path, level):
    program = open(page, encoding="utf-8").read().split("```python\n")[1].split("```")[0]
    names = {}
    exec(program, names)
    vertices, _ = ply_of(path)
    step = max(1, len(vertices) // 40)
    off = sorted(abs(math.log(names["density"](tuple(v[k] for k in "xyz")) / float(level))) for v in vertices[::step])
    print(f"{len(off)} vertices, {off[len(off) // 2]:.5f} from the logarithm of the level")
    # Logarithms are linear between points of a grid that is finer than the field's: those of vertices are nearly the level's.
    # Vertices in the middle of a polygon, and those next to empty cells, may be off.
    if off[len(off) // 2] > 0.01:
        fail("the program finds another density than klab")


def snapshot(page, values):
    names = {}
    exec(open(page, encoding="utf-8").read().split("```python\n")[2].split("```")[0], names)
    worst = [0, 0]
    found = json.load(open(values))
    for v in found:
        density, color = names["field"](v["point"], v["direction"])
        worst[0] = max(worst[0], abs(math.log(density) - v["log_density"]) / (1 + abs(v["log_density"])))
        worst[1] = max(worst[1], max(abs(a - b) for a, b in zip(color, v["color"])))
    print(f"{len(found)} points, densities within {worst[0]:.2g}, colors within {worst[1]:.2g}")
    if not found or worst[0] > 1e-3 or worst[1] > 1e-3:
        fail("the program finds another field than klab")


if __name__ == "__main__":
    {"mesh": mesh, "glb": glb, "points": points, "gaussians": gaussians, "sog": sog, "density": density, "snapshot": snapshot}[sys.argv[1]](*sys.argv[2:])
