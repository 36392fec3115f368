"""PA: the probabilistic skyband (Pripuzic et al. 2015, section 4.1), for ``APPROXIMATE``.

**Answers** the top k after every arrival, with few errors if the records come in random order: of N
records fewer than ``sigma N / n`` results are missed, and fewer than ``1.5 sigma N / n`` reported
wrongly, on average, over a window of n (Lemma 4.6). **Does not** hold to that on streams that are
in any order: on falling scores it misses nearly everything.

**Idea.** In random order the rank at arrival tells the chances of a record. The band holds the k
best and as many candidates as ``certain.probable`` says; what ranks behind them when it arrives is
ignored. The last candidate's score is the threshold: nearly all records cost one comparison.

**Adaptive** (``adaptive => true``, and so always for ``APPROXIMATE`` without ``USING``): the paper
leaves this to the future. A watch (``certain.disorder``) looks for order in time. PA is trusted
only when a whole window, and 4,096 records, have passed without any; until then, and from the first
sign of it on, RAPF answers instead, exactly. A long batch is looked at before any of it is
processed. If batches are short, the latest records wait beside PA, ignored by it or not, and go to
RAPF with all that PA has when it takes over. What PA ignored before those is gone: the bound holds
for it as long as the stream was in random order. ``notes()`` counts the switches.

**Cost**: O(1) for most records; O(log(k + limit)) to find the place of one of the (k + limit) / n
that enter, and O(k + limit) when one of those expires.

**Options**: ``error`` (0.001), the sigma of the bound; ``additional`` (10), candidates beyond the
limit that spare resets of the threshold; ``expect`` (ten million), how many records a window on
time holds at most; ``adaptive``.

**Invariants**: A1 and A3 of ``certain.arrivals``.

**Deviations.** The gate that passes over most records knows scores only, and a tie with the
threshold gets through; the band, which knows how ties are broken, makes the same steps again with
what is left. A window on time takes its limit from ``expect``: a limit for more records than there
are keeps too many, not too few.

>>> import numpy as np
>>> operator = PA(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crestline.certain.arrival_options import LARGE_WINDOW, usual_buffer
from crestline.certain.arrivals import ArrivalOperator
from crestline.certain.disorder import GROUPS, LENGTH, OrderWatch
from crestline.certain.recent import Arriving
from crestline.core import sound
from crestline.core.batch import Batch
from crestline.kernels.certain.bands import PROBABLE, RELAXED
from crestline.types import Floats, Ints

#: Records that are judged together, and those that wait beside PA.
_JUDGED, _BESIDE = 1 << 17, 256
#: Records without a sign of order that PA is not trusted before: a full series of the second scale.
_EVIDENCE = 64 * LENGTH
_GAMMA = 0.2


class PA(ArrivalOperator):
    """The probabilistic skyband, with RAPF in reserve; see the module's text."""

    OPTIONS = {"error": 0.001, "additional": 10, "expect": LARGE_WINDOW, "adaptive": False}

    def __init__(
        self,
        k: int,
        window: int,
        slide: int | None = 1,
        *,
        only_changes: bool = False,
        **options: float | None,
    ) -> None:
        super().__init__(k, window, slide, only_changes=only_changes, **options)
        self._watch = OrderWatch() if self.options["adaptive"] else None
        # Since when there has been no sign of order: the record or moment, and how many records.
        self._trusted_since, self._quiet = 0, 0
        self._switches = 0
        self._exactly = 0  # records that RAPF answered for
        self.band = PROBABLE
        if self._watch is not None:
            self._use_rapf()

    @property
    def exact_now(self) -> bool:
        """Whether RAPF answers at the moment."""
        return self.band == RELAXED

    def notes(self) -> dict[str, Any]:
        """Which bound holds, and who answers."""
        notes: dict[str, Any] = {
            "error": self.options["error"],
            "bound": f"of N records over windows of n, fewer than {self.options['error']:g} N/n"
            f" results missed and {1.5 * self.options['error']:g} N/n reported wrongly, on average",
            "holds": "for streams in random order",
        }
        if self._watch is not None:
            notes |= {
                "answering": "RAPF (exact)" if self.exact_now else "PA",
                "switches": self._switches,
                "answered_exactly": self._exactly,
            }
        return notes

    # -- who answers --------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        batch = Batch.of(batch)
        if self._watch is None:
            return super().observe(batch)
        kept = []
        count = 0
        for start in range(0, len(batch), _JUDGED):
            part = batch[start : start + _JUDGED]
            self._judge(part.scores, part.times, part.partitions)
            if batch.number_from is not None:
                part = replace(part, number_from=batch.number_from + count)
            indices = super().observe(part)
            count += len(indices)
            self._exactly += len(part) if self.exact_now else 0
            kept.append(indices + start)
        return np.concatenate([np.empty(0, np.int64), *kept])

    def _judge(self, scores: Floats, times: Ints | None, partitions: Ints | None) -> None:
        """Look for order in the next records, and change who answers before they are processed."""
        assert self._watch is not None
        if len(scores) == 0:
            return
        # Each partition would have to be in random order by itself, and has too few records here.
        several = self.partitions > 1 or (partitions is not None and bool(partitions.any()))
        alarm = several or self._watch.add(scores)
        now = self.seen if times is None else int(times.max())
        if self.seen == 0 and times is not None:
            self._trusted_since = int(times.min())
        self._quiet = 0 if alarm else self._quiet + len(scores)
        if alarm:
            self._trusted_since = now + (len(scores) if times is None else 0)
            if not self.exact_now:
                self._switches += 1
                self._use_rapf()
        elif (
            self.exact_now
            and now - self._trusted_since >= self.window
            and self._quiet >= _EVIDENCE + len(scores)
        ):
            self._switches += 1
            self._use_pa()

    def _decide(self, new: Arriving, number_from: int | None) -> Ints:
        """PA, with the latest records beside it (in the buffer that RAPF would have)."""
        if self._watch is None or self.exact_now:
            return super()._decide(new, number_from)
        if not self._time.timed or self._in_order(new):
            _, limit, additional = self._band_settings()
            entered, _ = self._recent.pass_gate(new, limit, additional)
        else:
            entered = np.arange(len(new.score))
        latest = np.arange(max(0, len(new.score) - _BESIDE), len(new.score))
        needed = np.union1d(entered, latest)
        kept, ids = self._number(needed, new, number_from)
        partition = np.zeros(len(entered), np.int64)  # with partitions RAPF answers
        born, id = new.born(entered), ids[np.searchsorted(needed, entered)]
        self._add_pending(partition, born, born, new.score[entered], id)
        added = {
            "score": new.score[latest],
            "at": new.born(latest),
            "id": ids[np.searchsorted(needed, latest)],
            "passed": np.isin(latest, entered),
        }
        buffer = self._recent.buffer
        beside = {n: np.concatenate((buffer[n], values))[-_BESIDE:] for n, values in added.items()}
        start = np.full(self.partitions + 1, len(beside["at"]))
        start[0] = 0
        buffer.replace(start, **beside)
        return kept

    def _use_rapf(self) -> None:
        """Let RAPF answer. The latest records that PA ignored enter the band, which sorts them."""
        self._admit_undecided()
        self.band, self.filter = RELAXED, PROBABLE
        buffer = usual_buffer(self.k, self.window)
        self.options = self.options | {"gamma": _GAMMA, "buffer": buffer}
        self._own.reset("limits", 4.0 * self.k)
        self._recent.clear()

    def _use_pa(self) -> None:
        """Let PA answer. The band is cut to what PA would hold."""
        self._admit_undecided()
        self._set_pa()
        self._own.reset("limits", -np.inf)
        self._recent.clear()
        _, limit, additional = self._band_settings()
        band = self._band
        rank = np.arange(len(band)) - np.repeat(band.start[:-1], band.lengths)
        band.filter(rank < self.k + limit + additional)
        self._recent.listed.replace(
            band.start, score=band["score"], born=band["at"], dominators=band["at"]
        )

    def _set_pa(self) -> None:
        self.band, self.filter = PROBABLE, None
        self.options = {o: v for o, v in self.options.items() if o in self.OPTIONS}

    def _admit_undecided(self) -> None:
        buffer, indices = self._recent.buffer, self._recent.undecided()
        born, partition = buffer["at"][indices], buffer.partition()[indices]
        self._add_pending(partition, born, born, buffer["score"][indices], buffer["id"][indices])

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        options = {name: self.options[name] for name in self.OPTIONS}
        state = super().state() | {"options": options}
        if self._watch is not None:
            state["adaptive"] = {
                "watch": self._watch.state(),
                "exact_now": self.exact_now,
                "trusted_since": self._trusted_since,
                "quiet": self._quiet,
                "switches": self._switches,
                "exactly": self._exactly,
            }
        return state

    def _resume(self, state: dict[str, Any]) -> None:
        if self._watch is None:
            return
        own = state["adaptive"]
        sound.length("watch", *(own["watch"][n] for n in ("largest", "filled")), of=len(GROUPS))
        self._watch.restore(own["watch"])
        self._trusted_since, self._switches = own["trusted_since"], own["switches"]
        self._exactly, self._quiet = own["exactly"], own["quiet"]
        if not own["exact_now"]:
            self._set_pa()


__all__ = ["PA"]
