"""Embeddings that are no numpy array: views of DLPack, buffers and Arrow, without copying.

The border comes here only with objects that are no ndarray; the names of arguments are its own.
Nothing of a producer's package is imported.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FIT = ("float32", "float16", "int8")
# Arrow's formats of what an embedding may be, and of what is worth naming.
_ARROW = {"f": "float32", "e": "float16", "c": "int8", "g": "float64", "C": "uint8"}
_DLPACK_CPU = (1, 3, 11, 13)  # memory that the processor reads: its own, and pinned or managed


def as_view(name: str, value: Any, n_axes: int) -> NDArray[Any]:
    """A read-only view of an embedding, kept alive by it. O(1), nothing is copied.

    Parameters
    ----------
    name : str
        The argument, for errors.
    value : object
        With the Arrow C data interface (``__arrow_c_array__``: a FixedSizeList of float32, float16
        or int8 gives rows, a primitive array a vector), DLPack (``__dlpack__``, in the processor's
        memory) or a buffer (memoryview, array.array).
    n_axes : int
        1 for a vector, 2 for rows.

    Returns
    -------
    ndarray of float32, float16 or int8, shape (d,) or (n, d)

    Raises
    ------
    TypeError
        No such object, or of another dtype, shape or device; names what came and the call that
        mends it.
    ValueError
        An entry is null; names the first.
    """
    # Arrow first: pyarrow's arrays offer DLPack too, and refuse it for lists.
    if hasattr(value, "__arrow_c_array__"):
        return _arrow(name, value, n_axes)
    if hasattr(value, "__dlpack__"):
        return _fitting(name, _dlpack(name, value), n_axes, value)
    try:
        buffer = memoryview(value)
    except TypeError:
        raise TypeError(_no_array(name, value, n_axes)) from None
    try:
        view = np.asarray(buffer)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is a buffer of format {buffer.format!r}: {error}") from None
    return _fitting(name, view, n_axes, value)


def _no_array(name: str, value: Any, n_axes: int) -> str:
    kind = type(value).__name__
    shape, plural = ("[d]", "vector") if n_axes == 1 else ("[n, d]", "matrix")
    call = "asarray" if n_axes == 1 else "ascontiguousarray"
    if hasattr(value, "__arrow_c_stream__"):
        return (
            f"{name} is a {kind}, an Arrow stream of chunks, expected one array; use "
            ".combine_chunks() or .to_arrow()"
        )
    return (
        f"{name} must be an array of float32, float16 or int8 with shape {shape}, got {kind}; use "
        f'np.{call}({plural}, dtype="float32")'
    )


def _fitting(name: str, view: NDArray[Any], n_axes: int, value: Any) -> NDArray[Any]:
    """The view, unless its dtype or number of axes is wrong."""
    if view.dtype in _FIT and view.ndim == n_axes:
        return view
    shape, sizes = ("[d]", "-1") if n_axes == 1 else ("[n, d]", "n, d")
    fix = "" if view.dtype in _FIT else ', dtype="float32"'
    reshaped = "" if view.ndim == n_axes else f".reshape({sizes})"
    raise TypeError(
        f"{name} is a {type(value).__name__} of {view.dtype} with shape {list(view.shape)}, "
        f"expected float32, float16 or int8 with shape {shape}; "
        f"use np.asarray({name}{fix}){reshaped}"
    )


def _dlpack(name: str, value: Any) -> NDArray[Any]:
    kind = type(value).__name__
    if hasattr(value, "__dlpack_device__"):
        device, number = value.__dlpack_device__()
        if int(device) not in _DLPACK_CPU:
            raise TypeError(
                f"{name} is a {kind} on DLPack device ({int(device)}, {number}), expected the "
                "processor's memory; use .cpu()"
            )
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        # What cannot be exported (a gradient is asked for) or read (bfloat16).
        raise TypeError(
            f"{name} is a {kind} without a DLPack view of float32, float16 or int8 ({error}); "
            "use .detach(), and .to() or .astype() for another dtype"
        ) from error


class _ArrowSchema(ctypes.Structure):
    """https://arrow.apache.org/docs/format/CDataInterface.html, as far as it is read here."""


_ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowSchema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class _ArrowArray(ctypes.Structure):
    """As `_ArrowSchema`."""


_ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

# A prototype of our own: types set on ctypes.pythonapi's function would be everybody's.
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class _Memory:
    """Memory that a capsule owns, as numpy asks for it; lives as long as the array made of it."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: str, owner: Any) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, True),
            "shape": shape,
            "typestr": np.dtype(dtype).str,
        }
        self.owner = owner


def _arrow(name: str, value: Any, n_axes: int) -> NDArray[Any]:
    kind = type(value).__name__
    capsules = value.__arrow_c_array__()
    schema = ctypes.cast(
        _pointer(capsules[0], b"arrow_schema"), ctypes.POINTER(_ArrowSchema)
    ).contents
    array = ctypes.cast(_pointer(capsules[1], b"arrow_array"), ctypes.POINTER(_ArrowArray)).contents
    if not array.release:
        raise ValueError(f"{name} is a {kind} that gave up its memory already")
    form = (schema.format or b"").decode()
    values, of, start = array, form, int(array.offset)
    length = int(array.length)
    shape: tuple[int, ...] = (length,)
    if form.startswith("+w:"):
        size = int(form[3:])
        _refuse_nulls(name, array, start, length, 1)
        values, of = (
            array.children[0].contents,
            (schema.children[0].contents.format or b"").decode(),
        )
        # The child's own offset comes on top; a slice of the list leaves the child whole.
        start = values.offset + start * size
        length, shape = length * size, (length, size)
    dtype = _ARROW.get(of)
    if len(shape) != n_axes or dtype not in _FIT or schema.dictionary:
        wanted = "float32, float16 or int8"
        wanted = wanted if n_axes == 1 else f"FixedSizeList of {wanted}"
        cast = "pa.float32()" if n_axes == 1 else "pa.list_(pa.float32(), d)"
        got = f"{form!r} of {of!r}" if of != form else repr(form)
        raise TypeError(
            f"{name} is a {kind} of Arrow format {got}{f' ({dtype})' if dtype else ''}, expected "
            f"an array of {wanted}; use .cast({cast})"
        )
    _refuse_nulls(name, values, start, length, shape[-1] if n_axes == 2 else 1)
    address = values.buffers[1] or 0
    if not address or not length:
        return np.empty(shape, dtype)
    address += start * np.dtype(dtype).itemsize
    return np.asarray(_Memory(address, shape, dtype, capsules))


def _refuse_nulls(name: str, array: _ArrowArray, start: int, length: int, size: int) -> None:
    """Names the first null among `length` entries from `start` on, in rows of `size`."""
    bits = array.buffers[0] if array.n_buffers else None
    if not bits or array.null_count == 0 or not length:
        return
    first = start // 8
    n_bytes = (start + length + 7) // 8 - first
    packed = np.asarray(_Memory(bits + first, (n_bytes,), "uint8", array))
    valid = np.unpackbits(packed, bitorder="little")[start - 8 * first :][:length]
    if not valid.all():
        index = int(valid.argmin())
        where = f"[{index}]" if size == 1 else f"[{index // size}, {index % size}]"
        raise ValueError(f"{name}{where} is null; use .drop_null() on the rows first")
