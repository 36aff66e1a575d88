"""Trains the encoder on pairs and measures it on collections that it was not trained on.

python train.py FOLDER OUT [--minutes M] [--tiny]; FOLDER holds pairs.jsonl.gz, vocab.txt, l3.safetensors, l6.safetensors
and the collections. Writes OUT/metrics.json after each step, and OUT/<name>.safetensors for the runs that ask for it.
"""

import argparse
import copy
import gzip
import json
import math
import os
import random
import time

import numpy as np
import torch
from torch.nn import functional as F

from measure import FORMS, Collection
from model import Encoder, Pieces, embed, four_bits, padded

SEED = 20261119
TEXT_PIECES, QUESTION_PIECES = 128, 64
HELD_OUT = {"locomo": None, "longmemeval": "longmemeval", "realmem": "realmem", "qmsum": "qmsum"}


class Pairs:
    def __init__(self, path, pieces, tiny):
        rows = [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")]
        rows = rows[:: max(1, len(rows) // 300)] if tiny else rows
        self.source = [row["source"] for row in rows]
        self.group = [row["group"] for row in rows]
        self.kind = [row["kind"] for row in rows]
        self.key = [hash(row["d"]) for row in rows]
        self.questions = pieces([row["q"] for row in rows], QUESTION_PIECES)
        self.texts = pieces([row["d"] for row in rows], TEXT_PIECES)
        self.with_before = pieces([f"{row['d']}\n{row['before']}".strip() for row in rows], TEXT_PIECES)

    def chosen(self, left_out, kinds):
        return [at for at in range(len(self.kind)) if self.source[at] != left_out and (not kinds or self.kind[at] in kinds)]


def batches(pairs, chosen, size, chance):
    """Batches in which pairs of the same conversation stand together, as hard negatives of each other."""
    while True:
        groups = {}
        for at in chosen:
            groups.setdefault(pairs.group[at], []).append(at)
        runs = []
        for group in groups.values():
            chance.shuffle(group)
            runs += [group[first : first + 12] for first in range(0, len(group), 12)]
        chance.shuffle(runs)
        batch, keys = [], set()
        for run in runs:
            for at in run:
                if pairs.key[at] not in keys:
                    keys.add(pairs.key[at])
                    batch.append(at)
            if len(batch) >= size:
                yield batch[:size]
                batch, keys = [], set()


def train(base, pairs, device, until, left_out=None, kinds=None, steps=600, size=512, rate=3e-5, keep=1.0, heat=0.05, before=0.6):
    """`keep`: the weight of staying close to the base's similarities."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    model, teacher = copy.deepcopy(base).to(device), base.to(device).eval()
    model.drop = 0.1
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    source = batches(pairs, pairs.chosen(left_out, kinds), size, chance)
    started, losses = time.time(), []
    for step in range(steps):
        share = min(1, step / (0.1 * steps)) * 0.5 * (1 + math.cos(math.pi * step / steps))
        for group in optimizer.param_groups:
            group["lr"] = rate * share
        batch = next(source)
        form = pairs.with_before if chance.random() < before else pairs.texts
        questions = padded([pairs.questions[at] for at in batch], device)
        texts = padded([form[at] for at in batch], device)
        model.train()
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            asked, found = model(questions), model(texts)
            with torch.no_grad():
                old_asked, old_found = teacher(questions), teacher(texts)
        scores = asked @ found.T
        right = torch.arange(len(batch), device=device)
        loss = F.cross_entropy(scores / heat, right) + 0.5 * F.cross_entropy(scores.T / heat, right)
        old = F.log_softmax(old_asked @ old_found.T / heat, 1)
        stay = F.kl_div(F.log_softmax(scores / heat, 1), old, log_target=True, reduction="batchmean")
        stay = stay + 20 * F.mse_loss(found @ found.T, old_found @ old_found.T)
        optimizer.zero_grad()
        (loss + keep * stay).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if time.time() > until:
            break
    tenth = max(1, len(losses) // 10)
    log = {"steps": len(losses), "seconds": round(time.time() - started, 1), "loss": [round(float(np.mean(losses[:tenth])), 3), round(float(np.mean(losses[-tenth:])), 3)]}
    return model, log


def between(base, trained, share):
    """The weights on the way from the base to the trained model."""
    out = copy.deepcopy(trained)
    other = dict(base.named_parameters())
    with torch.no_grad():
        for name, value in out.named_parameters():
            value.lerp_(other[name].to(value.device), 1 - share)
    return out


def at_four_bits(model):
    out = copy.deepcopy(model)
    with torch.no_grad():
        for value in out.parameters():
            if value.ndim == 2:
                value.copy_(four_bits(value))
    return out


class Judge:
    def __init__(self, folder, names, pieces, device, tiny):
        self.device, self.collections, self.rows = device, {}, {}
        for name in names:
            found = Collection(name, f"{folder}/{name}.jsonl.gz")
            if tiny:
                found.talks = found.talks[:1]
            self.collections[name] = found
            asked = pieces(found.questions(), TEXT_PIECES)
            self.rows[name] = (asked, {form: pieces(found.texts(of), TEXT_PIECES) for form, of in FORMS.items()})

    def __call__(self, model, names=None, forms=("named", "before")):
        out = {}
        for name in names or self.collections:
            asked, texts = self.rows[name]
            vectors = embed(model, asked, self.device)
            out[name] = {form: self.collections[name].score(embed(model, texts[form], self.device), vectors) for form in forms}
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--plan", default="plan.json")
    parser.add_argument("--minutes", type=float, default=8.5)
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    started, device = time.time(), "cuda" if torch.cuda.is_available() else "cpu"
    until = started + 60 * options.minutes
    torch.backends.cuda.matmul.allow_tf32 = True
    pieces = Pieces(f"{options.folder}/vocab.txt")
    plan = json.load(open(options.plan))
    bases = {name: Encoder.load(f"{options.folder}/{name}.safetensors").to(device) for name in plan["bases"]}
    judge = Judge(options.folder, HELD_OUT, pieces, device, options.tiny)
    pairs = Pairs(f"{options.folder}/pairs.jsonl.gz", pieces, options.tiny)
    metrics = {"device": device, "pairs": len(pairs.kind), "runs": []}

    def note(**entry):
        entry["at"] = round(time.time() - started)
        metrics["runs"].append(entry)
        json.dump(metrics, open(f"{options.out}/metrics.json", "w"), indent=1)
        print(json.dumps({key: value for key, value in entry.items() if key != "scores"}), flush=True)
        for name, forms in entry["scores"].items():
            for form, ways in forms.items():
                print(f"  {name:12} {form:7}", {way: values[1] for way, values in ways.items() if way != "bm25"}, flush=True)

    print("ready", round(time.time() - started), flush=True)
    if plan.get("measure_bases", True):
        for name, base in bases.items():
            note(name=name, scores=judge(base, forms=tuple(FORMS)))
    for run in plan["runs"]:
        settings = {**run.get("train", {})}
        if options.tiny:
            settings.update(steps=3, size=16)
        for held in run["held_out"]:
            if time.time() > until - 15:
                print("out of time before", run["name"], held, flush=True)
                return
            base = bases[run["base"]]
            model, log = train(base, pairs, device, until - 10, HELD_OUT[held], **settings)
            for share in run.get("shares", [1.0]):
                mixed = between(base, model, share)
                note(name=run["name"], share=share, held_out=held, log=log, settings=settings, scores=judge(mixed, [held], run.get("forms", ["named", "before"])))
                if run.get("four_bits"):
                    note(name=run["name"] + " q4", share=share, held_out=held, scores=judge(at_four_bits(mixed), [held], ["before"]))
            if run.get("save") and held == "locomo":
                path = f"{options.out}/{run['name']}"
                between(base, model, run["save"]).save(path + ".safetensors")
                split(path + ".safetensors")


def split(path, most=15 << 20):
    """Cuts a file that is too large to be carried back into parts."""
    data = open(path, "rb").read()
    if len(data) > most:
        for number, first in enumerate(range(0, len(data), most)):
            open(f"{path}.{number}", "wb").write(data[first : first + most])
        os.remove(path)


if __name__ == "__main__":
    main()
