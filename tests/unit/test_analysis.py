"""The analyser: what is found by which words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldlog.projections import analysis


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The gardens were painted", "painting a garden"),
        ("see src/app/main.py for it", "src/app/main.py"),
        ("see src/app/main.py for it", "main.py"),
        ("see src/app/main.py for it", "app"),
        ("ticket POL-358 is open", "POL-358"),
        ("ticket POL-358 is open", "358"),
        ("call get_user_by_id first", "get_user_by_id"),
        ("call get_user_by_id first", "user"),
        ("the camelCaseName variable", "camelCaseName"),
        ("the camelCaseName variable", "case"),
        ("a foo bar thing", "foo-bar"),
        ("on 2026-03-14 we met", "2026-03-14"),
        ("write to imani@example.org", "imani@example.org"),
        ("Caroline's sister came", "Caroline"),
        ("東京都に住む", "東京"),
        ("Ärger im Büro", "büro"),
        ("cafe\u0301 at noon", "café"),
    ],
)
def test_found_by(text: str, query: str) -> None:
    """A text is found by its stems, by a whole identifier, and by each natural part of one."""
    assert set(analysis.query_words(query)) & set(analysis.words(text)), (
        analysis.query_words(query),
        analysis.words(text),
    )


@pytest.mark.parametrize("query", ["src/app/main.py", "POL-358", "get_user_by_id", "2026-03-14"])
def test_a_whole_identifier_has_a_word_of_its_own(query: str) -> None:
    """So that the text with exactly this identifier comes before those with parts of it."""
    assert query.lower() in analysis.words(f"about {query}.")


@pytest.mark.parametrize("query", ["the of and", "   ", "???", "🦊", "to be or not to be"])
def test_nothing_to_search_for(query: str) -> None:
    """Stop words, blanks and signs give no words, and no error."""
    assert analysis.query_words(query) == []


def test_a_long_query_is_cut() -> None:
    """A whole pasted document costs bounded time."""
    assert len(analysis.query_words(" ".join(f"word{number}" for number in range(10_000)))) == 200


@given(st.text())
def test_words_are_plain(text: str) -> None:
    """Whatever the text, a word has no blank, no quote, and nothing the index would split."""
    for word in analysis.words(text):
        assert word
        assert word == "".join(word.split())
        assert not set(word) & set("\"'()*^{}\x00")


@given(st.text(alphabet="abc AB_-./:'", max_size=40))
def test_a_text_is_found_by_itself(text: str) -> None:
    """Documents and queries are analysed alike."""
    assert set(analysis.query_words(text)) == set(analysis.words(text))


@given(st.text(st.sampled_from("aB1_'’-./:@#+= \nßé日カー"), max_size=40))
def test_ascii_has_the_tokens_of_any_text(text: str) -> None:
    """The expression for ASCII is only quicker: a text cut by it is cut alike."""
    plain = text.encode("ascii", "ignore").decode()
    assert analysis.tokens(plain) == analysis._TOKEN.findall(plain)
    assert analysis.words(text) == [
        word for token in analysis.tokens(text) for word in analysis.words_of(token)
    ]
