"""Products of a block of vectors with another, in float32 or in bytes, at the peak of the processor.

The idea. A tile of 8 rows and 48 columns is 24 sums of sixteen numbers, which fit the registers of AVX-512; for each
component one broadcast number of each row is multiplied with three vectors of columns. So eleven loads feed 24 fused
multiplications, and nothing is added across a vector. (Other processors have fewer or shorter registers, and get a
smaller tile.) OpenBLAS works in the same way; this is a tenth faster for our shapes, and it starts no threads: those of
OpenBLAS beside ours, on cores that were busy otherwise, made a scan ten times slower.

Bytes. Vectors of components rounded to 8 bits (x ≈ scale·q, |q| <= 127) multiply four times as fast where the processor
has products of bytes (VNNI: Intel since 2019, AMD since 2022). The rounding error |x - scale·q| of each vector is
known, so by Cauchy and Schwarz their product is off by no more than |x|·e_y + e_x·|y| + e_x·e_y: about 0.015 for unit
vectors. A scan that scores exactly whatever comes near its limit loses nothing by it.

Layout. 48 vectors stand side by side: component c of the vectors 48·g to 48·g + 47 at 48·(g·d + c) and after; of bytes
four components are a word, and c counts words. Rows are read from the same layout, eight neighbours at a time. The
instruction multiplies unsigned bytes by signed ones: 128 is added to those of the rows, and each column's sum begins
with -128·Σq.

Measured (one core of an AMD EPYC with AVX-512, ns a pair): 100 components 1.8 in float32, 0.48 in bytes, 2.0 by
OpenBLAS; 384 components 6.8, 1.7 and 7.5.
"""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from lookalike.kernels.jit import device, intrinsic, kernel
from lookalike.kernels.later import cgutils, types
from lookalike.types import F32Array, F64Array, I32Array

__all__ = [
    "BYTES_PAY",
    "LANES",
    "MOST_COMPONENTS",
    "WIDTH",
    "Bytes",
    "byte_products",
    "byte_sums",
    "float_products",
    "pack_bytes",
    "pack_floats",
    "packed_floats",
    "padded",
    "products_of",
    "rounded_by",
]  # fmt: skip


LANES = 48
MOST_COMPONENTS = 32_768  # of vectors in bytes: sums of 383·127 for each stay within 32 bits
_LEAST = np.float32(1e-30)  # largest component below which a vector is rounded to zero, so that 127/x stays finite


def _features() -> set[str]:
    generic = os.environ.get("NUMBA_CPU_NAME", "").lower() == "generic"
    chosen = os.environ.get("NUMBA_CPU_FEATURES", "" if generic else None)
    if chosen is not None:
        return {name[1:] for name in chosen.split(",") if name.startswith("+")}
    return {name for name, present in llvm.get_host_cpu_features().items() if present}


_FEATURES = _features()
WIDTH = 16 if "avx512f" in _FEATURES else 8 if "avx" in _FEATURES else 4
# Of 32 registers 24 hold sums, of 16 registers 12.
_ROWS = 4 if "avx" in _FEATURES and "avx512f" not in _FEATURES else 8
_PARTS = 3
_TILE = _PARTS * WIDTH
BYTES_PAY = "avx512vnni" in _FEATURES or "avxvnni" in _FEATURES

_FLOATS = "Array(float32,1,'C',readonly=True)"
_WORDS = "Array(int32,1,'C',readonly=True)"
_I64 = ir.IntType(64)


class _Emit:
    """What both tiles are built of: vectors of one kind of number."""

    def __init__(self, context: Any, builder: Any, kinds: Any) -> None:
        self.context, self.builder, self.kinds = context, builder, kinds

    def at(self, number: int, array: Any, *places: Any) -> Any:
        """The address of array[sum of places], the array being argument `number`."""
        data = self.context.make_array(self.kinds[number])(self.context, self.builder, array).data
        for place in places:
            data = self.builder.gep(data, [place if isinstance(place, ir.Value) else ir.Constant(_I64, place)])
        return data

    def times(self, value: Any, factor: int) -> Any:
        return self.builder.mul(value, ir.Constant(_I64, factor))

    def load(self, kind: Any, address: Any) -> Any:
        loaded = self.builder.load(self.builder.bitcast(address, kind.as_pointer()))
        loaded.align = 4
        return loaded

    def store(self, value: Any, address: Any) -> None:
        self.builder.store(value, self.builder.bitcast(address, value.type.as_pointer())).align = 4

    def spread(self, kind: Any, value: Any) -> Any:
        """A vector with the same number in each place."""
        undefined = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(
            one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        )

    def sums(self, first: list[Any]) -> list[list[Any]]:
        """The running sums of a tile, which begin with `first` in each row; LLVM keeps them in registers."""
        places = [[cgutils.alloca_once(self.builder, part.type) for part in first] for _ in range(_ROWS)]
        for row in places:
            for place, part in zip(row, first, strict=True):
                self.builder.store(part, place)
        return places

    def call(self, name: str, *arguments: Any) -> Any:
        kind = ir.FunctionType(arguments[0].type, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), arguments)


def byte_sums(builder: Any, total: Any, unsigned: Any, signed: Any) -> Any:
    """total + Σ of the products of the four bytes in each word of two vectors, the one unsigned, the other signed."""
    kind = total.type
    if BYTES_PAY:
        wanted = ir.FunctionType(kind, [kind] * 3)
        name = f"llvm.x86.avx512.vpdpbusd.{32 * WIDTH}"
        called = cgutils.get_or_insert_function(builder.module, wanted, name)
        return builder.call(called, [total, unsigned, signed])

    def constant(value: int) -> Any:
        return ir.Constant(kind, [value] * WIDTH)

    for byte in range(4):
        x = builder.and_(builder.lshr(unsigned, constant(8 * byte)), constant(255))
        y = builder.ashr(builder.shl(signed, constant(24 - 8 * byte)), constant(24))
        total = builder.add(total, builder.mul(x, y))
    return total


@intrinsic
def _float_tile(
    typingctx: Any, rows: Any, row: Any, columns: Any, column: Any, d: Any, near: Any, place: Any, step: Any
) -> Any:
    """near[place + r·step + j] = Σ_c rows[row + 48·c + r] · columns[column + 48·c + j] for r and j of a tile."""
    signature = types.void(rows, types.int64, columns, types.int64, types.int64, near, types.int64, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, row, columns, column, d, near, place, step = arguments
        emit = _Emit(context, builder, signature.args)
        kind = ir.VectorType(ir.FloatType(), WIDTH)
        sums = emit.sums([ir.Constant(kind, [0.0] * WIDTH)] * _PARTS)
        with cgutils.for_range(builder, d) as loop:
            before = emit.times(loop.index, LANES)
            theirs = [emit.load(kind, emit.at(2, columns, column, before, p * WIDTH)) for p in range(_PARTS)]
            for r in range(_ROWS):
                ours = emit.spread(kind, builder.load(emit.at(0, rows, row, before, r)))
                for part, total in zip(theirs, sums[r], strict=True):
                    added = emit.call(f"llvm.fmuladd.v{WIDTH}f32", ours, part, builder.load(total))
                    builder.store(added, total)
        for r in range(_ROWS):
            for p in range(_PARTS):
                emit.store(builder.load(sums[r][p]), emit.at(5, near, place, emit.times(step, r), p * WIDTH))
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def _byte_tile(
    typingctx: Any, rows: Any, row: Any, row_scales: Any, row_number: Any, columns: Any, column: Any, scales: Any,
    starts: Any, number: Any, words: Any, near: Any, place: Any, step: Any,
) -> Any:  # fmt: skip
    """The same of bytes, four in a word: sums begin with starts[number + j], and get the scales of both sides."""
    signature = types.void(
        rows, types.int64, row_scales, types.int64, columns, types.int64, scales, starts, types.int64, types.int64,
        near, types.int64, types.int64,
    )  # fmt: skip

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, row, row_scales, row_number, columns, column, scales, starts, number, words, near, place, step = arguments
        emit = _Emit(context, builder, signature.args)
        word = ir.IntType(32)
        kind, floats = ir.VectorType(word, WIDTH), ir.VectorType(ir.FloatType(), WIDTH)

        sums = emit.sums([emit.load(kind, emit.at(7, starts, number, p * WIDTH)) for p in range(_PARTS)])
        with cgutils.for_range(builder, words) as loop:
            before = emit.times(loop.index, LANES)
            theirs = [emit.load(kind, emit.at(4, columns, column, before, p * WIDTH)) for p in range(_PARTS)]
            for r in range(_ROWS):
                unsigned = builder.xor(builder.load(emit.at(0, rows, row, before, r)), ir.Constant(word, 0x80808080))
                ours = emit.spread(kind, unsigned)
                for part, total in zip(theirs, sums[r], strict=True):
                    builder.store(byte_sums(builder, builder.load(total), ours, part), total)
        for r in range(_ROWS):
            ours = emit.spread(floats, builder.load(emit.at(2, row_scales, row_number, r)))
            for p in range(_PARTS):
                both = builder.fmul(emit.load(floats, emit.at(6, scales, number, p * WIDTH)), ours)
                value = builder.fmul(builder.sitofp(builder.load(sums[r][p]), floats), both)
                emit.store(value, emit.at(10, near, place, emit.times(step, r), p * WIDTH))
        return context.get_dummy_value()

    return signature, codegen


@kernel(f"void({_FLOATS}, int64, {_FLOATS}, int64, int64, float32[::1])")
def float_products(rows, count, columns, column_groups, d, near):
    """near[i, j] = x_i · y_j in float32 for so many packed rows and all columns, the padding as well."""
    width = column_groups * LANES
    for i in range(0, count, _ROWS):
        row = (i // LANES) * LANES * d + i % LANES
        for group in range(column_groups):
            for lane in range(0, LANES, _TILE):
                _float_tile(
                    rows, row, columns, group * LANES * d + lane, d, near, i * width + group * LANES + lane, width
                )


@kernel(f"void({_WORDS}, {_FLOATS}, int64, int64, {_WORDS}, {_FLOATS}, {_WORDS}, int64, int64, int64, float32[::1])")
def byte_products(
    rows, row_scales, first_row, count, columns, scales, starts, first_column, column_groups, words, near
):
    """near[i, j] = x_i · y_j of vectors rounded to bytes, for `count` rows and so many groups of columns.

    Both sides begin with a group of their own choice, `first_row` and `first_column`.
    """
    width = column_groups * LANES
    for i in range(0, count, _ROWS):
        row = (first_row + i // LANES) * LANES * words + i % LANES
        for group in range(column_groups):
            for lane in range(0, LANES, _TILE):
                column = first_column + group
                _byte_tile(
                    rows, row, row_scales, first_row * LANES + i, columns, column * LANES * words + lane, scales,
                    starts, column * LANES + lane, words, near, i * width + group * LANES + lane, width,
                )  # fmt: skip


@kernel("void(Array(float32,2,'C',readonly=True), float32[::1])")
def pack_floats(vectors, packed):
    """The vectors side by side, the last group padded with zeros."""
    n, d = vectors.shape
    for i in range(-(-n // LANES) * LANES):
        base = (i // LANES) * LANES * d + i % LANES
        for c in range(d):
            packed[base + c * LANES] = vectors[i, c] if i < n else np.float32(0.0)


@device
def rounded_by(vectors, i):
    """The scale by which vector i is rounded to bytes, and 1 / scale; 0 both if it is too short."""
    most = np.float32(0.0)
    for c in range(vectors.shape[1]):
        most = max(most, abs(vectors[i, c]))
    inverse = np.float32(127.0) / most if most > _LEAST else np.float32(0.0)
    scale = most / np.float32(127.0) if most > _LEAST else np.float32(0.0)
    return scale, inverse


@kernel("void(Array(float32,2,'C',readonly=True), int32[::1], float32[::1], int32[::1], float64[::1])")
def pack_bytes(vectors, packed, scales, starts, errors):
    """The vectors rounded to bytes, side by side; errors[i] is how far that is from vector i."""
    n, d = vectors.shape
    words = (d + 3) // 4
    for i in range(n):
        scale, inverse = rounded_by(vectors, i)
        base = (i // LANES) * LANES * words + i % LANES
        total, lost = 0, 0.0
        for word in range(words):
            bits = np.uint32(0)
            for byte in range(min(4, d - 4 * word)):
                x = vectors[i, 4 * word + byte]
                q = np.int64(min(max(np.rint(x * inverse), np.float32(-127.0)), np.float32(127.0)))
                left = np.float64(x) - np.float64(scale) * np.float64(q)
                total += q
                lost += left * left
                bits |= np.uint32(np.uint32(q & 255) << np.uint32(8 * byte))
            packed[base + word * LANES] = np.int32(bits)
        scales[i], starts[i] = scale, np.int32(-128 * total)
        errors[i] = math.sqrt(lost)


def padded(count: int) -> int:
    """How many places so many vectors take."""
    return -(-count // LANES) * LANES


def packed_floats(vectors: F32Array) -> F32Array:
    packed = np.empty(padded(len(vectors)) * vectors.shape[1], np.float32)
    pack_floats(vectors, packed)
    return packed


def products_of(x: F32Array, y: F32Array) -> F32Array:
    """x_i · y_j in float32, each of some vectors with each of others: as many operations as BLAS, and no threads."""
    stride = padded(len(y))
    near = np.empty(padded(len(x)) * stride, np.float32)
    float_products(packed_floats(x), len(x), packed_floats(y), stride // LANES, x.shape[1], near)
    return near.reshape(-1, stride)[: len(x), : len(y)]


class Bytes(NamedTuple):
    """Vectors rounded to bytes, side by side, padded with zeros: x_i ≈ scales[i]·q_i, off by errors[i] in length."""

    packed: I32Array
    scales: F32Array
    starts: I32Array
    errors: F64Array
    words: int

    @classmethod
    def empty(cls, count: int, dimensions: int) -> Bytes:
        places, words = padded(count), (dimensions + 3) // 4
        packed, starts = np.zeros(places * words, np.int32), np.zeros(places, np.int32)
        return cls(packed, np.zeros(places, np.float32), starts, np.zeros(count), words)

    def put(self, first: int, vectors: F32Array) -> None:
        """Round these vectors, which begin a group."""
        place = slice(first, first + len(vectors))
        pack_bytes(
            vectors, self.packed[first * self.words :], self.scales[place], self.starts[place], self.errors[place]
        )
