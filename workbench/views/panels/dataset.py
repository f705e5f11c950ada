"""Panel 00: does my data load, what is in it, and where do I go?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W
from markupsafe import Markup

from workbench.data.columns import remember_mapping
from workbench.data.load import Columns, columns_of
from workbench.data.schema import SampleSet, none_if_missing
from workbench.errors import InputError
from workbench.evidence.parts import is_saved, part_folders
from workbench.language import labelled, listed
from workbench.language import text as _t
from workbench.views.data_paths import baseline_path, corpus_path, remember, remember_before
from workbench.views.error_box import error_html
from workbench.views.filtering import facets
from workbench.views.html import Fragment, cell, excerpt, fragment, h, join, notebook_link, quiet, safe, table
from workbench.views.session import Session
from workbench.views.widgets import PagedTable, Panel, button, display, dropdown, markup, row, show, text_box

if TYPE_CHECKING:
    import pandas as pd

#: Fields worth having, in the order in which they are shown; each has a text that says what it unlocks.
FIELDS = (
    "question", "answer", "contexts", "reference", "expected_docs", "must_include", "must_not_include",
    "expect_refusal", "case_type", "tags", "tenant", "citations", "latency_ms",
)  # fmt: skip
#: Notebooks in their order.
NOTEBOOKS = (
    "01_score_dataset", "02_low_scores", "03_missed_documents", "04_vocabulary_mismatch", "05_query_types",
    "06_compare_runs", "07_hallucinations", "08_judge_calibration", "09_monitoring", "10_export_findings",
    "11_repair_plan",
)  # fmt: skip


def samples_of(source: Any) -> SampleSet:
    """The samples of a session, an evaluation, a set, the folder of a saved evaluation (of one in parts: its first), or any
    file that loads.

    Raises ``InputError`` when it is none of these.
    """
    from workbench.data.load import load_samples
    from workbench.evaluation import load_evaluation

    if isinstance(source, SampleSet):
        return source
    if isinstance(source, (str, Path)) and is_saved(source):
        source = load_evaluation((*part_folders(source), source)[0])
    elif isinstance(source, Session):
        source = source.evaluation
    return source.samples if hasattr(source, "samples") else load_samples(source)


def fields_table(samples: SampleSet) -> pd.DataFrame:
    """Which fields are recorded: ``field, n`` (samples that have it), ``n_total, unlocks``."""
    import pandas as pd

    frame = samples.frame

    def recorded(name: str, value: Any) -> bool:
        """Whether a value says something: an empty list does so only where it means "nothing"."""
        value = none_if_missing(value)
        return value is not None and (name in ("contexts", "expected_docs") or value not in ([], {}, ""))

    counts = [sum(recorded(name, value) for value in frame[name]) if name in frame else 0 for name in FIELDS]
    return pd.DataFrame({"field": FIELDS, "n": counts, "n_total": len(frame),
                         "unlocks": [_t(f"panels.dataset.unlocks.{name}") for name in FIELDS]})  # fmt: skip


class Dataset(Panel):
    """Path box, what was read, what the doctor found, and where to go next.

    Parameters
    ----------
    source
        A path, a session, an evaluation or a set of samples.
    corpus
        A path or a corpus; lets the doctor compare ids and texts.
    mapping
        Column → field for a file whose columns are not recognised; remembered for it.
    """

    stem = "dataset"

    def __init__(self, source: Any, corpus: Any = None, mapping: Mapping[str, str] | None = None) -> None:
        super().__init__(source if isinstance(source, Session) else None)
        self._path = source if isinstance(source, (str, Path)) else None
        #: The corpus that lies beside the sample data is that of no other file.
        self._beside = self._path is not None and corpus is not None and corpus == corpus_path(None, self._path)
        self._corpus = corpus
        self.samples: SampleSet | None = None
        self._checks: pd.DataFrame | None = None
        path = str(source) if isinstance(source, (str, Path)) else ""
        self.path = text_box(_t("panels.dataset.path"), path, "560px", continuous_update=False,
                             placeholder=_t("panels.dataset.placeholder"))  # fmt: skip
        before = "" if self._path is None else baseline_path(None, self._path) or ""
        self.before = text_box(_t("panels.dataset.before"), before, "560px", continuous_update=False,
                               placeholder=_t("panels.dataset.before_hint"))  # fmt: skip
        self.load = button(_t("panels.dataset.load"), self.guarded(self._load, "load"), button_style="primary")
        self.back = button(_t("panels.dataset.back"), self.guarded(self._back, "back"))
        self.mapper = Mapper(self, self._mapped)
        self.columns = button(_t("panels.mapper.open"), self.guarded(self._offer, "columns"))
        self.message = markup()
        self.body, self.doctor, self.next = markup(), PagedTable(self, 10), markup()
        self.compose(row(self.path, self.before), row(self.load, self.columns, self.back), self.message, self.mapper,
                     self.body, self.doctor, self.next)  # fmt: skip
        if mapping and self._path is not None:
            remember_mapping(self._path, mapping)
        self.guarded(lambda: self._open(source), "open")()

    def _load(self) -> None:
        """Read what stands in the path box; from then on the other notebooks open it."""
        path = self.path.value.strip().strip("\"'")
        if path and self._open(Path(path).expanduser()):
            self._choose(path)

    def _offer(self) -> None:
        """Show the columns of the file, to say which is which; a saved evaluation has none."""
        if self._path is not None and Path(self._path).is_file():
            self.mapper.offer(self._path)

    def _mapped(self) -> None:
        """Read the file again with the columns just chosen, and open it in the other notebooks."""
        if self._path is not None and self._open(self._path):
            self._choose(self._path, _t("panels.mapper.applied") + " ")

    def _choose(self, path: str | Path, words: str = "") -> None:
        """Let the other notebooks open ``path``, and compare it with the run before where one is named that can be read."""
        before = self.before.value.strip().strip("\"'")
        remember(path)
        remember_before(None)
        self._say(words + _t("panels.dataset.chosen", path=path))
        if before:
            try:
                samples_of(str(Path(before).expanduser()))
            except InputError as error:
                show(self.message, error_html(error, details=False))
                return
            remember_before(before)
            self._say(words + _t("panels.dataset.chosen_before", path=path, before=before))

    def _back(self) -> None:
        remember(None)
        remember_before(None)
        self._say(_t("panels.dataset.forgotten"))

    def _open(self, source: Any) -> bool:
        """Show ``source``; a file that cannot be read is said in words and is no fault of the panel."""
        self._path = source if isinstance(source, (str, Path)) else None
        if self._beside and self._path is not None:
            self._corpus = corpus_path(None, self._path)
        self.mapper.hide()
        try:
            self.samples, self._checks = samples_of(source), None
        except InputError as error:
            show(self.message, error_html(error, details=False))
            # What was read before is no part of this file.
            for part in (self.body, self.next):
                show(part, Markup())
            display(self.doctor, False)
            if error.key in ("near_question", "no_question"):
                self._offer()
            return False
        parts = () if self._path is None else part_folders(self._path)
        self._say(_t("panels.dataset.first_part", n=len(parts)) if parts else "")
        display(self.columns, self._path is not None and Path(self._path).is_file())
        show(self.body, self._summary())
        checks = self.checks()
        self.doctor.set(checks[list(_CHECKS)], headings="panels.columns", formats=_CHECKS)
        display(self.doctor, len(checks) > 0)
        show(self.next, _where_next(linked=True))
        return True

    def _say(self, words: str) -> None:
        show(self.message, h("p", words, cls="wb-note") if words else Markup())

    def _summary(self) -> Markup:
        assert self.samples is not None
        samples, fields = self.samples, fields_table(self.samples)
        missing, have = fields[fields["n"] == 0], fields[fields["n"] > 0]
        shown = have.assign(present=[f"{line.n:,} / {line.n_total:,}" for line in have.itertuples()])
        rejected = samples.rejected["row"].nunique() if len(samples.rejected) else 0
        counts = {"read": samples.n_read, "kept": len(samples), "rejected": rejected}
        # How many samples there are of each language and type.
        known, mix = facets(samples.frame), []
        for name in ("language", "type"):
            n_each = known[name].dropna().value_counts().head(8)
            if len(n_each):
                own = listed(f"{key} {n:,}" for key, n in n_each.items())
                mix.append(labelled(_t(f"panels.columns.{name}"), own))
        parts = [h("h3", _t("panels.dataset.read", name=samples.name, **{key: f"{n:,}" for key, n in counts.items()})),
                 h("p", " · ".join(mix)), table(shown[["field", "present", "unlocks"]], headings="panels.columns"),
                 h("p", _t("panels.dataset.missing")) if len(missing) else None,
                 *(quiet("○ ", h("strong", line.field), " – ", line.unlocks, tag="p") for line in missing.itertuples()),
                 _remarks(samples.rejected, "rejected"), _remarks(samples.warnings, "warnings"),
                 h("h3", _t("panels.dataset.doctor"))]  # fmt: skip
        if not len(self.checks()):
            parts.append(h("p", _t("panels.dataset.healthy")))
        return join(parts)

    def checks(self) -> pd.DataFrame:
        """What the data doctor found: ``check, level, n, sample_ids, message, remedy``."""
        from workbench.data.corpus import load_corpus
        from workbench.data.doctor import check

        assert self.samples is not None
        if self._checks is None:
            corpus = load_corpus(self._corpus) if isinstance(self._corpus, (str, Path)) else self._corpus
            self._checks = check(self.samples, corpus)
        return self._checks

    def table(self) -> pd.DataFrame:
        """The doctor's findings."""
        return self.checks()

    def html(self) -> Fragment:
        """Summary, findings and next steps."""
        if self.samples is None:
            return fragment(Markup(self.message.value))
        checks = self.checks()
        found = table(checks[list(_CHECKS)].head(20), headings="panels.columns", formats=_CHECKS, total=len(checks))
        return fragment(self._summary(), found if len(checks) else None, _where_next())


def _level(level: str) -> Markup:
    sign = {"error": "✗", "warning": "!", "note": "·"}.get(level, "")
    return h("span", f"{sign} {_t('panels.levels.' + level)}", cls=f"wb-chip {'wb-bad' if level == 'error' else ''}")


#: Columns of what the doctor found, with how each is shown.
_CHECKS = {"level": _level, "n": cell, "message": safe, "remedy": safe, "sample_ids": cell}


def _remarks(remarks: pd.DataFrame, kind: str, shown: int = 20) -> Markup | None:
    if not len(remarks):
        return None
    summary = h("summary", _t(f"panels.dataset.{kind}", n=f"{len(remarks):,}"))
    return h("details", summary, table(remarks.head(shown), headings="panels.columns", total=len(remarks)))


def _where_next(*, linked: bool = False) -> Markup:
    """The questions, and the notebooks that answer them; links only where there is a page that they lead from."""
    plain = [join([h("strong", name), " – ", _t(f"panels.notebooks.{name}")]) for name in NOTEBOOKS]
    items = [notebook_link(name) for name in NOTEBOOKS] if linked else plain
    return join([h("h3", _t("panels.dataset.next")), h("ul", *(h("li", item) for item in items))])


#: Fields that can be mapped, the most needed first.
MAPPED_FIELDS = (
    "question", "answer", "contexts", "reference", "expected_docs", "must_include", "must_not_include", "expect_refusal",
    "sample_id", "case_type", "tenant", "latency_ms",
)  # fmt: skip


class Mapper(W.VBox):
    """A drop-down list of the file's columns for each field; what is chosen is remembered for the file.

    Parameters
    ----------
    applied
        Called after the choice was remembered.
    """

    def __init__(self, panel: Panel, applied: Callable[[], Any]) -> None:
        self._panel, self._applied = panel, applied
        self._source: Any = None
        self.columns: Columns | None = None
        self.intro, self.preview = markup(), markup()
        none = [(_t("panels.mapper.none"), "")]
        self.choices = {name: dropdown(_t(f"panels.mapper.fields.{name}"), none, "", width="300px") for name in MAPPED_FIELDS}
        for choice in self.choices.values():
            panel.on(choice, lambda _: self._show())
        self.apply = button(_t("panels.mapper.apply"), panel.guarded(self._apply, "mapper"), "wb-map", button_style="primary")
        self.forget = button(_t("panels.mapper.forget"), panel.guarded(self._forget, "mapper"))
        super().__init__([self.intro, row(*self.choices.values()), self.preview, row(self.apply, self.forget)],
                         layout=W.Layout(width="100%"))  # fmt: skip
        display(self, False)

    @property
    def mapping(self) -> dict[str, str]:
        """Column → field as it is chosen now, in the form of ``MAPPING``."""
        return {choice.value: name for name, choice in self.choices.items() if choice.value}

    def offer(self, source: Any) -> None:
        """Show the columns of a file; nothing for a source that has none. Raises ``InputError`` as loading does."""
        self._source, self.columns = source, columns_of(source)
        with self._panel.quietly():
            for name, choice in self.choices.items():
                choice.options = [(_t("panels.mapper.none"), ""), *((column, column) for column in self.columns.names)]
                choice.value = self.columns.known.get(name) or self.columns.suggested.get(name, "")
        self._show()
        display(self, True)

    def hide(self) -> None:
        """Out of sight: there is no file, or its columns are known."""
        display(self, False)

    def _show(self) -> None:
        """What is missing, and the first rows as they would be read."""
        if self.columns is None:
            return
        chosen = {name: choice.value for name, choice in self.choices.items() if choice.value}
        self.apply.disabled = "question" not in chosen
        guessed = [name for name, column in chosen.items() if self.columns.suggested.get(name) == column]
        told = [h("p", _t("panels.mapper.intro", n=len(self.columns.names)))]
        if guessed:
            said = ", ".join(f"{chosen[name]} → {_t(f'panels.mapper.fields.{name}')}" for name in guessed)
            told.append(h("p", _t("panels.mapper.suggested", pairs=said), cls="wb-note"))
        if "question" not in chosen:
            told.append(h("p", _t("panels.mapper.no_question"), cls="wb-note"))
        show(self.intro, join(told))
        import pandas as pd

        rows = pd.DataFrame([{name: line.get(column) for name, column in chosen.items()} for line in self.columns.rows],
                            columns=list(chosen), dtype=object)  # fmt: skip
        heads = {name: _t(f"panels.mapper.fields.{name}") for name in chosen}
        shown = table(rows, headings=heads, formats=dict.fromkeys(chosen, _cell)) if chosen else None
        code = f"MAPPING = {self.mapping}"
        show(self.preview, join([shown, quiet(_t("panels.mapper.code"), " ", h("code", code), tag="p")]))

    def _apply(self) -> None:
        remember_mapping(self._source, self.mapping)
        self._applied()

    def _forget(self) -> None:
        remember_mapping(self._source, None)
        self.offer(self._source)


def _cell(value: Any) -> Any:
    return excerpt(value if value is None else str(value), 90)
