"""Fits how the state of a text that is being read grows and is read: `kvm.growing` of a catalogue entry.

Maintainers' tool; needs torch, tokenizers and gguf. `shares`: how much the loss of a text's second half would change if a
layer's state were finer or coarser, to first order (its outputs at that compression, times the loss's gradient there), and
from that the layers' shares of the slots; started from the file it wrote, it goes a step further. `values`: bias, temperature,
value scale and read distance of each head by Adam, a step a chunk, at those shares. docs/measurements/answers.md, A state
within a text, says what was fitted on what.

Usage: python3 bench/state/fit-growing.py shares|values MODEL.gguf TOKENIZER.json GROWING.json TEXT... [--held-out N]
"""
import argparse
import json
import math
import os
import random

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn.functional import silu

CHUNK = 256
WINDOW = 2  # chunks beside the one that is read
SINKS = 4
READ_DISTANCE = 1024.0
MASKED = -1e30
MEAN = 4.0  # tokens a slot, over all layers
RATIOS = [1, 1.5, 2, 3, 4, 6, 12, math.inf]  # tokens a slot that a layer may have; inf: the sinks alone
RATE = 0.03  # of biases and distances; half of it for temperatures and scales
torch.set_grad_enabled(False)


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        number = lambda key: reader.fields[f"llama.{key}"].parts[reader.fields[f"llama.{key}"].data[0]][0]
        self.weights = {
            t.name: torch.from_numpy(np.array(gguf.quants.dequantize(t.data, t.tensor_type), np.float32))
            for t in reader.tensors
        }
        self.layers, self.heads = int(number("block_count")), int(number("attention.head_count"))
        self.key_heads = int(number("attention.head_count_kv"))
        self.size = int(number("embedding_length")) // self.heads
        self.epsilon = float(number("attention.layer_norm_rms_epsilon"))
        pairs = torch.arange(0, self.size, 2).float() / self.size
        self.frequencies = float(number("rope.freq_base")) ** -pairs

    def of(self, layer, name):
        return self.weights[f"blk.{layer}.{name}.weight"]

    def normed(self, x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * weight

    def rotated(self, x, positions):
        angle = positions[..., None] * self.frequencies
        cos, sin = angle.cos(), angle.sin()
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class State:
    """Slots of one layer: sums [K,S,d], counts and lengths [K,S]."""

    FIELDS = ("keys", "values", "count", "key_length", "value_length")

    def __init__(self, keys, values, count=None, key_length=None, value_length=None):
        self.keys, self.values = keys, values
        self.count = torch.ones(keys.shape[:2]) if count is None else count
        self.key_length = keys.norm(dim=-1) if key_length is None else key_length
        self.value_length = values.norm(dim=-1) if value_length is None else value_length

    def joined(self, other):
        return State(*(torch.cat((getattr(self, f), getattr(other, f)), 1) for f in self.FIELDS))

    def read(self):
        direction = lambda x: x / x.norm(dim=-1, keepdim=True).clamp_min(1e-9)
        return direction(self.keys) * self.key_length[..., None], direction(self.values) * self.value_length[..., None]

    def folded(self, keys, values, wanted):
        """`wanted` slots after it: the most novel are appended, the others added to the most similar (kvm.md, Update)."""
        n, size = keys.shape[1:]
        append = max(0, min(wanted - self.keys.shape[1], n))
        if append == n:
            return self.joined(State(keys, values))
        unit = lambda x: x / x.norm(dim=-1, keepdim=True)
        likeness = lambda slots: unit(keys) @ unit(slots).transpose(-1, -2)
        merges = torch.ones(keys.shape[:2])
        grown = State(*(getattr(self, f).clone() for f in self.FIELDS))
        if append > 0:
            novel = likeness(self.keys).amax(-1).topk(append, largest=False).indices.sort(-1).values
            rows = novel[..., None].expand(-1, -1, size)
            grown = grown.joined(State(keys.gather(1, rows), values.gather(1, rows)))
            merges.scatter_(1, novel, 0.0)
        alike = likeness(grown.keys)
        alike[..., :SINKS] = MASKED
        slot = alike.argmax(-1)
        rows = slot[..., None].expand(-1, -1, size)
        grown.keys.scatter_add_(1, rows, keys * merges[..., None])
        grown.values.scatter_add_(1, rows, values * merges[..., None])
        grown.count.scatter_add_(1, slot, merges)
        return grown


def grown(state, keys, values, ratio, left):
    if state is None:
        return State(keys[:, :SINKS], values[:, :SINKS]) if math.isinf(ratio) else State(keys, values)
    return state if math.isinf(ratio) else state.folded(keys, values, int(left / ratio))


class Values:
    """Logarithms where a value multiplies."""

    def __init__(self, model):
        self.bias = torch.zeros(model.layers, model.heads)
        self.temperature, self.scale, self.distance = (torch.zeros(model.layers, model.key_heads) for _ in range(3))

    def all(self):
        return [self.bias, self.temperature, self.scale, self.distance]

    def read(self, model, layer, state):
        """Keys, values and biases [K,g,1,S] of a state as they are attended to from READ_DISTANCE."""
        keys, values = state.read()
        is_slot = (torch.arange(keys.shape[1]) >= SINKS).float()
        factor = lambda x: (1 + is_slot * (x[layer].exp()[:, None] - 1))[..., None]
        beyond = READ_DISTANCE * (self.distance[layer].exp()[:, None] - 1) * is_slot
        bias = self.bias[layer].view(model.key_heads, -1, 1, 1) * is_slot + state.count.log()[:, None, None]
        return model.rotated(keys, -beyond) * factor(self.temperature), values * factor(self.scale), bias


class Text:
    """One text being read: window and, of each layer, states at one or several ratios."""

    def __init__(self, model, values, ratios):
        self.model, self.values, self.ratios = model, values, ratios
        self.window = [None] * model.layers
        self.states = [[None] * len(own) for own in ratios]
        self.seen = self.left = 0

    def attend(self, layer, q, logits, values, state):
        model = self.model
        if state is None:
            return torch.softmax(logits, -1) @ values[:, None]
        keys, read, bias = self.values.read(model, layer, state)
        asked = model.rotated(q, torch.full((1,), READ_DISTANCE)).view(model.key_heads, -1, q.shape[1], model.size)
        given = asked @ keys.transpose(-1, -2)[:, None] / math.sqrt(model.size) + bias
        attention = torch.softmax(torch.cat((given, logits), -1), -1)
        slots = given.shape[-1]
        return attention[..., :slots] @ read[:, None] + attention[..., slots:] @ values[:, None]

    def chunk(self, ids, watch=None):
        """Hidden rows after the last layer. `watch(layer, attended, others)` sees what each layer attends to."""
        model, n = self.model, len(ids)
        x = model.weights["token_embd.weight"][ids].requires_grad_(torch.is_grad_enabled())
        for layer in range(model.layers):
            h = model.normed(x, model.of(layer, "attn_norm"))
            split = lambda name, heads: (h @ model.of(layer, name).T).view(n, heads, model.size).transpose(0, 1)
            q, k, v = split("attn_q", model.heads), split("attn_k", model.key_heads), split("attn_v", model.key_heads)
            if self.window[layer] is not None:
                k, v = (torch.cat(pair, 1) for pair in zip(self.window[layer], (k, v)))
            at = torch.arange(k.shape[1]).float()
            asked = model.rotated(q, at[-n:]).view(model.key_heads, -1, n, model.size)
            logits = asked @ model.rotated(k, at).transpose(-1, -2)[:, None] / math.sqrt(model.size)
            logits = logits.masked_fill(at > at[-n:, None], MASKED)
            attended = self.attend(layer, q, logits, v, self.states[layer][0])
            if watch:
                with torch.no_grad():
                    others = [self.attend(layer, q, logits, v, state) for state in self.states[layer][1:]]
                watch(layer, attended, others)
            self.window[layer] = (k.detach(), v.detach())
            x = x + attended.reshape(model.heads, n, -1).transpose(0, 1).reshape(n, -1) @ model.of(layer, "attn_output").T
            h = model.normed(x, model.of(layer, "ffn_norm"))
            x = x + (silu(h @ model.of(layer, "ffn_gate").T) * (h @ model.of(layer, "ffn_up").T)) @ model.of(layer, "ffn_down").T
        self.seen += n
        with torch.no_grad():
            self.roll()
        return x

    def roll(self):
        while self.left < max(0, math.ceil(self.seen / CHUNK) - WINDOW) * CHUNK:
            self.left += CHUNK
            for layer, (k, v) in enumerate(self.window):
                self.window[layer] = (k[:, CHUNK:], v[:, CHUNK:])
                leaving = (k[:, :CHUNK], v[:, :CHUNK])
                for at, ratio in enumerate(self.ratios[layer]):
                    self.states[layer][at] = grown(self.states[layer][at], *leaving, ratio, self.left)


def loss_of(model, x, wanted):
    logits = model.normed(x, model.weights["output_norm.weight"]) @ model.weights["token_embd.weight"].T
    return -torch.log_softmax(logits[: len(wanted)], -1).gather(1, wanted[:, None]).mean()


def chunks_of(ids):
    for start in range(0, len(ids) - 1, CHUNK):
        yield start, ids[start : start + CHUNK], ids[start + 1 : start + CHUNK + 1]


def sensitivities(model, values, ratios, ids):
    """[L,R]: change of the loss a token of the second half, to first order; and that loss."""
    text = Text(model, values, [[own, *RATIOS] for own in ratios])
    change, losses = torch.zeros(model.layers, len(RATIOS)), []
    for start, chunk, wanted in chunks_of(ids):
        if start < len(ids) / 2:
            text.chunk(chunk)
            continue
        seen = []

        def watch(layer, attended, others):
            attended.retain_grad()
            seen.append((attended, others))

        with torch.enable_grad():
            loss = loss_of(model, text.chunk(chunk, watch), wanted)
            loss.backward()
        losses.append(loss.item())
        for layer, (attended, others) in enumerate(seen):
            for at, other in enumerate(others):
                change[layer, at] += (attended.grad * (other - attended.detach())).sum()
    return change / len(losses), sum(losses) / len(losses)


def best_ratios(change, tokens):
    """The ratios of least loss among those whose slots are 1/MEAN of the tokens, by Lagrange's multiplier."""
    left = tokens - WINDOW * CHUNK
    slots = torch.tensor([SINKS / left if math.isinf(r) else max(CHUNK / left, 1 / r) for r in RATIOS])
    low, high = 0.0, 100.0
    for _ in range(60):
        price = (low + high) / 2
        fits = slots[(change + price * slots).argmin(-1)].mean() <= 1 / MEAN
        low, high = (low, price) if fits else (price, high)
    return [RATIOS[at] for at in (change + high * slots).argmin(-1)]


def train(model, values, ratios, ids, optimizer):
    """One step a chunk where `optimizer` is given; the loss of the chunks from the second quarter on, or of the second half."""
    text, losses = Text(model, values, [[own] for own in ratios]), []
    for start, chunk, wanted in chunks_of(ids):
        if start < len(ids) / (4 if optimizer else 2):
            text.chunk(chunk)
            continue
        with torch.set_grad_enabled(optimizer is not None):
            loss = loss_of(model, text.chunk(chunk), wanted)
            if optimizer:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("shares", "values"))
    parser.add_argument("model")
    parser.add_argument("tokenizer")
    parser.add_argument("growing")
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--held-out", type=int, default=0, help="so many of the last texts are not trained on")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    model, tokenizer = Model(options.model), Tokenizer.from_file(options.tokenizer)
    encode = lambda path: torch.tensor(tokenizer.encode(open(path, errors="ignore").read()).ids[: options.tokens])
    texts = [encode(path) for path in options.texts]
    known = json.load(open(options.growing)) if os.path.exists(options.growing) else {}
    ratios = [MEAN / share if share > 0 else math.inf for share in known.get("shareOfLayer", [1] * model.layers)]
    values = Values(model)
    if options.what == "shares":
        change = 0
        for ids in texts:
            own, loss = sensitivities(model, values, ratios, ids)
            print(f"loss {loss:.4f}", flush=True)
            change = change + own / len(texts)
        ratios = best_ratios(change, options.tokens)
    else:
        train_on, held_out = texts[: len(texts) - options.held_out], texts[len(texts) - options.held_out :]
        rates = [RATE, RATE / 2, RATE / 2, RATE]
        for tensor in values.all():
            tensor.requires_grad_(True)
        groups = [{"params": [tensor], "lr": rate} for tensor, rate in zip(values.all(), rates)]
        optimizer = torch.optim.Adam(groups, betas=(0.9, 0.99))
        for epoch in range(options.epochs):
            random.Random(epoch).shuffle(train_on)
            trained = [train(model, values, ratios, ids, optimizer) for ids in train_on]
            others = [train(model, values, ratios, ids, None) for ids in held_out]
            mean = lambda losses: f"{sum(losses) / max(1, len(losses)):.4f}"
            print(f"epoch {epoch}: {mean(trained)}, held out {mean(others)}", flush=True)
    table = lambda x, digits=3: [[round(number, digits) for number in row] for row in x.tolist()]
    growing = {
        "shareOfLayer": [round(MEAN / ratio, 3) for ratio in ratios],
        "biasOfHead": table(values.bias),
        "temperatureOfKeyHead": table(values.temperature.exp()),
        "valueScaleOfKeyHead": table(values.scale.exp()),
        "readDistanceOfKeyHead": table(READ_DISTANCE * values.distance.exp(), 0),
    }
    json.dump(growing, open(options.growing, "w"))


main()
