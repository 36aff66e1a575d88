"""The encoder in plain PyTorch: BERT layers, mean pooling, unit vectors. Reads safetensors, also those at four bits."""

import json
import struct

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

HIDDEN, HEADS, GROUP = 384, 12, 32
KINDS = {"F32": np.float32, "F16": np.float16, "I8": np.int8, "U8": np.uint8, "I64": np.int64}


def read_tensors(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8 : 8 + length])
    out = {}
    for name, entry in head.items():
        if name != "__metadata__":
            first, last = (8 + length + at for at in entry["data_offsets"])
            out[name] = np.frombuffer(data[first:last], KINDS[entry["dtype"]]).reshape(entry["shape"])
    return out


def write_tensors(path, tensors):
    kinds = {np.dtype(kind): name for name, kind in KINDS.items()}
    head, body, at = {}, [], 0
    for name, values in sorted(tensors.items()):
        raw = np.ascontiguousarray(values).tobytes()
        head[name] = {"dtype": kinds[values.dtype], "shape": list(values.shape), "data_offsets": [at, at + len(raw)]}
        body.append(raw)
        at += len(raw)
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"".join(body))


def dense(tensors):
    """All tensors as float32: unpacks four-bit groups and int8 rows."""
    out = {}
    for name, values in tensors.items():
        if name.endswith(".q4"):
            scales = tensors[name[:-3] + ".scales"].reshape(-1).view(np.float16).astype(np.float32)
            codes = values.reshape(-1)
            pairs = np.stack([codes & 15, codes >> 4], 1).reshape(-1, GROUP).astype(np.float32) - 8
            out[name[:-3]] = (pairs * scales[:, None]).reshape(-1, tensors_width(name))
        elif name.endswith(".q8"):
            out[name[:-3]] = values.astype(np.float32) * tensors[name[:-3] + ".scales"].astype(np.float32)[:, None]
        elif not name.endswith(".scales"):
            out[name] = values.astype(np.float32)
    return out


def tensors_width(name):
    return 4 * HIDDEN if name.endswith("output.dense.weight.q4") and "attention" not in name else HIDDEN


def four_bits(weight):
    """The weight as it is after storing it at four bits, a shared scale for each 32."""
    flat = weight.reshape(-1, GROUP)
    extreme = flat.gather(1, flat.abs().argmax(1, keepdim=True))
    scale = (extreme / -8).half().float()
    codes = torch.where(scale == 0, torch.zeros_like(flat), flat / torch.where(scale == 0, 1.0, scale))
    return (codes.round().clamp(-8, 7) * scale).reshape(weight.shape)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN, 1e-12), nn.LayerNorm(HIDDEN, 1e-12)

    def forward(self, x, mask, drop):
        shape = x.shape[0], x.shape[1], 3, HEADS, HIDDEN // HEADS
        q, k, v = self.qkv(x).view(shape).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).reshape(x.shape)
        x = self.norm1(x + F.dropout(self.out(mixed), drop, self.training))
        return self.norm2(x + F.dropout(self.down(F.gelu(self.up(x))), drop, self.training))


class Encoder(nn.Module):
    def __init__(self, layers, vocabulary=30522, positions=512):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, HIDDEN), nn.Embedding(positions, HIDDEN)
        self.kind, self.norm = nn.Parameter(torch.zeros(HIDDEN)), nn.LayerNorm(HIDDEN, 1e-12)
        self.layers, self.drop = nn.ModuleList(Layer() for _ in range(layers)), 0.0

    def forward(self, ids):
        """ids: padded with 0."""
        mask = ids != 0
        x = self.words(ids) + self.positions.weight[: ids.shape[1]] + self.kind
        x = F.dropout(self.norm(x), self.drop, self.training)
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :], self.drop)
        total = (x * mask[..., None]).sum(1)
        return F.normalize(total.float(), dim=1)

    @classmethod
    def load(cls, path):
        weights = {name: torch.from_numpy(values.copy()) for name, values in dense(read_tensors(path)).items()}
        count = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
        model = cls(count, len(weights["embeddings.word_embeddings.weight"]), len(weights["embeddings.position_embeddings.weight"]))
        model.load_state_dict({ours: weights_of(weights, theirs) for ours, theirs in names(count)})
        return model

    def save(self, path):
        """Matrices and tables as int8 with a scale per row, the rest as float16."""
        out, state = {}, self.state_dict()
        for ours, theirs in names(len(self.layers)):
            for part, name in zip(state[ours].cpu().float().chunk(len(theirs)), theirs, strict=True):
                values = part.reshape(1, -1).numpy() if "token_type" in name else part.numpy()
                if values.ndim == 2:
                    scale = np.maximum(np.abs(values).max(1), 1e-8) / 127
                    out[name + ".q8"] = np.round(values / scale[:, None]).astype(np.int8)
                    out[name + ".scales"] = scale.astype(np.float32)
                else:
                    out[name] = values.astype(np.float16)
        write_tensors(path, out)


def weights_of(weights, names_):
    parts = [weights[name] for name in names_]
    return parts[0][0] if "token_type" in names_[0] else torch.cat(parts)


def names(count):
    pairs = [
        ("words.weight", ["embeddings.word_embeddings.weight"]),
        ("positions.weight", ["embeddings.position_embeddings.weight"]),
        ("kind", ["embeddings.token_type_embeddings.weight"]),
        ("norm.weight", ["embeddings.LayerNorm.weight"]),
        ("norm.bias", ["embeddings.LayerNorm.bias"]),
    ]
    for at in range(count):
        theirs = f"encoder.layer.{at}."
        parts = {
            "qkv": [f"attention.self.{part}" for part in ("query", "key", "value")],
            "out": ["attention.output.dense"],
            "norm1": ["attention.output.LayerNorm"],
            "up": ["intermediate.dense"],
            "down": ["output.dense"],
            "norm2": ["output.LayerNorm"],
        }
        for part, sources in parts.items():
            for kind in ("weight", "bias"):
                pairs.append((f"layers.{at}.{part}.{kind}", [f"{theirs}{source}.{kind}" for source in sources]))
    return pairs


class Pieces:
    """Word pieces of texts, as rows of ids."""

    def __init__(self, vocabulary):
        from tokenizers import BertWordPieceTokenizer

        self.tokenizer = BertWordPieceTokenizer(vocabulary, lowercase=True)

    def __call__(self, texts, most):
        self.tokenizer.enable_truncation(most)
        return [found.ids for found in self.tokenizer.encode_batch([text[:2000] for text in texts])]


def padded(rows, device):
    longest = max(map(len, rows))
    out = np.zeros((len(rows), longest), dtype=np.int64)
    for at, row in enumerate(rows):
        out[at, : len(row)] = row
    return torch.from_numpy(out).to(device)


@torch.no_grad()
def embed(model, rows, device, batch=1024):
    model.eval()
    out = np.zeros((len(rows), HIDDEN), dtype=np.float32)
    order = np.argsort([len(row) for row in rows], kind="stable")
    for first in range(0, len(rows), batch):
        part = order[first : first + batch]
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            vectors = model(padded([rows[at] for at in part], device))
        out[part] = vectors.float().cpu().numpy()
    return out
