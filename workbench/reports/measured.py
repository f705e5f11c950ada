"""Section 7: how it was measured, how far to trust it here, and what could not be checked."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from typing import Any

from workbench.data.redact import redacted
from workbench.language import has_text
from workbench.language import text as _t
from workbench.reports import words
from workbench.reports.report import Material, Measured
from workbench.scoring.thresholds import Thresholds
from workbench.views.names import metric_title, state_title

#: Characters of a hash that are shown.
HASH = 16


def measured(material: Material) -> Measured:
    """Judge, encoder, thresholds, data, versions; the judge's validation; fields that were missing."""
    trust, table = _trust(material)
    return Measured(tuple(_facts(material)), trust, table, _unchecked(material), material.n, tuple(_notes(material)))


def _facts(material: Material) -> list[tuple[str, str]]:
    manifest = material.evaluation.manifest
    known = {
        "judge": manifest.get("judge"), "prompt_hash": _short(manifest.get("prompt_hash")),
        "encoder": manifest.get("encoder"), "thresholds": thresholds_words(material.evaluation.thresholds),
        "targets": _targets(material.evaluation.thresholds), "data": _data(manifest), "corpus": _corpus(manifest),
        "scored": manifest.get("started"), "versions": _versions(manifest),
    }  # fmt: skip
    if material.baseline is not None:
        known["baseline"] = _other(material.baseline)
    return [(_t(f"report.measured.{name}"), redacted(str(value))) for name, value in known.items() if value]


def thresholds_words(thresholds: Thresholds) -> str:
    """All cut-offs in one line; those that differ from the defaults carry an asterisk."""
    usual = Thresholds()
    plain, defaults = thresholds.to_dict(), usual.to_dict()
    own = [(name, value, defaults.get(name)) for name, value in plain.items() if not isinstance(value, Mapping)]
    own += [(f"low {name}", cut, usual.low_cut(name)) for name, cut in thresholds.low_scores.items()]
    return " · ".join(f"{name} {value}{'' if value == default else '*'}" for name, value, default in own)


def _targets(thresholds: Thresholds) -> str:
    return " · ".join(f"{name} {value:g}" for name, value in thresholds.targets.items())


def _data(manifest: Mapping[str, Any]) -> str:
    counts = manifest.get("counts") or {}
    rows = _t("report.measured.rows", **{name: words.count(counts.get(name)) for name in ("read", "samples", "rejected")})
    return " · ".join(filter(None, [manifest.get("source"), _short(manifest.get("data_hash")), rows if counts else ""]))


def _corpus(manifest: Mapping[str, Any]) -> str:
    corpus = manifest.get("corpus")
    if not isinstance(corpus, Mapping):
        return _t("report.measured.no_corpus")
    return f"{corpus.get('name')} · {_short(corpus.get('hash'))} · " + _t(
        "report.measured.documents", n=words.count(corpus.get("documents"))
    )


def _versions(manifest: Mapping[str, Any]) -> str:
    libraries = manifest.get("libraries") or {}
    own = [f"workbench {manifest['workbench']}"] if manifest.get("workbench") else []
    own += [f"Python {manifest['python']}"] if manifest.get("python") else []
    return ", ".join(own + [f"{name} {version}" for name, version in libraries.items()])


def _other(baseline: Any) -> str:
    manifest = baseline.manifest
    return " · ".join(filter(None, [baseline.name, str(manifest.get("judge")), _data(manifest)]))


def _short(value: Any) -> str:
    return str(value)[:HASH] if value else ""


# ---------------------------------------------------------------- how far to trust the judge


def _trust(material: Material) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    judge = str(material.evaluation.manifest.get("judge") or "none")
    if judge == "none":
        return (_t("report.trust.none"),), ()
    table = _validation(judge) if judge.startswith("offline") else ()
    measured_how = "" if table else _t("report.trust.not_measured" if judge.startswith("offline") else "report.trust.model")
    return tuple(filter(None, [_unsure(material), measured_how])), table


def _unsure(material: Material) -> str:
    share = material.evaluation.metric("unsure_share")
    n = int(share.ok.sum())
    if not n:
        return _t("report.trust.no_claims")
    return _t("report.trust.unsure", share=words.percent(float(share.values[share.ok].mean())), n=words.count(n))


def _validation(judge: str) -> tuple[tuple[str, ...], ...]:
    """The judge's figures on labelled sets, a heading row first; empty when none are kept with its coefficients."""
    rows = [row for own in _coefficients() if _same(own, judge) for row in _validation_rows(own.get("validation"))]
    if not rows:
        return ()
    heads = list(dict.fromkeys(name for row in rows for name in row))
    titles = [_t(f"report.trust.{name}") if has_text(f"report.trust.{name}") else name for name in heads]
    return (tuple(titles), *(tuple(_figure(row.get(name)) for name in heads) for row in rows))


def _same(own: Mapping[str, Any], judge: str) -> bool:
    return judge.startswith(str(own.get("method"))) and str(own.get("version", "")) in judge


def _coefficients() -> list[dict[str, Any]]:
    folder = resources.files("workbench.evidence") / "coefficients"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return [tomllib.loads(item.read_text(encoding="utf-8")) for item in files]


def _validation_rows(validation: Any) -> list[dict[str, Any]]:
    """``[validation.<set>]`` tables or a list of tables, as rows with plain values."""
    if isinstance(validation, Mapping):
        nested = [{"set": name, **row} for name, row in validation.items() if isinstance(row, Mapping)]
        return nested or [dict(validation)]
    return [dict(row) for row in validation] if isinstance(validation, list) else []


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return words.count(value) if isinstance(value, int) and not isinstance(value, bool) else str(value or "–")


# ---------------------------------------------------------------- what could not be checked


def _unchecked(material: Material) -> tuple[tuple[str, int, str], ...]:
    """What is missing, in how many samples, and what it would unlock."""
    lacks = Counter(name for row in material.failures.get("unchecked", []) for name in row)
    return tuple(
        (_t(f"report.lacks.{name}.what"), n, _t(f"report.lacks.{name}.unlocks")) for name, n in lacks.most_common()
    )


def _notes(material: Material) -> list[str]:
    """Samples that could not be tested or judged, rejected rows, metrics without any score."""
    notes = []
    untested = int(material.failures["passed"].isna().sum())
    if untested:
        notes.append(_t("report.measured.untested", n=words.count(untested), total=words.count(material.n)))
    errors = material.evaluation.errors()
    if len(errors):
        reasons = words.listed(f"{reason} {n}" for reason, n in Counter(errors["reason"].tolist()).most_common(3))
        ids = errors["sample_id"].nunique()
        notes.append(_t("report.measured.errors", n=words.count(ids), total=words.count(material.n), reasons=reasons))
    empty = [_empty(str(name), row) for name, row in material.summary.iterrows() if not row["n_ok"]]
    if empty:
        notes.append(_t("report.measured.no_score", metrics=words.listed(empty)))
    return notes


def _empty(name: str, row: Any) -> str:
    states = [f"{state_title(s)} {int(row[f'n_{s}'])}" for s in ("not_applicable", "undefined", "skipped") if row[f"n_{s}"]]
    errors = [f"{_t('report.quality.error')} {int(row['n_error'])}"] if row["n_error"] else []
    return f"{metric_title(name)} ({' · '.join(states + errors)})"
