"""The smallest producer of the Arrow C data interface, over numpy memory: stands for pyarrow."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class _Schema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.POINTER(ctypes.c_void_p)),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


class _Array(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.POINTER(ctypes.c_void_p)),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


def _pointers(*addresses: int) -> Any:
    return (ctypes.c_void_p * len(addresses))(*addresses)


def bitmap(valid: Sequence[bool]) -> NDArray[np.uint8]:
    """Validity as Arrow stores it, least significant bit first."""
    return np.packbits(np.array(valid, bool), bitorder="little")


class Produced:
    """An array or, with `size`, a FixedSizeList over `values`.

    `live` counts the capsules whose memory has not been given back.
    """

    live = 0

    def __init__(
        self,
        values: NDArray[Any],
        form: str,
        size: int | None = None,
        *,
        length: int | None = None,
        offset: int = 0,
        child_offset: int = 0,
        valid: Sequence[bool] | None = None,
        child_valid: Sequence[bool] | None = None,
        null_count: int = -1,
        outer: str | None = None,
    ) -> None:
        self.values, self.form, self.size = values, form, size
        self.length = len(values) // (size or 1) - offset if length is None else length
        self.offset, self.child_offset, self.null_count = offset, child_offset, null_count
        self.valid = None if valid is None else bitmap(valid)
        self.child_valid = None if child_valid is None else bitmap(child_valid)
        self.outer = outer or f"+w:{size}"

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[Any, Any]:
        keep: list[Any] = [self.values, self.valid, self.child_valid]

        def address(array: NDArray[Any] | None) -> int:
            return 0 if array is None else array.ctypes.data

        flat = self.size is None
        leaf_valid = self.valid if flat else self.child_valid
        leaf_offset = self.offset if flat else self.child_offset
        length = self.length if flat else len(self.values) - self.child_offset
        buffers = _pointers(address(leaf_valid), address(self.values))
        array = _Array(length, self.null_count, leaf_offset, 2, 0, buffers, None, None, 1, None)
        schema = _Schema(self.form.encode(), b"", None, 2, 0, None, None, 1, None)
        keep += [buffers, array, schema]
        if not flat:
            children = _pointers(ctypes.addressof(array)), _pointers(ctypes.addressof(schema))
            buffers = _pointers(address(self.valid))
            array = _Array(
                self.length, self.null_count, self.offset, 1, 1, buffers, children[0], None, 1, None
            )
            schema = _Schema(self.outer.encode(), b"", None, 2, 1, children[1], None, 1, None)
            keep += [children, buffers, array, schema]
        return _capsule(schema, b"arrow_schema", keep), _capsule(array, b"arrow_array", keep)


_kept: dict[int, Any] = {}


def _capsule(structure: ctypes.Structure, name: bytes, keep: Any) -> Any:
    address = ctypes.addressof(structure)
    _kept[address] = (structure, keep)
    Produced.live += 1
    return _new(address, name, _GIVE_BACK)


def _give_back(capsule: int) -> None:
    for name in (b"arrow_schema", b"arrow_array"):
        try:
            del _kept[_pointer(capsule, name)]
        except ValueError:
            continue
        Produced.live -= 1


_CALLBACK = _destructor(_give_back)
_GIVE_BACK = ctypes.cast(_CALLBACK, ctypes.c_void_p)
