"""Levels at the border: every spelling of a decimal is that decimal; what is none is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import oracle
import tamis

# The rank tells a level from its neighbours: alpha = p/q moves it by n·p/q.
N = 10**18

DECIMALS = ["0.1", "0.05", "0.2", "0.3", "0.42", "0.7", "0.9", "0.125", "0.001", "0.999", "0.0625"]
SMALL = ["0.0001", "0.00001", "1e-7", "0.000061", "3e-300", "5e-324"]


def level_of(alpha: Any) -> int:
    return tamis.conformal_rank(N, alpha)


def exact(alpha: str) -> int:
    return oracle.rank(N, Fraction(alpha))


SPELLINGS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "padded": lambda text: f"{Decimal(text):f}000",
    "exponent": lambda text: f"{Decimal(text):e}",
    "capital": lambda text: f"+{Decimal(text):E}",
    "fraction text": lambda text: str(Fraction(text)),
    "Fraction": Fraction,
    "Decimal": Decimal,
    "float": float,
    "float64": np.float64,
    "str_": np.str_,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("alpha", DECIMALS + SMALL)
def test_every_spelling_is_the_same_level(alpha: str, spelling: str) -> None:
    assert level_of(SPELLINGS[spelling](alpha)) == exact(alpha)


@pytest.mark.parametrize("width", [np.float16, np.float32, np.longdouble])
def test_a_numpy_float_is_the_shortest_decimal_of_its_width(width: Any) -> None:
    # Three digits are fewer than any of these widths can tell apart.
    for thousandths in range(1, 1000):
        alpha = Decimal(thousandths) / 1000
        assert level_of(width(str(alpha))) == exact(str(alpha)), (width, alpha)


def test_floats_are_their_shortest_decimal_and_not_their_binary_value() -> None:
    for ten_thousandths in range(1, 10_000):
        alpha = f"0.{ten_thousandths:04}"
        assert level_of(float(alpha)) == level_of(np.float64(alpha)) == exact(alpha)
        assert level_of(np.float32(alpha)) == exact(alpha)
    assert level_of(float("0.1")) != oracle.rank(N, Fraction(float("0.1")))


def test_numpy_print_options_and_subclasses_change_nothing() -> None:
    class Loud(float):
        def __repr__(self) -> str:
            return "0.5"

        __str__ = __repr__

    assert level_of(Loud(0.3)) == exact("0.3")
    with np.printoptions(legacy="1.13"):
        for width in (np.float32, np.float64):
            assert level_of(width("0.1234567")) == exact("0.1234567")


LEVELS: dict[str, Callable[[Any], object]] = {
    "alpha": lambda level: tamis.conformal_rank(9, level),
    "coverage": lambda level: tamis.conformal_rank(9, coverage=level),
}
NO_LEVELS: list[Any] = [
    *(True, False, np.bool_(True), b"0.1", bytearray(b"0.1"), memoryview(b"0.1"), 0.1j),
    *([0.1], (0.1,), {0.1}, {"alpha": 0.1}, object(), lambda: 0.1, np.complex64(0.1)),
    *(np.array(0.1), np.array([0.1]), np.array([[0.1]], "f4"), np.ma.masked, np.int64(1)),
]
OUTSIDE: list[Any] = [
    *(0, 1, -1, 2, 10**30, 10**5000, 0.0, -0.0, 1.0, -0.1, 1.5, 1e300),
    *(float("nan"), float("inf"), float("-inf"), np.float32("nan"), np.float16("inf")),
    *(np.float32(1), np.float64(0), np.float16(-0.5), np.longdouble(2)),
    *(
        Decimal(0),
        Decimal(1),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("-0.1"),
    ),
    *(Fraction(0), Fraction(1), Fraction(-1, 10), Fraction(3, 2), Fraction(1, 10**5000)),
    *(
        "0",
        "1",
        "",
        " ",
        "0.1 ",
        "10%",
        "0,1",
        "1/0",
        "-1/10",
        "nan",
        "inf",
        "0x1p-2",
        "0_1",
        "٠.١",
    ),
    *("\ud800", "0.1\0"),
]


@pytest.mark.parametrize("name", LEVELS)
def test_what_is_no_level_is_refused_by_name(name: str) -> None:
    for kind, values in ((TypeError, NO_LEVELS), (ValueError, OUTSIDE)):
        for value in values:
            with pytest.raises(kind, match=rf"^{name} must "):
                LEVELS[name](value)
