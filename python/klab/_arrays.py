"""Arrays of NumPy and tensors of PyTorch in one form: float64 copies and the formats that they came in.

PyTorch is imported only where a tensor, or one of its element types, was given.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np

from ._error import Error


class Format(NamedTuple):
    name: str
    roundoff: float  # unit roundoff u: numbers are rounded by at most u of themselves
    largest: float
    smallest: float  # denormal number above 0
    exponents: int  # of the largest number: 2^exponents is about it


FORMATS: Dict[str, Format] = {
    "float16": Format("float16", 2.0**-11, 65504.0, 2.0**-24, 16),
    "bfloat16": Format("bfloat16", 2.0**-8, float.fromhex("0x1.fep127"), 2.0**-133, 128),
    "float32": Format("float32", 2.0**-24, float.fromhex("0x1.fffffep127"), 2.0**-149, 128),
    "float64": Format("float64", 2.0**-53, float.fromhex("0x1.fffffffffffffp1023"), 5e-324, 1024),
}


def is_tensor(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach")


def format_name(value: Any) -> str:
    """Returns the element type's name: "float32", "int64"."""
    if is_tensor(value):
        return str(value.dtype).split(".")[-1]
    return str(np.asarray(value).dtype)


def format_of(value: Any, what: str) -> Format:
    name = format_name(value)
    if name not in FORMATS:
        raise Error(f"{what} has elements of type {name}: return float16, bfloat16, float32 or float64; whole numbers are compared by "
                    "numpy.array_equal", field=what)
    return FORMATS[name]


def to_float64(value: Any) -> np.ndarray:
    """Returns a copy in double precision; every format of few bits converts without rounding."""
    if is_tensor(value):
        return value.detach().cpu().double().numpy().copy()
    return np.array(value, dtype=np.float64)


def copy_of(value: Any) -> Any:
    """Returns a copy that a function may overwrite."""
    if is_tensor(value):
        return value.detach().clone()
    return np.array(value) if isinstance(value, np.ndarray) else value


def rounded_to(values: np.ndarray, like: Any) -> Any:
    """Returns the values in the format and of the kind, array or tensor, of `like`."""
    if is_tensor(like):
        import torch

        return torch.from_numpy(np.ascontiguousarray(values)).to(dtype=like.dtype, device=like.device)
    with np.errstate(over="ignore"):
        return values.astype(np.asarray(like).dtype)


def empty_like_spec(shape: Tuple[int, ...], dtype: Any) -> Any:
    """Returns an array or tensor of a shape and an element type: a name, a NumPy or a PyTorch type."""
    tensor = type(dtype).__module__.split(".")[0] == "torch"
    if tensor or dtype == "bfloat16":
        try:
            import torch
        except ImportError:
            raise Error("inputs: bfloat16 is a type of PyTorch: pip install torch, or take float16", field="inputs") from None
        kind = dtype if tensor else torch.bfloat16
        name = str(kind).split(".")[-1]
        made = lambda: torch.zeros(shape, dtype=kind)
    else:
        try:
            name = str(np.dtype(dtype))
        except TypeError:
            raise Error(f"inputs: {dtype!r} is no element type: take float32, for example", field="inputs") from None
        made = lambda: np.zeros(shape, dtype)
    if name not in FORMATS:
        raise Error(f"inputs: {name} cannot be drawn: give an array, or one of {', '.join(FORMATS)}", field="inputs")
    return made()


def outputs_of(result: Any, what: str) -> List[Tuple[str, Any]]:
    """Returns the named arrays of a result: an array, a tuple or list, or a dict of some."""
    if isinstance(result, dict):
        parts = [(str(name), value) for name, value in result.items()]
    elif isinstance(result, (tuple, list)):
        parts = [(str(i), value) for i, value in enumerate(result)]
    else:
        parts = [("", result)]
    for name, value in parts:
        if not is_tensor(value) and not isinstance(value, (np.ndarray, np.generic, float)):
            raise Error(f"{what} returned {type(value).__name__}: return an array, a tensor, or a tuple, list or dict of them", field=what)
    if not parts:
        raise Error(f"{what} returned nothing to compare: return an array or a tensor", field=what)
    return parts
