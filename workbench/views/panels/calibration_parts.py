"""What panel 08 says in words and tables. Plain functions of a calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.diagnosis.calibrating import EACH, MOVES, NEEDED, Calibration
from workbench.diagnosis.calibration_labels import annotator_agreement, annotator_pairs
from workbench.diagnosis.failing import PASSED
from workbench.diagnosis.repeats import repeat_noise
from workbench.errors import InputError
from workbench.evaluation import load_evaluation
from workbench.language import has_text
from workbench.language import text as _t
from workbench.views.html import Markup, h, join, table
from workbench.views.names import interval_text, metric_title, rate_text, score_text, verdict_title
from workbench.views.panels.compare_list import found_runs

if TYPE_CHECKING:
    import pandas as pd

    from workbench.views.session import Session

#: Evaluations beside the session's that are looked at for the same texts.
MOST_REPEATS = 10


def score_title(score: str, threshold: str) -> str:
    """How a score is called in this panel; ``passed`` names the threshold that moves it."""
    return _t(f"calibration.moves.{threshold}") if score == PASSED else metric_title(score)


def offered(names: list[str]) -> list[tuple[str, tuple[str, str]]]:
    """What can be chosen: ``passed`` by each threshold, then metrics."""
    chosen = [(PASSED, threshold) for threshold in MOVES] + [(name, "support") for name in names if name != PASSED]
    return [(score_title(*item), item) for item in chosen]


def _bracketed(low: Any, high: Any, *, rate: bool = False) -> str:
    words = interval_text(low, high, rate=rate)
    return f" ({words})" if words else ""


def count_words(found: Calibration) -> str:
    """The confusion at the cut and kappa, in one sentence."""
    table, kappa = found.confusion(), found.agreement()
    right, wrong = (int(table.loc[name, ["right", "wrong"]].sum()) for name in ("right", "wrong"))
    agree = int(table.loc["right", "right"] + table.loc["wrong", "wrong"])
    if not right + wrong:
        return _t("calibration.counts_none", cut=f"{found.cut:.2f}")
    words = _t("calibration.counts", cut=f"{found.cut:.2f}", agree=agree, n=right + wrong, right=right, wrong=wrong,
               kappa=score_text(kappa["kappa"]), interval=_comma(kappa["kappa_low"], kappa["kappa_high"]),
               found=int(table.loc["wrong", "wrong"]), blamed=int(table.loc["right", "wrong"]))  # fmt: skip
    none = int(table["none"].sum())
    return words + (_t("calibration.without", n=none) if none else "")


def _comma(low: Any, high: Any) -> str:
    words = interval_text(low, high)
    return f", {words}" if words else ""


def advice_words(found: Calibration) -> str:
    """Where the cut should be, or how many labels are missing."""
    if not found.enough:
        counts, lacking = found.counts, found.lacking
        parts = [_t(f"calibration.lack_{name}", n=n) for name, n in lacking.items() if n]
        lacking_words = _t("calibration.joiner").join(parts)
        return _t(
            "calibration.few", n=counts["n"], right=counts["right"], wrong=counts["wrong"], needed=NEEDED, each=EACH,
            lacking=lacking_words,
        )  # fmt: skip
    cut, (area, interval) = found.suggested, found.area
    scale = _t("calibration.area", area=score_text(area), interval=_bracketed(interval.low, interval.high))
    if np.isnan(cut.value):
        return _t("calibration.no_cut") + scale
    words = _t("calibration.suggested", cut=f"{cut.value:.2f}", low=f"{cut.low:.2f}", high=f"{cut.high:.2f}",
               kappa=score_text(cut.kappa))  # fmt: skip
    words += _t(f"calibration.{'keep' if cut.low - 1e-9 <= found.cut <= cut.high + 1e-9 else 'change'}")
    return words + scale + (_t("calibration.chance") if interval.low <= 0.5 else "")


def title_words(found: Calibration) -> str:
    """The title of the picture."""
    return _t("calibration.title", score=score_title(found.score, found.threshold), area=score_text(found.area[0]),
              n=found.counts["n"])  # fmt: skip


def finding_words(found: Calibration) -> str:
    """One sentence to hand over: agreement, and the pass rate before and after correction."""
    kappa, rates = found.agreement(), found.corrected()
    fixed = rates.loc["corrected"]
    return _t("calibration.words", score=score_title(found.score, found.threshold), cut=f"{found.cut:.2f}",
              kappa=score_text(kappa["kappa"]), interval=_bracketed(kappa["kappa_low"], kappa["kappa_high"]),
              n=found.counts["n"], share=rate_text(fixed["share"]), naive=rate_text(rates.loc["judge", "share"]),
              share_interval=_bracketed(fixed["low"], fixed["high"], rate=True))  # fmt: skip


def label_notes(found: Calibration, other_runs: list[str]) -> list[str]:
    """What is to be said about the labels: none, of other runs, of other samples, split."""
    notes = []
    if not found.counts["n"] and not len(found.human):
        line = _t("calibration.no_labels", run=found.evaluation.name)
        notes.append(line + (_t("calibration.other_runs", runs=", ".join(other_runs[:10])) if other_runs else ""))
    if found.n_elsewhere:
        notes.append(_t("calibration.elsewhere", n=found.n_elsewhere))
    if found.n_split:
        notes.append(_t("calibration.split", n=found.n_split))
    return notes


def headings(frame: pd.DataFrame) -> dict[str, str]:
    """Readable column names."""
    return {str(name): _t(f"calibration.columns.{name}") for name in frame if has_text(f"calibration.columns.{name}")}


def _shown(frame: pd.DataFrame) -> Markup:
    return table(frame, headings=headings(frame))


def _with_intervals(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Each of ``names`` with its ``_low`` and ``_high`` as one text."""
    shown = frame.copy()
    for name in names:
        ends = zip(frame[name], frame[f"{name}_low"], frame[f"{name}_high"], strict=True)
        shown[name] = [score_text(value) + _bracketed(low, high) for value, low, high in ends]
        shown = shown.drop(columns=[f"{name}_low", f"{name}_high"])
    return shown


def confusion_part(found: Calibration) -> Markup:
    """The confusion at the cut."""
    frame = found.confusion().reset_index()
    frame["human"] = frame["human"].map(verdict_title)
    return _shown(frame)


def languages_part(found: Calibration) -> Markup:
    """One row a language."""
    frame = _with_intervals(found.by_language(), "kappa", "auroc", "cut").reset_index()
    named = [_t(f"calibration.languages.{own}") if has_text(f"calibration.languages.{own}") else own
             for own in frame["language"]]  # fmt: skip
    frame = frame.assign(language=named, accuracy=frame["accuracy"].map(rate_text))
    note = h("p", _t("calibration.per_language", needed=NEEDED, each=EACH), cls="wb-quiet")
    return join([_shown(frame.rename(columns={"cut": "suggested"})), note])


def rate_part(found: Calibration) -> Markup:
    """The pass rate as judged, of the labelled samples, and corrected."""
    frame = found.corrected()
    shown = frame.reset_index(names="way")
    shown["way"] = [_t(f"calibration.ways.{name}") for name in shown["way"]]
    shown["share"] = shown["share"].map(rate_text)
    ends = zip(frame["low"], frame["high"], strict=True)
    shown["interval"] = [interval_text(low, high, rate=True) or "–" for low, high in ends]
    shown = shown[["way", "share", "interval", "n"]].rename(columns={"n": "samples"})
    words = _t("calibration.random")
    n = int((~np.isnan(found.judged)).sum())
    if n and found.confusion().loc["right", "wrong"] + found.confusion().loc["wrong", "right"] == 0:
        # None wrong among n: 95 % sure of at most 1 − 0.05^(1/n).
        words += _t("calibration.perfect", n=n, bound=rate_text(1 - 0.05 ** (1 / n)))
    return join([_shown(shown), h("p", words, cls="wb-quiet")])


def annotators_part(verdicts: pd.DataFrame) -> Markup:
    """How far people agree with each other."""
    found = annotator_agreement(verdicts)
    if not found["n"]:
        return h("div", _t("calibration.alone"), cls="wb-empty")
    words = _t(
        "calibration.alpha", alpha=score_text(found["alpha"]), n=int(found["n"]), people=int(found["n_annotators"]),
        interval=_bracketed(found["alpha_low"], found["alpha_high"]), agreement=rate_text(found["agreement"]),
    )  # fmt: skip
    pairs = annotator_pairs(verdicts)
    pairs = _with_intervals(pairs[pairs["n"] > 0].astype({"n": int}), "kappa")
    pairs["accuracy"] = pairs["accuracy"].map(rate_text)
    return join([h("p", words), _shown(pairs)])


def scores_part(frame: pd.DataFrame) -> Markup:
    """Every score against the same labels, from ``calibration_table``."""
    shown = _with_intervals(frame, "auroc", "suggested").reset_index()
    shown["score"] = [score_title(str(name), "support") for name in shown["score"]]
    return _shown(shown[["score", "n", "auroc", "cut", "kappa", "suggested"]])


def noise_part(session: Session, found: Calibration) -> Markup:
    """The judge's verdicts beside those of other evaluations of the same texts, saved in the same folder."""
    import pandas as pd

    rows, unreadable = [], []
    for name, folder in list(found_runs(session, None).items())[:MOST_REPEATS]:
        try:
            other = load_evaluation(folder, thresholds=session.thresholds)
        except InputError:
            unreadable.append(name)
            continue
        noise = repeat_noise([found.evaluation, other], found.score)
        if noise["n"]:
            rate = rate_text(noise["rate"]) + _bracketed(noise["low"], noise["high"], rate=True)
            judge = str(other.manifest.get("judge", "–"))
            rows.append([name, judge, int(noise["n"]), int(noise["n_flips"]), rate, noise["sd"]])
    said = _t("calibration.unreadable", names=", ".join(unreadable)) if unreadable else ""
    if not rows:
        return h("div", _t("calibration.no_noise") + said, cls="wb-empty")
    frame = pd.DataFrame(rows, columns=["run", "judge", "same", "flips", "rate", "sd"])
    return join([_shown(frame), h("p", _t("calibration.noise") + said, cls="wb-quiet")])


def people_words(found: Calibration, verdicts: pd.DataFrame, sample_id: str) -> str:
    """What each person and the judge said about one sample."""
    own = verdicts[verdicts["sample_id"] == sample_id]
    said = [f"{who}: {verdict_title(what)}" + (f" – {note}" if note else "")
            for who, what, note in zip(own["annotator"], own["verdict"], own["note"], strict=True)]  # fmt: skip
    place = int(found.evaluation.evidence.ids.get_loc(sample_id))
    judged = found.judged_all[place]
    judge = "–" if np.isnan(judged) else verdict_title("right" if judged == 1 else "wrong")
    return _t("calibration.said", people="; ".join(said) or _t("calibration.nobody"), judge=judge)
