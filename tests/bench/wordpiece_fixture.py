"""Rebuild `tests/data/wordpiece.json`: texts, and the ids that the reference tokenizer gives them.

The reference is BERT's uncased pipeline of the package `tokenizers` (Apache-2.0), over the vocabulary that
foldlog ships and without special tokens. Installed by hand; the tests only read the fixture:

    pip install tokenizers==0.23.3

The texts are written for this, or drawn from alphabets by a fixed seed. All characters are of Unicode 8
or older: of newer ones the reference and the versions of Python know different things.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

REPOSITORY: Final = Path(__file__).parents[2]

VOCABULARY: Final = REPOSITORY / "projections/embedding/data/vocabulary.txt"

FIXTURE: Final = REPOSITORY / "tests/data/wordpiece.json"

#: Texts drawn from each alphabet.
DRAWN: Final = 12

WRITTEN: Final = (
    "",
    " ",
    "\t\n\r ",
    "hello",
    "Hello, World!",
    "The quick brown fox jumps over the lazy dog.",
    "Caroline: I went to the LGBTQ support group yesterday, and it was so powerful.",
    "don't can't won't o'clock rock'n'roll",
    "state-of-the-art e-mail re-read x-ray",
    "unaffable unbelievably antidisestablishmentarianism",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "src/app/main.py:42 get_user_by_id() camelCaseName SCREAMING_SNAKE",
    "POL-358 #1234 v2.10.3 192.168.0.1:8080 https://example.org/a?b=c&d=%20",
    "imani@example.org wrote to ops+alerts@mail.example.com",
    "2026-03-14T09:26:53Z is 14/03/2026, or 3/14/26",
    "$1,234.56 €99 £5 ¥700 50% 10^6 a=b+c*d<e>f",
    "~`!@#$%^&*()_+-={}[]|\\:\";'<>?,./",
    "[CLS] a [SEP] b [MASK] [UNK] [PAD] [unused1]",
    "café naïve résumé Ärger über Straße coöperate",
    "cafe\u0301 nai\u0308ve A\u030angstro\u0308m",
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞß",
    "İstanbul ISPARTA ıssız",
    "ΟΔΥΣΣΕΥΣ Σίσυφος ἀγαθός",
    "Москва слезам не верит, ёлка и йод",
    "שלום עולם",
    "بِسْمِ اللَّه الرَّحْمٰن",
    "नमस्ते दुनिया हिन्दी",
    "ภาษาไทย",
    "東京都に住む",
    "今天天气很好，我们去公园吧。",
    "한국어 형태소 가각갂",
    "ｆｕｌｌｗｉｄｔｈ　ｔｅｘｔ１２３！",
    "中文和English混合text",
    "豈更車 仮名カナ漢字",
    "😀 🎉🎊 👩‍👩‍👧‍👦 🇫🇷 ❤️ hello🌍world",
    "“curly” ‘quotes’ — dashes – … ellipsis « guillemets » ¿qué? ¡sí!",
    "a\u200bb\u200cc\u200dd\ufeffe\u00adf",
    "tab\tnew\nline\rreturn\x0bvertical\x0cform\x85next\xa0hard\u2003em\u3000wide\u2028line\u2029paragraph",
    "nul\x00bell\x07escape\x1b[31mred\x1b[0m del\x7f \x9c \ufffd \x1c\x1d\x1e\x1f",
    "private \ue000\uf8ff unassigned \u0378 \u0530",
    "ﬁrst ﬂoor ½ ² ™ № ℃ Ⅷ ① ㎏",
    "x" * 99,
    "x" * 100,
    "x" * 101,
    "é" * 100,
    "ab" * 51 + " after",
    "a" * 5 + "." * 120 + "b",
    "word " * 30,
    "0123456789" * 12,
    "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo= deadbeef0123456789abcdef",
    '{"kind": "fact", "value": [1, 2.5, null], "tags": ["a/b", "c_d"]}',
    "def fold(events: list[Event]) -> None:\n    for event in events:\n        apply(event)\n",
    "SELECT * FROM memories WHERE id = 7 AND text LIKE '%o''clock%';",
)

ALPHABETS: Final = {
    "ascii": "".join(map(chr, range(0x20, 0x7F))),
    "words": "aabcdeeefghiilmnoooprrssttuuy   ",
    "latin": "".join(map(chr, range(0xA0, 0x250))),
    "accents": "aeiounsc" + "".join(map(chr, range(0x300, 0x370))),
    "greek and cyrillic": "".join(map(chr, [*range(0x3A3, 0x3CF), *range(0x400, 0x460)])) + " ",
    "arabic and hebrew": "".join(map(chr, [*range(0x5D0, 0x5EB), *range(0x621, 0x653)])) + " ",
    "indic and thai": "".join(map(chr, [*range(0x905, 0x94E), *range(0xE01, 0xE3B)])) + " ",
    "kana and ideographs": "".join(map(chr, [*range(0x3041, 0x30FF), *range(0x4E00, 0x4E80)])) + "ab1",
    "hangul": "".join(map(chr, [*range(0xAC00, 0xAC80), *range(0x1100, 0x1113)])) + " ",
    "signs": "".join(map(chr, [*range(0x2000, 0x2065), *range(0x20A0, 0x20BE), *range(0x2190, 0x21F0)]))
    + "az",
    "emoji": "".join(map(chr, [*range(0x1F300, 0x1F380), *range(0x1F600, 0x1F640)])) + "\u200d\ufe0f ok",
    "controls": "".join(map(chr, [*range(0x20), *range(0x7F, 0xA1)])) + "abcdef",
    "rare ideographs": "".join(map(chr, [*range(0x2B700, 0x2B760), *range(0x2B810, 0x2B830), 0x2F800])) + "x",
}


def drawn() -> Iterator[str]:
    """Yield the drawn texts, of 1 to 40 characters."""
    random = Random(2026)
    for alphabet in ALPHABETS.values():
        for _ in range(DRAWN):
            yield "".join(random.choices(alphabet, k=random.randint(1, 40)))
    everything = "".join(ALPHABETS.values())
    for _ in range(100):
        yield "".join(random.choices(everything, k=random.randint(1, 60)))


def reference() -> Tokenizer:
    """Return the reference tokenizer."""
    pieces = VOCABULARY.read_text(encoding="utf-8").splitlines()
    ids = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=FIXTURE, help="the file to write")
    given = parser.parse_args()
    tokenizer = reference()
    lines = [json.dumps([text, tokenizer.encode(text).ids]) for text in (*WRITTEN, *drawn())]
    given.out.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    print(f"{len(lines)} texts in {given.out}")


if __name__ == "__main__":
    main()
