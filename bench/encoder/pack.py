"""Packs an encoder that train.py saved (int8 rows) into the form that the program reads: matrices and tables at four
bits, a shared scale for each 32 weights, the rest as float32. Needs nothing but Python.

    python3 pack.py l6.safetensors.0 l6.safetensors.1 minilm-l6-q4.safetensors
"""

import json
import struct
import sys

GROUP = 32


def read(parts):
    data = b"".join(open(part, "rb").read() for part in parts)
    length = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8 : 8 + length])
    head.pop("__metadata__", None)
    return {name: (entry, data[8 + length :][slice(*entry["data_offsets"])]) for name, entry in head.items()}


def half(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def group(values):
    """Four-bit codes and their scale; the value farthest from zero gets code 0, zero gets 8."""
    extreme = max(values, key=abs)
    scale = half(extreme / -8)
    if scale == 0:
        return [8] * len(values), scale
    return [min(15, max(0, round(value / scale) + 8)) for value in values], scale


def four_bits(rows, scales):
    """Rows of int8 and a scale each, as packed codes and half-precision scales."""
    codes, out_scales = bytearray(), bytearray()
    for row, scale in zip(rows, scales, strict=True):
        for first in range(0, len(row), GROUP):
            found, shared = group([value * scale for value in row[first : first + GROUP]])
            codes += bytes(low | high << 4 for low, high in zip(found[::2], found[1::2], strict=True))
            out_scales += struct.pack("<e", shared)
    return bytes(codes), bytes(out_scales)


def packed(tensors):
    for name, (entry, data) in sorted(tensors.items()):
        if name.endswith(".q8"):
            count, width = entry["shape"]
            rows = memoryview(data).cast("b", (count, width)).tolist()
            scales = struct.unpack(f"<{count}f", tensors[name[:-3] + ".scales"][1])
            codes, shared = four_bits(rows, scales)
            yield name[:-3] + ".q4", "U8", [len(codes)], codes
            yield name[:-3] + ".scales", "F16", [len(shared) // 2], shared
        elif not name.endswith(".scales"):
            values = struct.unpack(f"<{len(data) // 2}e", data)
            yield name, "F32", entry["shape"], struct.pack(f"<{len(values)}f", *values)


def main():
    *parts, out = sys.argv[1:]
    head, body, at = {}, [], 0
    for name, kind, shape, raw in packed(read(parts)):
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(raw)]}
        body.append(raw)
        at += len(raw)
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(out, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(body))


if __name__ == "__main__":
    main()
