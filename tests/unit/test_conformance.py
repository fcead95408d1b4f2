"""The table of the contract says what the tests show: looked up in their sources, without running them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fixtures._contract import NUMBERS, TABLE, Row, counts, load, marked, marks, problems

ROOT = Path(__file__).parents[2]


def test_the_table_and_the_marks_agree() -> None:
    """Every number stands in it; what is covered has a test, what is not has a reason."""
    assert problems(load(), marked()) == []


def test_every_difference_is_documented() -> None:
    """Each number at which foldlog differs has its row, what each does and why, and stands there once."""
    lines = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    told = [int(number) for cells in rows for number in re.findall(r"\d+", cells[0])]
    assert all(len(cells) == 4 and all(cells) for cells in rows)
    assert len(told) == len(set(told))
    table = load()
    assert {number for number in told if table[number].rule == "differs"} == {
        name for name, row in table.items() if row.rule == "differs"
    }


def row(state: str, reason: str = "", rule: str = "same") -> Row:
    return Row(rule=rule, title="x", state=state, reason=reason)


@pytest.mark.parametrize(
    ("wrong", "tested", "says"),
    [
        ({5: None}, {5}, "5 is missing in the table"),
        ({5: None}, {5}, "a test names 5, which is not in the table"),
        ({184: row("covered")}, {184}, "184 is in the table, but not in the contract"),
        ({5: row("covered")}, set(), "5 is said to be covered, and no test shows it"),
        ({5: row("later", "the work")}, {5}, "5 is said to be later, and a test shows it"),
        ({5: row("not applicable", "so")}, {5}, "5 is said to be not applicable, and a test shows it"),
        ({5: row("later")}, set(), "5 is later: it takes a reason"),
        ({5: row("covered", "hm")}, {5}, "it takes a reason unless it is covered"),
        ({5: row("perhaps")}, set(), "5 is neither covered nor later nor not applicable, but 'perhaps'"),
        ({5: row("covered", rule="K")}, {5}, "5 is neither the same nor differs, but 'K'"),
        ({"A01": row("covered", rule="")}, set(), "A01 is said to be covered, and no test shows it"),
        ({}, {"A99"}, "a test names A99, which is not in the table"),
        ({"C01": row("covered", rule="")}, {"C01"}, "C01 is in the table, but not in the contract"),
    ],
)
def test_what_does_not_agree_is_said(
    wrong: dict[int | str, Row | None], tested: set[int | str], says: str
) -> None:
    """One thing wrong, one line that names it."""
    good: dict[int | str, Row] = {number: row("covered") for number in NUMBERS}
    everything: set[int | str] = set(NUMBERS)
    assert problems(good, everything | {"C01"}) == []
    table = {name: item for name, item in (good | wrong).items() if item is not None}
    found = problems(table, (everything - set(wrong)) | tested)  # type: ignore[arg-type]
    assert any(line.startswith(says) or says in line for line in found), found


def test_the_last_line_counts() -> None:
    """What is covered and was shown; what is said to be later; what does not apply."""
    table: dict[int | str, Row] = {
        1: row("covered"),
        2: row("covered"),
        3: row("later", "x"),
        4: row("not applicable", "x"),
        "A01": row("covered"),
    }
    assert counts(table, {1, "A01"}) == "conformance: 1 of 183 covered, 1 later, 1 not applicable"


def test_marks_are_read_from_the_source(tmp_path: Path) -> None:
    """Of functions, methods, parameters and modules."""
    source = tmp_path / "test_x.py"
    source.write_text(
        "import pytest\n"
        "pytestmark = [pytest.mark.conformance(1), pytest.mark.slow]\n"
        "@pytest.mark.conformance(2, 3)\n"
        "def test_a(): ...\n"
        "class TestB:\n"
        "    @pytest.mark.case('A01')\n"
        "    @pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.conformance(4))])\n"
        "    def test_b(self, x): ...\n",
        encoding="utf-8",
    )
    assert set(marks(source)) == {1, 2, 3, 4, "A01"}


def test_a_number_stands_once(tmp_path: Path) -> None:
    """A second row would hide the first."""
    table = tmp_path / "table.md"
    line = "| 1 | same | x | covered |\n"
    table.write_text(line, encoding="utf-8")
    assert load(table) == {1: row("covered")}
    table.write_text(line * 2, encoding="utf-8")
    with pytest.raises(ValueError, match="stands twice"):
        load(table)
    assert TABLE.name == "table.md"
