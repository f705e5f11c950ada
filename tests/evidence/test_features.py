"""Lexical evidence: what stands where, worked by hand on small texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.text.quantities import contains_quantity, quantities, relation
from workbench.evidence.offline.features import LEXICAL, lexical_features, sentence_cover
from workbench.evidence.offline.grid import Grid, claim_words, in_windows, presence, windows
from workbench.evidence.offline.words import (
    NAME,
    NEGATION,
    NUMBER,
    RAREST,
    TERM,
    Numbers,
    analyse,
    fold,
    holds_quantity,
    is_han,
    rarity,
)


def features(claim: str, evidence: str) -> dict[str, float]:
    grid, spans = laid_out(claim, evidence)
    values = lexical_features(grid, spans)
    assert values.shape == (1, 1, len(LEXICAL))
    return dict(zip(LEXICAL, values[0, 0].tolist(), strict=True))


def laid_out(claim: str, *evidence: str):
    texts = [analyse(text) for text in evidence]
    return Grid([claim_words(analyse(claim), 0, len(claim))], texts), windows(texts)


SUPPORTED = [
    ("The tower was built in 1889.", "The tower, a landmark, was built in 1889. It is made of iron."),
    ("企业版支持 500 名用户。", "企业版支持 500 名用户。个人版支持 5 名用户。"),
]


@pytest.mark.parametrize(("claim", "evidence"), SUPPORTED)
def test_a_claim_that_stands_in_the_text_is_covered_by_every_measure(claim, evidence):
    found = features(claim, evidence)
    for name in ("gram_cover", "word_cover", "sentence_cover", "name_cover", "pair_cover"):
        assert found[name] == pytest.approx(1.0, abs=0.13), name
    for name in ("missing_mass", "number_missing", "name_missing", "negation_gap", "sentence_missing"):
        assert found[name] == 0.0, name


@pytest.mark.parametrize(
    ("claim", "changed"),
    [("The tower was built in 1889.", "The tower was built in 1989."), ("支持 500 名用户", "支持 5000 名用户")],
)
def test_another_number_is_a_missing_number_though_its_digits_are_alike(claim, changed):
    assert features(claim, claim)["number_missing"] == 0.0
    assert features(changed, claim)["number_missing"] == 1.0
    assert features(changed, claim)["name_cover"] < 1.0


@pytest.mark.parametrize(
    ("claimed", "evidence", "held"),
    [
        ("1,500", "1500", True),
        ("1500", "1.5千", True),
        ("2014", "1 May 2014", True),
        ("1 May 2014", "2014", False),
        ("May 2014", "2014年5月1日", True),
        ("June 2014", "2014年5月1日", False),
        ("3", "3 to 5 days", True),
        ("4", "3 to 5 days", False),
        ("3个月", "90天", False),
        ("500", "5000", False),
        ("500", "500 GB", True),
        ("500 MB", "500 GB", False),
        ("24 hours", "1 day", True),
        ("at most 12", "at least 12", False),
        ("at most 12", "7", True),
        ("7", "at most 12", False),
        ("12", "at most 12", True),
        ("less than 5", "5", False),
        ("about 5,000", "4,987", True),
        ("60 km", "60 km/h", False),
        ("May 2024", "Q2 2024", False),
    ],
)
def test_a_number_is_held_by_the_same_number_or_a_fuller_one(claimed, evidence, held):
    mine, theirs = quantities(claimed)[0], quantities(evidence)[0]
    assert holds_quantity(theirs, mine) is held


WRITTEN = st.sampled_from(
    ["5", "5.0", "1.5", "1.50", "v1.5", "1.5.2", "1.5千", "1500", "1,500", "一千五百", "0", "-5", "19", "800", "0800年",
     "2014", "2014年", "2014年5月", "2014-05-01", "5月1日", "June 19", "3个月", "90天", "24小时", "1天", "3到5天", "最多5天",
     "500MB", "0.5GB", "512MB", "5%", "百分之五", "第三", "third", "3:30", "$5", "5美元", "50美分"]
)  # fmt: skip


@given(st.lists(WRITTEN, max_size=12), WRITTEN)
def test_a_look_up_finds_what_comparing_with_each_number_finds(texts, wanted):
    theirs = [q for text in texts for q in quantities(text)]
    numbers = Numbers((q, 0) for q in theirs)
    for mine in quantities(wanted):
        assert any(holds_quantity(other, mine) for other in theirs) is bool(numbers.holding(mine))
        assert any(holds_quantity(mine, other) for other in theirs) is bool(numbers.held_by(mine))
        assert contains_quantity(theirs, mine) is contains_quantity(numbers.near(mine), mine)


@pytest.mark.parametrize("text", ["年假五天" * 10_000, "1. " * 10_000, " ".join(map(str, range(10_000)))])
def test_few_numbers_are_compared_however_many_there_are(text, monkeypatch):
    compared = 0

    def counted(a, b):
        nonlocal compared
        compared += 1
        return relation(a, b)

    monkeypatch.setattr("workbench.evidence.offline.words.relation", counted)
    found = quantities(text)
    numbers = Numbers((q, 0) for q in found)
    assert all(numbers.holding(q) for q in list(numbers.places))
    assert compared < 4 * len(found)


@pytest.mark.parametrize(
    "text", ["It takes no more than 5 days.", "不超过 5 天", "不到 5 天", "差不多 5 天", "It must not exceed 5 mg."]
)
def test_the_negation_in_a_bound_denies_nothing(text):
    assert len(analyse(text).negation_spans) == 0
    assert len(analyse("It is not free.").negation_spans) == 1


def test_a_date_may_stand_in_two_parts():
    assert features("He came on June 19, 2009.", "He came on June 19 , 2009 .")["number_missing"] == 0.0


def test_a_number_in_another_sentence_of_the_window_counts_for_the_window_only():
    grid, spans = laid_out("Prices rose by 5 percent.", "Prices rose. Wages fell by 5 percent.")
    values = dict(zip(LEXICAL, lexical_features(grid, spans)[0, 0].tolist(), strict=True))
    assert values["number_missing"] == 0.0
    assert values["sentence_worst"] < 1.0


def test_words_in_two_places_do_not_make_a_pair():
    """The same words, but the name stands in another sentence than what is said of it."""
    together = features("Berlin hosted the festival.", "Berlin hosted the festival. Munich hosted the congress.")
    apart = features("Munich hosted the festival.", "Berlin hosted the festival. Munich joined a congress.")
    assert apart["word_cover"] == together["word_cover"] == pytest.approx(1.0)
    assert apart["pair_cover"] < together["pair_cover"]
    assert apart["sentence_missing"] > together["sentence_missing"] == 0.0


def test_forms_of_a_word_meet_and_a_segmenters_other_cut_is_found_as_a_substring():
    assert features("He plans the visits.", "He planned a visit.")["word_cover"] > 0.99
    assert features("北京大学生", "他在北京大学生活。")["word_cover"] > 0.5


def test_a_negation_on_one_side_is_a_gap():
    assert features("The service is not free.", "The service is free.")["negation_gap"] > 0.9
    assert features("该服务不免费", "该服务免费。")["negation_gap"] > 0.5
    assert features("The service is not free.", "The service is not free.")["negation_gap"] == 0.0


def test_an_opposite_in_the_best_sentence_is_seen():
    assert features("The price increased in March.", "The price decreased in March.")["antonym"] > 0.5
    assert features("价格在三月上涨。", "价格在三月下跌。")["antonym"] > 0.4
    assert features("The price increased in March.", "The price increased in March.")["antonym"] == 0.0


def test_rarity_follows_the_language():
    assert rarity("the") == 0.0
    assert rarity("zymurgy") == RAREST
    assert rarity("表示") < rarity("截锋")


def test_kinds_of_words():
    text = analyse("The Panthers did not score 24 points.")
    kinds = dict(zip([text.text[s:e] for s, e in zip(text.starts, text.ends, strict=True)], text.kind, strict=True))
    assert kinds["Panthers"] == NAME
    assert kinds["24"] == NUMBER
    assert kinds["score"] == TERM
    assert NEGATION not in kinds.values()


def test_a_transliterated_name_is_one_name():
    assert "马里奥·爱迪生" in [name.text for name in analyse("他的队友马里奥·爱迪生贡献很大。").names]


def test_folding_keeps_offsets():
    text = "Ａ繁體字 ﬁne"
    folded = fold(text)
    assert len(folded) == len(text)
    assert folded.startswith("a繁体字")


@given(st.text(max_size=120))
def test_any_text_can_be_analysed(text):
    found = analyse(text)
    assert len(found.folded) == len(text)
    assert len(found.ids) == len(found.kind) == len(found.weight) == len(found.sentence)
    assert len(found.grams) == len(found.gram_word) == len(found.gram_sentence)
    assert ((found.weight >= 0) & (found.weight <= 1)).all()
    assert (found.starts < found.ends).all()


@given(st.text(max_size=60), st.text(min_size=1, max_size=60))
def test_every_feature_is_finite_and_shares_lie_between_0_and_1(claim, evidence):
    grid, spans = laid_out(claim, evidence)
    values = lexical_features(grid, spans)
    assert np.isfinite(values).all()
    shares = [
        LEXICAL.index(name) for name in ("gram_cover", "word_cover", "sentence_cover", "name_cover", "pair_cover")
    ]
    assert (values[..., shares] >= -1e-6).all()
    assert (values[..., shares] <= 1 + 1e-6).all()


def test_windows_of_a_long_text_overlap_by_sentences_and_miss_nothing():
    text = analyse(" ".join(f"Sentence number {i} says something about topic {i}." for i in range(60)))
    found = windows([text], limit=50)
    covered = set()
    for first, last in zip(found.first, found.last, strict=True):
        covered |= set(range(first, last))
        words = np.isin(text.sentence, np.arange(first, last)).sum()
        assert words <= 50
    assert covered == set(range(60))
    assert (np.diff(found.first) == 1).all()


def test_a_short_text_is_one_window_and_a_long_sentence_is_one_too():
    assert len(windows([analyse("One. Two. Three.")])) == 1
    long = analyse("word " * 400)
    assert windows([long], limit=100).last.tolist() == [len(long.bounds)]


def test_presence_and_windows_by_hand():
    mine, theirs, at = np.array([5, 7, 5]), np.array([7, 9, 5]), np.array([0, 1, 1])
    assert presence(mine, theirs, at, 2).tolist() == [[False, True], [True, False], [False, True]]
    spans = windows([analyse("One came. Two went."), analyse("Three stayed.")])
    values = np.array([[1.0, 3.0, 2.0]])
    assert in_windows(values, spans).tolist() == [[3.0, 2.0]]


def test_scripts():
    assert is_han("企业版支持 API")
    assert not is_han("The API of 北京")
    assert not is_han("")


def test_the_cover_of_a_sentence_is_weighted_by_rarity():
    grid, _ = laid_out("The zymurgist has a new zymograph.", "The zymurgist. Something new.")
    cover = sentence_cover(grid, 0)
    assert cover[0] > cover[1]


@pytest.mark.parametrize(
    ("long", "short", "other"),
    [("single sign-on", "SSO", "SSH"), ("chief financial officer", "CFO", "CEO"), ("virtual private network", "VPN", "VPC")],
)
def test_initials_stand_for_the_words_and_the_words_for_initials(long, short, other):
    def present(claim: str, text: str) -> float:
        grid = Grid([claim_words(analyse(claim), 0, len(claim))], [analyse(text)])
        return float(grid.present[grid.weight > 0].min())

    for told, said in ((long, short), (short, long)):
        text = f"The board asked for {told} in May."
        assert present(f"The board asked for {said} in May.", text) > 0.89
        assert present(f"The board asked for {other} in May.", text) < 0.5
