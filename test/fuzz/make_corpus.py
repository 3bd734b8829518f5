#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes test/fuzz/corpus: segments (percpu-segment(5)) that are right, and wrong in one way each.

    python3 make_corpus.py FOLDER

Each file begins with 4 bytes, how many zero bytes follow what is in it (fuzz_reader.c).
"""
import os
import struct
import sys

STRIDE = 65856
PAGE = 4096


def up(n):
    return (n + PAGE - 1) // PAGE * PAGE


class Segment:
    """A set with an event, a gauge, a histogram and a family of two label sets."""

    def __init__(self):
        self.text = b"\0"
        names = [self.put(t) for t in (b"event", b"gauge", b"histogram", b"family", b"label")]
        self.metrics = [
            self.metric(0, names[0], cell=1),
            self.metric(1, names[1], cell=2, downs=20),
            self.metric(2, names[2], cell=8, shift=0, precision=1, nbuckets=9, highest=15),
            self.metric(0, names[3], labels=[names[4]], first=0, nseries=3),
        ]
        self.series = [
            self.one_series(2, 3, 3, b"_overflow"),
            self.one_series(2, 3, 4, b"one"),
            self.one_series(1, 3, 5, b"two"),
        ]
        self.header = {}
        self.cells = struct.pack("<24Q", 1, 5, 7, 1, 2, 3, 0, 0, 17, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0,
                                 0, 3, 0, 0, 0)

    def put(self, text):
        at = len(self.text)
        self.text += text + b"\0"
        return at

    @staticmethod
    def metric(kind, name, labels=(), cell=0, downs=0, first=0, nseries=0, shift=0, precision=0,
               nbuckets=0, highest=0):
        labels = list(labels)
        return struct.pack("<5I8I7I2Q", kind, name, 0, 0, len(labels),
                           *(labels + [0] * (8 - len(labels))), cell, downs, first, nseries, shift,
                           precision, nbuckets, 0, highest)

    @staticmethod
    def one_series(state, metric, cell, text):
        return struct.pack("<4I112s", state, metric, cell, 0, text)

    def build(self, cut=None, longer=0):
        """The file's begin, behind the number of zeros that follow it."""
        h = {"ncpus": 2, "nshared": 4, "stride": STRIDE, "nplanes": 1, "layout": 1, "ready": 1,
             "cells": 1, "order": 0x01020304, "magic": b"PERCPUEV", "name": b"corpus"}
        h.update(self.header)
        body = b"".join(self.metrics) + b"".join(self.series) + self.text
        h.setdefault("metrics", 512)
        h.setdefault("series", 512 + 96 * len(self.metrics))
        h.setdefault("text", h["series"] + 128 * len(self.series))
        h.setdefault("text_size", len(self.text))
        h.setdefault("planes", up(512 + len(body)))
        h.setdefault("plane_size", up((2 + 4) * STRIDE))
        h.setdefault("size", h["planes"] + h["nplanes"] * h["plane_size"])
        h.setdefault("nmetrics", len(self.metrics))
        h.setdefault("nseries", len(self.series))
        head = struct.pack("<8sIIIIQQQIIQQ40s64s32s32sIIIIQQQQQQIIII192x", h["magic"], h["order"],
                           h["layout"], h["ready"], h["cells"], 1, 1, h["size"], 1, 1, 1, 1,
                           h.get("boot", b"boot"), h["name"], b"1", b"maker", h["ncpus"],
                           h["nshared"], h["stride"], h["nplanes"], h["planes"], h["plane_size"],
                           h["metrics"], h["series"], h["text"], h["text_size"], h["nmetrics"],
                           h["nseries"], h.get("metric_size", 96), h.get("series_size", 128))
        data = (head + body).ljust(up(512 + len(body)), b"\0") + self.cells
        real = up(512 + len(body)) + up((2 + 4) * STRIDE) * max(1, min(h["nplanes"], 4))
        if cut is not None:
            return struct.pack("<I", 0) + data[:cut]
        kept = data.rstrip(b"\0")
        return struct.pack("<I", real - len(kept) + longer) + kept


def files():
    yield "good", Segment().build()
    for cut in (0, 1, 100, 511, 512, 600, 1000, 1300, 5000):
        yield f"cut_{cut}", Segment().build(cut=cut)
    yield "longer", Segment().build(longer=8)
    for key, values in {
            "magic": (b"PERCPUEW",), "order": (0x04030201,), "layout": (0, 2), "ready": (0, 2),
            "cells": (0, 2), "ncpus": (0, 1, 8193, 0xffffffff), "nshared": (0, 256, 0xffffffff),
            "stride": (0, 65536), "nplanes": (0, 2, 1025, 0xffffffff),
            "planes": (0, 512, 1 << 63), "plane_size": (0, 4096, 1 << 63),
            "metrics": (0, 513, 1 << 63), "series": (0, 1 << 63), "text": (0, 1 << 63),
            "text_size": (0, 1, 1 << 40), "nmetrics": (0, 5, 16385, 0xffffffff),
            "nseries": (0, 2, 0xffffffff), "metric_size": (0, 95), "series_size": (0, 127),
            "size": (0, 1 << 63), "name": (b"x" * 64,), "boot": (b"x" * 40,)}.items():
        for value in values:
            segment = Segment()
            segment.header[key] = value
            yield f"{key}_{value if isinstance(value, int) else 'text'}", segment.build()
    for name, at, metric in (
            ("kind", 0, Segment.metric(3, 1, cell=1)),
            ("no_name", 0, Segment.metric(0, 0, cell=1)),
            ("name_out", 0, Segment.metric(0, 1 << 20, cell=1)),
            ("cell_0", 0, Segment.metric(0, 1, cell=0)),
            ("cell_8192", 0, Segment.metric(0, 1, cell=8192)),
            ("cell_max", 0, Segment.metric(0, 1, cell=0xffffffff)),
            ("downs_out", 1, Segment.metric(1, 1, cell=1, downs=1 << 20)),
            ("label_out", 3, Segment.metric(0, 1, labels=[1 << 20], nseries=3)),
            ("series_out", 3, Segment.metric(0, 1, labels=[1], first=1, nseries=3)),
            ("series_wrap", 3, Segment.metric(0, 1, labels=[1], first=0xffffffff, nseries=2)),
            ("buckets_0", 2, Segment.metric(2, 1, cell=8, nbuckets=0, highest=15)),
            ("buckets_many", 2, Segment.metric(2, 1, cell=8, nbuckets=0xffffffff, highest=15)),
            ("buckets_end", 2, Segment.metric(2, 1, cell=8185, precision=1, nbuckets=9,
                                              highest=15)),
            ("buckets_of_event", 0, Segment.metric(0, 1, cell=1, nbuckets=50000)),
            ("shift", 2, Segment.metric(2, 1, cell=8, shift=200, nbuckets=9, highest=15)),
            ("precision", 2, Segment.metric(2, 1, cell=8, precision=64, nbuckets=9, highest=15))):
        segment = Segment()
        segment.metrics[at] = metric
        yield f"entry_{name}", segment.build()
    for name, one in (("entry", Segment.one_series(2, 7, 3, b"x")),
                      ("cell", Segment.one_series(2, 3, 0, b"x")),
                      ("state", Segment.one_series(9, 3, 3, b"x")),
                      ("text", Segment.one_series(2, 3, 3, b"x" * 112))):
        segment = Segment()
        segment.series[1] = one
        yield f"series_{name}", segment.build()
    twin = Segment()
    twin.series[2] = twin.one_series(2, 3, 5, b"one")
    yield "twins", twin.build()
    odd = Segment()
    odd.text = odd.text[:-1] + b"x"
    yield "text_without_end", odd.build()
    pending = Segment()
    pending.cells = struct.pack("<24Q", 1, 5, 7, 1, 2, 3, 0, 0, 20, 4, *([1] * 10), 3, 0, 0, 0)
    yield "pending", pending.build()
    wild = Segment()
    wild.cells = struct.pack("<24Q", *([0xfffffffffffffff1] * 24))
    yield "wild_cells", wild.build()


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, data in files():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


main()
