"""A gradient against differences of the reference.

With F(x) = sum(upstream · reference(x)) in float64, the slope at an element is (F(x + t) - F(x - t)) / 2t with t = 2^-17 of the element
or of its tensor's size. Its error is estimated by the slope over twice the distance, and by the rounding of F. Where the slopes on the
two sides differ, at a kink, everything between them is right. The bound adds growth · u · s, with s as for values: the largest change
of the slope when inputs and upstream gradients move by one roundoff, over the roundoff.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import numpy as np

from ._arrays import FORMATS, copy_of, format_name, format_of, is_tensor, rounded_to, to_float64
from ._check import Case, called, in_double, judge, moved, reference_outputs, step_of
from ._error import Error

_SAMPLES = 24
_DRAWS = 3
_KINK = 1e-3  # slopes of the two sides that differ by more than this share of themselves


def _autograd(function: Callable[..., Any], outputs: int) -> Callable[..., Any]:
    """Returns a gradient by PyTorch of the function itself."""

    def gradient(*arguments: Any) -> Tuple[Any, ...]:
        inputs, upstream = list(arguments[:-outputs]), arguments[-outputs:]
        leaves = [x.requires_grad_() for x in inputs if is_tensor(x) and format_name(x) in FORMATS]
        if not leaves:
            raise TypeError('"autograd" is for functions of PyTorch\'s tensors')
        import torch

        result = function(*inputs)
        results = list(result.values()) if isinstance(result, dict) else list(result) if isinstance(result, (tuple, list)) else [result]
        return torch.autograd.grad(results, leaves, list(upstream), allow_unused=True)

    return gradient


class _Slopes:
    """Differences of sum(upstream · reference) in one element of one input."""

    def __init__(self, reference: Callable[..., Any], case: str, inputs: Sequence[Any], upstream: Dict[str, np.ndarray]) -> None:
        self.reference, self.case, self.inputs, self.upstream = reference, case, list(inputs), upstream

    def outputs(self, k: int, index: Tuple[int, ...], by: float) -> Dict[str, np.ndarray]:
        x = to_float64(self.inputs[k])
        x[index] += by
        changed = list(self.inputs)
        changed[k] = rounded_to(x, self.inputs[k])
        return reference_outputs(self.reference, self.case, changed)

    def between(self, a: Dict[str, np.ndarray], b: Dict[str, np.ndarray]) -> Tuple[float, float]:
        """Returns sum(upstream · (a - b)) and a bound of its rounding."""
        total, noise = 0.0, 0.0
        for name, w in self.upstream.items():
            with np.errstate(all="ignore"):
                difference = np.where(a[name] == b[name], 0.0, a[name] - b[name])
                total += float(np.sum(w * difference))
                noise += float(np.sum(np.abs(w) * np.where(difference != 0, np.abs(a[name]), 0.0)))
        return total, noise * 2.0**-50


def check_gradient(case: str, function: Callable[..., Any], reference: Callable[..., Any], gradient: Union[Callable[..., Any], str],
                   values: List[Any], factor: float, drawer: np.random.Generator) -> Case:
    """Compares a gradient with differences at sampled elements. Raises Error as check() does."""
    exact = [in_double(v) for v in values]
    results = called("function", function, case, values)
    upstream = [rounded_to(drawer.standard_normal(tuple(np.shape(value))), value) for _, value in results]
    call = _autograd(function, len(upstream)) if gradient == "autograd" else gradient
    assert callable(call)
    got = [value for _, value in _returned(call, case, [*values, *upstream])]
    floats = [k for k, value in enumerate(values) if format_name(value) in FORMATS]
    if len(got) != len(floats):
        raise Error(f"gradient returned {len(got)} arrays for {len(floats)} inputs of floating-point numbers: return one each, or None",
                    field="gradient")
    weights = {name: to_float64(w) for (name, _), w in zip(results, upstream)}
    total, elements, worst, bounds = 0, 0, [], {}
    for k, mine in zip(floats, got):
        if mine is None:
            continue
        shape = tuple(np.shape(values[k]))
        if tuple(np.shape(mine)) != shape:
            raise Error(f"gradient of input {k} has the shape {list(np.shape(mine))}, the input {list(shape)}: return the input's",
                        field="gradient")
        form = format_of(mine, "gradient")
        n = int(np.prod(shape))
        chosen = np.sort(drawer.choice(n, min(n, _SAMPLES), replace=False)) if n else np.array([], int)
        size = float(np.sqrt(np.mean(to_float64(exact[k]) ** 2))) if n else 0.0
        plain = _Slopes(reference, case, exact, weights)
        step = step_of(form)
        shaken = []
        for _ in range(_DRAWS):
            inputs = [moved(v, step, drawer) for v in exact]
            shaken.append(_Slopes(reference, case, inputs, {name: np.asarray(moved(w, step, drawer)) for name, w in weights.items()}))
        expected, slack = np.full(n, math.nan), np.full(n, math.nan)
        found = to_float64(mine).reshape(-1)
        for flat in chosen:
            index = tuple(int(i) for i in np.unravel_index(int(flat), shape)) if shape else ()
            slope, error = _slope(plain, k, index, found[flat], size)
            change = abs(slope)
            for s in shaken:
                t = _step(s, k, index, size)
                changed = s.between(s.outputs(k, index, t), s.outputs(k, index, -t))[0] / (2 * t)
                if math.isfinite(changed):
                    change = max(change, abs(changed - slope) / step)
            expected[flat] = slope
            slack[flat] = factor * (form.roundoff * change + form.smallest) + error
        wrong, w, _ = judge(case, f"gradient of input {k}, ", found[chosen], expected[chosen], slack[chosen], form)
        if len(chosen):
            w = dataclasses.replace(w, index=tuple(int(i) for i in np.unravel_index(int(chosen[w.index[0]]), shape)) if shape else ())
        total += wrong
        elements += len(chosen)
        worst.append(w)
        bounds[str(k)] = slack.reshape(shape)
    if not worst:
        raise Error("gradient returned None for every input: return the gradient of one at least", field="gradient")
    return Case("gradient", elements, total, max(worst, key=lambda w: w.share), bounds)


def _returned(call: Callable[..., Any], case: str, arguments: List[Any]) -> List[Tuple[str, Any]]:
    """Returns what the gradient gives for each input; None stays None."""
    kept: List[Any] = []

    def without_none(*given: Any) -> Any:
        result = call(*given)
        kept.extend(result if isinstance(result, (tuple, list)) else [result])
        present = [r for r in kept if r is not None]
        return present if present else [0.0]

    called("gradient", without_none, case, [copy_of(a) for a in arguments])
    return [(str(i), r) for i, r in enumerate(kept)]


def _step(slopes: _Slopes, k: int, index: Tuple[int, ...], size: float) -> float:
    t = 2.0**-17 * max(abs(float(to_float64(slopes.inputs[k])[index])), size)
    return t if t > 0 else 2.0**-17


def _slope(slopes: _Slopes, k: int, index: Tuple[int, ...], got: float, size: float) -> Tuple[float, float]:
    """Returns the slope that is nearest to `got` among those of a kink, else the slope; and a bound of its error."""
    t = _step(slopes, k, index, size)
    at = {by: slopes.outputs(k, index, by * t) for by in (-2, -1, 0, 1, 2)}
    near, noise = slopes.between(at[1], at[-1])
    far, _ = slopes.between(at[2], at[-2])
    ahead, _ = slopes.between(at[1], at[0])
    behind, _ = slopes.between(at[0], at[-1])
    slope, ahead, behind = near / (2 * t), ahead / t, behind / t
    error = noise / t + abs(slope - far / (4 * t))
    if abs(ahead - behind) > _KINK * (abs(ahead) + abs(behind)) + 4 * noise / t:
        low, high = min(ahead, behind), max(ahead, behind)
        return float(np.clip(got, low, high)) if math.isfinite(got) else slope, error
    return slope, error
