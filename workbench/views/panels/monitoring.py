"""Panel 09: is production drifting?"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as W
import numpy as np

from workbench.api import as_log
from workbench.diagnosis.alerts import KINDS, Rule, change_text, default_rules, iso, statistic_title, value_text
from workbench.diagnosis.experiment import arm_rows, compare_arms
from workbench.diagnosis.monitoring import (
    Monitoring,
    log_of,
    note_lines,
    problem_words,
    rule_title,
    verdict_words,
    watch_log,
    watched_words,
    window_text,
)
from workbench.diagnosis.query_log import QueryLog, group_columns, load_log, statistics_of
from workbench.errors import InputError
from workbench.language import text as _t
from workbench.views.figures import figure_png
from workbench.views.html import Fragment, empty, fragment, h, join, quiet, table
from workbench.views.plots import Course, course
from workbench.views.session import Session
from workbench.views.widgets import (
    Column,
    PagedTable,
    Panel,
    Picture,
    RowList,
    button,
    dropdown,
    markup,
    row,
    show,
    slider,
    still,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_REQUESTS = (20, 50, 100, 200, 500, 1000)
_TIMES = ("1h", "6h", "1d")


class MonitoringPanel(Panel):
    """Window and metric, the rule of that metric, counts, the course over time, and the alerts of all rules.

    Parameters
    ----------
    source
        A ``Session`` (pins go there), or a log as ``wb.monitor`` takes it.
    log
        The log to watch beside a session; without one the session's evaluation stands in for a log.
    baseline, window, until
        As in ``wb.monitor``; the window is by default the longest of 20 … 200 requests that fits ten times.
    """

    stem = "monitoring"

    def __init__(self, source: Any, log: Any = None, baseline: Any = None, *, window: int | str | None = None,
                 until: float | str | None = None) -> None:  # fmt: skip
        session = source if isinstance(source, Session) else None
        super().__init__(session)
        self._source = log if session is not None and log is not None else None if session is not None else source
        self._log = log_of(session.evaluation) if session is not None and log is None else as_log(self._source)
        self._baseline = None if baseline is None else as_log(baseline)
        self._given = baseline
        self._until = until
        self._grouped: QueryLog | None = None
        self._rules = {rule.statistic: rule for rule in default_rules(statistics_of(self._log.columns))}
        self._default = frozenset(self._rules)
        self.found: Monitoring | None = None
        watched = [item for item in statistics_of(self._log.columns) if item.worse is not None]
        if not watched:
            self.compose(markup(empty(_t("monitoring.panel.nothing"))))
            return
        for item in watched:
            self._rules.setdefault(item.name, Rule(item.name, 0.5, "relative", min_n=100))
        fitting = [size for size in _REQUESTS if size <= 200 and size * 10 <= len(self._log)]
        self._build([item.name for item in watched], window or max(fitting, default=_REQUESTS[0]))
        self._watch()
        # Begin with a metric that fires, else with one whose rule can.
        firing = [event.statistic for event in self._found().events]
        first = firing or [item.rule.statistic for item in self._found().rule_states if not item.problem]
        if first and self.statistic.value not in first:
            self.statistic.value = first[0]

    def _build(self, names: list[str], window: int | str) -> None:
        sizes: list[int | str] = [*_REQUESTS, *(_TIMES if self._log.times is not None else ())]
        if window not in sizes:
            sizes.insert(0, window)
        self.window = dropdown(_t("monitoring.panel.window"), [(window_text(size), size) for size in sizes], window)
        self.statistic = dropdown(_t("monitoring.panel.statistic"), [(statistic_title(name), name) for name in names],
                                  "latency_p95" if "latency_p95" in names else names[0])  # fmt: skip
        self.kind = dropdown(_t("monitoring.panel.kind"), [(_t(f"monitoring.panel.{name}"), name) for name in KINDS], KINDS[0])
        self.allowed = slider(W.FloatSlider, _t("monitoring.panel.allowed"), min=0, max=1, step=0.01)
        self.allowed.add_class("wb-threshold")
        self.unit, self.count = markup(), markup(None, "wb-count")
        self.clear = slider(W.FloatSlider, _t("monitoring.panel.clear"), min=0, max=0.95, step=0.05)
        self.min_n = slider(W.IntSlider, _t("monitoring.panel.min_n"), min=1, max=500)
        self.notes, self.picture = markup(), Picture("wb-figure", guarded=self.guarded)
        self.picture.clicked = self._open_window
        self.pin = button(_t("lists.save_view"), self.guarded(self._pin, "pin"), "wb-pin")
        self.pin.disabled = self.session is None
        self.said = markup(quiet(_t("monitoring.panel.no_session") if self.session is None else ""))
        self.rules, self.requests, self.rejected = (PagedTable(self) for _ in range(3))
        self.alerts = self._rows(self._open_alert, "statistic", "fired_at", "cleared_at", "value", "baseline", "change",
                                 "limit", "n")  # fmt: skip
        self.windows = self._rows(lambda at: self._open_window(len(self._found().spans) - 1 - at), "start", "end", "value",
                                  "n", "n_missing", "n_non_finite")  # fmt: skip
        self._build_arms()
        self.tabs = W.Tab([self.alerts, self.windows, self.requests, self.rules, self.rejected, self.arms_tab])
        self.tabs.add_class("wb-tabs")
        titles = ("alerts", "windows", "requests", "rules", "rejected", "arms")
        self.tabs.titles = tuple(_t(f"monitoring.panel.tab_{name}") for name in titles)
        self._show_rule()
        self.on(self.window, lambda _: self._watch())
        self.on(self.statistic, lambda _: self._chosen())
        self.on(self.kind, lambda _: self._kind_changed())
        for widget in (self.allowed, self.clear, self.min_n):
            self.on(widget, lambda _: self._rule_moved())
        self.compose(row(self.window, self.statistic, self.kind, self.allowed, self.unit),
                     row(self.clear, self.min_n, self.pin, self.said), row(self.count), self.picture, self.tabs,
                     self.notes)  # fmt: skip

    def _build_arms(self) -> None:
        """What compares the arms or releases of the log, unpaired; nothing is compared until a column is chosen."""
        given = self._log if self._source is None or isinstance(self._source, Session) else self._source
        names = [] if isinstance(given, (str, Path)) and Path(given).is_dir() else group_columns(given)
        none = _t("monitoring.panel.no_arms" if names else "monitoring.panel.no_groups")
        self.arm = dropdown(_t("monitoring.panel.arm"), [(none, ""), *((name, name) for name in names)], "")
        self.control = dropdown(_t("monitoring.panel.control"), [("–", "")], "")
        self.arms, self.arms_said = PagedTable(self), markup(quiet(_t("monitoring.panel.arms_hint")))
        self.arms_tab = W.VBox([row(self.arm, self.control), self.arms_said, self.arms])
        self.found_arms: pd.DataFrame | None = None
        self.on(self.arm, lambda _: self._read_arms(given))
        self.on(self.control, lambda _: self._compare_arms())

    def _read_arms(self, given: Any) -> None:
        """Read the log with the chosen column as groups."""
        name = self.arm.value
        self._grouped = None if not name else given if isinstance(given, QueryLog) else load_log(given, groups=[name])
        arms = [] if self._grouped is None else list(self._grouped.groups[name][1])
        with self.quietly():
            self.control.options = [(_t("monitoring.panel.first_arm"), ""), *((arm, arm) for arm in arms)]
            self.control.value = ""
        self._compare_arms()

    def _compare_arms(self) -> None:
        self.found_arms = None
        if self._grouped is not None:
            self.found_arms = compare_arms(self._grouped, self.arm.value, control=self.control.value or None)
        self.arms.set(self._arm_rows(), headings="monitoring.columns")

    def _arm_rows(self) -> pd.DataFrame:
        import pandas as pd

        rows = [] if self.found_arms is None else arm_rows(self.found_arms)
        return pd.DataFrame([
            {"arm": item["arm"], "control": item["control"], "statistic": f"{item['metric']} ({item['role']})",
             "value": item["value"], "value_control": item["value_control"],
             "change": f"{item['delta']} ({item['low']} – {item['high']})", "n": f"{item['n']} · {item['n_control']}",
             "verdict": f"{item['mark']} {item['verdict']}"} for item in rows
        ])  # fmt: skip

    def _rows(self, chosen: Callable[[int], None], *names: str) -> RowList:
        kinds = dict.fromkeys(("value", "baseline", "limit"), "number") | {"n": "tiny"}
        columns = [Column(name, _t(f"monitoring.columns.{name}"), kinds.get(name, "text")) for name in names]
        return RowList(columns, self.guarded, chosen, lambda: self._fill(), rows=8)

    # A click on an alert or a window.

    def _open_alert(self, at: int) -> None:
        """Show the metric of an alert, and the requests of the window in which it fired."""
        found, alert = self._found(), self.alerts.ordered(self._alert_rows()).index[at]
        event = found.alerts().iloc[alert]
        self.statistic.value = str(event["statistic"])
        firing = [place for place, span in enumerate(self._found().spans)
                  if span.first < span.last and int(event["row"]) in self._log.rows[span.first : span.last]]  # fmt: skip
        self._fill(alert=at)
        if firing:
            self._open_window(firing[0])

    def _open_window(self, window: int) -> None:
        """Show the requests of a window."""
        import pandas as pd

        found = self._found()
        span = found.spans[window]
        own = found.log.part(span.first, span.last)
        frame = pd.DataFrame({"row": own.rows, **own.columns})
        if own.times is not None:
            frame.insert(1, "start", [str(iso(at))[:19].replace("T", " ") for at in own.times])
        self.requests.set(frame, headings="monitoring.columns")
        self.windows.point(len(found.spans) - 1 - window)
        self.tabs.selected_index = 2

    def _fill(self, alert: int = -1) -> None:
        """The alerts and the windows as rows."""
        for rows, frame, words, at in ((self.alerts, self._alert_rows(), "no_alerts", alert),
                                       (self.windows, self._window_rows(), "no_windows", -1)):  # fmt: skip
            rows.set(rows.ordered(frame).reset_index(drop=True), empty=_t(f"monitoring.panel.{words}"))
            rows.point(at)

    # The rule of the metric that is shown.

    @property
    def rule(self) -> Rule:
        """The rule of the metric that is shown."""
        return self._rules[self.statistic.value]

    def _show_rule(self) -> None:
        """Put the sliders where the rule of the chosen metric is."""
        rule = self.rule
        with self.quietly():
            self.kind.value = rule.kind
            self.allowed.value = min(rule.change / self._unit(), 1.0)
            self.clear.value, self.min_n.value = rule.clear, rule.min_n
        unit = "seconds" if rule.statistic.startswith("latency_") else "score"
        if rule.kind == "relative":
            unit = "share"
        elif rule.statistic.endswith("_rate"):
            unit = "points"
        show(self.unit, quiet(_t(f"monitoring.panel.unit_{unit}")))

    def _unit(self) -> float:
        """What one unit of the slider is: a second for an absolute latency, else 1."""
        return 1000.0 if self.statistic.value.startswith("latency_") and self.kind.value == "absolute" else 1.0

    def _chosen(self) -> None:
        self._show_rule()
        self._watch()

    def _kind_changed(self) -> None:
        self._rules[self.statistic.value] = self.rule.replace(kind=self.kind.value, change=self._kept_limit())
        self._chosen()

    def _kept_limit(self) -> float:
        """The change that leaves the limit where it was under the other kind, as far as the slider goes."""
        value = abs(self._found().levels[self.statistic.value].value)
        if not (math.isfinite(value) and value):
            return self.rule.change
        change = self.rule.change / value if self.kind.value == "relative" else self.rule.change * value
        return min(round(change / self._unit(), 2), 1.0) * self._unit()

    def _rule_moved(self) -> None:
        change, clear = round(float(self.allowed.value), 6) * self._unit(), round(float(self.clear.value), 6)
        self._rules[self.statistic.value] = self.rule.replace(change=change, clear=clear, min_n=int(self.min_n.value))
        self._watch()

    def _watch(self) -> None:
        # A metric without a default rule is watched only while it is looked at.
        rules = [rule for name, rule in self._rules.items() if name in self._default or name == self.statistic.value]
        self.found = watch_log(self._log, self._baseline, window=self.window.value, rules=rules, until=self._until)
        show(self.notes, join(quiet(line, tag="p") for line in self._lines()))
        show(self.count, h("span", self.words()))
        self.picture.draw(lambda: self._figure("screen"), self._caption())
        columns = "monitoring.columns"
        self._fill()
        self.rules.set(self._rule_rows(), headings=columns)
        self.requests.set(self._window_rows().head(0), headings=columns, empty=_t("monitoring.panel.no_requests"))
        self.rejected.set(self.found.log.rejected, headings=columns, empty=_t("monitoring.panel.no_rejected"))

    def _found(self) -> Monitoring:
        if self.found is None:
            raise InputError(_t("monitoring.panel.nothing"))
        return self.found

    # What is shown.

    def _lines(self) -> list[str]:
        found = self._found()
        lines = [watched_words(found), verdict_words(found), *note_lines(found)]
        if self._source is None:
            lines.append(_t("monitoring.words.no_log", n=f"{len(self._log):,}"))
        every = f"{self.rule.false_alarm_every:,.0f}"
        return [*lines, _t("monitoring.panel.sequential", every=every)]

    def words(self) -> str:
        """ "9 of 67 windows beyond 2,750 ms; 1 alerts of this metric, 4 in all", and what could not decide."""
        found, name = self._found(), self.statistic.value
        state = next(item for item in found.rule_states if item.rule.statistic == name)
        frame = found.windows([name])
        enough = frame["n"] >= state.rule.min_n
        beyond = int(sum(state.beyond(value) for value in frame.loc[enough, "value"]))
        fired = sum(event.state == "fired" and event.statistic == name for event in found.events)
        limit = value_text(name, state.limit)
        counts = _t("monitoring.panel.counts", beyond=beyond, n=len(frame), limit=limit, fired=fired,
                    all=found.n_fired)  # fmt: skip
        parts = [counts]
        if not enough.all():
            parts.append(_t("monitoring.panel.empty_windows", n=int((~enough).sum()), min_n=state.rule.min_n))
        column = found.log.columns[state.statistic.column]
        if (infinite := int(np.isinf(column).sum())) > 0:
            parts.append(_t("monitoring.panel.non_finite", n=f"{infinite:,}"))
        if problem := problem_words(state):
            parts.append(problem)
        return " · ".join(parts)

    def _caption(self) -> str:
        name = statistic_title(self.statistic.value)
        return _t("monitoring.panel.caption", statistic=name, window=window_text(self.window.value))

    def _figure(self, theme: str) -> Figure:
        found, name = self._found(), self.statistic.value
        state = next(item for item in found.rule_states if item.rule.statistic == name)
        frame = found.windows([name])
        timed = found.log.times is not None
        ends = np.array([span.end for span in found.spans]) if timed else frame["last_row"].to_numpy(dtype=float)
        events = [event for event in found.events if event.statistic == name]
        place = [(event.at if timed else float(event.row), event.value, event.state == "fired") for event in events]
        until = [*(at for at, _, fired in place if not fired), *ends[-1:].tolist()]
        spans = list(zip((at for at, _, fired in place if fired), until, strict=False))
        level = state.level
        values = np.where(frame["n"] >= state.rule.min_n, frame["value"], np.nan).astype(float)
        band = (level.value, level.low, level.high)
        data = Course(ends, values, timed, band, state.limit, state.clear_level, place, spans)
        rate = name.endswith("_rate")
        label = "ms" if name.startswith("latency_") else "%" if rate else ""
        title = events[-1].message if events else f"{statistic_title(name)}: {self.words().split(' · ')[0]}"
        return course(data, title=title, label=label, scale=100.0 if rate else 1.0, rate=bool(label), theme=theme)

    def _alert_rows(self) -> pd.DataFrame:
        import pandas as pd

        frame = self._found().alerts()
        rows = frame.to_dict("records")
        return pd.DataFrame({
            "statistic": [statistic_title(item["statistic"]) for item in rows],
            "fired_at": [_moment(item["fired_at"], item["row"]) for item in rows],
            "cleared_at": [_t("monitoring.panel.firing") if pd.isna(item["cleared_row"])
                           else _moment(item["cleared_at"], item["cleared_row"]) for item in rows],
            "value": [value_text(item["statistic"], item["value"]) for item in rows],
            "baseline": [value_text(item["statistic"], item["baseline"]) for item in rows],
            "change": [change_text(item["statistic"], item["kind"], item["change"]) for item in rows],
            "limit": [value_text(item["statistic"], item["limit"]) for item in rows],
            "n": [int(item["n"]) for item in rows],
        })  # fmt: skip

    def _rule_rows(self) -> pd.DataFrame:
        import pandas as pd

        states = self._found().rule_states
        return pd.DataFrame({
            "rule": [rule_title(item) for item in states],
            "baseline": [value_text(item.rule.statistic, item.level.value) for item in states],
            "baseline_n": [item.level.n for item in states],
            "limit": [value_text(item.rule.statistic, item.limit) for item in states],
            "clear_level": [value_text(item.rule.statistic, item.clear_level) for item in states],
            "problem": [problem_words(item) or _t("monitoring.columns.ready") for item in states],
        })  # fmt: skip

    def _window_rows(self) -> pd.DataFrame:
        import pandas as pd

        name = self.statistic.value
        frame = self._found().windows([name]).iloc[::-1].reset_index(drop=True)
        return pd.DataFrame({
            "start": [_moment(at, item) for at, item in zip(frame["start"], frame["first_row"], strict=True)],
            "end": [_moment(at, item) for at, item in zip(frame["end"], frame["last_row"], strict=True)],
            "value": [value_text(name, value) for value in frame["value"]],
            "n": frame["n"], "n_missing": frame["n_missing"], "n_non_finite": frame["n_non_finite"],
        })  # fmt: skip

    def figure(self) -> Figure | None:
        """The course of the metric, dark on white; None when nothing can be watched."""
        return None if self.found is None else self._figure("print")

    def table(self) -> pd.DataFrame:
        """The alerts of all rules, see ``Monitoring.alerts``."""
        import pandas as pd

        return pd.DataFrame() if self.found is None else self.found.alerts()

    def html(self) -> Fragment:
        """What was watched, the picture, alerts and rules."""
        figure = self.figure()
        if figure is None:
            return fragment(empty(_t("monitoring.panel.nothing")))
        alerts, columns = self._alert_rows(), "monitoring.columns"
        listed = table(alerts, headings=columns) if len(alerts) else h("p", _t("monitoring.panel.no_alerts"))
        arms = self._arm_rows()
        compared = [h("h3", f"{_t('monitoring.panel.tab_arms')}: {self.arm.value}"), table(arms, headings=columns)]
        return fragment(*(quiet(line, tag="p") for line in self._lines()),
                        still(figure, f"{self.words()}. {self._caption()}"), listed,
                        table(self._rule_rows(), headings=columns), *(compared if len(arms) else ()))  # fmt: skip

    def _pin(self) -> None:
        assert self.session is not None
        found, name = self._found(), self.statistic.value
        frame = found.windows([name])
        value = float(frame["value"].iloc[-1]) if len(frame) else math.nan
        self.session.pin(
            f"{statistic_title(name)}: {self.words()}", panel="monitoring",
            note="\n".join(event.message for event in found.events),
            figure=figure_png(self._figure("print")), table=self._alert_rows(), n_total=len(found.log),
            value=value if math.isfinite(value) else None, snippet=self._snippet(),
        )  # fmt: skip
        show(self.said, quiet(_t("lists.kept_view", n=f"{len(found.log):,}", total=len(self.session.findings))))

    def _snippet(self) -> str:
        assert self.session is not None
        evaluation = self.session.evaluation
        log = self._source if isinstance(self._source, (str, Path)) else evaluation.path or evaluation.name
        baseline = f", {str(self._given)!r}" if isinstance(self._given, (str, Path)) else ""
        until = f", until={self._until!r}" if self._until is not None else ""
        rule = self.rule
        return "\n".join([
            "import workbench as wb",
            f"rule = wb.alerts.Rule({rule.statistic!r}, {rule.change!r}, {rule.kind!r}, clear={rule.clear!r}, "
            f"min_n={rule.min_n!r})",
            f"wb.monitor({str(log)!r}{baseline}, window={self.window.value!r}, rules=[rule]{until}).alerts()",
        ])  # fmt: skip


def _moment(at: Any, row_number: Any) -> str:
    """A time to the minute, or the row where there is none."""
    import pandas as pd

    if not pd.isna(at):
        return str(iso(at.timestamp()))[:16].replace("T", " ")
    return _t("monitoring.at_row", row=f"{int(row_number):,}")
