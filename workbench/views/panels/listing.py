"""Panels around a list of samples, with previous and next and the card of the selected one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.views.panels.card import Card
from workbench.views.widgets import Panel, Stepper

if TYPE_CHECKING:
    from workbench.views.session import Session


class ListPanel(Panel):
    """Base of those panels. Subclasses make ``stepper`` (which calls :meth:`go`) and ``card``, and say what is listed."""

    stepper: Stepper
    card: Card

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.session: Session = session
        self._quiet = False

    @abstractmethod
    def ids(self) -> list[str]:
        """Ids of the list, in its order."""

    @abstractmethod
    def position(self, at: int, ids: Sequence[str]) -> str:
        """What stands beside the buttons for place ``at`` (from 0) of ``ids``, which may be empty."""

    @abstractmethod
    def empty_words(self) -> str:
        """What the card says when nothing is listed."""

    def go(self, at: int) -> None:
        """Select the sample at a place of the list."""
        self.session.select(self.ids()[at])

    def settle(self) -> None:
        """After the list changed: keep the selected sample when it is listed, else select the first."""
        ids = self.ids()
        if self.session.selection in ids or not ids:
            self.draw_card()
        else:
            self.session.select(ids[0])

    def draw_card(self) -> None:
        """Show the selected sample and its place; the first one when the selected one is not listed."""
        ids, selected = self.ids(), self.session.selection
        at = ids.index(selected) if selected in ids else 0
        self.stepper.set(at, len(ids), self.position(at, ids))
        self.card.draw(ids[at] if ids else None, self.empty_words())
