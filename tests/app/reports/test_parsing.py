"""What agents write is read into sections, however untidy, and never at a loss."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.reports.formats import parse
from app.reports.models import MAX_NAME, MAX_TITLE, ReportFormat, ReportType
from app.reports.parsing import Part, name_of
from app.reports.templates import TEMPLATES, title_of
from app.reports.validation import examine

MARKDOWN, JSON, BULLETS = ReportFormat
REVIEW = TEMPLATES[ReportType.CODE_REVIEW]
KNOWN = REVIEW.sections


def named(text: str, form: ReportFormat) -> dict[str, str]:
    return {part.name: part.content for part in parse(text, form, KNOWN)}


@pytest.mark.parametrize(
    "heading",
    ["## Summary", "##Summary", "# 1. Summary", "### **Summary:** ###", "Summary\n=======", "**Summary**",
     "__summary__:", "## SUMMARY (short)", "2) **Summary**\n", "  ## `summary`", "## 1.2 Summary"],
)  # fmt: skip
def test_a_heading_counts_however_it_is_written(heading: str) -> None:
    assert named(f"Preface.\n\n{heading}\n\nAll is well.\n", MARKDOWN) == {"summary": "All is well."}


def test_messy_markdown() -> None:
    text = """Sure, here is the report:

```markdown
# Login review

## 1. Summary
All is well.

### Summary of the summary
It is.

## Findings
```python
## Recommendations
```
More.

# Appendix
Numbers.

#### Recommendations
- Ship it.

## Findings
Again.
```"""
    found = named(text, MARKDOWN)

    assert found["summary"] == "All is well.\n\n### Summary of the summary\nIt is."
    assert found["findings"] == "```python\n## Recommendations\n```\nMore.\n\nAgain.\n```"
    assert found["appendix"] == "Numbers."
    assert found["recommendations"] == "- Ship it."


def test_sections_at_different_levels_and_unclosed_fences() -> None:
    assert named("# Summary\nA\n```\n## Findings\nB\n### Recommendations\nC", MARKDOWN) == {
        "summary": "A\n```",
        "findings": "B",
        "recommendations": "C",
    }
    assert named("No headings at all.\n---\nNone.", MARKDOWN) == {}


def test_nested_bullets() -> None:
    text = "\n".join([
        "Here you are:", "", "* **Summary:** all is well", "* **Findings**", "\t* one", "\t\t* deeper: Summary: no",
        "  2. two", "* a loose point", "Severity breakdown:", "- 1 high", "• Recommendations - ship it",
        "- recommendations", "   still", "",
    ])  # fmt: skip
    found = named(text, BULLETS)

    assert found["summary"] == "all is well"
    assert found["findings"].startswith("* one") or "* one" in found["findings"]
    assert "deeper: Summary: no" in found["findings"]
    assert "* a loose point" in found["findings"]
    assert found["severity_breakdown"].startswith("- 1 high")
    assert found["recommendations"] == "still"


@pytest.mark.parametrize(
    "text",
    [
        '{"summary": "A", "findings": ["B", {"where": "x", "lines": [1, 2]}], "extra": null}',
        'Sure!\n```json\n{"Summary": "A", "Findings": ["B", {"where": "x", "lines": [1, 2]}]}\n```\nBye {you}.',
        '{"sections": [{"name": "Summary", "content": "A"}, {"title": "findings", "text": '
        '["B", {"where": "x", "lines": [1, 2]}]}, 7]}',
        'Text before {"sections": {"summary": "A", "findings": ["B", {"where": "x", "lines": [1, 2]}]}} and after',
    ],
)  # fmt: skip
def test_json_wherever_it_stands_and_however_it_is_made(text: str) -> None:
    assert named(text, JSON) == {"summary": "A", "findings": "- B\n-\n  - where: x\n  - lines:\n    - 1\n    - 2"}


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"summary": ', "[1, 2]", "null", '{"summary": "A",}', "[" * 100_000, '{"a":' * 100_000, "## Summary"],
)
def test_broken_json_is_said_to_be_no_json(text: str) -> None:
    verdict = examine(text, JSON, REVIEW, required=REVIEW.required, max_sections=10)

    assert verdict.parts == ()
    assert verdict.missing == REVIEW.required
    assert verdict.problems[0] == "The text holds no JSON object that can be read."
    assert not verdict.is_valid


def test_what_no_database_keeps_is_taken_out() -> None:
    assert named('{"summary": "a\\u0000b\\ud800", "find\\u0000ings": "c"}', JSON) == {"summary": "ab?", "findings": "c"}
    assert named("## Summary\na\0b", MARKDOWN) == {"summary": "ab"}


PIECES = st.sampled_from(
    ["# ", "## ", "```", "~~~", "- ", "* ", "\t", "  ", "\n", "\n\n", "**", "__", ":", "{", "}", "[", "]", '"', ",",
     "===", "---", "\0", "\ud800", "Summary", "findings", "Recommendations", '"sections"', "1. ", "(", ")", "é",
     "\u2028", "\r\n"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map("".join))


@settings(max_examples=300, deadline=None)
@given(text=TEXTS, form=st.sampled_from(ReportFormat))
def test_whatever_is_written_it_is_read(text: str, form: ReportFormat) -> None:
    verdict = examine(text, form, REVIEW, required=REVIEW.required, max_sections=4)

    assert len({part.name for part in verdict.parts}) == len(verdict.parts)
    for part in verdict.parts:
        assert 0 < len(part.name) <= MAX_NAME
        assert len(part.title) <= MAX_TITLE
        assert part.content or part.name in KNOWN
        (part.title + part.content).encode()
        assert "\0" not in part.title + part.content
    assert verdict.is_valid == (not verdict.missing and not verdict.problems)


@settings(max_examples=100, deadline=None)
@given(contents=st.lists(st.text("abc xyz.,äß", min_size=1).map(str.strip).filter(bool), min_size=4, max_size=4))
def test_what_is_written_properly_is_valid(contents: list[str]) -> None:
    pairs = list(zip(REVIEW.required, contents, strict=True))
    written = {
        MARKDOWN: "\n".join(f"## {title_of(name)}\n{text}" for name, text in pairs),
        JSON: json.dumps(dict(pairs)),
        BULLETS: "\n".join(f"- {title_of(name)}\n  - {text}" for name, text in pairs),
    }
    for form, text in written.items():
        verdict = examine(text, form, REVIEW, required=REVIEW.required, max_sections=4)
        assert verdict.problems == (), form
        assert [part.name for part in verdict.parts] == list(REVIEW.required)


@pytest.mark.parametrize("form", list(ReportFormat))
def test_large_texts_take_time_in_proportion(form: ReportFormat) -> None:
    """Ten times as much takes far less than a hundred times as long; the faster of two tries, on a noisy machine."""

    def taken(text: str) -> float:
        times = []
        for _ in range(2):
            began = time.process_time()
            parse(text, form, KNOWN)
            times.append(time.process_time() - began)
        return min(times)

    for unit in ("\n", "# a\n", "```\n", "```md\n", "\t- a:\n", "** ", "{", "("):
        assert taken(unit * (150_000 // len(unit))) < 60 * max(taken(unit * (15_000 // len(unit))), 0.002), unit


def test_names_of_sections() -> None:
    assert name_of("3. **Executive Summary:**") == "executive_summary"
    assert name_of("IV) Risk & matrix") == "risk_matrix"
    assert name_of("***") == ""
    assert parse("## Summary\n", MARKDOWN, KNOWN) == [Part("summary", "Summary", "")]
