"""klab.check: right functions pass, whatever the order of their sums; wrong ones do not. Needs NumPy alone; PyTorch's cases are skipped
without it."""

import importlib.util
import sys
import unittest

import numpy as np

import klab


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def total(x):
    return np.sum(x, axis=1)


def product(a, b):
    return a @ b


def reordered(x):
    """Sums in blocks of seven, from the end."""
    y = np.zeros(x.shape[0], x.dtype)
    for begin in reversed(range(0, x.shape[1], 7)):
        part = np.zeros_like(y)
        for k in range(begin, min(begin + 7, x.shape[1])):
            part += x[:, k]
        y += part
    return y


def one_after_the_other(x):
    y = np.zeros(x.shape[0], x.dtype)
    for k in range(x.shape[1]):
        y += x[:, k]
    return y


class Right(unittest.TestCase):
    def passes(self, *arguments, **options):
        result = klab.check(*arguments, **options)
        self.assertTrue(result.ok, repr(result))
        return result

    def test_softmax_of_every_kind(self):
        result = self.passes(softmax, softmax, [(9, 300)])
        self.assertEqual([c.name for c in result.cases], ["normal", "large", "tiny", "zeros", "ties"])
        self.assertIn("softmax: ok", repr(result))

    def test_reordered_sums(self):
        for dtype in ("float64", "float32", "float16"):
            for function in (reordered, one_after_the_other):
                for seed in range(1, 4):
                    self.passes(function, total, [((5, 500), dtype)], seed=seed, kinds=["normal", "tiny", "zeros", "ties"], terms=500)

    def test_products_in_another_order(self):
        def outer(a, b):
            c = np.zeros((a.shape[0], b.shape[1]), a.dtype)
            for k in range(a.shape[1]):
                c += np.outer(a[:, k], b[k])
            return c

        self.passes(outer, product, [(12, 200), (200, 9)], terms=400)

    def test_nan_and_infinity_by_name(self):
        result = self.passes(total, total, [(40, 8)], kinds=["nan", "inf"])
        self.assertEqual(len(result.cases), 2)

    def test_cancellation_is_allowed_what_it_costs(self):
        x = np.float32([[1, 1e7, -1e7, 3]])
        self.passes(one_after_the_other, total, [x])

    def test_overflow_of_the_format_is_right(self):
        self.passes(lambda x: x * x, lambda x: x * x, [np.float32([1e30, -1e30, 2])])

    def test_given_arrays_of_numbers_and_whole_numbers(self):
        def gather(x, i):
            return x[i]

        self.passes(gather, gather, [np.linspace(0, 1, 9), np.array([3, 3, 0])])

    def test_several_outputs(self):
        def moments(x):
            return {"mean": x.mean(axis=0), "square": (x * x).mean(axis=0)}

        result = self.passes(moments, moments, [(50, 4)])
        self.assertIn(result.worst.output, ("mean", "square"))
        self.assertEqual(set(result.bound), {"mean", "square"})

    def test_bound_has_the_outputs_shape(self):
        result = self.passes(total, total, [np.ones((3, 4), np.float32)])
        self.assertEqual(result.bound.shape, (3,))
        self.assertTrue(np.all(result.bound > 0) and np.all(result.bound < 1e-4), result.bound)
        self.assertEqual(result.worst.expected, 4.0)

    def test_inputs_may_be_overwritten(self):
        def in_place(x):
            x *= 2
            return x

        self.passes(in_place, lambda x: x * 2, [(4, 4)])

    def test_empty(self):
        self.passes(lambda x: x, lambda x: x, [(0, 3)])

    def test_torch_is_not_imported(self):
        self.assertTrue("torch" not in sys.modules or importlib.util.find_spec("torch") is not None)
        loaded = "torch" in sys.modules
        self.passes(total, total, [(3, 3)])
        self.assertEqual("torch" in sys.modules, loaded)


class Wrong(unittest.TestCase):
    def fails(self, function, reference, inputs, **options):
        result = klab.check(function, reference, inputs, **options)
        self.assertFalse(result.ok, repr(result))
        self.assertFalse(bool(result))
        self.assertIn("WRONG", repr(result))
        self.assertGreater(result.worst.share, 1)
        return result

    def test_float32_sums_where_float64_is_promised(self):
        def narrow(x):
            return np.sum(x.astype(np.float32), axis=1, dtype=np.float32).astype(np.float64)

        self.fails(narrow, total, [((5, 300), "float64")], kinds=["normal"])
        self.fails(lambda x: np.sum(x, axis=1).astype(np.float32), total, [((5, 300), "float64")], kinds=["normal"], format="float64")

    def test_float16_sums_where_float32_is_promised(self):
        def narrow(x):
            return np.sum(x.astype(np.float16), axis=1).astype(np.float32)

        self.fails(narrow, total, [(5, 300)], kinds=["normal"])

    def test_swapped_axis(self):
        self.assertIn("axes exchanged", repr(self.fails(lambda x: x.T, lambda x: x, [(8, 8)])))
        self.fails(lambda x: softmax(x.T).T, softmax, [(16, 16)])

    def test_one_element(self):
        def one(x):
            y = softmax(x)
            y[3, 5] = np.nextafter(y[3, 5], 1) * np.float32(1.01)
            return y

        result = self.fails(one, softmax, [(7, 40)], kinds="normal")
        self.assertEqual(result.worst.index, (3, 5))
        self.assertEqual(result.cases[0].wrong, 1)
        self.assertIn("[3, 5]: got", repr(result))

    def test_gain(self):
        for seed in range(1, 4):
            result = self.fails(lambda x: x * np.float32(1.001), lambda x: x, [(30, 30)], seed=seed, kinds=["normal"])
            self.assertIn("they are 1.001 times", repr(result))
            self.fails(lambda a, b: (a @ b) * np.float32(1.001), product, [(16, 64), (64, 16)], seed=seed)
            self.fails(lambda x: softmax(x) * np.float32(1.001), softmax, [(8, 100)], seed=seed)

    def test_edge(self):
        def edge(x):
            y = x + 1
            y[:, 16:] = 0
            return y

        self.assertIn("at 16 to 18 of axis 1", repr(self.fails(edge, lambda x: x + 1, [(9, 19)], kinds=["normal"])))

    def test_offset_of_one(self):
        self.fails(lambda x: np.roll(total(x), 1), total, [(20, 10)])

    def test_nan_where_none_is(self):
        def nan(x):
            y = total(x)
            y[1] = np.nan
            return y

        result = self.fails(nan, total, [(4, 4)], kinds=["normal"])
        self.assertEqual(result.worst.index, (1,))
        self.assertTrue(np.isinf(result.worst.share))

    def test_nan_is_lost(self):
        self.fails(lambda x: np.nan_to_num(x), lambda x: x, [(8, 8)], kinds=["nan"])
        self.fails(lambda x: np.clip(x, -1e30, 1e30), lambda x: x, [(8, 8)], kinds=["inf"])

    def test_infinity_of_the_other_sign(self):
        self.fails(lambda x: -x * x, lambda x: x * x, [np.float32([1e30])])

    def test_overflow_on_the_way(self):
        def naive(x):
            e = np.exp(x)
            return e / e.sum(axis=1, keepdims=True)

        self.fails(naive, softmax, [(4, 30)], kinds=["large"])

    def test_zeros_are_skipped(self):
        def mean_of_others(x):
            return x.sum(axis=1) / np.count_nonzero(x, axis=1).astype(x.dtype)

        reference = lambda x: x.mean(axis=1)
        self.assertTrue(klab.check(mean_of_others, reference, [(6, 50)], kinds=["normal"]).ok)
        self.fails(mean_of_others, reference, [(6, 50)], kinds=["zeros"])


class Gradients(unittest.TestCase):
    @staticmethod
    def backward(x, g):
        y = softmax(x)
        return y * (g - np.sum(g * y, axis=1, keepdims=True))

    def test_right(self):
        result = klab.check(softmax, softmax, [(5, 12)], gradient=self.backward)
        self.assertTrue(result.ok, repr(result))
        self.assertEqual(result.gradient.elements, 48)
        for dtype in ("float32", "float64"):
            result = klab.check(product, product, [((4, 6), dtype), ((6, 3), dtype)], gradient=lambda a, b, g: (g @ b.T, a.T @ g))
            self.assertTrue(result.ok, repr(result))

    def test_kink(self):
        relu = lambda x: np.maximum(x, 0)
        right = lambda x, g: g * (x > 0)
        self.assertTrue(klab.check(relu, relu, [(6, 6)], gradient=right).ok)
        self.assertTrue(klab.check(relu, relu, [(6, 6)], gradient=lambda x, g: g * (x >= 0)).ok)
        self.assertFalse(klab.check(relu, relu, [(6, 6)], gradient=lambda x, g: g).ok)

    def test_wrong(self):
        for wrong in (lambda x, g: softmax(x) * g, lambda x, g: self.backward(x, g) * np.float32(1.001),
                      lambda x, g: self.backward(x, g)[::-1]):
            result = klab.check(softmax, softmax, [(5, 12)], kinds=["normal"], gradient=wrong)
            self.assertFalse(result.ok, repr(result))
            self.assertIn("gradient of input 0", repr(result))

    def test_one_of_two_inputs(self):
        wanted = lambda a, b, g: (None, a.T @ g)
        self.assertTrue(klab.check(product, product, [(4, 6), (6, 3)], gradient=wanted).ok)
        wrong = lambda a, b, g: (None, a.T @ g * np.float32(0.999))
        self.assertFalse(klab.check(product, product, [(4, 6), (6, 3)], gradient=wrong).ok)


class BadInput(unittest.TestCase):
    def refused(self, *words, function=total, reference=total, inputs=((3, 4),), **options):
        with self.assertRaises(klab.Error) as caught:
            klab.check(function, reference, list(inputs) if inputs is not None else None, **options)
        message = str(caught.exception)
        self.assertNotIn("\n", message)
        for word in words:
            self.assertIn(word, message)
        self.assertTrue(caught.exception.field, message)

    def test_messages(self):
        def raising(x):
            raise ValueError("weights\nand biases")

        self.refused("function raised ValueError", "weights and biases", "(3, 4)", function=raising)
        self.refused("reference raised ValueError", reference=raising)
        self.refused("[4]", "[3]", "return the reference's", function=lambda x: x.sum(axis=0))
        self.refused("int64", "numpy.array_equal", function=lambda x: np.argmax(x, axis=1), reference=lambda x: x[:, 0])
        self.refused("complex64", function=lambda x: total(x).astype(np.complex64))
        self.refused("NoneType", function=lambda x: None)
        self.refused("float64", reference=lambda x: total(x).astype(np.float32))
        self.refused("the same, in one order", function=lambda x: (total(x), total(x)))
        self.refused("inputs are missing", inputs=None)
        self.refused("inputs are []", inputs=())
        self.refused("inputs[0]", "str", inputs=("x",))
        self.refused("int64 cannot be drawn", inputs=(((3, 4), "int64"),))
        self.refused("no element type", inputs=(((3, 4), "float31"),))
        self.refused("sizes from 0", inputs=((3, -4),))
        self.refused("'huge' is none of normal", kinds=["huge"])
        self.refused("kinds are of drawn values", inputs=(np.ones((2, 2)),), kinds=["normal"])
        self.refused("seed", seed=-1)
        self.refused("draws", draws=0)
        self.refused("terms", terms=0)
        self.refused("growth", terms=3, growth=3)
        self.refused("format", format="float8")
        self.refused("give a callable", function=3)
        self.refused("gradient returned 2 arrays for 1", gradient=lambda x, g: (x, x))
        self.refused("gradient of input 0 has the shape", gradient=lambda x, g: x.T)
        self.refused("gradient raised TypeError", "autograd", gradient="autograd")
        self.refused("give a callable", gradient="numeric")


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class Torch(unittest.TestCase):
    def test_tensors(self):
        import torch

        def soft(x):
            return torch.softmax(x, dim=1)

        for dtype in (torch.float32, torch.bfloat16, torch.float64):
            self.assertTrue(klab.check(soft, soft, [((8, 50), dtype)]).ok, dtype)
        self.assertFalse(klab.check(lambda x: torch.softmax(x, dim=0), soft, [((8, 8), torch.float32)]).ok)
        self.assertFalse(klab.check(lambda x: soft(x.bfloat16()).float(), soft, [torch.randn(8, 50)]).ok)

    def test_autograd(self):
        import torch

        def layer(x, w):
            return torch.tanh(x @ w)

        class Halved(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                return ctx.saved_tensors[0] * g

        self.assertTrue(klab.check(layer, layer, [torch.randn(4, 5), torch.randn(5, 3)], gradient="autograd").ok)
        self.assertFalse(klab.check(Halved.apply, lambda x: x * x, [torch.randn(4, 5)], gradient="autograd").ok)


if __name__ == "__main__":
    unittest.main()
