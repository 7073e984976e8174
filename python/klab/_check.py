"""Is a function of arrays right? Compared with a reference in double precision, within a derived bound per element.

An element y passes if |got - y| <= growth · (u · s + d).

  u       unit roundoff of the output's format; d its smallest number above 0, since a result may underflow
  s       sensitivity: the reference is run in float64 with each input element moved by one unit roundoff, up or down at random; s is
          the largest change of this element in several such runs, over the roundoff, and at least |y|, since y itself is rounded
          (D. S. Parker, "Monte Carlo Arithmetic", 1997)
  growth  of n roundings in a row: 4 · sqrt(n), which holds with a probability of 0.999 if they are independent with mean zero
          (N. Higham and T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", 2019, theorem 2.4); n is `terms`, by
          default the number of all input elements, of which an output element can depend on no more, and at least 16

So sums may be reordered, blocked or fused. What a function that rounds once per operation cannot do is an error: fewer bits on the way
than the output has, an element of another place, a factor.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import (FORMATS, Format, copy_of, empty_like_spec, format_name, format_of, is_tensor, outputs_of, rounded_to,
                      to_float64)
from ._error import Error

KINDS = ("normal", "large", "tiny", "zeros", "ties")
SPECIAL_KINDS = ("nan", "inf")
_FEWEST = 16  # roundings of a function of few numbers, an exponential and what is around it


@dataclasses.dataclass(frozen=True)
class Worst:
    """The element that is largest in error over its bound."""

    case: str  # "normal inputs"
    output: str  # name or number of the output; empty for a function with one
    index: Tuple[int, ...]
    got: float
    expected: float
    bound: float
    share: float  # error over bound: more than 1 is wrong; infinite for NaN or an infinity that the reference has not

    def __str__(self) -> str:
        place = f"{self.output}[{', '.join(map(str, self.index))}]"
        return f"{self.case}, {place}: got {self.got:.9g}, expected {self.expected:.9g}, bound {self.bound:.3g}"


class Case(NamedTuple):
    """What was found with one kind of inputs."""

    name: str
    elements: int
    wrong: int
    worst: Worst
    bound: Dict[str, np.ndarray]  # by output
    note: str = ""  # what the wrong elements have in common, if anything

    @property
    def ok(self) -> bool:
        return self.wrong == 0


class CheckResult:
    """ok: whether every element is within its bound. worst: the element nearest to or furthest beyond it. bound: the bounds of that
    element's case, an array shaped as the output, or a dict of them by output. cases: one Case per kind of inputs. gradient: the
    Case of the gradient, by input, or None. The object is true if ok."""

    def __init__(self, name: str, cases: List[Case], gradient: Optional[Case], format_text: str, growth_text: str) -> None:
        self.name = name
        self.cases = cases
        self.gradient = gradient
        self._format_text = format_text
        self._growth_text = growth_text
        everything = cases + ([gradient] if gradient is not None else [])
        self.ok = all(case.ok for case in everything)
        first = max(everything, key=lambda case: (not case.ok, case.worst.share))
        self.worst = first.worst
        self.bound: Union[np.ndarray, Dict[str, np.ndarray]] = first.bound[""] if list(first.bound) == [""] else first.bound

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        lines = [f"{self.name}: {'ok' if self.ok else 'WRONG'}"]
        for case in self.cases + ([self.gradient] if self.gradient is not None else []):
            if case.ok:
                lines.append(f"  {case.name:14} {case.elements} elements, worst error {100 * case.worst.share:.2g} % of its bound")
            else:
                lines.append(f"  {case.name:14} {case.wrong} of {case.elements} elements are beyond their bound{case.note and ': ' + case.note}")
        lines.append(f"  worst: {self.worst}")
        lines.append(f"  bound: growth · (u · sensitivity + smallest number); {self._format_text}; {self._growth_text}")
        return "\n".join(lines)


def check(function: Callable[..., Any], reference: Callable[..., Any], inputs: Any = None, *, seed: int = 1,
          kinds: Optional[Sequence[str]] = None, gradient: Union[Callable[..., Any], str, None] = None, terms: Optional[float] = None,
          growth: Optional[float] = None, format: Optional[str] = None, draws: int = 8) -> CheckResult:
    """Compares a function of NumPy arrays or PyTorch tensors with a reference, element by element.

    function: takes the inputs, returns an array, or a tuple, list or dict of arrays, of float16, bfloat16, float32 or float64.
    reference: the same in float64. It gets the inputs as float64, exactly as rounded for the function; arrays of whole numbers as given.
    inputs: a list of arrays or tensors; or of shapes, (64, 1000), or pairs ((64, 1000), "float16"), for which values are drawn.
    kinds: of drawn values; by default all of "normal", "large" and "tiny" (a quarter of the format's exponents away from 1), "zeros",
        "ties" (few different values). Only by name: "nan" and "inf", where function and reference must agree on them.
    gradient: gradient(*inputs, *upstream) returns the gradient of sum(upstream · output) for each floating-point input (None: not
        wanted), and is compared with differences of the reference at up to 24 elements an input. "autograd": PyTorch's own of
        `function`.
    terms: the number of roundings that affect one output element, the length of a sum for example. growth: the factor itself.
    format: hold the output to this format's roundoff; by default to that of its own elements.
    draws: perturbed runs of the reference per kind.

    Returns a CheckResult. Raises Error for bad input, also where shapes differ or a function raises.
    """
    drawer = np.random.default_rng(_natural("seed", seed, 0))
    _natural("draws", draws, 1)
    if format is not None and format not in FORMATS:
        raise Error(f"format is {format!r}: take one of {', '.join(FORMATS)}", field="format")
    for what, call in (("function", function), ("reference", reference)):
        if not callable(call):
            raise Error(f"{what} is of type {type(call).__name__}: give a callable", field=what)
    if gradient is not None and not callable(gradient) and gradient != "autograd":
        raise Error(f"gradient is {gradient!r}: give a callable, or \"autograd\" for PyTorch", field="gradient")
    cases = _cases(inputs, kinds, drawer)
    elements = sum(to_float64(x).size for x in cases[0][1] if format_name(x) in FORMATS)
    factor, growth_text = _growth(terms, growth, elements)
    found: List[Case] = []
    formats: Dict[str, Format] = {}
    gradients: List[Case] = []
    for name, values in cases:
        case, of_outputs = _compare(name, function, reference, values, format, factor, draws, drawer)
        found.append(case)
        formats.update({f.name: f for f in of_outputs})
        if gradient is not None and name in ("given", "normal", "zeros"):
            from ._gradient import check_gradient

            gradients.append(check_gradient(name, function, reference, gradient, values, factor, drawer))
    merged = max(gradients, key=lambda c: (not c.ok, c.worst.share)) if gradients else None
    if merged is not None:
        merged = merged._replace(elements=sum(c.elements for c in gradients), wrong=sum(c.wrong for c in gradients))
    format_text = ", ".join(f"{f.name}, u = 2^{int(math.log2(f.roundoff))}" for f in formats.values())
    return CheckResult(getattr(function, "__name__", type(function).__name__), found, merged, format_text, growth_text)


def _natural(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise Error(f"{name} is {value!r}: give a whole number from {least} on", field=name)
    return int(value)


def _growth(terms: Optional[float], growth: Optional[float], elements: int) -> Tuple[float, str]:
    if terms is not None and growth is not None:
        raise Error("both terms and growth are given: leave one out", field="growth")
    for name, value in (("terms", terms), ("growth", growth)):
        if value is not None and not (isinstance(value, (int, float, np.number)) and math.isfinite(value) and value >= 1):
            raise Error(f"{name} is {value!r}: give a number from 1 on", field=name)
    if growth is not None:
        return float(growth), f"growth {growth:.4g} as given"
    n = float(terms) if terms is not None else float(max(_FEWEST, elements))
    source = "terms as given" if terms is not None else "input elements, at least 16; terms= makes it tighter"
    return 4 * math.sqrt(n), f"growth 4 · sqrt({n:.0f}) = {4 * math.sqrt(n):.4g} ({source})"


def _cases(inputs: Any, kinds: Optional[Sequence[str]], drawer: np.random.Generator) -> List[Tuple[str, List[Any]]]:
    """Returns the lists of inputs by name: the given one, or one per kind."""
    whole = lambda v: isinstance(v, (int, np.integer)) and not isinstance(v, bool)
    if inputs is None:
        raise Error("inputs are missing: give a list of arrays, or of shapes like [(64, 1000)]", field="inputs")
    if is_tensor(inputs) or isinstance(inputs, np.ndarray) or (isinstance(inputs, tuple) and inputs and all(map(whole, inputs))):
        inputs = [inputs]
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise Error(f"inputs are {inputs!r}: give a list of arrays, or of shapes like [(64, 1000)]", field="inputs")
    prototypes, drawn = [], []
    for i, item in enumerate(inputs):
        shape, dtype = item, "float32"
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], tuple):
            shape, dtype = item
        if isinstance(shape, tuple) and all(map(whole, shape)):
            if any(n < 0 for n in shape):
                raise Error(f"inputs[{i}] has the shape {shape}: give sizes from 0 on", field="inputs")
            prototypes.append(empty_like_spec(tuple(int(n) for n in shape), dtype))
            drawn.append(True)
        elif is_tensor(item) or isinstance(item, (np.ndarray, np.generic, float)):
            prototypes.append(item if is_tensor(item) else np.asarray(item))
            drawn.append(False)
        else:
            raise Error(f"inputs[{i}] is of type {type(item).__name__}: give an array, a tensor, a shape, or (shape, type)", field="inputs")
    if not any(drawn):
        if kinds is not None:
            raise Error("kinds are of drawn values, but all inputs are arrays: give a shape, or leave kinds out", field="kinds")
        return [("given", prototypes)]
    chosen = KINDS if kinds is None else ([kinds] if isinstance(kinds, str) else list(kinds))
    for kind in chosen:
        if kind not in KINDS + SPECIAL_KINDS:
            raise Error(f"kinds: {kind!r} is none of {', '.join(KINDS + SPECIAL_KINDS)}", field="kinds")
    if not chosen:
        raise Error(f"kinds are empty: give some of {', '.join(KINDS + SPECIAL_KINDS)}", field="kinds")
    return [(kind, [_draw(kind, p, drawer) if d else p for p, d in zip(prototypes, drawn)]) for kind in chosen]


def _draw(kind: str, like: Any, drawer: np.random.Generator) -> Any:
    shape = tuple(like.shape)
    values = drawer.standard_normal(shape)
    quarter = 2.0 ** (format_of(like, "inputs").exponents // 4)
    if kind == "large":
        values *= quarter
    elif kind == "tiny":
        values /= quarter
    elif kind == "zeros":
        values *= drawer.integers(0, 3, shape) > 0
    elif kind == "ties":
        values = drawer.integers(-2, 3, shape) / 2.0
    elif kind in SPECIAL_KINDS and values.size:
        some = drawer.choice(values.size, max(1, values.size // 64), replace=False)
        values.reshape(-1)[some] = math.nan if kind == "nan" else drawer.choice([math.inf, -math.inf], some.size)
    return rounded_to(np.asarray(values), like)


def called(what: str, call: Callable[..., Any], case: str, arguments: Sequence[Any]) -> List[Tuple[str, Any]]:
    """Returns the named outputs of a call on copies. What it raises becomes an Error."""
    try:
        with np.errstate(all="ignore"):
            result = call(*[copy_of(a) for a in arguments])
    except Exception as error:
        shapes = ", ".join(str(tuple(np.shape(a))) for a in arguments)
        said = " ".join(str(error).split())
        raise Error(f"{what} raised {type(error).__name__} on {case} inputs of shapes {shapes}: {said}: call it alone with such inputs",
                    field=what) from error
    return outputs_of(result, what)


def in_double(value: Any) -> Any:
    """Returns what the reference gets: floating-point numbers as float64, all others as they are."""
    if format_name(value) not in FORMATS:
        return value
    return value.detach().double() if is_tensor(value) else np.array(value, dtype=np.float64)


def reference_outputs(reference: Callable[..., Any], case: str, arguments: Sequence[Any]) -> Dict[str, np.ndarray]:
    outputs = {}
    for name, value in called("reference", reference, case, arguments):
        if format_name(value) != "float64":
            raise Error(f"reference returned {format_name(value)}: compute in float64, the type of the inputs that it gets",
                        field="reference")
        outputs[name] = to_float64(value)
    return outputs


def moved(value: Any, step: float, drawer: np.random.Generator) -> Any:
    """Returns each element times 1 + step or 1 - step; of other types the value itself."""
    if format_name(value) not in FORMATS:
        return value
    signs = drawer.integers(0, 2, tuple(np.shape(value))) * 2.0 - 1
    with np.errstate(all="ignore"):
        return rounded_to(np.asarray(to_float64(value) * (1 + step * signs)), value)


def step_of(form: Format) -> float:
    """Returns the move of a perturbed run: the unit roundoff, but 2^-36 for float64, whose own is lost in the reference's rounding."""
    return max(form.roundoff, 2.0**-36)


def judge(case: str, output: str, got: np.ndarray, expected: np.ndarray, slack: np.ndarray, form: Format) -> Tuple[int, Worst, str]:
    """Compares one output. Returns the number of wrong elements, the worst, and what the wrong ones have in common."""
    with np.errstate(all="ignore"):
        share = np.abs(got - expected) / slack
        overflows = np.isinf(got) & (np.abs(expected) + slack > form.largest) & (np.sign(got) == np.sign(expected))
        share = np.where(np.isfinite(got) & np.isfinite(expected), share, np.inf)
        share = np.where(overflows & np.isfinite(expected), 0.0, share)
        share = np.where((np.isnan(expected) & np.isnan(got)) | (np.isinf(expected) & (got == expected)), 0.0, share)
    if share.size == 0:
        return 0, Worst(f"{case} inputs", output, (), math.nan, math.nan, 0.0, 0.0), ""
    at = np.unravel_index(int(np.argmax(share)), share.shape)
    worst = Worst(f"{case} inputs", output, tuple(int(i) for i in at), float(got[at]), float(expected[at]), float(slack[at]),
                  float(share[at]))
    wrong = share > 1
    return int(np.count_nonzero(wrong)), worst, _in_common(got, expected, slack, wrong)


def _in_common(got: np.ndarray, expected: np.ndarray, slack: np.ndarray, wrong: np.ndarray) -> str:
    """Describes wrong elements: one factor, exchanged axes, one part of an axis; empty if nothing is seen."""
    if np.count_nonzero(wrong) < 2:
        return ""
    with np.errstate(all="ignore"):
        ratio = got[wrong] / expected[wrong]
        middle = float(np.median(ratio))
        if np.all(np.abs(ratio - middle) <= 4 * slack[wrong] / np.abs(expected[wrong])) and middle not in (0.0, 1.0):
            return f"they are {middle:.6g} times what they should be"
        square = got.ndim >= 2 and got.shape[-1] == got.shape[-2]
        if square and np.all(np.abs(np.swapaxes(got, -1, -2) - expected) <= slack):
            return "with the last two axes exchanged they are right"
    parts = []
    for axis, at in enumerate(np.nonzero(wrong)):
        low, high = int(at.min()), int(at.max())
        if high - low + 1 < got.shape[axis]:
            parts.append(f"{low} to {high} of axis {axis}" if high > low else f"{low} of axis {axis}")
    return f"at {', '.join(parts)}" if parts else ""


def _compare(case: str, function: Callable[..., Any], reference: Callable[..., Any], values: List[Any], promised: Optional[str],
             factor: float, draws: int, drawer: np.random.Generator) -> Tuple[Case, List[Format]]:
    exact = [in_double(v) for v in values]
    expected = reference_outputs(reference, case, exact)
    outputs = called("function", function, case, values)
    if [name for name, _ in outputs] != list(expected):
        raise Error(f"function returned the outputs {[n for n, _ in outputs]}, reference {list(expected)}: return the same, in one order",
                    field="function")
    own = {name: format_of(value, "function") for name, value in outputs}
    forms = {name: FORMATS[promised] if promised else own[name] for name in own}
    for name, value in outputs:
        if tuple(np.shape(value)) != expected[name].shape:
            raise Error(f"function returned {name + ' of ' if name else ''}the shape {list(np.shape(value))}, reference "
                        f"{list(expected[name].shape)}: return the reference's", field="function")
    changes = {name: np.abs(y) for name, y in expected.items()}
    for form in {f.name: f for f in forms.values()}.values():
        step = step_of(form)
        for _ in range(draws):
            again = reference_outputs(reference, case, [moved(v, step, drawer) for v in exact])
            for name, y in expected.items():
                if forms[name] is form:
                    if again[name].shape != y.shape:
                        raise Error("reference returns another shape when its inputs change a little: give inputs of one shape of result",
                                    field="reference")
                    with np.errstate(all="ignore"):
                        change = np.abs(again[name] - y) / step
                    changes[name] = np.fmax(changes[name], np.where(np.isfinite(change), change, 0.0))
    total, elements, worst, bounds, notes = 0, 0, [], {}, []
    for name, value in outputs:
        form = forms[name]
        with np.errstate(all="ignore"):
            bound = factor * (form.roundoff * changes[name] + form.smallest)
        bounds[name] = bound
        wrong, w, note = judge(case, name, to_float64(value), expected[name], bound, own[name])
        notes.append(note)
        total += wrong
        elements += expected[name].size
        worst.append(w)
    found = Case(case, elements, total, max(worst, key=lambda w: w.share), bounds, "; ".join(filter(None, notes)))
    return found, list(forms.values())
