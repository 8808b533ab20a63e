"""The BERT encoder of MiniLM as an ONNX graph, written from its weights without PyTorch.

Inputs `input_ids` and `attention_mask`, int64 [b, l]; output `embedding`, float32 [b, hidden]: the
mean over each text's tokens, scaled to unit length. Opset 17 is the first with LayerNormalization.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8  # the one that goes with opset 17: every onnxruntime we allow reads it

Weights = Mapping[str, NDArray[np.float32]]


class _Graph:
    """Nodes and constants in the order they are added; every method returns a tensor's name."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def op(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        output = f"{op_type.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [output], output, **attributes))
        return output

    def constant(self, array: NDArray[Any], name: str) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def ints(self, *values: int) -> str:
        name = "ints_" + "_".join(map(str, values))
        return self.constant(np.array(values, np.int64), name)

    def scalar(self, value: float, name: str) -> str:
        return self.constant(np.array(value, np.float32), name)

    def weight(self, name: str) -> str:
        return self.constant(self.weights[name], name)

    def linear(self, x: str, prefix: str) -> str:
        """Linear layer x · Wᵀ + b; the weights are stored [out, in]."""
        kernel = self.constant(self.weights[f"{prefix}.weight"].T, f"{prefix}.kernel")
        return self.op("Add", self.op("MatMul", x, kernel), self.weight(f"{prefix}.bias"))

    def layer_norm(self, x: str, prefix: str, epsilon: float) -> str:
        scale, bias = self.weight(f"{prefix}.weight"), self.weight(f"{prefix}.bias")
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)

    def gelu(self, x: str) -> str:
        """The exact form, x/2 · (1 + erf(x/√2)), which onnxruntime fuses."""
        erf = self.op("Erf", self.op("Mul", x, self.scalar(2**-0.5, "sqrt_half")))
        half = self.op("Mul", x, self.scalar(0.5, "half"))
        return self.op("Mul", half, self.op("Add", erf, self.scalar(1.0, "one")))


def _embeddings(g: _Graph, epsilon: float) -> str:
    """Word + position + segment (always segment 0), normalised: [b, l, hidden]."""
    words = g.op("Gather", g.weight("embeddings.word_embeddings.weight"), "input_ids")
    length = g.op("Slice", g.op("Shape", "input_ids"), g.ints(1), g.ints(2))
    table = g.weight("embeddings.position_embeddings.weight")
    positions = g.op("Slice", table, g.ints(0), length, g.ints(0))
    segment = g.constant(g.weights["embeddings.token_type_embeddings.weight"][0], "segment_0")
    summed = g.op("Add", g.op("Add", words, positions), segment)
    return g.layer_norm(summed, "embeddings.LayerNorm", epsilon)


def _attention(g: _Graph, x: str, mask_bias: str, prefix: str, heads: int, size: int) -> str:
    """Multi-head self-attention with its output projection, before the residual."""
    split = g.ints(0, 0, heads, size)
    query, key, value = (
        g.op("Reshape", g.linear(x, f"{prefix}.self.{part}"), split)
        for part in ("query", "key", "value")
    )
    query = g.op("Transpose", query, perm=[0, 2, 1, 3])
    key = g.op("Transpose", key, perm=[0, 2, 3, 1])
    value = g.op("Transpose", value, perm=[0, 2, 1, 3])
    scores = g.op("Mul", g.op("MatMul", query, key), g.scalar(size**-0.5, "attention_scale"))
    weights = g.op("Softmax", g.op("Add", scores, mask_bias), axis=-1)
    mixed = g.op("Transpose", g.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    return g.linear(g.op("Reshape", mixed, g.ints(0, 0, heads * size)), f"{prefix}.output.dense")


def _pool(g: _Graph, x: str, mask: str) -> None:
    """Mean over the tokens of each text, then L2; named `embedding`, [b, hidden]."""
    column = g.op("Unsqueeze", mask, g.ints(2))
    total = g.op("ReduceSum", g.op("Mul", x, column), g.ints(1), keepdims=0)
    count = g.op("ReduceSum", column, g.ints(1), keepdims=0)
    mean = g.op("Div", total, count)
    square = g.op("ReduceSum", g.op("Mul", mean, mean), g.ints(1), keepdims=1)
    g.nodes.append(
        helper.make_node("Div", [mean, g.op("Sqrt", square)], ["embedding"], "embedding")
    )


def build_graph(weights: Weights, architecture: Mapping[str, Any]) -> onnx.ModelProto:
    """Make the checked float32 model.

    Parameters
    ----------
    weights : mapping of str to ndarray of float32
        As named in the source's model.safetensors.
    architecture : mapping
        `layers`, `heads`, `hidden`, `intermediate`, `positions`, `vocabulary` and
        `layer_norm_epsilon`, from models/manifest.toml.

    Raises
    ------
    ValueError
        A weight is missing, or has another shape or dtype than the architecture says.
    """
    heads, hidden = architecture["heads"], architecture["hidden"]
    epsilon = architecture["layer_norm_epsilon"]
    _check(weights, architecture)

    g = _Graph(weights)
    x = _embeddings(g, epsilon)
    mask = g.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    # 0 for a token, -1e9 for padding: broadcast over heads and queries.
    absent = g.op("Sub", g.op("Unsqueeze", mask, g.ints(1, 2)), g.scalar(1.0, "one"))
    mask_bias = g.op("Mul", absent, g.scalar(1e9, "far"))
    for layer in range(architecture["layers"]):
        prefix = f"encoder.layer.{layer}"
        attended = _attention(g, x, mask_bias, f"{prefix}.attention", heads, hidden // heads)
        x = g.layer_norm(g.op("Add", attended, x), f"{prefix}.attention.output.LayerNorm", epsilon)
        inner = g.gelu(g.linear(x, f"{prefix}.intermediate.dense"))
        outer = g.linear(inner, f"{prefix}.output.dense")
        x = g.layer_norm(g.op("Add", outer, x), f"{prefix}.output.LayerNorm", epsilon)
    _pool(g, x, mask)

    info = helper.make_tensor_value_info
    inputs = [info(n, TensorProto.INT64, ["b", "l"]) for n in ("input_ids", "attention_mask")]
    outputs = [info("embedding", TensorProto.FLOAT, ["b", hidden])]
    graph = helper.make_graph(g.nodes, "encoder", inputs, outputs, list(g.constants.values()))
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
    onnx.checker.check_model(model, full_check=True)
    return model


def _check(weights: Weights, architecture: Mapping[str, Any]) -> None:
    """Refuse weights of another model by name, before a shape error deep in the graph."""
    hidden, intermediate = architecture["hidden"], architecture["intermediate"]
    if hidden % architecture["heads"]:
        raise ValueError(f"hidden size {hidden} is no multiple of {architecture['heads']} heads")
    expected: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (architecture["vocabulary"], hidden),
        "embeddings.position_embeddings.weight": (architecture["positions"], hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "embeddings.LayerNorm.weight": (hidden,),
        "embeddings.LayerNorm.bias": (hidden,),
    }
    square = [f"attention.self.{part}" for part in ("query", "key", "value")]
    for layer in range(architecture["layers"]):
        prefix = f"encoder.layer.{layer}"
        shapes: dict[str, tuple[int, ...]]
        shapes = dict.fromkeys((*square, "attention.output.dense"), (hidden, hidden))
        shapes |= {"intermediate.dense": (intermediate, hidden)}
        shapes |= {"output.dense": (hidden, intermediate)}
        for name, shape in shapes.items():
            expected[f"{prefix}.{name}.weight"] = shape
            expected[f"{prefix}.{name}.bias"] = shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            expected[f"{prefix}.{name}.weight"] = expected[f"{prefix}.{name}.bias"] = (hidden,)
    for name, shape in expected.items():
        if name not in weights:
            raise ValueError(f"the weights hold no {name}")
        found = weights[name]
        if found.shape != shape or found.dtype != np.float32:
            got = f"{found.dtype} {list(found.shape)}"
            raise ValueError(f"{name} should be float32 {list(shape)}, and is {got}")
