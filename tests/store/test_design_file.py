"""``design.jsonl``: every trial comes back, and a document is written once for each treatment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from httpbed.experiment.trial import Trial
from httpbed.store import design_file

Words = dict[str, str]
LEVELS = st.dictionaries(st.sampled_from(["loss", "delay"]), st.sampled_from(["0", "1"]))
DOCUMENTS = st.dictionaries(st.sampled_from(["roles", "workload"]), st.sampled_from(["a", "b"]))


@given(st.lists(st.tuples(st.integers(1, 3), LEVELS, DOCUMENTS)))
def test_every_trial_is_read_as_it_was_written(drawn: list[tuple[int, Words, Words]]) -> None:
    """Also when trials of equal levels have different documents."""
    design = [_trial(block, levels, document) for block, levels, document in drawn]
    read = design_file.parse(design_file.text(design))
    assert read == design
    assert [trial.id for trial in read] == [trial.id for trial in design]


def test_a_document_is_written_once_for_each_treatment() -> None:
    """In the first line that has its levels."""
    design = [_trial(block, {"loss": loss}, {"a": loss}) for block in (1, 2) for loss in "01"]
    lines = design_file.text(design).splitlines()
    assert ['"document"' in line for line in lines] == [True, True, False, False]


def test_a_file_in_which_every_line_has_a_document_is_read() -> None:
    """Campaigns had such designs until 2026-11-23."""
    design = [_trial(block, {"loss": "0"}, {"a": "b"}) for block in (1, 2)]
    assert design_file.parse("".join(f"{one.model_dump_json()}\n" for one in design)) == design


def _trial(block: int, levels: Words, document: Words) -> Trial:
    return Trial(
        block=block, position=1, levels=levels, document=document, seed=1, time_limit_s=1.0
    )
