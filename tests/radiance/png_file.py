"""Reads a PNG without a library for pictures."""
import struct, zlib


def pixels_of(path):
    """Returns width, height and the bytes of an 8-bit RGB PNG."""
    data = open(path, "rb").read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert (depth, color) == (8, 2), "not an RGB picture"
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    raw, out, row_before = zlib.decompress(packed), bytearray(), bytes(3 * width)
    for y in range(height):
        kind, line = raw[y * (3 * width + 1)], bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        for i in range(3 * width):
            a, b, c = (line[i - 3] if i >= 3 else 0), row_before[i], (row_before[i - 3] if i >= 3 else 0)
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, nearest)[kind]) & 255
        out += line
        row_before = line
    return width, height, bytes(out)
