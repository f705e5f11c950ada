"""Train the reader of claim and text: ``python -m workbench.training.reading --data FOLDER --out FILE``.

The layers of the embedded encoder are trained further, with text, question and claim in one window, on what people
labelled (``nli``, ``wice``, ``begin_wow``, ``xquad``, ``clapnq``, ``evouna`` below ``FOLDER``) and on the families of
``families.en.jsonl`` and ``families.zh.jsonl``: passages, a question and sentences that could answer it, each supported by
the passages, ruled out by them or neither, written for this purpose. Those with a ``form`` are balanced: as many right ones
as wrong ones are near the words of the passages, and free of them. First the pairs by phenomenon, then all of it. A fifth of
each set is kept apart. Two cores with 16-bit matrix instructions take some two and a half hours.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import math
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.text.refusals import claims
from workbench.data.text.sentences import sentences
from workbench.diagnosis.statistics import auroc
from workbench.evidence.encoders.e5 import load_embedded_e5
from workbench.evidence.offline import reader
from workbench.evidence.offline.reader import Pair
from workbench.language import codes
from workbench.training import answers, rows
from workbench.training.answer_pairs import forms

_log = logging.getLogger(__name__)
Floats = NDArray[Any]

#: What the text says of a claim: bears it out, leaves it open, denies it; or one of the last two, where that is all that is
#: known. And that nothing is known of it.
BORNE_OUT, OPEN, DENIED, NOT_BORNE_OUT, UNKNOWN = range(5)
_LABELS = {"supported": BORNE_OUT, "not_mentioned": OPEN, "unsupported": OPEN, "contradicted": DENIED}
#: Files of ``nli`` whose labels do not part the last two.
TWO_WAY = frozenset(("med_crowd", "summedits", "wice_partial", "q2_dialogue"))
#: Rows of one file at most: these repeat a handful of patterns, or have marks of how they were written.
AT_MOST = {"nli-esnli": 4000, "nli-conjnli": 3000, "nli-infotabs": 2600, "nli-med_crowd": 2800, "nli-summedits": 500}
#: How much a family counts beside the other sets.
FAMILY = 2.0
#: Padded tokens of one step.
STEP_TOKENS = 2048
#: Of the sets that are repeated, one group in so many is left out: to choose on what ``offline.reading`` goes by.
LEFT = 8


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled reading. ``label``: as above. ``answers``: whether the claim addresses the question. ``right``: whether it
    says the same as the text, which is then a reference. ``group``: what must not be parted."""

    pair: Pair
    label: int
    source: str
    group: str
    answers: bool | None = None
    right: bool | None = None
    weight: float = 1.0

    @property
    def apart(self) -> bool:
        """Whether it is of the fifth that nothing is chosen by."""
        return share(f"apart {self.group}", rows.APART)

    @property
    def left(self) -> bool:
        """Whether it is left to choose on."""
        return left(self.group)


def left(group: str) -> bool:
    """Whether what must not be parted is left to choose on how words and reader count together."""
    return share(f"blend {group}", LEFT)


def share(text: str, n: int) -> bool:
    """Whether a text is one of ``n``, the same in every run."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little") % n == 0


# ---------------------------------------------------------------- what is read


def pairs_by_phenomenon(folder: Path) -> Iterator[Row]:
    """Every pair of ``nli/``."""
    for path in sorted((folder / "nli").glob("*.jsonl")):
        for row in _lines(path):
            label = _LABELS[row["label"]]
            label = NOT_BORNE_OUT if label and path.stem in TWO_WAY else label
            yield _row(row["premise"], "", row["claim"], label, f"nli-{path.stem}", row["premise"][:400])


def real_and_changed(folder: Path) -> Iterator[Row]:
    """WiCE, BEGIN, and statements of XQuAD with and without a change."""
    changed = [e for code in codes() for e in (*rows.perturbed(folder, code), *rows.perturbed_more(folder, code))]
    for e in (*rows.wice(folder), *rows.begin(folder), *changed):
        yield _row(e.evidence, "", e.claim, BORNE_OUT if e.supported else NOT_BORNE_OUT, e.source, e.group)


def asked(folder: Path, seed: int = 5) -> Iterator[Row]:
    """Sentences and spans of XQuAD and answers of CLAPnq: those of the question, and those of another question."""
    chance = random.Random(seed)
    for code in codes():
        questions = rows.xquad(folder, code)
        order = {text: at for at, text in enumerate(dict.fromkeys(one.passage for one in questions))}
        beside: dict[str, list[rows.Asked]] = defaultdict(list)
        for one in questions:
            beside[one.passage].append(one)
        for one in questions:
            group = f"xquad {order[one.passage]}"
            made = [(sentence, BORNE_OUT, True) for sentence in one.sentences[:1]]
            other = [b.sentences[0] for b in beside[one.passage] if b.sentences and b.sentences[:1] != one.sentences[:1]]
            other = [sentence for sentence in other if one.answer not in sentence]
            made += [(chance.choice(other), BORNE_OUT, False)] if other and one.sentences else []
            made += [(one.answer, BORNE_OUT, True)] if chance.random() < 0.6 else []
            values = [b.answer for b in beside[one.passage] if b.answer != one.answer]
            made += [(chance.choice(values), NOT_BORNE_OUT, True)] if values and chance.random() < 0.6 else []
            for claim, label, answering in made:
                if chance.random() < 0.5:
                    yield replace(_row(one.passage, one.question, claim, label, f"asked-{code}", group), answers=answering)
    replies = rows.clapnq(folder)
    for one, following in zip(replies, [*replies[1:], *replies[:1]], strict=True):
        yield replace(_row(one.passage, one.question, one.answer, BORNE_OUT, "clapnq-en", one.passage), answers=True)
        if chance.random() < 0.4:
            wrong = _row(one.passage, following.question, following.answer, NOT_BORNE_OUT, "clapnq-en", one.passage)
            yield replace(wrong, answers=True)


def families(code: str, seed: int = 6) -> Iterator[Row]:
    """The sentences of the families in one language; parts of those that the passages bear out; each one and its reference."""
    chance = random.Random(f"{seed} {code}")
    for family, group in by_hand(code):
        passage = " ".join(family["contexts"])
        for claim in family["claims"]:
            label, answering = _LABELS[claim["label"]], bool(claim["answers"])
            question = family["question"] if chance.random() < 0.85 else ""
            source = f"{claim['form']}-{code}" if "form" in claim else f"family-{code}"
            row = _row(passage, question, claim["text"], label, source, group)
            yield replace(row, answers=answering if question else None, weight=FAMILY)
            parts = claims(claim["text"]).spans if label == BORNE_OUT else ()
            for part in parts if len(parts) > 1 else ():
                yield replace(row, pair=row.pair._replace(claim=part.text), source=f"part-{code}", weight=0.7)
            if answering and label != OPEN and family.get("reference") and chance.random() < 0.6:
                same = Pair(family["reference"], family["question"], claim["text"])
                yield Row(same, UNKNOWN, f"reference-{code}", group, right=label == BORNE_OUT)


def copied(code: str, seed: int = 8) -> Iterator[Row]:
    """Sentences of the passages of the families in one language, as they are, two joined, halves exchanged or as an answer
    opens: borne out.

    In families that are not balanced the sentences that are borne out are in other words, and those that are not stay close to
    the passages: alone they would teach that what repeats a passage is wrong.
    """
    chance = random.Random(f"{seed} {code}")
    wrapped = [form for form in forms(code)["statement"] if "{d}" not in form]
    for family, group in by_hand(code):
        passage = " ".join(family["contexts"])
        found = [s.text.strip() for context in family["contexts"] for s in sentences(context) if len(s.text) >= 8]
        for claim in chance.sample(found, min(2, len(found))):
            claim = claim.rstrip("。.")
            halves = re.split("[,，]\\s*", claim)
            way = chance.randrange(4)
            if way == 1 and len(found) > 1:
                other = chance.choice(found).rstrip("。.")
                claim = chance.choice(forms(code)["both"]).replace("{x}", claim).replace("{y}", other)
            elif way == 2 and len(halves) == 2:
                claim = ", ".join(reversed(halves))
            elif way == 3:
                claim = chance.choice(wrapped).replace("{c}", claim)
            question = family["question"] if chance.random() < 0.9 else ""
            yield replace(_row(passage, question, claim, BORNE_OUT, f"copied-{code}", group), weight=FAMILY)


def across(folder: Path, seed: int = 9) -> Iterator[Row]:
    """Statements and answers of XQuAD over the same paragraph in the other language; apart where either is."""

    def group(at: int) -> str:
        names = [f"xquad-{code}{at}" for code in codes()]
        return next((name for name in names if share(f"apart {name}", rows.APART)), names[0])

    chance = random.Random(seed)
    questions = {code: rows.xquad(folder, code) for code in codes()}
    passages = {code: list(dict.fromkeys(one.passage for one in questions[code])) for code in codes()}
    for mine, other in permutations(codes(), 2):
        order = {text: at for at, text in enumerate(passages[mine])}
        for e in (*rows.perturbed(folder, mine), *rows.perturbed_more(folder, mine)):
            if (at := order.get(e.evidence)) is not None:
                label = BORNE_OUT if e.supported else NOT_BORNE_OUT
                yield _row(passages[other][at], "", e.claim, label, f"across-{mine}", group(at))
        for one in questions[mine]:
            at = order[one.passage]
            for said in [one.answer] * (chance.random() < 0.5) + list(one.sentences[:1]) * (chance.random() < 0.3):
                row = _row(passages[other][at], one.question, said, BORNE_OUT, f"across-{mine}", group(at))
                yield replace(row, answers=True)


def judged(folder: Path, n: int = 3500) -> Iterator[Row]:
    """Answers of EVOUNA that people judged, with one of their references; not those of the questions kept apart."""
    found = [pair for pair in answers.judged(folder) if answers.part_of(pair.question) % 5 != 4]
    for pair in random.Random(7).sample(found, min(n, len(found))):
        reference = pair.references[answers.typical(pair.references)]
        row = Row(Pair(reference, pair.question, pair.answer), UNKNOWN, "evouna-en", pair.question)
        yield replace(row, right=pair.right)


def by_hand(code: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The written families of one language, and of each the name by which parts are made."""
    text = resources.files(__package__).joinpath(f"families.{code}.jsonl").read_text(encoding="utf-8")
    for family in map(json.loads, text.splitlines()):
        yield family, f"family {family['contexts'][0][:200]}"


def _row(text: str, question: str, claim: str, label: int, source: str, group: str) -> Row:
    return Row(Pair(_fitting(text, claim), question, claim), label, source, group)


def _fitting(text: str, claim: str) -> str:
    """The sentences of a text that share most with a claim, in order, as many as fill the window."""
    found, mine = [s.text for s in sentences(text)], _grams(claim)
    likeness = [len(_grams(s) & mine) / (1 + len(_grams(s))) ** 0.3 for s in found]
    return reader.fitting(found, likeness)


def _grams(text: str) -> set[str]:
    plain = "".join(text.lower().split())
    return {plain[at : at + 3] for at in range(len(plain) - 2)} if plain.isascii() else {
        plain[at : at + 2] for at in range(len(plain) - 1)
    }  # fmt: skip


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


# ---------------------------------------------------------------- the network


def network() -> Any:
    """The encoder's layers to be trained, at half the width of their numbers, with two layers after them; the embeddings and
    the norms stay as they are."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Trained(nn.Module):
        """A linear layer that is kept at full width and multiplied at half of it."""

        def __init__(self, plain: Any) -> None:
            super().__init__()
            self.weight = nn.Parameter(plain.weight.detach().clone())
            self.bias = nn.Parameter(plain.bias.detach().clone())

        def forward(self, x: Any) -> Any:
            return functional.linear(x, self.weight.to(x.dtype), self.bias.to(x.dtype))

    class Network(nn.Module):
        """From ids and mask to (n, 5) scores: borne out, open, denied; addresses the question; says what the text says."""

        def __init__(self) -> None:
            super().__init__()
            encoder = load_embedded_e5()
            self.tokenizer, self.layers = encoder.inside()
            self.layers.pooler = None
            for parameter in self.layers.parameters():
                parameter.requires_grad_(False)
            self.names = [name for name, layer in self.layers.encoder.named_modules() if isinstance(layer, nn.Linear)]
            for name in self.names:
                parent = self.layers.encoder.get_submodule(name.rpartition(".")[0])
                setattr(parent, name.rpartition(".")[2], Trained(self.layers.encoder.get_submodule(name)))
            for layer in self.layers.modules():
                if isinstance(layer, (nn.LayerNorm, nn.Embedding)):
                    layer.to(torch.bfloat16)
            width = int(encoder.dimension)
            self.hidden, self.out = nn.Linear(2 * width, width), nn.Linear(width, 5)

        def forward(self, ids: Any, mask: Any) -> Any:
            hidden = self.layers(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            share = mask[:, :, None] / mask.sum(dim=1)[:, None, None]
            seen = torch.cat([hidden[:, 0], (hidden * share).sum(dim=1)], dim=1)
            return self.out(torch.tanh(self.hidden(seen)))

    return Network()


@dataclass(frozen=True, slots=True)
class Stage:
    """What is trained on for how long. ``rate``: of the layers at the start, ``last``: the share of it that is left at the
    end; ``head``: of the two layers after them."""

    rows: list[Row]
    epochs: float
    rate: float
    last: float = 0.02
    head: float = 1e-4


def stages(folder: Path, seed: int = 0) -> Iterator[Stage]:
    """The pairs by phenomenon with real texts and changed ones; families and questions with a part of those repeated, at a
    falling rate, the second time with less of them; again the real ones, with texts in the other language; at last the
    families that are balanced, beside some of all others. (The weights that are shipped came of stages made by and
    by: they met the copied sentences in 400 steps of their own, and the balanced families once more at the end.)"""
    chance = random.Random(seed)

    def part(found: Iterable[Row], of: float) -> list[Row]:
        return [row for row in found if chance.random() < of]

    by_phenomenon = _at_most([row for row in pairs_by_phenomenon(folder) if not row.apart], chance)
    real = [row for row in real_and_changed(folder) if not row.apart]
    yield Stage(by_phenomenon + real, 1.0, 7e-5, head=3e-4)
    by_phenomenon, real = ([row for row in some if not row.left] for some in (by_phenomenon, real))
    written = [row for code in codes() for row in families(code) if not row.apart]
    balanced = [row for row in written if row.source.startswith(("near", "free"))]
    old = [row for row in written if not row.source.startswith(("near", "free"))]
    repeated = [row for code in codes() for row in copied(code) if not row.apart]
    questions = [row for row in (*asked(folder), *judged(folder)) if not row.apart]
    own = [*old, *repeated, *questions]
    yield Stage(own + part(by_phenomenon, 0.35) + real, 1.0, 5e-5, 0.5)
    yield Stage(own + part(by_phenomenon, 0.12) + part(real, 0.5), 0.55, 3.5e-5)
    other = [row for row in across(folder) if not row.apart]
    some = part(by_phenomenon, 0.37) + part(real, 0.57) + part(other, 0.66)
    yield Stage(some + part(repeated, 0.23) + part(old, 0.12) + part(questions, 0.11), 1.0, 4e-5, 0.5)
    some = part(old, 0.25) + part(repeated, 0.25) + part(questions, 0.25)
    yield Stage(balanced + some + part(by_phenomenon, 0.25) + part(real, 0.5), 1.0, 5e-5)


def _at_most(found: list[Row], chance: random.Random) -> list[Row]:
    taken: Counter[str] = Counter()
    kept = []
    for row in chance.sample(found, len(found)):
        taken[row.source] += 1
        if taken[row.source] <= AT_MOST.get(row.source, len(found)):
            kept.append(row)
    return kept


def train(net: Any, stage: Stage, seed: int = 0) -> None:
    """Train a network in place; the rows come in batches of like length."""
    import torch

    chance = random.Random(seed)
    ids = reader.token_ids(net.tokenizer, [row.pair for row in stage.rows])
    steps = int(stage.epochs * len(list(_steps(ids, random.Random(seed)))))
    body = [p for name, p in net.named_parameters() if p.requires_grad and name.startswith("layers")]
    head = [*net.hidden.parameters(), *net.out.parameters()]
    optimiser = torch.optim.AdamW(
        [{"params": body, "full": stage.rate}, {"params": head, "full": stage.head}], weight_decay=0.01,
        betas=(0.9, 0.98), fused=True,
    )  # fmt: skip
    done, mean = 0, math.nan
    while done < steps:
        for batch in _steps(ids, chance):
            share = min(1.0, done / (0.05 * steps)) * (1 - (1 - stage.last) * done / steps)
            for group in optimiser.param_groups:
                group["lr"] = group["full"] * share
            loss = _loss(net(*reader.padded([ids[at] for at in batch])), [stage.rows[at] for at in batch])
            loss.backward()
            torch.nn.utils.clip_grad_norm_([*body, *head], 1.0)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            mean = loss.item() if math.isnan(mean) else 0.98 * mean + 0.02 * loss.item()
            done += 1
            if done % 100 == 0:
                _log.info("step %d of %d, loss %.3f", done, steps, mean)
            if done >= steps:
                break


def _steps(ids: Sequence[Sequence[int]], chance: random.Random, pool: int = 2048) -> Iterator[list[int]]:
    """Batches of at most :data:`STEP_TOKENS` padded tokens, of like length, in random order."""
    order = chance.sample(range(len(ids)), len(ids))
    batches: list[list[int]] = []
    for start in range(0, len(order), pool):
        batches.append([])
        for at in sorted(order[start : start + pool], key=lambda at: len(ids[at])):
            if len(ids[at]) * (len(batches[-1]) + 1) > STEP_TOKENS:
                batches.append([])
            batches[-1].append(at)
    yield from chance.sample(batches, len(batches))


def _loss(scores: Any, batch: Sequence[Row], smoothing: float = 0.03) -> Any:
    """The mean surprise of the labels that are known."""
    import torch
    from torch.nn import functional

    told = functional.log_softmax(scores[:, :3], dim=1)
    label = torch.tensor([row.label for row in batch])
    weight = torch.tensor([0.0 if row.label == UNKNOWN else row.weight for row in batch])
    exact = functional.nll_loss(told, label.clamp(max=2), reduction="none") * (1 - smoothing) - smoothing * told.mean(dim=1)
    not_borne_out = -torch.log((1 - told[:, 0].exp()).clamp(min=1e-5))
    surprise = torch.where(label < NOT_BORNE_OUT, exact, not_borne_out)
    total = (surprise * weight).sum() / max(float(len(batch)), 1.0)
    for at, name, share in ((3, "answers", 0.3), (4, "right", 0.7)):
        known = [i for i, row in enumerate(batch) if getattr(row, name) is not None]
        if known:
            wanted = torch.tensor([float(getattr(batch[i], name)) for i in known])
            surprise = functional.binary_cross_entropy_with_logits(scores[known, at], wanted, reduction="sum")
            total = total + share * surprise / len(batch)
    return total


# ---------------------------------------------------------------- how good it is, and the file


def read_by(net: Any, pairs: Sequence[Pair]) -> Floats:
    """(n, 5) probabilities by a network in training."""
    import torch

    ids, found = reader.token_ids(net.tokenizer, pairs), np.zeros((len(pairs), 5), dtype=np.float32)
    with torch.inference_mode():
        for batch in reader.batches([len(row) for row in ids]):
            found[batch] = reader.probabilities(net(*reader.padded([ids[at] for at in batch])))
    return found


def report(net: Any, held_out: Iterable[Row], most: int = 300) -> dict[str, dict[str, float]]:
    """For each source how well it is told what is borne out, what addresses the question and what is right (AUROC; only what
    is known of that source), of at most so many rows."""
    by: dict[str, list[Row]] = defaultdict(list)
    for row in held_out:
        by[row.source].append(row)
    found: dict[str, dict[str, float]] = {}
    for source, of in sorted(by.items()):
        some = random.Random(1).sample(of, min(most, len(of)))
        read = read_by(net, [row.pair for row in some])
        found[source] = {"n": len(some)}
        for at, name in ((0, "label"), (3, "answers"), (4, "right")):
            wanted = [row.label == BORNE_OUT if name == "label" else getattr(row, name) for row in some]
            known = [i for i, row in enumerate(some) if (row.label != UNKNOWN if at == 0 else wanted[i] is not None)]
            if len({wanted[i] for i in known}) == 2:
                found[source][name] = auroc(np.array([wanted[i] for i in known]), read[known, at])
    return found


def written(net: Any) -> bytes:
    """The file of the weights: of each layer what training changed, in 8 bits with one scale a row, and its biases."""
    import torch
    from safetensors.torch import save

    before, tensors = load_embedded_e5().inside()[1].encoder, {}
    for name in net.names:
        plain, layer = before.get_submodule(name), net.layers.encoder.get_submodule(name)
        change = layer.weight.detach() - plain.weight
        scale = change.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
        tensors[f"{name}.change"] = torch.round(change / scale).to(torch.int8)
        tensors[f"{name}.scale"] = scale
        tensors[f"{name}.bias"] = (layer.bias.detach() - plain.bias).contiguous()
    for name in ("hidden", "out"):
        tensors |= {f"{name}.{part}": tensor.detach().clone() for part, tensor in getattr(net, name).named_parameters()}
    return save(tensors)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the report goes to the log (standard error)."""
    parser = argparse.ArgumentParser(prog="python -m workbench.training.reading", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with nli/, wice/, begin_wow/, …")
    parser.add_argument("--out", type=Path, required=True, help="where the file of the weights goes")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s")
    _log.setLevel(logging.INFO)
    net = network()
    for number, stage in enumerate(stages(options.data)):
        train(net, stage, seed=number)
    options.out.write_bytes(written(net))
    made = (pairs_by_phenomenon, real_and_changed, asked, judged, across)
    held_out = [row for make in made for row in make(options.data) if row.apart]
    held_out += [row for code in codes() for row in families(code) if row.apart]
    for source, figures in report(net, held_out).items():
        _log.info("%-24s %s", source, "  ".join(f"{name} {value:.3f}" for name, value in figures.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
