"""Differences in virtual time, which are exact: the machine adds nothing to any value.

Two builds that send the same packets at the same times give the same values in every block. So a
difference in a single block is already one of the programs. How large it is in general is another
question, which the interval over the blocks answers: other losses give another difference.
"""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.report.phrasing import signed
from httpbed.results.comparison import Ratio
from httpbed.results.findings import Findings


def found_none(findings: Findings, ratio: Ratio) -> bool:
    """Whether a comparison in virtual time found the same values in all blocks."""
    return findings.clock == "virtual" and ratio.identical


def words(findings: Findings, ratio: Ratio) -> str:
    """Write the differences within the blocks, to follow a sentence; empty in real time."""
    gaps = ratio.differences
    if findings.clock == "real" or gaps is None:
        return ""
    if ratio.identical:
        return f": identical in {_all_blocks(ratio.n)}"
    ends = dict.fromkeys(signed(findings.metric, one) for one in (gaps.least, gaps.most))
    same = f", {gaps.none} of them identical" if gaps.none else ""
    return f": exactly {' to '.join(ends)} in {_all_blocks(ratio.n)}{same}"


def summed_up(findings: Findings) -> Iterator[str]:
    """Count the comparisons without any difference; nothing in real time."""
    ratios = [row.ratio for _, row in findings.rows() if row.ratio]
    if findings.clock == "virtual" and ratios:
        same = sum(ratio.identical for ratio in ratios)
        yield f"{same} of {len(ratios)} comparisons are identical in all their blocks"


def _all_blocks(count: int) -> str:
    return f"all {count} blocks" if count > 1 else "the only block"
