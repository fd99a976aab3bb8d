"""The certificate of a run: how much of what there is was found, measured three ways, each blind to something else.

    estimate  from the found pairs alone: measures the plan, cannot see a fault of the program
    bands     each band should be hit about equally often: a dead or biased band stands out
    audit     a random sample of items compared exactly with all others: sees everything, in a small sample

The headline, `recall`, is what they support together. Estimate and audit err independently of one another: the one by
the hash functions, the other by the sample. So both tell an interval of 97.5%, and what lies in both is one of 0.975² =
95%. Where one of the two is more than twice as wide, it hardly narrows the other: it is taken at 99.9%, so that it
still has its say, and the other at 95.1%. Where the two have nothing in common, even at 99.8%, one of them is wrong,
and that is the headline then.

Pairs that only the audit found are among the results, so they are not missed any more. What the bands missed without
the audit is what both measure, and what the audit gave back is taken off afterwards.

Where giant lists were left to leaders not every pair was looked at, and the bands tell nothing about them. The headline
is then about items, and from the audit alone: the share of the pairs that are listed, or of which one item was removed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lookalike.certify.audit import Audited
from lookalike.certify.intervals import clopper_pearson
from lookalike.certify.recall import NO_PAIR, Recall
from lookalike.certify.sampled import SampledPairs
from lookalike.config import Config
from lookalike.engines.evidence import Evidence
from lookalike.theory import Plan
from lookalike.types import BoolArray, I64Array
from lookalike.wording.phrases import counted

__all__ = ["certify"]

_NONE = {"items": 0.0, "low": 0.0, "high": 0.0}
# What a headline without any doubt rests on.
_CERTAIN = {"all pairs compared": "every pair was compared", "all pairs audited": "the audit compared every pair"}
_LEVEL = 0.95
# The level of each of two independent intervals, that of one which is much wider than the other, and of those that
# contradict one another if they do not touch.
_EACH, _WIDE, _APART = math.sqrt(_LEVEL), 0.999, 0.998
_MUCH = 2.0


def certify(config: Config, plan: Plan, evidence: Evidence, audited: Audited | None, about: str) -> dict[str, Any]:
    """The certificate as plain data, with the sentence that is printed; `about` tells which pairs it is about."""
    out: dict[str, Any] = {"notes": _notes(config, evidence, audited), "alarms": []}
    estimate = None
    if evidence.tally is not None:
        estimate = evidence.tally.finish(certain=float(evidence.within))
        data = estimate.as_dict()
        bands, out["curve"] = data.pop("bands"), data.pop("curve")
        out["bands"] = bands | {"suspicious": bands.pop("odd")}
        out["notes"] += data.pop("notes")
        out["alarms"] += data.pop("suspicious")
        out["estimate"] = data
    sample = None
    if audited is not None:
        sample, details = _audit(config, plan, evidence, audited)
        out |= details
    out["alarms"] += _faults(evidence)
    # What was refused by its text (verify=text) matches by its hashes, which are what the audit compares.
    refused = evidence.counts.refused_matches + evidence.counts.refused_identical
    headline = _headline(plan, evidence, estimate, None if refused else sample)
    sure = bool(headline.alarm) or headline.basis in _CERTAIN
    if not sure and audited is not None and _saw_all(config, evidence, audited):
        headline = replace(headline, basis="all pairs audited")
    out["recall"], alarm = headline.as_dict(evidence), headline.alarm
    out["alarms"] += [alarm] if alarm else []
    if headline.basis in _CERTAIN:
        out["notes"] = [note for note in out["notes"] if note != NO_PAIR]
    elif sample is not None:
        out["audit"]["hidden"] = sample.hidden(headline.usual, _APART)
    out["statement"] = _statement(config, plan, evidence, out, about)
    return out


def _faults(evidence: Evidence) -> list[str]:
    """What the checks of single steps found."""
    counts, out = evidence.counts, []
    if counts.faulty_items:
        out.append(
            f"{counts.faulty_items:,} of {counts.checked_items:,} items got other sets or band keys when slow "
            "reference code computed them again"
        )
    if counts.lost_pairs:
        out.append(
            f"{counts.lost_pairs:,} of {counts.checked_pairs:,} matching pairs that were computed again are missing "
            "from the results"
        )
    return out


@dataclass(frozen=True)
class _Headline:
    """What the parts support together, as numbers of pairs that the bands missed.

    `usual` is the largest share of missed pairs that the plan explains.
    """

    missed: float | None
    least: float
    most: float
    basis: str
    usual: float = 0.0
    alarm: str = ""

    def as_dict(self, evidence: Evidence) -> dict[str, Any]:
        """The recall of the results: what the audit found alone is among them."""
        found, again = float(evidence.own_pairs), float(evidence.counts.audit_pairs)

        def share(missed: float) -> float:
            left = max(0.0, missed - again)
            return found / (found + left) if found + left else 1.0

        return {
            "recall": None if self.missed is None else share(self.missed),
            "low": share(self.most) if math.isfinite(self.most) else 0.0,
            "high": share(self.least),
            "basis": self.basis,
            "contradiction": bool(self.alarm),
        }


def _headline(plan: Plan, evidence: Evidence, estimate: Recall | None, sample: SampledPairs | None) -> _Headline:
    """Bring the estimate and the audit together."""
    before = evidence.own_pairs - evidence.counts.audit_pairs
    # Pairs of identical items are found for sure, and the audit does not count them.
    different = float(before - evidence.within)
    led = evidence.counts.led_items > 0
    if estimate is not None and (led or estimate.estimate is None or estimate.found != before):
        estimate = None
    asked = sample is not None and sample.share is not None
    if plan.exhaustive and not led:
        alarm = ""
        if sample is not None and sample.share:
            alarm = f"every pair was compared, but the audit found {counted(int(sample.missed.sum()), 'pair')} more"
        most = different * sample.limits(_LEVEL)[1] if alarm and sample is not None else 0.0
        return _Headline(0.0, 0.0, most, "all pairs compared", 0.0, alarm)
    if estimate is None and (sample is None or not asked):
        return _Headline(None, 0.0, math.inf, "nothing")
    if estimate is None:
        assert sample is not None
        least, most = (_number(share, different) for share in sample.limits(_LEVEL))
        return _Headline(_number(sample.share or 0.0, different), least, most, "audit", 1.0 - plan.expected_recall)
    usual = _share(estimate.limits(_APART)[1], different)
    if sample is None or not asked:
        return _Headline(estimate.missed, *estimate.limits(_LEVEL), "estimate", usual)
    return _both(estimate, sample, different, usual)


def _both(estimate: Recall, sample: SampledPairs, different: float, usual: float) -> _Headline:
    """What lies in both intervals; where they lie apart, what lies between them, or both if one must be wrong."""
    audited = _number(sample.share or 0.0, different)

    def limits(one: float, other: float) -> tuple[tuple[float, float], tuple[float, float]]:
        least, most = (_number(share, different) for share in sample.limits(other))
        return estimate.limits(one), (least, most)

    (one_least, one_most), (other_least, other_most) = limits(_APART, _APART)
    if max(one_least, other_least) > min(one_most, other_most):
        told = 1.0 - _share(estimate.missed, different), 1.0 - (sample.share or 0.0)
        alarm = (
            f"the estimate and the audit contradict each other: recall {told[0]:.4f} by the estimate, "
            f"{told[1]:.4f} by the audit"
        )
        basis = "a contradiction"
        return _Headline(
            audited, min(one_least, other_least), max(one_most, other_most), basis, usual, alarm
        )  # fmt: skip
    one, other = (most - least for least, most in limits(_EACH, _EACH))
    (one_least, one_most), (other_least, other_most) = limits(*_levels(one, other))
    inner = sorted([max(one_least, other_least), min(one_most, other_most)])
    # The narrower of the two tells the most likely number.
    missed = estimate.missed if one_most - one_least <= other_most - other_least else audited
    return _Headline(min(max(missed, inner[0]), inner[1]), inner[0], inner[1], "estimate and audit", usual)


def _levels(one: float, other: float) -> tuple[float, float]:
    """The levels of two independent intervals of about these widths, so that what lies in both is one of 95%."""
    if max(one, other) <= _MUCH * min(one, other):
        return _EACH, _EACH
    return (_LEVEL / _WIDE, _WIDE) if one < other else (_WIDE, _LEVEL / _WIDE)


def _saw_all(config: Config, evidence: Evidence, audited: Audited) -> bool:
    """Whether the audit compared every pair, and what the bands missed is among the results."""
    counts = evidence.counts
    return (
        audited.rate >= 1.0
        and not (audited.full or counts.unaudited_items or counts.led_items)
        and config.verify == "exact"
    )


def _number(share: float, found: float) -> float:
    """How many pairs were missed beside those found, from the share of all that was missed."""
    return found * share / (1.0 - share) if share < 1.0 else math.inf


def _share(missed: float, found: float) -> float:
    return missed / (found + missed) if math.isfinite(missed) and found + missed else 1.0


def _audit(
    config: Config, plan: Plan, evidence: Evidence, audited: Audited
) -> tuple[SampledPairs, dict[str, Any]]:  # fmt: skip
    """Of the pairs that the audit saw, how many were found; and what is left among the kept."""
    left, right, scale, different = audited.left, audited.right, config.scale, evidence.different
    missed, led = evidence.missed, evidence.counts.led_items > 0
    # Without the audit, both items of a pair would have stayed that was found by nothing else.
    bad = missed if evidence.stayed is None else missed & evidence.stayed
    counted_bad = bad if led else missed
    sample = SampledPairs.of(left[different], counted_bad[different], audited.rate, dict(evidence.partners))
    low, high = sample.limits(_LEVEL)
    shown = np.flatnonzero(counted_bad)
    pairs = len(left)
    out: dict[str, Any] = {
        "audit": {
            "sampled": len(audited.items),
            "of": audited.seen,
            "pairs": pairs,
            "found": pairs - int(counted_bad.sum()),
            "counted": "pairs that lost one item" if led else "pairs",
            "recall": None if sample.share is None else 1.0 - sample.share,
            "low": 1.0 - high,
            "high": 1.0 - low,
            "full": audited.full,
            "missed": [
                {"a": int(left[i]), "b": int(right[i]), scale.column: float(scale.told(audited.similarities[i]))}
                for i in shown[np.argsort(-audited.similarities[shown], kind="stable")][:20]
            ],
        }
    }
    if evidence.kept_items is not None:
        # Where every pair was looked at and one item of each match is gone, a sample that shows nothing has no doubt.
        certain = plan.exhaustive and config.verify == "exact" and not led and not bad.any()
        mended = evidence.counts.audit_pairs > 0
        out["left"] = _NONE if certain else _left(bad, left, audited, evidence, mended=mended)
    return sample, out


def _left(bad: BoolArray, left: I64Array, audited: Audited, evidence: Evidence, *, mended: bool) -> dict[str, Any]:
    """How many kept items still have a near-duplicate among the kept.

    A sampled item that has later ones stands for itself and for them. That counts an item twice which has two earlier
    near-duplicates left; where what is left are single pairs, as almost always, it is exact on average. There cannot be
    more of them than are kept. What the audit found and `mended` is not left: the others are those that it did not see.
    """
    items, partners = np.unique(left[bad], return_counts=True)
    sampled = max(1, len(audited.items))
    low, high = clopper_pearson(len(items), sampled)
    # Of two collections the sampled items are those of the other one, which are not kept themselves.
    each = (0.0 if evidence.across else 1.0) + (float(partners.mean()) if len(items) else 1.0)
    kept = evidence.kept_items or 0
    share = len(items) / sampled
    others = audited.seen - (len(audited.items) if mended else 0)
    if audited.rate >= 1.0:
        low = high = share
    return {
        name: min(float(kept), part * each * others) for name, part in (("items", share), ("low", low), ("high", high))
    }


def _statement(config: Config, plan: Plan, evidence: Evidence, parts: dict[str, Any], about: str) -> str:
    sentence = f"found {counted(evidence.own_pairs, 'pair')} with {about}"
    recall, led = parts["recall"], evidence.counts.led_items > 0
    if led:
        sentence += (
            " (not all pairs of very large buckets are counted: their items were compared with a few leaders only)"
        )
    if recall["contradiction"]:
        sentence += f"; {parts['alarms'][-1]}: do not rely on this run, and please report it"
    elif recall["basis"] in _CERTAIN:
        how = "joined exactly by rare elements" if plan.joined else _CERTAIN[recall["basis"]]
        sentence += f"; recall 1 ({how})"
    elif recall["recall"] is not None:
        what = "estimated share of pairs that are listed or lost one item" if led else "estimated recall"
        sentence += f"; {what} {recall['recall']:.4f} (95% interval {recall['low']:.4f} to {recall['high']:.4f})"
    else:
        sentence += "; recall unknown"
    sentence += {
        "exact": "; precision 1 (every match verified)",
        "sketch": "; not verified exactly (verify=sketch)",
        "none": "; not verified (verify=none)",
    }[config.verify]
    left = parts.get("left")
    if left is not None and left["high"] == 0.0:
        what = "matches the other collection" if evidence.across else "has a near-duplicate left"
        sentence += f"; no kept item {what}"
    elif left is not None:
        kept = evidence.kept_items or 0
        one = round(left["items"]) == 1
        what = (
            f"match{'es' if one else ''} the other collection"
            if evidence.across
            else f"{'has' if one else 'have'} a near-duplicate"
        )
        sentence += (
            f"; about {left['items']:,.0f} of the {kept:,} kept items still {what} "
            f"(95% interval {left['low']:,.0f} to {left['high']:,.0f})"
        )
    return sentence


def _notes(config: Config, evidence: Evidence, audited: Audited | None) -> list[str]:
    """Everything that bends an assumption."""
    counts, notes = evidence.counts, []
    if config.verify == "sketch":
        notes.append("verify=sketch: similarities are estimates, and so are precision and recall")
    if config.verify == "none":
        notes.append("verify=none: candidates were not compared, so precision is unknown")
    if counts.giant_items:
        notes.append(
            f"{counted(counts.giant_items, 'item')} in very large buckets joined exactly by rare elements: "
            "no pair among them is missed"
        )
    if counts.led_items and config.verify == "none":
        notes.append(
            "all items of a very large bucket were matched to one of them without comparing, so not all its pairs are "
            "listed"
        )
    elif counts.led_items and config.cluster == "components":
        notes.append(
            f"{counted(counts.led_items, 'item')} in very large buckets compared only until connected: clusters are "
            "complete, but not all their pairs are listed"
        )
    elif counts.led_items:
        notes.append(
            f"{counted(counts.led_items, 'item')} in very large buckets compared with a few leaders only: every "
            "removed item matches its keeper, but not all pairs are listed"
        )
    if counts.unexamined_items and config.cluster == "components":
        notes.append(
            f"{counted(counts.unexamined_items, 'item')} in very large buckets not compared with all others there, "
            "because there were too many: they may belong to larger clusters"
        )
    elif counts.unexamined_items:
        notes.append(
            f"{counted(counts.unexamined_items, 'item')} in very large buckets matched no leader and were not compared "
            "with the rest of the bucket"
        )
    if counts.audit_pairs:
        notes.append(
            f"the audit found {counted(counts.audit_pairs, 'pair')} that the bands missed; the results include them"
        )
    if counts.unaudited_items:
        larger = counted(counts.unaudited_items, "item")
        notes.append(f"the audit skipped {larger} with more than a million elements")
    if audited is not None and audited.full:
        notes.append(
            f"the audit checked only the first matches of {counted(audited.full, 'sampled item')} with very many"
        )
    return notes
