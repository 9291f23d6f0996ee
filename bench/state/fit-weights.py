"""Fits how each head weighs a composed state: bias per query head, temperature and value scale per key head.

Maintainers' tool; needs jax, numpy and gguf. From what gists-for-fit.mjs wrote: a window of one file is foretold beside the
gists of other files of its folder, side by side behind the shared sinks; the weights alone move (Adam, one window a step).
Prints what the state takes off the loss on folders that are held out, and writes the settings of a catalogue entry.
Usage: python3 bench/state/fit-weights.py MODEL.gguf GISTS OUT.json --held-out NAME... [--steps 80] [--seed 1]
"""
import argparse
import json
import os
import random

import gguf
import jax
import jax.numpy as jnp
import numpy as np

WINDOW = 128  # tokens of a window, prefix included
SLOTS = 256  # of a state, sinks included
SINKS = 4
READ_DISTANCE = 1024.0
UNSEEN = -1e30
START = -4.5  # bias of every head at first
COMMON = -5.9  # the entry's bias at about 75 tokens a slot, which the written biases are added to
STATE_TOKENS = 8000  # about as many are in the states of the examples
RATE = {"bias": 0.12, "log_temperature": 0.03, "log_scale": 0.04}


def load_model(path):
    reader = gguf.GGUFReader(path)
    number = lambda key: reader.fields[f"llama.{key}"].parts[reader.fields[f"llama.{key}"].data[0]][0]
    tensors = {t.name: np.array(gguf.quants.dequantize(t.data, t.tensor_type), np.float32) for t in reader.tensors}
    layers, heads = int(number("block_count")), int(number("attention.head_count"))
    key_heads, width = int(number("attention.head_count_kv")), int(number("embedding_length"))
    size = width // heads
    names = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")
    return {
        "shape": (layers, heads, key_heads, size),
        "epsilon": float(number("attention.layer_norm_rms_epsilon")),
        "frequencies": float(number("rope.freq_base")) ** (-np.arange(0, size, 2, dtype=np.float32) / size),
        "weights": {n: jnp.asarray(np.stack([tensors[f"blk.{i}.{n}.weight"] for i in range(layers)])) for n in names},
        "embedding": jnp.asarray(tensors["token_embd.weight"]),
        "norm": jnp.asarray(tensors["output_norm.weight"]),
    }


def normed(x, weight, epsilon):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def rotated(x, angle):
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    even, odd = x[..., 0::2], x[..., 1::2]
    return jnp.stack((even * cos - odd * sin, even * sin + odd * cos), -1).reshape(x.shape)


def layer(model, x, w, state, p):
    _, heads, key_heads, size = model["shape"]
    n, shared = x.shape[0], heads // key_heads
    angle = jnp.arange(n, dtype=jnp.float32)[:, None] * model["frequencies"]
    h = normed(x, w["attn_norm"], model["epsilon"])
    split = lambda weight, count: (h @ weight.T).reshape(n, count, size).transpose(1, 0, 2)
    q, k, v = split(w["attn_q"], heads), split(w["attn_k"], key_heads), split(w["attn_v"], key_heads)
    scale = size**-0.5
    own = jnp.einsum("kgnd,kmd->kgnm", rotated(q, angle).reshape(key_heads, shared, n, size), rotated(k, angle)) * scale
    own = jnp.where(jnp.arange(n)[None] > jnp.arange(n)[:, None], UNSEEN, own)
    # Sinks are read as they are.
    is_slot = jnp.arange(SLOTS) >= SINKS
    per_slot = lambda values: jnp.where(is_slot[None, :, None], jnp.exp(values)[:, None, None], 1.0)
    reading = rotated(q, READ_DISTANCE * model["frequencies"][None]).reshape(key_heads, shared, n, size)
    given = jnp.einsum("kgnd,ksd->kgns", reading, state["keys"] * per_slot(p["log_temperature"])) * scale
    given += state["log_count"][:, None, None] + p["bias"].reshape(key_heads, shared, 1, 1) * is_slot
    attention = jax.nn.softmax(jnp.concatenate((given, own), -1), -1)
    read = jnp.einsum("kgns,ksd->kgnd", attention[..., :SLOTS], state["values"] * per_slot(p["log_scale"]))
    read += jnp.einsum("kgnm,kmd->kgnd", attention[..., SLOTS:], v)
    x = x + read.reshape(heads, n, size).transpose(1, 0, 2).reshape(n, -1) @ w["attn_output"].T
    h = normed(x, w["ffn_norm"], model["epsilon"])
    return x + (jax.nn.silu(h @ w["ffn_gate"].T) * (h @ w["ffn_up"].T)) @ w["ffn_down"].T


def loss(p, model, ids, state, counts):
    """Mean negative log likelihood of the tokens that count, nats."""
    step = lambda x, given: (layer(model, x, given[0], given[1], given[2]), None)
    x, _ = jax.lax.scan(step, model["embedding"][ids], (model["weights"], state, p))
    logits = normed(x, model["norm"], model["epsilon"])[:-1] @ model["embedding"].T
    lost = jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, ids[1:, None], 1)[:, 0]
    return (lost * counts).sum() / counts.sum()


class Folder:
    def __init__(self, path, shape):
        with open(os.path.join(path, "meta.json")) as file:
            self.files = json.load(file)["files"]
        self.numbers = np.memmap(os.path.join(path, "gists.bin"), np.float32, "r")
        self.shape = shape

    def gist(self, file):
        layers, _, key_heads, size = self.shape
        slots, at, groups = file["slots"], file["at"], layers * key_heads
        rows = groups * slots * size
        cut = lambda start, width: self.numbers[start : start + groups * slots * width]
        keys, values = cut(at, size), cut(at + rows, size)
        rowed = lambda x: x.reshape(layers, key_heads, slots, size)
        return rowed(keys), rowed(values), cut(at + 2 * rows, 1).reshape(layers, key_heads, slots)

    def example(self, chance, sinks, every_file):
        """A window of a file, and the state of the others or of some of them."""
        layers, _, key_heads, size = self.shape
        target = chance.randrange(len(self.files))
        others = [i for i in range(len(self.files)) if i != target]
        chance.shuffle(others)
        if not every_file:
            others = others[: chance.randint(max(1, len(others) // 2), len(others))]
        ids, prefix = self.files[target]["ids"], self.files[target]["prefix"]
        body = WINDOW - prefix
        start = prefix + chance.randrange(max(1, len(ids) - prefix - body))
        shown = ids[:prefix] + ids[start : start + body]
        counts = np.zeros(WINDOW - 1, np.float32)
        counts[prefix + 4 : len(shown) - 1] = 1
        keys = np.zeros((layers, key_heads, SLOTS, size), np.float32)
        values, log_count = keys.copy(), np.full(keys.shape[:3], UNSEEN, np.float32)
        keys[:, :, :SINKS], values[:, :, :SINKS], log_count[:, :, :SINKS] = *sinks, 0
        at = SINKS
        for own in (self.gist(self.files[i]) for i in others):
            n = min(own[0].shape[2], SLOTS - at)
            keys[:, :, at : at + n], values[:, :, at : at + n] = own[0][:, :, :n], own[1][:, :, :n]
            log_count[:, :, at : at + n] = np.log(own[2][:, :, :n])
            at += n
        ids = np.array(shown + [0] * (WINDOW - len(shown)), np.int32)
        return ids, {"keys": keys, "values": values, "log_count": log_count}, counts


def main():
    arguments = argparse.ArgumentParser()
    for name in ("model", "gists", "out"):
        arguments.add_argument(name)
    arguments.add_argument("--held-out", nargs="+", required=True)
    arguments.add_argument("--steps", type=int, default=80)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    model = load_model(options.model)
    shape = layers, heads, key_heads, size = model.pop("shape")
    names = sorted(n for n in os.listdir(options.gists) if os.path.exists(os.path.join(options.gists, n, "meta.json")))
    folders = {name: Folder(os.path.join(options.gists, name), shape) for name in names}
    training = [name for name in names if name not in options.held_out]
    sinks = np.fromfile(os.path.join(options.gists, "sinks.bin"), np.float32).reshape(2, layers, key_heads, SINKS, size)
    measure = lambda p, m, *example: loss(p, {**m, "shape": shape}, *example)
    of_loss, of_gradient = jax.jit(measure), jax.jit(jax.value_and_grad(measure))
    zeros = jnp.zeros((layers, key_heads))
    p = {"bias": jnp.full((layers, heads), START), "log_temperature": zeros, "log_scale": zeros}
    mean, square = ({k: jnp.zeros_like(v) for k, v in p.items()} for _ in range(2))
    chance = random.Random(7)
    held = [folders[name].example(chance, sinks, True) for name in options.held_out for _ in range(8)]
    none = lambda state: {**state, "log_count": np.full_like(state["log_count"], UNSEEN)}
    alone = np.array([float(of_loss(p, model, ids, none(state), counts)) for ids, state, counts in held])

    def report(step):
        gain = np.array([float(of_loss(p, model, *example)) for example in held]) - alone
        half = 1.96 * gain.std(ddof=1) / len(gain) ** 0.5
        print(f"step {step}: {gain.mean():+.4f} ± {half:.4f} beside {alone.mean():.4f} without a state", flush=True)

    report(0)
    chance = random.Random(options.seed)
    for step in range(1, options.steps + 1):
        example = folders[training[step % len(training)]].example(chance, sinks, False)
        _, gradient = of_gradient(p, model, *example)
        rate = min(1, step / 5) * (1 - 0.8 * step / options.steps)
        for k, g in gradient.items():
            mean[k], square[k] = 0.9 * mean[k] + 0.1 * g, 0.97 * square[k] + 0.03 * g * g
            change = mean[k] / (1 - 0.9**step) / (jnp.sqrt(square[k] / (1 - 0.97**step)) + 1e-8)
            p = {**p, k: p[k] - rate * RATE[k] * change}
    report(options.steps)
    rows = lambda table, digits: [[round(float(x), digits) for x in row] for row in table]
    settings = {
        "stateBiasOfHead": rows(p["bias"] - COMMON, 2),
        "stateTemperatureOfKeyHead": rows(jnp.exp(p["log_temperature"]), 3),
        "stateTokens": STATE_TOKENS,
        "stateValueScaleOfKeyHead": rows(jnp.exp(p["log_scale"]), 3),
    }
    with open(options.out, "w") as file:
        json.dump(settings, file)


if __name__ == "__main__":
    main()
