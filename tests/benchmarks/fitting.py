"""Does fitting a judge to labels help, on labelled sets that are not in this repository?

``python tests/benchmarks/fitting.py DATA [--scored FOLDER]``: DATA holds ``evouna`` and ``ragchecker_meta_eval``. Answers are
scored once (offline judge, words only) into FOLDER and read from there afterwards. For 20 seeds, 60 labels are drawn, the
judge is fitted to them, and it is held against all other labels.

RAGChecker's labels are preferences: of each pair the more correct answer counts as right, the other as wrong.
``--first SEED`` begins with another seed; ``--simulated`` alone draws the labels of made-up judges, each less to be trusted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import workbench as wb
from workbench.diagnosis.fitting import Labelled, _fitted

SEEDS, LABELS = 20, 60
RATES = (0.02, 0.05, 0.1)


def evouna(data: Path) -> tuple[list[dict], dict[str, str]]:
    rows = [json.loads(line) for path in sorted((data / "evouna").glob("*.jsonl")) for line in path.open(encoding="utf-8")]
    kept = set(list(dict.fromkeys(row["question"] for row in rows))[::16])
    rows = [row for row in rows if row["question"] in kept]
    labels = {row["id"]: "right" if row["right"] else "wrong" for row in rows}
    return [{"sample_id": r["id"], **{k: r[k] for k in ("question", "answer", "reference")}} for r in rows], labels


def ragchecker(data: Path) -> tuple[list[dict], dict[str, str]]:
    content = json.loads((data / "ragchecker_meta_eval" / "human_labeled_data_first_half.json").read_text(encoding="utf-8"))
    rows, labels = [], {}
    for number, pair in enumerate(zip(content[::2], content[1::2], strict=True)):
        better = sum(one["correctness_label"] for one in pair)
        for sign, name in ((-1, "model1"), (1, "model2")):
            key, one = f"rc-{number}-{name}", pair[0]
            answer = one[name]["response"]
            rows.append({"sample_id": key, "question": one["query"], "answer": answer, "reference": one["gt_answer"]})
            if better:
                labels[key] = "right" if better * sign > 0 else "wrong"
    return rows, labels


def scored(name: str, rows: list[dict], folder: Path) -> wb.Evaluation:
    if not (folder / name / "samples.parquet").is_file():
        wb.evaluate(rows, encoder="none", name=name).save(folder / name)
    return wb.load_evaluation(folder / name)


def measured(evaluation: wb.Evaluation, labels: dict[str, str], seed: int, suggested: bool) -> list[dict]:
    ids = np.array(list(labels))
    right = np.array([labels[name] == "right" for name in ids])
    places = evaluation.evidence.ids.get_indexer(ids)
    chosen = np.random.default_rng(seed).permutation(len(ids))[:LABELS]
    if suggested:
        # Of a part of the set, so that seeds differ.
        part = np.random.default_rng(seed).permutation(len(ids))[: len(ids) // 2]
        order = [name for name in wb.suggest(evaluation, n=len(evaluation)).index if name in set(ids[part])][:LABELS]
        chosen = pd.Index(ids).get_indexer(order)
    rest = np.setdiff1d(np.arange(len(ids)), chosen)
    given = {ids[i]: labels[ids[i]] for i in chosen}
    passed = evaluation.failures()["passed"].to_numpy()[places] == True  # noqa: E712
    rows = []
    for rate in RATES:
        fitted = wb.fit(evaluation, given, error_rate=rate)
        part = fitted.parts.get("verdict")
        before, row = (passed == right)[rest].mean(), {"seed": seed, "rate": rate, "reason": fitted.refused.get("verdict", "")}
        row |= {"before": before, "after": before}
        if part is not None:
            found = fitted.verdicts(evaluation).iloc[places]
            told = (found["verdict"] != "unsure").to_numpy()[rest]
            agrees = ((found["probability"] >= 0.5).to_numpy() == right)[rest]
            row |= {"reason": part.reason, "after": agrees.mean(), "told": told.mean(),
                    "wrong": (~agrees[told]).mean() if told.any() else np.nan}  # fmt: skip
        if rate != RATES[-1]:
            rows.append(row)
            continue
        under = evaluation.with_judge(fitted).failures()["passed"].to_numpy()[places] == True  # noqa: E712
        row["passed"] = (under == right)[rest].mean()
        share = wb.right_rate(evaluation, given, fitted)
        low, high = share.loc["corrected", ["low", "high"]]
        row |= {"width": high - low, "covered": low <= right.mean() <= high}
        rows.append(row)
    return rows


def drawn(n: int, seed: int, noise: float) -> Labelled:
    """Labels of a judge whose log-odds are off by 0.5 and ``noise`` times too sure."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 2, n)
    said = 1 / (1 + np.exp(-(truth + 0.5)))
    return Labelled(said, rng.random(n) < 1 / (1 + np.exp(-truth / noise)), (said >= 0.5) * 1.0, np.arange(n).astype(object))


def simulated(first: int) -> None:
    """What is wrong outside the band that a fit to 60 labels draws: over the seeds that have a band, and over all told."""
    print(f"{'noise':>5} {'asked':>5} {'bands':>5} {'wrong':>6} {'of all told':>11} {'share told':>10}")
    for noise in (0.6, 1.0, 1.5, 2.0, 3.0):
        for rate in (0.05, 0.1, 0.2):
            errors, told = [], []
            for seed in range(first, first + SEEDS):
                part, fresh = _fitted(drawn(LABELS, seed, noise), rate), drawn(3000, 10**6 + seed, noise)
                p = part(fresh.said)
                sure = ~part.unsure(p)
                told.append(sure.mean())
                errors.append(((p >= 0.5) != fresh.right)[sure].mean() if sure.any() else np.nan)
            all_told = np.nansum(np.multiply(errors, told)) / max(sum(told), 1e-9)
            bands = [error for error in errors if error == error]
            wrong = np.mean(bands) if bands else np.nan
            print(f"{noise:5} {rate:5} {len(bands):5} {wrong:6.3f} {all_told:11.3f} {np.mean(told):10.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--scored", type=Path, default=Path(tempfile.gettempdir()) / "workbench-fitting")
    options = parser.parse_args()
    if options.simulated:
        simulated(options.first)
        return
    for name, read in (("evouna", evouna), ("ragchecker", ragchecker)):
        rows, labels = read(options.data)
        evaluation = scored(name, rows, options.scored)
        for suggested in (False, True):
            seeds = range(options.first, options.first + SEEDS)
            found = pd.DataFrame([row for seed in seeds for row in measured(evaluation, labels, seed, suggested)])
            found["gain"], found["gain passed"] = found["after"] - found["before"], found["passed"] - found["before"]
            one = found[found["rate"] == RATES[-1]]
            way = "suggested" if suggested else "drawn"
            print(f"\n{name}: {len(labels)} labels, {LABELS} {way}, {SEEDS} seeds from {options.first}")
            before, after, gain, least = one["before"].mean(), one["after"].mean(), one["gain"], one["gain passed"].min()
            print(f"agreement before {before:.3f}, after {after:.3f}; gain {gain.min():+.3f} to {gain.max():+.3f}")
            print(f"map used {(one['reason'] == '').sum()} of {SEEDS}; refused: {one['reason'].value_counts().to_dict()}; "
                  f"passed under the fitted judge: gain at least {least:+.3f}")  # fmt: skip
            width, covered = one["width"].mean(), one["covered"].mean()
            print(f"rate of right answers: interval {width:.3f} wide, holds the true one in {covered:.2f}")
            shown = found.groupby("rate")[["wrong", "told"]].mean().round(3)
            print(shown.rename(columns={"wrong": "of the told wrong", "told": "share told"}).to_string())


if __name__ == "__main__":
    main()
